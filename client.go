package oxbow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/trace"

	"github.com/oxbow-memory/oxbow/store"
)

// DB is the database of a Client, usually a *pgxpool.Pool. It must be safe for concurrent use if several goroutines use
// the client, or if the client reports uses (see WithoutUseReports).
type DB interface {
	store.DB
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// Client stores and recalls memories. It is safe for concurrent use if its DB is. Call Close when done.
type Client struct {
	db        DB
	tx        pgx.Tx // nil unless set by WithTx
	embedder  Embedder
	timeout   time.Duration
	pause     *pause     // of the embedder; shared with copies
	reranking *reranking // nil: none
	log       *slog.Logger
	checked   *atomic.Bool // whether the schema was checked; shared with the copies that WithTx makes
	sealer    Sealer       // nil: memories and messages of sensitivity 3 cannot be stored or read
	uses      *uses        // nil: uses are not reported
	tracer    trace.Tracer // nil: use the provider of the span in the call's context
}

// Option configures a Client.
type Option func(*Client) error

// WithEmbedder sets the embedder of queries. Default: LocalEmbedder.
func WithEmbedder(e Embedder) Option {
	return func(c *Client) error {
		if e == nil {
			return errors.New("oxbow: WithEmbedder: the embedder is nil")
		}
		c.embedder = e
		return nil
	}
}

// WithEmbedTimeout limits how long Recall waits for the embedder before it searches by words alone. Default: 5 seconds.
// After three timeouts in a row, the embedder is asked only every 30 seconds until it is in time again.
func WithEmbedTimeout(d time.Duration) Option {
	return func(c *Client) error {
		if d <= 0 {
			return fmt.Errorf("oxbow: WithEmbedTimeout: %s is not positive", d)
		}
		c.timeout = d
		return nil
	}
}

// WithLogger sets the logger of background failures. Default: slog.Default().
func WithLogger(l *slog.Logger) Option {
	return func(c *Client) error {
		if l == nil {
			return errors.New("oxbow: WithLogger: the logger is nil")
		}
		c.log = l
		return nil
	}
}

// WithoutUseReports disables the background reports of recalled and used memories. Use it with a read-only
// database, in a benchmark, or with a DB that is not safe for concurrent use.
func WithoutUseReports() Option {
	return func(c *Client) error {
		c.uses = nil
		return nil
	}
}

// WithTracerProvider sets the provider that records the spans of calls. Default: the provider of the span
// in the context of the call; calls without one are not recorded. The worker continues the trace of a call
// in the jobs that the call enqueues.
func WithTracerProvider(p trace.TracerProvider) Option {
	return func(c *Client) error {
		if p == nil {
			return errors.New("oxbow: WithTracerProvider: the provider is nil")
		}
		c.tracer = p.Tracer(tracerName)
		return nil
	}
}

// New returns a client of the migrated database db. It does not connect. The first method call connects and
// checks that the schema fits this program.
func New(db DB, options ...Option) (*Client, error) {
	if db == nil {
		return nil, errors.New("oxbow: New: the database is nil")
	}
	c := &Client{
		db:       db,
		embedder: LocalEmbedder(),
		timeout:  5 * time.Second,
		log:      slog.Default(),
		checked:  &atomic.Bool{},
		pause:    &pause{},
		uses:     newUses(),
	}
	for _, option := range options {
		if err := option(c); err != nil {
			return nil, err
		}
	}
	if c.uses != nil {
		c.uses.send = c.sendUses
	}
	return c, nil
}

// WithTx returns a client whose methods run on tx: their changes commit or roll back with it. Only one
// goroutine at a time may use it. It does not set oxbow.user_id: with row-level security, the caller must.
// It needs no Close; only the client that New made does.
func (c *Client) WithTx(tx pgx.Tx) *Client {
	bound := *c
	bound.tx = tx
	return &bound
}

// Close sends the waiting reports of uses and ends the background work. ctx limits how long it takes. A
// second call does nothing. The database stays open.
func (c *Client) Close(ctx context.Context) error {
	if c.uses == nil {
		return nil
	}
	return c.uses.close(ctx)
}

// InTx runs f in the transaction that the client is bound to. Without one, it runs f in a new transaction
// and commits unless f returns an error. A new transaction sets oxbow.user_id to the user, for row-level
// security, unless the connection already set it. Use InTx for your own statements, and in packages that
// extend the client.
func (c *Client) InTx(ctx context.Context, userID string, f func(tx pgx.Tx) error) error {
	return c.on(ctx, userID, func(tx pgx.Tx) error {
		if err := c.nameTrace(ctx); err != nil {
			return err
		}
		return f(tx)
	})
}

// on is InTx without naming the trace, for methods that store nothing.
func (c *Client) on(ctx context.Context, userID string, f func(pgx.Tx) error) error {
	if err := store.ValidateUserID(userID); err != nil {
		return err
	}
	if err := c.check(ctx); err != nil {
		return err
	}
	if c.tx != nil {
		return f(c.tx)
	}
	return c.inTx(ctx, beginAs(userID, traceparent(ctx)), f)
}

// reading calls f with a database on which each batch runs as one transaction of the user, in one round trip.
func (c *Client) reading(ctx context.Context, userID string, f func(store.DB) error) error {
	if c.tx != nil {
		return c.on(ctx, userID, func(tx pgx.Tx) error { return f(tx) })
	}
	if err := store.ValidateUserID(userID); err != nil {
		return err
	}
	if err := c.check(ctx); err != nil {
		return err
	}
	err := f(batchesAs{c.db, userID})
	if errors.Is(err, store.ErrUnreachable) { // perhaps the connection broke; reading again does no harm
		err = f(batchesAs{c.db, userID})
	}
	return err
}

// batchesAs sets oxbow.user_id in each batch, as begin does in a transaction. The queries of a batch must have
// callbacks, because their results are not the first.
type batchesAs struct {
	DB
	userID string
}

func (b batchesAs) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	batch.QueuedQueries = slices.Insert(batch.QueuedQueries, 0, &pgx.QueuedQuery{
		SQL:       "select set_config('oxbow.user_id', $1, true) where coalesce(current_setting('oxbow.user_id', true), '') = ''",
		Arguments: []any{b.userID}})
	return b.DB.SendBatch(ctx, batch)
}

