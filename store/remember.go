package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// insertRows and insertBytes limit one INSERT, to bound memory use here and in the server.
const (
	insertRows  = 5000
	insertBytes = 16 << 20
)

// Batch is a set of memories ready to be inserted: validated, encoded, each with an id.
type Batch struct {
	IDs []uuid.UUID // in the order of the memories

	sealer   Sealer
	memories []NewMemory
	metadata []json.RawMessage
	parts    [][]byte // JSON arrays, one per statement
	rows     int
}

// row is the JSON form of a memory that insertMemories reads.
type row struct {
	UserID     string          `json:"user_id"`
	Type       MemoryType      `json:"memory_type"`
	ID         uuid.UUID       `json:"id"`
	Content    string          `json:"content"`
	ValidAt    time.Time       `json:"valid_at,omitzero"`
	InvalidAt  time.Time       `json:"invalid_at,omitzero"`
	ExpiresAt  time.Time       `json:"expires_at,omitzero"`
	SessionID  string          `json:"session_id,omitzero"`
	Seq        *int64          `json:"seq,omitempty"`
	Speaker    string          `json:"speaker,omitzero"`
	AgentID    string          `json:"agent_id,omitzero"`
	ExternalID string          `json:"external_id,omitzero"`
	Source     string          `json:"source,omitzero"`
	Category   Category        `json:"category,omitzero"`
	Topic      string          `json:"topic,omitzero"`
	Verified   bool            `json:"verified,omitzero"`
	Importance *float64        `json:"importance,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	N          int             `json:"n"`

	Modality    Modality `json:"modality,omitzero"`
	Reference   string   `json:"reference,omitzero"`
	Sensitivity int      `json:"sensitivity,omitzero"`
	Sealed      string   `json:"sealed,omitzero"` // in PostgreSQL's text format of bytea
	SealedKey   string   `json:"sealed_key,omitzero"`
}

// NewBatch validates all memories before any is stored and seals the secret ones. It returns an
// *InvalidError with the Index of the first invalid memory. sealer may be nil if no memory is
// secret.
func NewBatch(memories []NewMemory, sealer Sealer) (*Batch, error) {
	b := &Batch{sealer: sealer, memories: memories, IDs: make([]uuid.UUID, len(memories)),
		metadata: make([]json.RawMessage, len(memories))}
	for i := range memories {
		encoded, err := b.encode(i)
		if err != nil {
			if bad, ok := errors.AsType[*InvalidError](err); ok {
				bad.Index = i
			}
			return nil, err
		}
		b.add(encoded)
	}
	for i, part := range b.parts {
		b.parts[i] = append(part, ']')
	}
	return b, nil
}

func (b *Batch) encode(i int) ([]byte, error) {
	m := b.memories[i]
	metadata, err := m.validate()
	if err != nil {
		return nil, err
	}
	b.metadata[i] = metadata
	if m.Type == Trait {
		return nil, Invalid("memory_type", m.Type,
			"must be fact, episodic or document: only reflection creates traits")
	}
	if m.Category != "" && !slices.Contains(Categories(), m.Category) {
		return nil, Invalid("category", m.Category,
			"must be identity, stable_preference, short_preference, fact, skill or temporary")
	}
	if err := expiry(m.ExpiresAt, time.Now()); err != nil {
		return nil, err
	}
	if m.Type == "" {
		m.Type = Fact
	}
	if m.ID == uuid.Nil {
		if m.ID, err = uuid.NewV7(); err != nil { // ordered by time, so that new rows are adjacent in the index
			return nil, err
		}
	}
	b.IDs[i] = m.ID
	r := row{m.UserID, m.Type, m.ID, m.Content, m.ValidAt.UTC(), m.InvalidAt.UTC(), m.ExpiresAt.UTC(), m.SessionID,
		m.Seq, m.Speaker, m.AgentID, m.ExternalID, m.Source, m.Category, m.Topic, m.Verified,
		m.Importance, metadata, i, m.Modality, m.Reference, m.Sensitivity, "", ""}
	if m.Sensitivity == Secret {
		r.Content, r.Sealed, r.SealedKey, err = seal(b.sealer, r.Content, sealedPlace(r.UserID, r.Type, r.ID))
		if err != nil {
			return nil, err
		}
	}
	return json.Marshal(r)
}

func (b *Batch) add(encoded []byte) {
	last := len(b.parts) - 1
	if last < 0 || b.rows == insertRows || len(b.parts[last])+len(encoded) > insertBytes {
		b.parts = append(b.parts, append([]byte{'['}, encoded...))
		b.rows = 1
		return
	}
	b.parts[last] = append(append(b.parts[last], ','), encoded...)
	b.rows++
}

// Statements returns the number of statements that Insert runs. If it is more than one, only a
// transaction makes Insert atomic.
func (b *Batch) Statements() int { return len(b.parts) }

// Insert stores the memories and returns the number of new ones. A memory whose id or external id
// already exists stays unchanged.
func (b *Batch) Insert(ctx context.Context, db DB) (added int64, err error) {
	for _, part := range b.parts {
		n, err := Exec(ctx, db, insertMemories, string(part))
		if err != nil {
			return added, err
		}
		added += n
	}
	return added, nil
}

// insertMemories inserts an array of memories and skips those whose id or external id exists. It
// uses neither RETURNING nor a conflict target, so it needs only the INSERT privilege. It sets seq
// itself: the column default is in microseconds, which can repeat within a statement. Adding n
// keeps the order.
const insertMemories = `
	insert into oxbow.memories (user_id, memory_type, id, content, valid_at, invalid_at, expires_at, session_id,
	  seq, speaker, agent_id, external_id, source, category, topic, verified, importance, metadata, modality, reference,
	  sensitivity, sealed, sealed_key)
	select m.user_id, m.memory_type, m.id, m.content, m.valid_at, m.invalid_at, m.expires_at, m.session_id,
	  coalesce(m.seq, (extract(epoch from statement_timestamp()) * 1000000)::bigint + m.n), m.speaker, m.agent_id,
	  m.external_id, m.source, m.category, m.topic, coalesce(m.verified, false),
	  coalesce(m.importance, 0.5), coalesce(m.metadata, '{}'), coalesce(m.modality, 'text'), m.reference,
	  coalesce(m.sensitivity, 0), m.sealed, m.sealed_key
	from json_to_recordset(cast($1::text as json)) as m (user_id text, memory_type text, id uuid, content text,
	  valid_at timestamptz, invalid_at timestamptz, expires_at timestamptz, session_id text, seq bigint, speaker text,
	  agent_id text, external_id text, source text, category text, topic text, verified boolean,
	  importance double precision, metadata jsonb, n integer, modality text,
	  reference text, sensitivity smallint, sealed bytea, sealed_key text)
	order by m.n
	on conflict do nothing`

// Users returns the users for whom Resolve is needed: those of memories with an external id.
func (b *Batch) Users() []string {
	var users []string
	seen := map[string]bool{}
	for _, m := range b.memories {
		if m.ExternalID != "" && !seen[m.UserID] {
			seen[m.UserID] = true
			users = append(users, m.UserID)
		}
	}
	return users
}

// Resolve corrects the IDs of the user's memories that already existed under their external id. The
// role of db must be able to read the user's memories.
func (b *Batch) Resolve(ctx context.Context, db DB, userID string) error {
	type Name struct{ MemoryType, ExternalID string }
	type named struct {
		Name
		ID uuid.UUID
	}
	var names, given []string
	for i, m := range b.memories {
		if m.UserID == userID && m.ExternalID != "" {
			names, given = append(names, m.ExternalID), append(given, b.IDs[i].String())
		}
	}
	found, err := Collect[named](ctx, db, `
		select memory_type, external_id, id from oxbow.memories
		 where user_id = $1::text and external_id = any($2::text[])
		union
		select memory_type, external_id, id from oxbow.memories
		 where user_id = $1::text and id = any(($3::text[])::uuid[])`, userID, names, given)
	if err != nil {
		return err
	}
	ids, present := make(map[Name]uuid.UUID, len(found)), map[uuid.UUID]bool{}
	for _, f := range found {
		ids[f.Name], present[f.ID] = f.ID, true
	}
	for i, m := range b.memories {
		if m.UserID != userID || m.ExternalID == "" {
			continue
		}
		memoryType := m.Type
		if memoryType == "" {
			memoryType = Fact
		}
		id, ok := ids[Name{string(memoryType), m.ExternalID}]
		if !ok && present[b.IDs[i]] {
			continue // the id exists, and the memory has another external_id
		}
		if !ok {
			return fmt.Errorf("%w: the %s with external_id %q of user %q exists already, but its id cannot be read: "+
				"SET LOCAL oxbow.user_id in the transaction", ErrDenied, memoryType, m.ExternalID, userID)
		}
		b.IDs[i] = id
	}
	return nil
}

// AddMemoryV1 stores a memory with the types of version 1 and returns its id.
func AddMemoryV1(ctx context.Context, db DB, userID, content, memoryType string, metadata any) (uuid.UUID, error) {
	encoded, err := ValidateMetadata(metadata)
	if err != nil {
		return uuid.Nil, err
	}
	if err := checkTexts(userID, content); err != nil {
		return uuid.Nil, err
	}
	err = Admit(ctx, db, Field{Name: "content", Value: content}, Field{Name: "metadata", Value: string(encoded)})
	if err != nil {
		return uuid.Nil, err
	}
	return CollectOne[uuid.UUID](ctx, db, `
		select oxbow.add_memory(user_id => $1, content => $2, memory_type => coalesce(nullif($3::text, ''), 'general'),
		       metadata => $4::jsonb)`, userID, content, memoryType, encoded)
}
