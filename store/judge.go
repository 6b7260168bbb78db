package store

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// TurnMessage is a message of a conversation that is judged.
type TurnMessage struct {
	ID      uuid.UUID
	Seq     int64
	Role    string
	Content string
	Fresh   bool   // to be judged; the others are context
	Judged  *int64 // seq of the last message that was judged before; nil: none
}

// TurnsToJudge returns at most limit messages of a conversation that were not judged yet, after up to six that were.
func TurnsToJudge(ctx context.Context, db DB, userID, sessionID string, limit int) ([]TurnMessage, error) {
	return list[TurnMessage](ctx, db, "load the messages", `select * from oxbow.turns_to_judge($1, $2, $3)`, userID,
		sessionID, limit)
}

// Signal is what an application's own judge found out about an answer (U §4).
type Signal struct {
	Type         string            // negative, positive, neutral or mixed
	Confidence   float64           // 0 to 1
	Targets      []string          // of reasoning, final_answer, style, tool_choice; nil: those of Parts, or final_answer
	ActionHint   []string          // of penalty, invalidate, prefer
	Parts        map[string]string // mixed: the type for each target
	Attributions []uuid.UUID       // the memories that caused it, at most 1,000; nil: those of the answer
	Kind         string            // correction, complaint, repeated_question, rephrasing or thanks; default: by Type
	AnswerID     uuid.UUID         // the answer, from Answered; zero: none
	MessageID    uuid.UUID         // the message that was judged, which has one signal; zero: none
	Query        string            // the question, if there is no AnswerID
	Reason       string            // at most 10,000 bytes
	ExternalID   string            // makes a repeated call return the earlier signal; at most 1,024 bytes
}

// AddSignal stores a signal and returns its id.
func AddSignal(ctx context.Context, db DB, userID string, s Signal) (uuid.UUID, error) {
	return one[uuid.UUID](ctx, db, "store a signal",
		`select oxbow.signal($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`, userID, s.Type, s.Confidence,
		s.Targets, s.ActionHint, s.Parts, s.Attributions, pointer(s.Kind), pointer(s.AnswerID), pointer(s.MessageID),
		pointer(s.Query), pointer(s.Reason), pointer(s.ExternalID))
}

// FoundSignal is a signal and the question of the answer that it is about.
type FoundSignal struct {
	reasoner.Signal
	Query string
}

// WriteSignals stores the signals of a conversation, of which turns were judged (TurnsToJudge, at least one of them fresh).
// It returns ErrStale if another job has judged the conversation since, or if the fresh ones are no longer these.
func WriteSignals(ctx context.Context, db DB, userID, sessionID string, turns []TurnMessage, judge string,
	signals []FoundSignal) error {
	type row struct {
		Message    uuid.UUID         `json:"message"`
		Kind       string            `json:"kind"`
		Type       string            `json:"type"`
		Confidence float64           `json:"confidence"`
		Targets    []string          `json:"targets"`
		ActionHint []string          `json:"action_hint"`
		Parts      map[string]string `json:"parts,omitempty"`
		Query      string            `json:"query"`
	}
	rows := make([]row, len(signals))
	for i, s := range signals {
		rows[i] = row{s.Message, s.Kind, s.Type, s.Confidence, s.Targets, s.ActionHint, s.Parts, plain(s.Query)}
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	last, fresh := turns[len(turns)-1], 0
	for _, m := range turns {
		if m.Fresh {
			fresh++
		}
	}
	const what = "write signals"
	written, err := one[bool](ctx, db, what, `select oxbow.record_signals($1, $2, $3, $4, $5, $6, $7)`, userID,
		sessionID, last.Judged, last.Seq, fresh, judge, string(encoded))
	if err == nil && !written {
		err = failed(what, ErrStale)
	}
	return stale(err)
}