// inUser is on for a function with a result.
func inUser[T any](ctx context.Context, c *Client, userID string, f func(pgx.Tx) (T, error)) (result T, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		result, err = f(tx)
		return err
	})
	return result, err
}

func (c *Client) inTx(ctx context.Context, options pgx.TxOptions, f func(pgx.Tx) error) error {
	tx, err := c.db.BeginTx(ctx, options)
	if errors.Is(store.Explain(err), store.ErrUnreachable) { // perhaps the connection broke; nothing has been done yet
		tx, err = c.db.BeginTx(ctx, options)
	}
	if err != nil {
		return store.Explain(err)
	}
	//nolint:errcheck // a no-op after the commit; the first error is returned
	defer tx.Rollback(context.WithoutCancel(ctx))
	if err := f(tx); err != nil {
		return err
	}
	return store.Explain(tx.Commit(ctx))
}

// beginAs begins a transaction and sets oxbow.user_id in one round trip. A user that the connection already
// set is kept, so that one user's connection cannot act for another.
func beginAs(userID, traceparent string) pgx.TxOptions {
	return begin("begin", userID, traceparent)
}

func begin(how, userID, traceparent string) pgx.TxOptions {
	query := how + "; select set_config('oxbow.user_id', " + literal(userID) +
		", true) where coalesce(current_setting('oxbow.user_id', true), '') = ''"
	if traceparent != "" {
		query += "; " + setTrace(traceparent)
	}
	return pgx.TxOptions{BeginQuery: query}
}

// literal quotes a string for SQL, independently of standard_conforming_strings.
func literal(s string) string {
	return ` E'` + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + `'`
}

// check checks the schema before the client's first statement.
func (c *Client) check(ctx context.Context) error {
	if c.checked.Load() {
		return nil
	}
	if err := store.CheckSchema(ctx, c.conn()); err != nil {
		return err
	}
	c.checked.Store(true)
	return nil
}

// conn returns what single statements run on.
func (c *Client) conn() store.DB {
	if c.tx != nil {
		return c.tx
	}
	return c.db
}
