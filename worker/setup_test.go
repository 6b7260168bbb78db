package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/embedding/embeddingtest"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/store"
)

// bundle is a test's own database, with the configuration of its workers, which have a login of oxbow_worker. dsn and pool
// are the owner's.
type bundle struct {
	*testing.T
	dsn  string
	pool *pgxpool.Pool
	cfg  Config
}

func setup(t *testing.T) *bundle {
	t.Helper()
	t.Parallel()
	dsn := pgtest.Database(t)
	cfg, err := pgxpool.ParseConfig(dsn)
	require.NoError(t, err)
	return &bundle{T: t, dsn: dsn, pool: pgtest.PoolOf(t, cfg), cfg: Config{
		DatabaseURL: pgtest.As(t, dsn, "worker"), Concurrency: 2, Logger: slog.New(slog.NewTextHandler(testWriter{t}, nil)),
		fast: true, lastWait: time.Minute,
	}}
}

// testWriter writes a log to the output of a test.
type testWriter struct{ testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.Logf("%s", strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}

// logged returns a channel that is closed once the workers log a line with all the texts.
func (b *bundle) logged(texts ...string) <-chan struct{} {
	found := make(chan struct{})
	w := &logWatcher{testWriter{b.T}, texts, sync.OnceFunc(func() { close(found) })}
	b.cfg.Logger = slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.cfg.riverLevel = slog.LevelDebug
	return found
}

type logWatcher struct {
	testWriter
	texts []string
	found func()
}

func (w *logWatcher) Write(line []byte) (int, error) {
	if !slices.ContainsFunc(w.texts, func(text string) bool { return !bytes.Contains(line, []byte(text)) }) {
		w.found()
	}
	return w.testWriter.Write(line)
}

// remote configures a remote provider with the database's dimension, served by a test server.
func (b *bundle) remote() *embeddingtest.Server {
	b.Helper()
	server := embeddingtest.New(b.T, 1024)
	b.cfg.Embedding = EmbeddingConfig{Provider: "openai", Model: "m", Dimension: 1024, URL: server.OpenAIURL(),
		Timeout: time.Minute}
	b.exec(`update oxbow.settings set value = '{"model": "openai:m", "dimension": 1024}' where key = 'embedding'`)
	return server
}

func (b *bundle) exec(sql string, args ...any) {
	b.Helper()
	_, err := b.pool.Exec(b.Context(), sql, args...)
	require.NoError(b, err)
}

// get returns the value of a query with one row and one column.
func get[T any](b *bundle, sql string, args ...any) T {
	b.Helper()
	var value T
	require.NoError(b, b.pool.QueryRow(b.Context(), sql, args...).Scan(&value), sql)
	return value
}

func (b *bundle) count(sql string, args ...any) int {
	b.Helper()
	return get[int](b, "select count(*) from "+sql, args...)
}

// insert adds episodic memories in one statement and returns their ids.
func (b *bundle) insert(user string, contents ...string) []uuid.UUID {
	b.Helper()
	ids := make([]uuid.UUID, len(contents))
	for i := range ids {
		ids[i] = uuid.New()
	}
	b.exec(`insert into oxbow.memories (user_id, memory_type, id, content) select $1, 'episodic', *
		from unnest($2::uuid[], $3::text[])`,
		user, ids, contents)
	return ids
}

// numbered returns n distinct texts.
func numbered(n int, what string) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("%s number %d", what, i)
	}
	return texts
}

func (b *bundle) worker() *Worker {
	b.Helper()
	w, err := New(b.Context(), b.cfg)
	require.NoError(b, err)
	b.Cleanup(w.Close)
	return w
}

// drain runs all due jobs with a new worker.
func (b *bundle) drain() error {
	b.Helper()
	w, err := New(b.Context(), b.cfg)
	require.NoError(b, err)
	defer w.Close()
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
	defer cancel()
	return w.RunUntilIdle(ctx, nil)
}

// hurry makes postponed jobs due.
func (b *bundle) hurry() {
	b.Helper()
	b.exec(`update oxbow.river_job set state = 'available', scheduled_at = now()
		where state in ('scheduled', 'retryable', 'available')`)
}

const maxRounds = 30

// persist runs all jobs, and failed ones again until none fails.
func (b *bundle) persist() {
	b.Helper()
	for range maxRounds {
		if b.drain() == nil {
			return
		}
		b.hurry()
	}
	b.Fatalf("jobs still fail after %d rounds", maxRounds)
}

// work runs all jobs, including postponed ones.
func (b *bundle) work() {
	b.Helper()
	b.hurry()
	require.NoError(b, b.drain())
}

// embedded returns how many of the memories have terms, and how many have a vector.
func (b *bundle) embedded(ids []uuid.UUID) (terms, vectors int) {
	b.Helper()
	return b.count(`oxbow.memory_terms where memory_id = any($1)`, ids),
		b.count(`oxbow.memory_vectors where memory_id = any($1)`, ids)
}

type job struct {
	ID          int64
	State       string
	Attempt     int
	Wait        float64 // seconds until it is due
	Pause       float64 // seconds from its last attempt until it is due; 0 if it was not attempted
	LastError   string
	MaxAttempts int
}

// job returns the only job of a kind.
func (b *bundle) job(kind string) job {
	b.Helper()
	var j job
	require.Equal(b, 1, b.count(`oxbow.river_job where kind = $1`, kind), "jobs of kind %s", kind)
	var last *string
	require.NoError(b, b.pool.QueryRow(b.Context(), `
		select id, state::text, attempt, extract(epoch from scheduled_at - now())::float8,
		       coalesce(extract(epoch from scheduled_at - attempted_at), 0)::float8,
		       errors[cardinality(errors)] ->> 'error'
		  from oxbow.river_job where kind = $1`, kind).Scan(&j.ID, &j.State, &j.Attempt, &j.Wait, &j.Pause, &last))
	if last != nil {
		j.LastError = *last
	}
	return j
}

func (b *bundle) setModel(m store.EmbeddingModel) {
	b.Helper()
	value, err := json.Marshal(m)
	require.NoError(b, err)
	b.exec(`update oxbow.settings set value = $1 where key = 'embedding'`, string(value))
}

func halfvec(v []float32) string {
	text, _ := json.Marshal(v) // numbers always encode
	return string(text)
}

// logRecords collects log records without their attributes.
type logRecords struct{ lines []string }

func (l *logRecords) logger() *slog.Logger { return slog.New(l) }

func (l *logRecords) Enabled(context.Context, slog.Level) bool { return true }
func (l *logRecords) Handle(_ context.Context, r slog.Record) error {
	l.lines = append(l.lines, r.Level.String()+" "+r.Message)
	return nil
}
func (l *logRecords) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l *logRecords) WithGroup(string) slog.Handler      { return l }
