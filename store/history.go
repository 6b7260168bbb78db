package store

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Replacement is the new version of a memory. A zero value means "not given".
type Replacement struct {
	// Content is the new text. Required.
	Content string
	// ValidAt is the time the new version became true and the old one ended. Default: now. If it
	// equals the ValidAt of the old version, the old version was never true.
	ValidAt time.Time
	// Metadata replaces the metadata of the old version; see NewMemory.Metadata. Default: the old
	// metadata.
	Metadata any
	// Reason and Actor are recorded in the history. Default of Actor: "app".
	Reason, Actor string
}

// Change is an entry in the history of a memory.
type Change struct {
	At time.Time `json:"at"`
	// Event is ADD, UPDATE, SUPERSEDE, DELETE (forgotten or ended), RESTORE, NOOP (mentioned
	// again), BOOST (used), EXPIRE, COMPRESS, PROMOTE (kept, or of a higher tier), KEEP (a review), DEMOTE, VERIFY,
	// MARK (contains a secret), UNMERGE (current again) or STAGE_CHANGE.
	Event    string     `json:"event"`
	MemoryID uuid.UUID  `json:"memory_id"`
	Type     MemoryType `json:"memory_type"`
	Version  int        `json:"version"` // of that memory
	// Content and metadata before and after the event, if it changed them.
	OldContent  string         `json:"old_content,omitzero"`
	NewContent  string         `json:"new_content,omitzero"`
	OldMetadata map[string]any `json:"old_metadata,omitzero"`
	NewMetadata map[string]any `json:"new_metadata,omitzero"`
	Actor       string         `json:"actor,omitzero"`
	Reason      string         `json:"reason,omitzero"`
	// Messages are the messages that the change is based on, in order. Erased messages are missing.
	Messages []Message `json:"messages,omitzero"`
}

// Message is a stored message of a conversation.
type Message struct {
	ID        uuid.UUID `json:"id"`
	SessionID string    `json:"session_id"`
	Role      string    `json:"role"` // user, assistant, system, tool
	Speaker   string    `json:"speaker,omitzero"`
	Content   string    `json:"content"` // in a Change, at most the first 6,000 characters
	At        time.Time `json:"at"`
	// Metadata is what the application stored with the message. It is nil in a Change.
	Metadata map[string]any `json:"metadata,omitempty"`
	// ExtractedAt is when memories were extracted from it, or when that was decided against. It is zero in a Change.
	ExtractedAt time.Time `json:"extracted_at,omitzero"`

	Sensitivity int    `json:"sensitivity,omitzero"` // 0 to 3; Content is "[sealed]" at 3 until a Sealer opens it
	SealedKey   string `json:"sealed_key,omitzero"`  // the id of the key that opens it
	sealed      []byte
}

