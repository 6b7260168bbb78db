package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pgvector/pgvector-go"
)

// EmbeddingModel identifies the model that computes vectors, or that computed those of a database. The prefixes belong to
// the model, because vectors of texts with different prefixes cannot be compared.
type EmbeddingModel struct {
	Model         string `json:"model"`
	Dimension     int    `json:"dimension"`
	QueryPrefix   string `json:"query_prefix,omitempty"`   // precedes the text of a question
	PassagePrefix string `json:"passage_prefix,omitempty"` // precedes the text of a memory
}

func (m EmbeddingModel) String() string {
	s := fmt.Sprintf("%s with %d dimensions", m.Model, m.Dimension)
	if m.QueryPrefix != "" || m.PassagePrefix != "" {
		s += fmt.Sprintf(" and the prefixes %q and %q", m.QueryPrefix, m.PassagePrefix)
	}
	return s
}

// setting returns the model as the settings record it.
func (m EmbeddingModel) setting() string {
	raw, _ := json.Marshal(m) // strings and a number
	return string(raw)
}

// ModelOf returns the model of an embedder.
func ModelOf(e interface {
	Model() string
	Dimension() int
}) EmbeddingModel {
	m := EmbeddingModel{Model: e.Model(), Dimension: e.Dimension()}
	if p, ok := e.(interface {
		Prefixes() (query, passage string)
	}); ok {
		m.QueryPrefix, m.PassagePrefix = p.Prefixes()
	}
	return m
}

// EmbeddingKey is the key of the setting that stores the model of the vectors.
const EmbeddingKey = "embedding"

// ModelMismatchError reports that the configured model differs from the model of the database, so
// that their vectors cannot be compared.
type ModelMismatchError struct {
	Database EmbeddingModel // the model of the stored vectors
	Given    EmbeddingModel // the configured model
}

func (e *ModelMismatchError) Error() string {
	return fmt.Sprintf("the database has vectors of %s, but %s is configured", e.Database, e.Given)
}

// Embeddable is a memory and the state of its embedding.
type Embeddable struct {
	MemoryRef
	Text      string // the text to embed: the content, prefixed by the speaker
	Others    string // other texts to search for secrets, not embedded
	HasTerms  bool   // the memory is searchable by its words
	HasVector bool   // the memory has a vector, or the provider refused its text
}

// Refs returns references to memories of one user.
func Refs(userID string, ids []uuid.UUID) []MemoryRef {
	refs := make([]MemoryRef, len(ids))
	for i, id := range ids {
		refs[i] = MemoryRef{userID, id}
	}
	return refs
}

// columns returns the user ids and the ids of memories.
func columns(memories []MemoryRef) (users []string, ids []uuid.UUID) {
	users, ids = make([]string, len(memories)), make([]uuid.UUID, len(memories))
	for i, m := range memories {
		users[i], ids[i] = m.UserID, m.ID
	}
	return users, ids
}

// Embeddables returns the given memories that exist and are not forgotten, ordered by user and id.
func Embeddables(ctx context.Context, db DB, memories []MemoryRef, model string) ([]Embeddable, error) {
	users, ids := columns(memories)
	type row struct {
		Embeddable
		Content, Speaker string
		Metadata         json.RawMessage
	}
	rows, err := list[row](ctx, db, "load the memories to embed",
		`select user_id, id, content, speaker, others, metadata, has_terms, has_vector from oxbow.embeddables($1, $2, $3)`,
		users, ids, model)
	found := make([]Embeddable, len(rows))
	for i, r := range rows {
		found[i] = r.Embeddable
		found[i].Text = EmbeddedText(r.Speaker, r.Content)
		found[i].Others += "\n" + Metadata(r.Metadata).Value
	}
	return found, err
}

// EmbeddedText returns the text of a memory that its vector is computed from.
func EmbeddedText(speaker, content string) string {
	if speaker == "" {
		return content
	}
	return speaker + ": " + content
}

