package store

import (
	"context"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/feedback"
)

// Answer is a reply, with what was recalled for it and what it used.
type Answer struct {
	Query     string      // the question
	Recalled  []uuid.UUID // memories, best first, at most 1,000
	Used      []uuid.UUID // those that the reply used, and the skills; nil: unknown
	SessionID string      // the conversation; empty: none
	At        time.Time   // zero: now
}

// RecordAnswer stores an answer and returns its id.
func RecordAnswer(ctx context.Context, db DB, userID string, a Answer) (uuid.UUID, error) {
	return one[uuid.UUID](ctx, db, "record an answer",
		`select oxbow.answered($1, $2, $3, $4, $5, coalesce($6, now()))`,
		userID, a.Query, a.Recalled, a.Used, pointer(a.SessionID), pointer(a.At))
}

// FeedbackKinds are the kinds of feedback on a memory, a trait or an answer.
var FeedbackKinds = []string{"helpful", "wrong", "outdated", "not_about_me", "too_much"}

// Feedback is what a person said about memories, traits or an answer.
type Feedback struct {
	// Kind is helpful, wrong, outdated, not_about_me or too_much.
	Kind string
	// IDs are the memories and traits that it is about, at most 1,000. Default: those of the answer.
	IDs []uuid.UUID
	// AnswerID is the answer that it is about, from Answered. Default: none.
	AnswerID uuid.UUID
	// Query is the question, if there is no AnswerID.
	Query string
	// Reason is what the person said, at most 10,000 bytes.
	Reason string
	// ExternalID makes a repeated call return the earlier signal. At most 1,024 bytes.
	ExternalID string
}

// GiveFeedback stores feedback and returns the id of its signal.
func GiveFeedback(ctx context.Context, db DB, userID, actor string, f Feedback) (uuid.UUID, error) {
	return one[uuid.UUID](ctx, db, "store feedback", `select oxbow.feedback($1, $2, $3, $4, $5, $6, $7, $8)`,
		userID, f.Kind, f.IDs, pointer(f.AnswerID), pointer(f.Query), pointer(f.Reason), pointer(f.ExternalID), actor)
}

// Adjusted is a change that followed from feedback.
type Adjusted struct {
	ID         uuid.UUID   `json:"id"`
	At         time.Time   `json:"at"`
	Kind       string      `json:"kind"` // memory_weight, trait_confidence, relation_weight, skill
	MemoryType string      `json:"memory_type,omitzero"`
	About      uuid.UUID   `json:"about,omitzero"`   // the memory, trait or skill
	Content    string      `json:"content,omitzero"` // its text or name; empty if it is hidden
	Before     float64     `json:"before"`           // the strength, confidence, weight or reliability
	After      float64     `json:"after"`
	Cause      string      `json:"cause"`
	Signals    []uuid.UUID `json:"signals"`
	ExpiresAt  time.Time   `json:"expires_at,omitzero"`
	UndoneAt   time.Time   `json:"undone_at,omitzero"`
	UndoneBy   string      `json:"undone_by,omitzero"` // person, expiry, worse
}

// Adjustments returns the adjustments of a user, newest first, at most limit (1 to 1,000).
func Adjustments(ctx context.Context, db DB, userID string, about uuid.UUID, limit int) ([]Adjusted, error) {
	return list[Adjusted](ctx, db, "read adjustments", `
		select id, at, kind, memory_type, about, content, before, after, cause, signals, expires_at, undone_at, undone_by
		  from oxbow.adjustments_of($1, $2, $3)`, userID, pointer(about), limit)
}

// Rollback undoes an adjustment.
func Rollback(ctx context.Context, db DB, userID string, id uuid.UUID) error {
	_, err := run(ctx, db, "undo an adjustment", `select oxbow.rollback($1, $2)`, userID, id)
	return err
}

// Judged is a memory or a skill with the signals about it that wait to be counted.
type Judged struct {
	UserID     string
	MemoryType string    // or skill; empty: the signals are about nothing
	MemoryID   uuid.UUID // zero: the same
	Signals    []feedback.Signal
	Adjustment *feedback.Adjustment
	Taken      []uuid.UUID // the signals to mark as counted
}

// WaitingSignals locks at most limit signals that are not yet counted, and returns the memories and skills that they
// are about.
func WaitingSignals(ctx context.Context, db DB, now time.Time, limit int) ([]Judged, error) {
	return list[Judged](ctx, db, "read signals", `select * from oxbow.waiting_signals($1, $2)`, now, limit)
}

// FeedbackPolicies returns the policies of feedback in force.
func FeedbackPolicies(ctx context.Context, db DB) (*feedback.Policies, error) {
	return one[*feedback.Policies](ctx, db, "read policies", `
		select jsonb_object_agg(substr(d.name, 10), oxbow.policy(d.name))
		  from oxbow.policy_definitions d where d.name like 'feedback\_%'`)
}

// Adjust applies a decision about a memory or a skill, and reports whether it changed anything.
func Adjust(ctx context.Context, db DB, j Judged, d feedback.Decision, now time.Time) (bool, error) {
	if d.Undo != uuid.Nil {
		return one[bool](ctx, db, "undo an adjustment", `select oxbow.undo_adjustment($1, $2, 'worse', $3)`, j.UserID, d.Undo,
			now)
	}
	if j.MemoryType == "skill" {
		successes, failures := max(1, int(math.Round(d.Score))), 0
		if d.Score < 0 {
			successes, failures = 0, max(1, int(math.Round(-d.Score)))
		}
		id, err := one[uuid.UUID](ctx, db, "adjust a skill", `select oxbow.adjust_skill($1, $2, $3, $4, $5, $6, $7, $8)`,
			j.UserID, j.MemoryID, successes, failures, d.Cause, d.Signals, d.Score, now)
		return id != uuid.Nil, err
	}
	id, err := one[uuid.UUID](ctx, db, "adjust a memory", `select oxbow.adjust($1, $2, $3, $4, $5, $6, $7, $8)`,
		j.UserID, j.MemoryType, j.MemoryID, d.Factor, d.Cause, d.Signals, d.Score, now)
	return id != uuid.Nil, err
}

// SignalsCounted marks signals as counted.
func SignalsCounted(ctx context.Context, db DB, userID string, ids []uuid.UUID) error {
	_, err := run(ctx, db, "mark signals", `
		update oxbow.feedback_signals set dispatched_at = clock_timestamp()
		 where user_id = $1 and id = any($2)`, userID, ids)
	return err
}

// ExpireFeedback undoes at most limit adjustments that are due and deletes as many old answers and suppressions. It
// returns their number.
func ExpireFeedback(ctx context.Context, db DB, now time.Time, limit int) (int, error) {
	return one[int](ctx, db, "expire feedback", `select oxbow.expire_feedback($1, $2)`, now, limit)
}