// Supersede stores a new version of a memory and returns its id.
func Supersede(ctx context.Context, db DB, userID string, id uuid.UUID, r Replacement) (uuid.UUID, error) {
	metadata, err := r.validate()
	if err != nil {
		return uuid.Nil, err
	}
	err = Admit(ctx, db, Field{"content", r.Content}, Metadata(metadata), Field{"reason", r.Reason})
	if err != nil {
		return uuid.Nil, err
	}
	return CollectOne[uuid.UUID](ctx, db, `
		select oxbow.supersede(user_id => $1, id => $2, content => $3, valid_at => $4, metadata => $5,
		       reason => nullif($6::text, ''), actor => coalesce(nullif($7::text, ''), 'app'))`,
		userID, id, r.Content, pointer(r.ValidAt), metadata, r.Reason, r.Actor)
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

// Restorable is how long a forgotten memory can be restored. Then it is erased.
const Restorable = 30 * 24 * time.Hour

// Forget hides a memory from recall. Its actor and those of Restore and Verify are recorded in the history; "" is "app".
func Forget(ctx context.Context, db DB, userID string, id uuid.UUID, reason, actor string) error {
	if err := Admit(ctx, db, Field{"reason", reason}, Field{"actor", actor}); err != nil {
		return err
	}
	_, err := Exec(ctx, db, `
		select oxbow.forget(user_id => $1, id => $2, reason => nullif($3::text, ''), actor => nullif($4::text, ''))`,
		userID, id, strings.TrimSpace(reason), actor)
	return err
}

// Restore undoes Forget.
func Restore(ctx context.Context, db DB, userID string, id uuid.UUID, actor string) error {
	_, err := Exec(ctx, db, `select oxbow.restore(user_id => $1, id => $2, actor => nullif($3::text, ''))`, userID, id, actor)
	return err
}

// Verify records whether a person confirmed a memory.
func Verify(ctx context.Context, db DB, userID string, id uuid.UUID, verified bool, reason, actor string) error {
	if err := Admit(ctx, db, Field{"reason", reason}, Field{"actor", actor}); err != nil {
		return err
	}
	_, err := Exec(ctx, db, `
		select oxbow.verify(user_id => $1, id => $2, verified => $3, reason => nullif($4::text, ''),
		       actor => nullif($5::text, ''))`, userID, id, verified, strings.TrimSpace(reason), actor)
	return err
}

// SetTier changes the tier of a memory: normal, core or system.
func SetTier(ctx context.Context, db DB, userID string, id uuid.UUID, tier, reason string) error {
	if err := Admit(ctx, db, Field{"tier", tier}, Field{"reason", reason}); err != nil {
		return err
	}
	_, err := Exec(ctx, db, `
		select oxbow.set_tier(user_id => $1, id => $2, tier => $3, reason => nullif($4::text, ''))`,
		userID, id, tier, strings.TrimSpace(reason))
	return err
}

// History returns the changes of a memory in all its versions, in order.
func History(ctx context.Context, db DB, userID string, id uuid.UUID) ([]Change, error) {
	type row struct {
		Change
		MessageIDs []uuid.UUID
	}
	rows, err := Collect[row](ctx, db, `
		select at, event, memory_id, memory_type as type, version, old_content, new_content, old_metadata, new_metadata,
		       actor, reason, message_ids
		  from oxbow.history(user_id => $1, id => $2)`, userID, id)
	if err == nil && len(rows) == 0 {
		err = notFound(userID, id)
	}
	if err != nil {
		return nil, err
	}
	changes, sources := make([]Change, len(rows)), make([][]uuid.UUID, len(rows))
	for i, r := range rows {
		changes[i], sources[i] = r.Change, r.MessageIDs
	}
	return changes, addMessages(ctx, db, userID, changes, sources)
}

// AnySensitive reports whether one of a user's memories with the given ids has sensitivity 2 or 3.
func AnySensitive(ctx context.Context, db DB, userID string, ids ...uuid.UUID) (bool, error) {
	names := make([]string, len(ids)) // as text, which works without RegisterTypes
	for i, id := range ids {
		names[i] = id.String()
	}
	return CollectOne[bool](ctx, db, `
		select exists (select from oxbow.memories where user_id = $1 and id = any(($2::text[])::uuid[]) and sensitivity >= 2)`,
		userID, names)
}

// addMessages adds to each change the messages that it is based on.
func addMessages(ctx context.Context, db DB, userID string, changes []Change, sources [][]uuid.UUID) error {
	var ids []string // as text, which works without RegisterTypes
	for _, of := range sources {
		for _, id := range of {
			ids = append(ids, id.String())
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := Collect[messageRow](ctx, db, `
		select id, session_id, role, speaker, left(content, 6000) as content, created_at as at, sensitivity, sealed_key,
		       sealed
		  from oxbow.messages
		 where user_id = $1::text and id = any(($2::text[])::uuid[])
		 order by seq, id`, userID, ids)
	if err != nil {
		return err
	}
	for _, m := range messagesOf(rows) {
		for i := range changes {
			if slices.Contains(sources[i], m.ID) {
				changes[i].Messages = append(changes[i].Messages, m)
			}
		}
	}
	return nil
}

// Versions returns all versions of a memory, including the memory itself, ordered by the time they
// became true.
func Versions(ctx context.Context, db DB, userID string, id uuid.UUID) ([]Memory, error) {
	// A statement of its own, because the function refuses access, and row-level security would only hide the rows.
	ids, err := Collect[string](ctx, db,
		`select memory_id::text from oxbow.versions(user_id => $1, id => $2)`, userID, id)
	if err != nil {
		return nil, err
	}
	rows, err := Collect[memoryRow](ctx, db, selectMemories+`
		 where user_id = $1::text and id = any(($2::text[])::uuid[])
		 order by coalesce(valid_at, created_at), created_at, version, seq, id`, userID, ids)
	if err == nil && len(rows) == 0 {
		err = notFound(userID, id)
	}
	memories := make([]Memory, len(rows))
	for i, r := range rows {
		memories[i] = r.memory()
	}
	return memories, err
}
