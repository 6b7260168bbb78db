package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/embedding/embeddingtest"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/internal/provider"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// Sessions that begin while the database is read-only are replaced, and the worker is ready only while writes work.
func TestReadOnlyDatabase(t *testing.T) {
	b := setup(t)
	var logged atomic.Int64
	b.cfg.Logger = slog.New(slog.NewTextHandler(writer(func(line []byte) {
		logged.Add(1)
		t.Logf("%s", bytes.TrimSpace(line))
	}), &slog.HandlerOptions{Level: slog.LevelWarn}))
	b.cfg.PollInterval = 10 * time.Millisecond
	admin, err := b.pool.Acquire(t.Context()) // its session began before
	require.NoError(t, err)
	defer admin.Release()
	exec := func(sql string) {
		_, err := admin.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	alter := func(what string) {
		exec(fmt.Sprintf("alter database %s %s", pgx.Identifier{admin.Conn().Config().Database}.Sanitize(), what))
		exec(`select pg_terminate_backend(pid) from pg_stat_activity
			where datname = current_database() and application_name like 'oxbow worker%'`)
	}
	w, _, _ := b.run()
	ready := func(want bool) func() bool {
		return func() bool { return w.Health(t.Context()).Ready == want }
	}
	require.Eventually(t, ready(true), time.Minute, 10*time.Millisecond)

	alter("set default_transaction_read_only = on")
	require.Eventually(t, func() bool {
		h := w.Health(t.Context())
		return !h.Ready && strings.Contains(h.Database, "read-only transaction")
	}, time.Minute, 10*time.Millisecond)
	exec(`insert into oxbow.memories (user_id, content) values ('ann', 'I like tea')`)
	require.Never(t, ready(true), 3*time.Second, 10*time.Millisecond)
	lines := logged.Load()
	require.Less(t, lines, int64(200), "errors that repeat are not logged each time")

	// The sessions that began meanwhile stay read-only.
	exec(fmt.Sprintf("alter database %s reset default_transaction_read_only",
		pgx.Identifier{admin.Conn().Config().Database}.Sanitize()))
	require.Eventually(t, ready(true), time.Minute, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		var n int
		require.NoError(t, admin.QueryRow(t.Context(), `select count(*) from oxbow.memory_vectors`).Scan(&n))
		return n == 1
	}, time.Minute, 10*time.Millisecond)
}

// writer is an io.Writer.
type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

// A write counts for 10 seconds, and failed ones are tried again.
func TestReadyWhileWritesWork(t *testing.T) {
	b := setup(t)
	w := b.worker()
	require.NoError(t, w.checkWrites(t.Context()))
	lock, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = lock.Exec(t.Context(), `select from oxbow.settings where key = $1 for update`, writeKey)
	require.NoError(t, err)
	again := func(ago time.Duration) error {
		w.writes.tried, w.writes.worked = time.Time{}, time.Now().Add(-ago)
		return w.checkWrites(t.Context())
	}
	require.NoError(t, again(0), "a write worked a moment ago")
	require.ErrorIs(t, again(writeLife), context.DeadlineExceeded)
	tried := w.writes.tried
	require.Error(t, w.checkWrites(t.Context()))
	require.Equal(t, tried, w.writes.tried, "checks share a write")
	require.NoError(t, lock.Rollback(t.Context()))
	require.NoError(t, again(writeLife))
}

