package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow/store"
)

const (
	keyLife = 10 * time.Second // for which the holder of a key is remembered
	maxKeys = 10_000           // of the remembered keys; then all are looked up again
)

// keys remembers whose the recent keys are, so that a request need not look its key up. Whether the key is still valid
// is a question to the database in each transaction; see guarded.
type keys struct {
	mu     sync.Mutex
	recent map[[sha256.Size]byte]recentKey // by the hash of the whole text
}

type recentKey struct {
	caller
	until time.Time
}

func newKeys() *keys { return &keys{recent: map[[sha256.Size]byte]recentKey{}} }

func (k *keys) find(text string) (caller, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found, ok := k.recent[sha256.Sum256([]byte(text))]
	return found.caller, ok && time.Now().Before(found.until)
}

// add remembers a key. It does not remember operators: they ask questions outside guarded transactions.
func (k *keys) add(text string, c caller) {
	if c.role == store.RoleOperator {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.recent) >= maxKeys {
		clear(k.recent)
	}
	k.recent[sha256.Sum256([]byte(text))] = recentKey{c, time.Now().Add(keyLife)}
}

// forget forgets a key that has ended.
func (k *keys) forget(id uuid.UUID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for hash, c := range k.recent {
		if c.key == id {
			delete(k.recent, hash)
		}
	}
}

// guarded is the database of requests. Each transaction, statement or batch of a request with a key fails with
// store.ErrNoKey if the key has ended, which costs no round trip. Query and QueryRow are not guarded: outside a
// transaction no user is set, so they see no user's data.
type guarded struct{ *pgxpool.Pool }

func (g guarded) BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error) {
	id := callerOf(ctx).key
	if id == uuid.Nil {
		return g.Pool.BeginTx(ctx, options)
	}
	switch {
	case options == pgx.TxOptions{}:
		options.BeginQuery = "begin"
	case options.BeginQuery == "":
		return nil, errors.ErrUnsupported
	}
	options.BeginQuery += "; select oxbow.check_api_key('" + id.String() + "')"
	return g.Pool.BeginTx(ctx, options)
}

func (g guarded) Begin(ctx context.Context) (pgx.Tx, error) { return g.BeginTx(ctx, pgx.TxOptions{}) }

func (g guarded) Exec(ctx context.Context, sql string, args ...any) (tag pgconn.CommandTag, err error) {
	if callerOf(ctx).key == uuid.Nil {
		return g.Pool.Exec(ctx, sql, args...)
	}
	batch := &pgx.Batch{}
	batch.Queue(sql, args...).Exec(func(found pgconn.CommandTag) error { tag = found; return nil })
	err = g.SendBatch(ctx, batch).Close()
	return tag, err
}

// SendBatch sends a batch whose queries have callbacks.
func (g guarded) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	if id := callerOf(ctx).key; id != uuid.Nil {
		check := &pgx.QueuedQuery{SQL: store.CheckAPIKey, Arguments: []any{id}}
		batch.QueuedQueries = append([]*pgx.QueuedQuery{check}, batch.QueuedQueries...)
	}
	return g.Pool.SendBatch(ctx, batch)
}
