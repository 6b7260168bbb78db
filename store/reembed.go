package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// ReembedKey is the key of the setting that stores a Reembedding.
const ReembedKey = "reembed"

// Reembedding is the state of a model change as stored in the settings.
type Reembedding struct {
	EmbeddingModel
	Cursor *walkKey `json:"cursor,omitempty"` // the last memory processed; nil: none
}

// Unreembedded is a memory without a vector of the new model.
type Unreembedded struct {
	UserID string
	Type   MemoryType
	ID     uuid.UUID
	Text   string // the text to embed
}

// BeginReembed creates the table for the new vectors. If the table already exists, it resumes with
// it and returns true. It waits at most lockTimeout for a lock. The caller may retry.
func BeginReembed(ctx context.Context, db DB, model EmbeddingModel,
	lockTimeout time.Duration) (resumed bool, err error) {
	return oneLocked[bool](ctx, db, lockTimeout, "prepare the table of new vectors",
		`select oxbow.reembed_begin($1::jsonb)`, model.setting())
}

// oneLocked is one in a transaction that waits at most lockTimeout for a lock.
func oneLocked[T any](ctx context.Context, db DB, lockTimeout time.Duration, what, sql string,
	args ...any) (value T, err error) {
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		err := LimitLocks(ctx, tx, lockTimeout)
		if err == nil {
			value, err = one[T](ctx, tx, what, sql, args...)
		}
		return err
	})
	return value, err
}

// ReembedPage reads the next memories after the stored place, at most limit. It returns the
// memories without a new vector, the number of memories read (0 at the end), and the next state to
// store.
func ReembedPage(ctx context.Context, db DB, model EmbeddingModel,
	limit int) (todo []Unreembedded, looked int, next Reembedding, err error) {
	if err := ReadSetting(ctx, db, ReembedKey, &next); err != nil {
		return nil, 0, next, err
	}
	var from walkKey
	if next.Cursor != nil {
		from = *next.Cursor
	}
	next.EmbeddingModel = model
	type row struct {
		Looked           int
		LastUserID       string
		LastMemoryType   MemoryType
		LastID           uuid.UUID
		UserID           string
		MemoryType       MemoryType
		ID               uuid.UUID
		Content, Speaker string
	}
	rows, err := list[row](ctx, db, "look for memories without a new vector",
		`select * from oxbow.reembed_page($1, $2, $3, $4, $5)`, model.Model, from.UserID, from.Type, from.ID, limit)
	for _, r := range rows {
		looked, next.Cursor = r.Looked, &walkKey{r.LastUserID, r.LastMemoryType, r.LastID}
		if r.ID != uuid.Nil {
			todo = append(todo, Unreembedded{r.UserID, r.MemoryType, r.ID, EmbeddedText(r.Speaker, r.Content)})
		}
	}
	return todo, looked, next, err
}

// WriteReembedded stores the new vectors of memories that still exist.
func WriteReembedded(ctx context.Context, tx DB, memories []Unreembedded, vectors [][]float32) error {
	users, types, ids := make([]string, len(memories)), make([]string, len(memories)), make([]uuid.UUID, len(memories))
	for i, m := range memories {
		users[i], types[i], ids[i] = m.UserID, string(m.Type), m.ID
	}
	_, err := run(ctx, tx, "write new vectors", `select oxbow.reembed_write($1, $2, $3, $4)`, users, types, ids,
		halfVectors(vectors))
	return err
}

// FinishReembed replaces the old vectors with the new ones. It enqueues jobs for memories created
// since the given time that have no new vector, and returns their number. It locks out all other
// users of the memories and waits at most lockTimeout for the lock. The caller may retry.
func FinishReembed(ctx context.Context, db DB, model EmbeddingModel, since time.Time,
	lockTimeout time.Duration) (missing int64, err error) {
	return oneLocked[int64](ctx, db, lockTimeout, "exchange the vectors",
		`select oxbow.reembed_finish($1::jsonb, $2)`, model.setting(), since)
}