// A provider that asks for a day is asked again after 10 minutes, or by the next worker.
func TestPauseEnds(t *testing.T) {
	b := setup(t)
	server := b.remote()
	server.Always(embeddingtest.TooManyRequests(24 * time.Hour))
	ids := b.insert("ann", "I like tea")
	require.ErrorAs(t, b.drain(), new(*UnfinishedError))
	pauses, err := store.Pauses(t.Context(), b.pool)
	require.NoError(t, err)
	require.Len(t, pauses, 1)
	p := pauses[0]
	require.Equal(t, "embedding", p.Provider)
	require.WithinDuration(t, time.Now(), p.Since, time.Minute)
	require.Equal(t, provider.MaxRetryAfter, p.Until.Sub(p.Since).Round(time.Minute))
	require.Contains(t, p.Error, "rate limit reached")
	require.Less(t, b.job("embed").Wait, (provider.MaxRetryAfter + 2*time.Minute).Seconds())

	server.Always(embeddingtest.Fault{})
	b.run()
	b.eventually(`select exists (select from oxbow.memory_vectors where memory_id = $1)`, ids[0])
	pauses, err = store.Pauses(t.Context(), b.pool)
	require.NoError(t, err)
	require.Empty(t, pauses)
}

// A provider that works again ends its pause.
func TestPauseIsForgotten(t *testing.T) {
	b := setup(t)
	w := b.worker()
	p := w.newProvider(reasonerProvider)
	p.Changed(t.Context(), statusOf(errors.New("overloaded")))
	pauses, err := store.Pauses(t.Context(), b.pool)
	require.NoError(t, err)
	require.Len(t, pauses, 1)
	require.Equal(t, "overloaded", pauses[0].Error)
	p.Changed(t.Context(), statusOf(nil))
	pauses, err = store.Pauses(t.Context(), b.pool)
	require.NoError(t, err)
	require.Empty(t, pauses)
}

// Behind a pooler in transaction mode a worker says that it polls; in session mode it is notified.
func TestNotificationsBehindPgBouncer(t *testing.T) {
	for mode, hears := range map[string]bool{"transaction": false, "session": true} {
		t.Run(mode, func(t *testing.T) {
			b := setup(t)
			b.cfg.DatabaseURL = pgtest.Pooled(t, b.dsn, mode)
			if !strings.Contains(b.cfg.DatabaseURL, "exec_mode") {
				b.cfg.DatabaseURL += "&default_query_exec_mode=exec"
			}
			polls := b.logged("so the worker polls: start it with --poll-only")
			w, stop, ended := b.run()
			require.Eventually(t, w.started.Load, 5*time.Minute, time.Millisecond)
			if !hears {
				<-polls
			}
			require.Equal(t, !hears, w.cfg.PollOnly)
			ids := b.insert("ann", "I like tea")
			b.eventually(`select exists (select from oxbow.memory_vectors where memory_id = $1)`, ids[0])
			stop()
			require.NoError(t, end(t, ended))
		})
	}
}

func TestCalmLog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	h := calmLog{slog.NewTextHandler(&out, nil), &repeated{}}
	at := time.Now()
	log := func(level slog.Level, message, text string) {
		r := slog.NewRecord(at, level, message, 0)
		r.AddAttrs(slog.String("err", text))
		require.NoError(t, h.WithAttrs(nil).Handle(t.Context(), r))
	}
	for i := range 100 {
		log(slog.LevelError, "cannot fetch", fmt.Sprintf("job 0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c%d of port %d", i%10, i))
		log(slog.LevelInfo, "working", "")
	}
	require.Equal(t, calmAfter, strings.Count(out.String(), "cannot fetch"))
	require.Equal(t, 100, strings.Count(out.String(), "working"))
	log(slog.LevelError, "cannot fetch", "another reason")
	require.Contains(t, out.String(), "another reason")
	at = at.Add(2 * calmPeriod)
	log(slog.LevelError, "cannot fetch", "job 7 of port 1")
	require.Contains(t, out.String(), fmt.Sprintf("left_out=%d", 100-calmAfter))
	for i := range 3 * calmTexts {
		log(slog.LevelWarn, strings.Repeat("x", i), "")
	}
	require.LessOrEqual(t, len(h.counts), calmTexts)
}

func statusOf(err error) (s jobs.ProviderStatus) {
	if err != nil {
		s = jobs.ProviderStatus{Failures: 1, Err: err, Since: time.Now(), RetryAt: time.Now().Add(time.Minute)}
	}
	return s
}
