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
	keyLife = 10 * time.Second // for which requests need not look a key up again
	maxKeys = 10_000           // of the remembered keys; then all are looked up again
)

// keys remembers the holders of recent keys, or of sessions of the pages. So a request need not look its key up each
// time, and an address that sends invalid keys does not block those that were valid. The database checks in each
// transaction whether a key is still valid; see guarded.
type keys struct {
	mu     sync.Mutex
	recent map[[sha256.Size]byte]recentKey // by the hash of the whole text
}

type recentKey struct {
	caller
	at time.Time // when it was found to be valid
}

// fresh reports whether a request need not look a key up. Operators' keys are looked up each time, because operators
// also run queries outside guarded transactions.
func (k recentKey) fresh() bool { return k.role != store.RoleOperator && time.Since(k.at) < keyLife }

func newKeys() *keys { return &keys{recent: map[[sha256.Size]byte]recentKey{}} }

func (k *keys) find(text string) (recentKey, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found, ok := k.recent[sha256.Sum256([]byte(text))]
	return found, ok
}

func (k *keys) add(text string, c caller) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.recent) >= maxKeys {
		clear(k.recent)
	}
	k.recent[sha256.Sum256([]byte(text))] = recentKey{c, time.Now()}
}

// remove forgets a credential that is not valid any more.
func (k *keys) remove(text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.recent, sha256.Sum256([]byte(text)))
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

// guarded is the database as requests use it. A caller has at most its share of the connections. Each transaction,
// statement or batch of a request with a key fails with store.ErrNoKey if the key has ended, which costs no round
// trip. Query and QueryRow are not guarded: outside a transaction no user is set, so they see no user's data.
type guarded struct{ *pgxpool.Pool }

func (g guarded) BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error) {
	c := callerOf(ctx)
	switch {
	case c.key == uuid.Nil:
	case options == pgx.TxOptions{}:
		options.BeginQuery = "begin"
	case options.BeginQuery == "":
		return nil, errors.ErrUnsupported
	}
	if c.key != uuid.Nil {
		options.BeginQuery += "; select oxbow.check_api_key('" + c.key.String() + "')"
	}
	done, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := g.Pool.BeginTx(ctx, options)
	if err != nil {
		done()
		return nil, err
	}
	return sharedTx{tx, c.timed(done)}, nil
}

// connect waits until the caller may use time and a connection.
func (c caller) connect(ctx context.Context) (done func(), err error) {
	if err := c.spending.begin(ctx); err != nil {
		return nil, err
	}
	return c.share.connect(ctx)
}

// timed returns done, which also counts the time until it is called.
func (c caller) timed(done func()) func() {
	begun := time.Now()
	return sync.OnceFunc(func() { c.spending.used(time.Since(begun)); done() })
}

// sharedTx gives its connection back to the caller's share.
type sharedTx struct {
	pgx.Tx
	done func()
}

// Commit commits.
func (t sharedTx) Commit(ctx context.Context) error {
	defer t.done()
	return t.Tx.Commit(ctx)
}

// Rollback rolls back.
func (t sharedTx) Rollback(ctx context.Context) error {
	defer t.done()
	return t.Tx.Rollback(ctx)
}

func (g guarded) Begin(ctx context.Context) (pgx.Tx, error) { return g.BeginTx(ctx, pgx.TxOptions{}) }

func (g guarded) Exec(ctx context.Context, sql string, args ...any) (tag pgconn.CommandTag, err error) {
	batch := &pgx.Batch{}
	batch.Queue(sql, args...).Exec(func(found pgconn.CommandTag) error { tag = found; return nil })
	err = g.SendBatch(ctx, batch).Close()
	return tag, err
}

// SendBatch sends a batch whose queries have callbacks.
func (g guarded) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	c := callerOf(ctx)
	if c.key != uuid.Nil {
		check := &pgx.QueuedQuery{SQL: store.CheckAPIKey, Arguments: []any{c.key}}
		batch.QueuedQueries = append([]*pgx.QueuedQuery{check}, batch.QueuedQueries...)
	}
	done, err := c.connect(ctx)
	if err != nil {
		return refusedBatch{err: err}
	}
	conn, err := g.Pool.Acquire(ctx)
	if err != nil {
		done()
		return refusedBatch{err: err}
	}
	return sharedBatch{conn.SendBatch(ctx, batch), c.timed(func() { conn.Release(); done() })}
}

// sharedBatch gives its connection back to the caller's share.
type sharedBatch struct {
	pgx.BatchResults
	done func()
}

// Close reads the results.
func (b sharedBatch) Close() error {
	defer b.done()
	return b.BatchResults.Close()
}

// refusedBatch is a batch that was not sent.
type refusedBatch struct {
	pgx.BatchResults
	err error
}

// Close returns the error.
func (b refusedBatch) Close() error { return b.err }
