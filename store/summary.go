package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// Summary is the progress of a conversation's summary.
type Summary struct {
	UserID    string
	SessionID string
	ID        uuid.UUID // of the current summary; zero if there is none
	Content   string
	Covers    SummaryMetadata // of the current summary
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
func SummaryDue(ctx context.Context, db DB, userID, sessionID string) (bool, error) {
	return one[bool](ctx, db, "look whether a summary is due", `select oxbow.summary_due($1, $2)`, userID, sessionID)
}

// ReadSummary returns the progress of a conversation's summary, or ErrNotFound if the conversation
// does not exist.
func ReadSummary(ctx context.Context, db DB, userID, sessionID string) (Summary, error) {
	type row struct {
		Summary
		Metadata json.RawMessage
	}
	r, err := one[row](ctx, db, "read the summary", `
		select s.user_id, s.id as session_id, s.summarized_seq as until, m.id,
		       case when m.sensitivity < 2 then m.content else '' end as content, m.metadata,
		       oxbow.summary_due(s.user_id, s.id) as due
		  from oxbow.sessions s
		  left join lateral (select * from oxbow.memories_episodic m
		                      where m.user_id = s.user_id and m.id = s.summary_id
		                        and m.expired_at is null and m.forgotten_at is null) m on true
		 where s.user_id = $1 and s.id = $2`, userID, sessionID)
	_ = json.Unmarshal(r.Metadata, &r.Covers) // other writers may have stored anything
	return r.Summary, err
}

// UnsummarizedMessages returns at most limit extracted messages of a conversation that no summary
// covers yet, in order, and the seq of each.
func UnsummarizedMessages(ctx context.Context, db DB, s Summary, p reasoner.Person, limit int) (
	[]reasoner.Message, []int64, error,
) {
	type row struct {
		reasoner.Message
		Seq int64
	}
	rows, err := list[row](ctx, db, "load the messages", `
		select m.id, m.role, m.speaker, left(m.content, 6000) as content, m.created_at as time, true as new, m.seq
		  from oxbow.messages m
		 where m.user_id = $1 and m.session_id = $2 and m.seq > coalesce($3, -9223372036854775808)
		   and m.extracted_at is not null
		   and m.sensitivity < 2
		 order by m.seq, m.id limit $4`, s.UserID, s.SessionID, s.Until, limit)
	messages, places := make([]reasoner.Message, len(rows)), make([]int64, len(rows))
	for i, r := range rows {
		messages[i], places[i] = r.Message, r.Seq
		messages[i].Time = r.Time.In(p.Zone)
	}
	return messages, places, err
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
	covers := n.Of.Covers
	covers.Session, covers.Messages = n.Of.SessionID, covers.Messages+len(n.Messages)
	ids := make([]uuid.UUID, len(n.Messages))
	for i, m := range n.Messages {
		ids[i] = m.ID
		if covers.From.IsZero() || m.Time.Before(covers.From) {
			covers.From = m.Time.UTC()
		}
		if m.Time.After(covers.Until) {
			covers.Until = m.Time.UTC()
		}
	}
	metadata, err := json.Marshal(covers)
	if err != nil {
		return err
	}
	const what = "write the summary"
	written, err := one[bool](ctx, db, what,
		`select oxbow.write_summary($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		n.Of.UserID, n.Of.SessionID, n.Actor, n.Of.Until, n.Until, pointer(n.Of.ID), uuid.New(),
		pointer(plain(n.Content)),
		covers.Until, n.Importance, string(metadata), ids)
	if err == nil && !written {
		err = failed(what, ErrStale)
	}
	return stale(err)
}

// PassOverSummary excludes the messages extracted so far from all future summaries of the
// conversation.
func PassOverSummary(ctx context.Context, db DB, userID, sessionID string) error {
	_, err := run(ctx, db, "exclude messages from summaries", `
		update oxbow.sessions s set summarized_seq = greatest(s.summarized_seq,
		       (select max(m.seq) from oxbow.messages m where m.user_id = $1 and m.session_id = $2
		         and m.extracted_at is not null))
		 where s.user_id = $1 and s.id = $2`, userID, sessionID)
	return err
}

// Expired counts the memories that ExpireMemories expired and promoted.
type Expired struct{ Expired, Promoted int64 }

// ExpireMemories expires up to limit memories whose expiry time has passed. It promotes those that
// use has made strong instead.
func ExpireMemories(ctx context.Context, db DB, now time.Time, limit int) (Expired, error) {
	return one[Expired](ctx, db, "expire memories",
		`select expired, promoted from oxbow.expire_memories($1, $2)`, now, limit)
}

// Promote makes a memory that would expire permanent and reports whether it changed anything.
func Promote(ctx context.Context, db DB, userID string, id uuid.UUID, reason string) (changed bool, err error) {
	if err := Admit(ctx, db, Field{"reason", reason}); err != nil {
		return false, err
	}
	return CollectOne[bool](ctx, db, `select oxbow.promote(user_id => $1, id => $2, reason => nullif($3::text, ''))`,
		userID, id, reason)
}
