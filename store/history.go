package store

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Replacement is the new version of a memory. A zero value means "not given".
type Replacement struct {
	// Content is the new text. Required.
	Content string
	// ValidAt says when the new version became true and the old one ended. Default: now. To say that the old version
	// was wrong from the start, give its ValidAt.
	ValidAt time.Time
	// Metadata replaces the old version's; see NewMemory.Metadata. Default: the same.
	Metadata any
	// Reason and Actor are written into the history. Actor is by default "app".
	Reason, Actor string
}

// Change is something that happened to a memory.
type Change struct {
	At       time.Time  `json:"at"`
	Event    string     `json:"event"` // ADD, UPDATE, SUPERSEDE, DELETE (forgotten), RESTORE, STAGE_CHANGE, EXPIRE, PROMOTE, …
	MemoryID uuid.UUID  `json:"memory_id"`
	Type     MemoryType `json:"memory_type"`
	Version  int        `json:"version"` // of that memory
	// What it was before and became, where the event has it.
	OldContent  string         `json:"old_content,omitzero"`
	NewContent  string         `json:"new_content,omitzero"`
	OldMetadata map[string]any `json:"old_metadata,omitzero"`
	NewMetadata map[string]any `json:"new_metadata,omitzero"`
	Actor       string         `json:"actor,omitzero"`
	Reason      string         `json:"reason,omitzero"`
}

// Supersede stores a new version of a memory and returns its id.
func Supersede(ctx context.Context, db DB, userID string, id uuid.UUID, r Replacement) (uuid.UUID, error) {
	metadata, err := r.validate()
	if err != nil {
		return uuid.Nil, err
	}
	var validAt *time.Time
	if !r.ValidAt.IsZero() {
		validAt = &r.ValidAt
	}
	var created uuid.UUID
	err = db.QueryRow(ctx, `
		select oxbow.supersede(user_id => $1, id => $2, content => $3, valid_at => $4, metadata => $5,
		       reason => nullif($6::text, ''), actor => coalesce(nullif($7::text, ''), 'app'))`,
		userID, id, r.Content, validAt, metadata, r.Reason, r.Actor).Scan(&created)
	return created, Explain(err)
}

func (r *Replacement) validate() (json.RawMessage, error) {
	m := NewMemory{UserID: "checked apart", Content: r.Content, ValidAt: r.ValidAt, Metadata: r.Metadata}
	for _, t := range []struct{ field, value string }{{"reason", r.Reason}, {"actor", r.Actor}} {
		if err := text(t.field, t.value); err != nil {
			return nil, err
		}
	}
	return m.validate()
}

// Forget hides a memory from recall.
func Forget(ctx context.Context, db DB, userID string, id uuid.UUID, reason string) error {
	if err := text("reason", reason); err != nil {
		return err
	}
	_, err := db.Exec(ctx, `select oxbow.forget(user_id => $1, id => $2, reason => nullif($3::text, ''))`,
		userID, id, strings.TrimSpace(reason))
	return Explain(err)
}

// Restore takes a Forget back.
func Restore(ctx context.Context, db DB, userID string, id uuid.UUID) error {
	_, err := db.Exec(ctx, `select oxbow.restore(user_id => $1, id => $2)`, userID, id)
	return Explain(err)
}

// History returns what happened to a memory and to all its versions, in order; nothing if there is no such memory.
func History(ctx context.Context, db DB, userID string, id uuid.UUID) ([]Change, error) {
	rows, err := db.Query(ctx, `
		select at, event, memory_id, memory_type, version, coalesce(old_content, ''), coalesce(new_content, ''), old_metadata,
		       new_metadata, coalesce(actor, ''), coalesce(reason, '')
		from oxbow.history(user_id => $1, id => $2)`, userID, id)
	if err != nil {
		return nil, Explain(err)
	}
	changes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Change])
	return changes, Explain(err)
}
