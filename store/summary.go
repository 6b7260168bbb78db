package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// Summary is the progress of a conversation's summary.
type Summary struct {
	UserID    string
	SessionID string
	ID        uuid.UUID // of the current summary; zero if there is none
	Content   string
	Told      SummaryMetadata // of the current summary
	Until     *int64          // seq of the last message that is covered or skipped; nil: none
	Due       bool            // enough new messages exist
}

// SummaryMetadata is the metadata of a summary.
type SummaryMetadata struct {
	Session  string    `json:"session"`
	Messages int       `json:"messages"` // number of messages covered
	From     time.Time `json:"from"`     // time of the first one
	Until    time.Time `json:"until"`    // time of the last one
}

// SummaryDue reports whether a conversation is due for a summary.
func SummaryDue(ctx context.Context, db DB, userID, sessionID string) (due bool, err error) {
	err = db.QueryRow(ctx, `select oxbow.summary_due($1, $2)`, userID, sessionID).Scan(&due)
	if err != nil {
		return false, fmt.Errorf("ask whether the conversation is to be summarised: %w", err)
	}
	return due, nil
}

// ReadSummary returns the progress of a conversation's summary, or ErrNotFound if the conversation
// does not exist.
func ReadSummary(ctx context.Context, db DB, userID, sessionID string) (Summary, error) {
	s, err := CollectOne(ctx, db, func(row pgx.CollectableRow) (Summary, error) {
		s := Summary{UserID: userID, SessionID: sessionID}
		var id *uuid.UUID
		var metadata []byte
		err := row.Scan(&s.Until, &id, &s.Content, &metadata, &s.Due)
		s.ID = or(id)
		_ = json.Unmarshal(metadata, &s.Told) // other writers may have stored anything
		return s, err
	}, `
		select s.summarized_seq, m.id, coalesce(m.content, ''), coalesce(m.metadata, '{}'), oxbow.summary_due(s.user_id, s.id)
		  from oxbow.sessions s
		  left join lateral (select * from oxbow.memories_episodic m
		                      where m.user_id = s.user_id and m.id = s.summary_id
		                        and m.expired_at is null and m.forgotten_at is null) m on true
		 where s.user_id = $1 and s.id = $2`, userID, sessionID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return s, fmt.Errorf("read the summary: %w", err)
	}
	return s, err
}

// UntoldMessages returns at most limit extracted messages of a conversation that no summary covers
// yet, in order, and the seq of each.
func UntoldMessages(ctx context.Context, db DB, s Summary, p reasoner.Person, limit int) ([]reasoner.Message, []int64, error) {
	var places []int64
	messages, err := Collect(ctx, db, func(row pgx.CollectableRow) (reasoner.Message, error) {
		m := reasoner.Message{New: true}
		var place int64
		err := row.Scan(&m.ID, &m.Role, &m.Speaker, &m.Content, &m.Time, &place)
		m.Time = m.Time.In(p.Zone)
		places = append(places, place)
		return m, err
	}, `
		select m.id, m.role, coalesce(m.speaker, ''), left(m.content, 6000), m.created_at, m.seq
		  from oxbow.messages m
		 where m.user_id = $1 and m.session_id = $2 and m.seq > coalesce($3, -9223372036854775808)
		   and m.extracted_at is not null
		   and m.sensitivity < 3
		 order by m.seq, m.id limit $4`, s.UserID, s.SessionID, s.Until, limit)
	if err != nil {
		return nil, nil, fmt.Errorf("load the messages: %w", err)
	}
	return messages, places, nil
}

// NewSummary is the result of summarising a conversation.
type NewSummary struct {
	Of         Summary // the summary it extends
	Actor      string  // the summarizer
	Content    string  // empty: nothing worth a summary, or nothing new
	Importance float64
	Messages   []reasoner.Message // the newly covered messages
	Until      int64              // seq of the last of them
}

// WriteSummary replaces a summary with the one that extends it. It returns ErrStale if the old
// summary or one of the messages was changed, forgotten or erased in the meantime.
func WriteSummary(ctx context.Context, db DB, n NewSummary) error {
	told := SummaryMetadata{Session: n.Of.SessionID, Messages: n.Of.Told.Messages + len(n.Messages),
		From: n.Of.Told.From, Until: n.Of.Told.Until}
	ids := make([]uuid.UUID, len(n.Messages))
	for i, m := range n.Messages {
		ids[i] = m.ID
		if told.From.IsZero() || m.Time.Before(told.From) {
			told.From = m.Time.UTC()
		}
		if m.Time.After(told.Until) {
			told.Until = m.Time.UTC()
		}
	}
	metadata, err := json.Marshal(told)
	if err != nil {
		return err
	}
	var written bool
	err = db.QueryRow(ctx, `select oxbow.write_summary($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		n.Of.UserID, n.Of.SessionID, n.Actor, n.Of.Until, n.Until, pointer(n.Of.ID), uuid.New(), pointer(plain(n.Content)),
		told.Until, n.Importance,
		string(metadata), ids).Scan(&written)
	if err == nil && !written {
		err = ErrStale
	}
	if err != nil {
		return fmt.Errorf("write the summary: %w", stale(err))
	}
	return nil
}

// PassOverSummary excludes the messages extracted so far from all future summaries of the
// conversation.
func PassOverSummary(ctx context.Context, db DB, userID, sessionID string) error {
	_, err := db.Exec(ctx, `
		update oxbow.sessions s set summarized_seq = greatest(s.summarized_seq,
		       (select max(m.seq) from oxbow.messages m where m.user_id = $1 and m.session_id = $2
		         and m.extracted_at is not null))
		 where s.user_id = $1 and s.id = $2`, userID, sessionID)
	if err != nil {
		return fmt.Errorf("pass over what is not to be summarised: %w", err)
	}
	return nil
}

// ExpireMemories expires up to limit memories whose expiry time has passed. It promotes those that
// use has made strong instead.
func ExpireMemories(ctx context.Context, db DB, now time.Time, limit int) (expired, promoted int64, err error) {
	err = db.QueryRow(ctx, `select expired, promoted from oxbow.expire_memories($1, $2)`, now, limit).Scan(&expired,
		&promoted)
	if err != nil {
		return 0, 0, fmt.Errorf("end the memories whose time is over: %w", err)
	}
	return expired, promoted, nil
}

// Promote makes a memory that would expire permanent and reports whether it changed anything.
func Promote(ctx context.Context, db DB, userID string, id uuid.UUID, reason string) (changed bool, err error) {
	if err := text("reason", reason); err != nil {
		return false, err
	}
	err = db.QueryRow(ctx, `select oxbow.promote(user_id => $1, id => $2, reason => nullif($3::text, ''))`, userID, id,
		reason).Scan(&changed)
	return changed, Explain(err)
}