// WriteVectors stores the vectors of memories that exist and have none, and returns the number
// stored. If the model differs from that of the database, it stores nothing and returns a
// *ModelMismatchError.
func WriteVectors(ctx context.Context, db DB, model EmbeddingModel, memories []MemoryRef,
	vectors [][]float32) (int64, error) {
	if len(memories) == 0 {
		return 0, nil
	}
	users, ids := columns(memories)
	written, err := CollectOne[int64](ctx, db, `select oxbow.write_vectors($1, $2::jsonb, $3, $4)`,
		users, model.setting(), ids, halfVectors(vectors))
	if err != nil {
		return 0, fmt.Errorf("write vectors: %w", modelMismatch(err, model))
	}
	return written, nil
}

// halfVector converts a vector for PostgreSQL. nil stays nil.
func halfVector(v []float32) any {
	if v == nil {
		return nil
	}
	return pgvector.NewHalfVector(v) // pgx takes much longer to encode a pointer
}

// halfVectors converts vectors for PostgreSQL. None may be nil: pgx takes much longer to encode a slice of pointers.
func halfVectors(vectors [][]float32) []pgvector.HalfVector {
	halves := make([]pgvector.HalfVector, len(vectors))
	for i, v := range vectors {
		halves[i] = pgvector.NewHalfVector(v)
	}
	return halves
}

// modelMismatch converts error OX001 of oxbow.write_vectors into a *ModelMismatchError.
func modelMismatch(err error, given EmbeddingModel) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != "OX001" {
		return err
	}
	mismatch := &ModelMismatchError{Given: given}
	if err := json.Unmarshal([]byte(pg.Detail), &mismatch.Database); err != nil {
		return err
	}
	return mismatch
}

// IsDataError reports whether PostgreSQL rejected a value itself, so that retrying with it is
// useless. It matches SQLSTATE classes 22 (data exception) and 54 (program limit exceeded).
func IsDataError(err error) bool {
	return strings.HasPrefix(code(err), "22") || strings.HasPrefix(code(err), "54")
}

// RefuseVector records that the model's provider refuses the text of the memory, so that it is not sent again. The
// reason may quote that text.
func RefuseVector(ctx context.Context, db DB, model string, m MemoryRef, reason string) error {
	_, err := run(ctx, db, "record a refused text",
		`select oxbow.refuse_vectors(array[$1], $2, array[$3::uuid], $4)`, m.UserID, model, m.ID, quoted(reason))
	return err
}

// IndexMemories makes new memories searchable by their words and puts them into the reflection
// inbox, where merge passes over those that were imported. It returns the ids of the memories that were new.
func IndexMemories(ctx context.Context, db DB, memories []MemoryRef, imported ...uuid.UUID) ([]Indexed, error) {
	users, ids := columns(memories)
	return list[Indexed](ctx, db, "index memories",
		`select id, stored, upload from oxbow.index_memories($1, $2, $3)`, users, ids, append([]uuid.UUID{}, imported...))
}

// Indexed is a memory that was indexed just now.
type Indexed struct {
	ID     uuid.UUID
	Stored bool // a fact that an application stored, or an image, recording or file
	Upload bool // not text
}

// CurrentModel returns the model of the vectors in the database.
func CurrentModel(ctx context.Context, db DB) (EmbeddingModel, error) {
	var m EmbeddingModel
	err := ReadSetting(ctx, db, EmbeddingKey, &m)
	if err == nil && m.Model == "" {
		err = errors.New(`oxbow.settings has no row "embedding": the model of the vectors is unknown`)
	}
	return m, err
}

// CheckModel returns a *ModelMismatchError unless given is the model of the database.
func CheckModel(ctx context.Context, db DB, given EmbeddingModel) error {
	current, err := CurrentModel(ctx, db)
	if err != nil {
		return err
	}
	if current != given {
		return &ModelMismatchError{Database: current, Given: given}
	}
	return nil
}
