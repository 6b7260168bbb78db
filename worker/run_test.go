package worker

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/embedding/embeddingtest"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/store"
)

// run starts a worker. It returns a function that stops it, and a channel with the result of Run.
func (b *bundle) run() (w *Worker, stop context.CancelFunc, ended chan error) {
	b.Helper()
	w = b.worker()
	ctx, stop := context.WithCancel(b.Context())
	ended = make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		if err, ok := <-ended; ok && err != nil {
			b.Error(err)
		}
	})
	return w, stop, ended
}

// end waits for the result of Run.
func end(t *testing.T, ended chan error) error {
	t.Helper()
	err := <-ended
	close(ended)
	return err
}

// eventually waits until a query returns true.
func (b *bundle) eventually(sql string, args ...any) {
	b.Helper()
	require.Eventually(b, func() bool { return get[bool](b, sql, args...) }, 5*time.Minute, 5*time.Millisecond, sql)
}

func TestRunByNotificationAndByPolling(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*bundle){
		"notified": func(b *bundle) { b.cfg.PollInterval = time.Hour },
		"polling":  func(b *bundle) { b.cfg.PollOnly = true },
		// as with a pooler in transaction mode
		"polling without prepared statements": func(b *bundle) {
			b.cfg.PollOnly = true
			b.cfg.DatabaseURL += "&default_query_exec_mode=exec"
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			set(b)
			w, stop, ended := b.run()
			b.eventually(`select exists (select from oxbow.river_leader)`)
			require.Eventually(t, w.started.Load, 5*time.Minute, time.Millisecond)
			for _, content := range []string{"I like tea", "I like coffee"} {
				ids := b.insert("ann", content)
				b.eventually(`select exists (select from oxbow.memory_vectors where memory_id = $1)`, ids[0])
			}
			stop()
			require.NoError(t, end(t, ended))
		})
	}
}

// The leader enqueues the periodic jobs.
func TestPeriodicJobs(t *testing.T) {
	b := setup(t)
	ids := b.insert("ann", "I like tea")
	b.exec(`select oxbow.touch('ann', $1)`, ids)
	b.exec(`insert into oxbow.sensory (user_id, content) values ('ann', 'tick')`)
	b.exec(`delete from oxbow.river_job`)
	b.exec(`update oxbow.memories set created_at = now() - interval '1 hour'`)
	b.run()
	b.eventually(`select exists (select from oxbow.memory_vectors where memory_id = $1)`, ids[0]) // by the sweep
	b.eventually(`select access_count = 1 from oxbow.memories where id = $1`, ids[0])
	b.eventually(`select count(*) = 7 from pg_inherits where inhparent = 'oxbow.sensory'::regclass`)
}

func TestGracefulStop(t *testing.T) {
	b := setup(t)
	server := b.remote()
	b.cfg.Concurrency = 1
	entered, leave := make(chan struct{}), make(chan struct{})
	server.Refuse(func([]string) bool {
		close(entered)
		<-leave
		return false
	})
	ids := b.insert("ann", "I like tea")
	stopping := b.logged("Entering shutdown loop", "queue=embed")
	_, stop, ended := b.run()
	<-entered
	b.insert("ann", "too late")
	stop()
	<-stopping // River fetches no more jobs of the queue
	close(leave)
	require.NoError(t, end(t, ended))
	_, vectors := b.embedded(ids)
	require.Equal(t, 1, vectors, "the running job was finished")
	require.Equal(t, 1, b.count(`oxbow.river_job where kind = 'embed' and state = 'available'`), "no other was begun")
}

func TestStoppedBeforeItStarts(t *testing.T) {
	b := setup(t)
	w := b.worker()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.NoError(t, w.Run(ctx))
}

func TestHardStop(t *testing.T) {
	b := setup(t)
	server := b.remote()
	b.cfg.StopTimeout = 50 * time.Millisecond
	server.Always(embeddingtest.Hang())
	b.insert("ann", "I like tea")
	_, stop, ended := b.run()
	<-server.Hanging()
	stop()
	require.NoError(t, end(t, ended))
	j := b.job("embed")
	require.Equal(t, "available", j.State, "for the next worker, at once")
	require.Zero(t, j.Attempt)
	require.LessOrEqual(t, j.Wait, 0.0)
}

// A job of a killed worker is rescued; a job that is still running is not.
func TestRescue(t *testing.T) {
	b := setup(t)
	ids := b.insert("ann", "of a worker that was killed")
	b.insert("bob", "of a worker that lives")
	b.exec(`update oxbow.river_job set state = 'running', attempt = 1, attempted_by = '{dead}',
		attempted_at = now() - case args ->> 'user_id' when 'ann' then interval '51 seconds'
		else interval '44 seconds' end`)
	w := b.worker()
	ctx, cancel := context.WithCancel(t.Context())
	err := w.RunUntilIdle(ctx, func(store.Backlog) {
		if _, vectors := b.embedded(ids); vectors == 1 {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, b.count(`oxbow.river_job where state = 'running' and attempted_by = '{dead}'
		and args ->> 'user_id' = 'bob'`))
}

func TestPanicAndFailureAreLogged(t *testing.T) {
	t.Parallel()
	var log logRecords
	h := errorHandler{log.logger()}
	job := &rivertype.JobRow{ID: 7, Kind: "embed", Attempt: 25, MaxAttempts: 25}
	require.Nil(t, h.HandlePanic(t.Context(), job, "boom", "trace"))
	require.Nil(t, h.HandleError(t.Context(), job, errors.New("bad")))
	job.Attempt = 1
	require.Nil(t, h.HandleError(t.Context(), job, errors.New("bad")))
	require.Equal(t, []string{"ERROR a job panicked; this is a bug in Oxbow", "ERROR a job failed",
		"WARN a job failed"}, log.lines)
}

func TestEndings(t *testing.T) {
	t.Parallel()
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	cancelled, cancelJob := context.WithCancelCause(t.Context())
	cancelJob(river.ErrJobCancelledRemotely)
	failed := errors.New("failed")
	for _, c := range []struct {
		ctx        context.Context
		err, wants error
	}{
		{t.Context(), nil, nil},
		{t.Context(), failed, failed},
		{t.Context(), rivertype.ErrNotFound, nil},
		{stopped, failed, &river.JobSnoozeError{}},
		{stopped, nil, nil},
		{cancelled, failed, failed},
	} {
		got := (&endings{}).Work(c.ctx, nil, func(context.Context) error { return c.err })
		require.Equal(t, c.wants, got)
	}
}

func TestHealth(t *testing.T) {
	b := setup(t)
	server := b.remote()
	ask := func(w *Worker, path string) (int, Health) {
		recorder := httptest.NewRecorder()
		w.handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		var h Health
		if strings.HasPrefix(recorder.Header().Get("Content-Type"), "application/json") {
			require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &h))
		}
		return recorder.Code, h
	}

	idle := b.worker()
	code, h := ask(idle, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, Health{Database: "ok", Worker: "not working jobs",
		Provider: ProviderHealth{Model: "openai:m", Status: "not called yet"}}, h)
	code, _ = ask(idle, "/healthz")
	require.Equal(t, http.StatusOK, code)

	w, stop, ended := b.run()
	ids := b.insert("ann", "I like tea")
	b.eventually(`select exists (select from oxbow.memory_vectors where memory_id = $1)`, ids[0])
	require.Eventually(t, func() bool { // it may work a job before all its queues have started
		code, h = ask(w, "/readyz")
		return code == http.StatusOK
	}, 5*time.Minute, time.Millisecond)
	require.Equal(t, "ok", h.Provider.Status)
	require.WithinDuration(t, time.Now(), h.Provider.WorkedAt, time.Minute)

	server.Always(embeddingtest.Status(503, "overloaded"))
	b.insert("ann", "I like coffee")
	b.eventually(`select exists (select from oxbow.river_job where kind = 'embed' and metadata ? 'snoozes')`)
	code, h = ask(w, "/readyz")
	require.Equal(t, http.StatusOK, code, "another worker would fare no better")
	require.Contains(t, h.Provider.Status, "overloaded")
	require.Greater(t, h.Provider.RetryAt, time.Now())

	b.exec(`update oxbow.schema_version set version = version + 1`)
	code, h = ask(w, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, h.Database, "newer than this version of oxbow")
	stop()
	require.NoError(t, end(t, ended))
	_, h = ask(w, "/readyz")
	require.Equal(t, "not working jobs", h.Worker)
}

func TestHealthAddress(t *testing.T) {
	b := setup(t)
	b.cfg.HealthAddr = "127.0.0.1:0"
	w := b.worker()
	stop, err := w.serve(t.Context())
	require.NoError(t, err)
	defer stop()
	b.cfg.HealthAddr = "nowhere:x"
	require.ErrorContains(t, b.worker().Run(t.Context()), `serve health on "nowhere:x"`)
}

func TestNewRefuses(t *testing.T) {
	b := setup(t)
	for name, c := range map[string]struct {
		change func(*Config)
		says   string
	}{
		"concurrency":  {func(c *Config) { c.Concurrency = 2000 }, "concurrency 2000 is out of range"},
		"poll":         {func(c *Config) { c.PollInterval = time.Millisecond }, "poll interval 1ms is too short"},
		"stop timeout": {func(c *Config) { c.StopTimeout = -1 }, "stop timeout -1ns is negative"},
		"provider": {func(c *Config) { c.Embedding = EmbeddingConfig{Provider: "x"} },
			`unknown embedding provider "x"`},
		"URL": {func(c *Config) { c.DatabaseURL = "postgres://h:x/d" }, "invalid port"},
	} {
		cfg := b.cfg
		c.change(&cfg)
		_, err := New(t.Context(), cfg)
		require.ErrorContains(t, err, c.says, name)
	}
	cfg := b.cfg
	cfg.DatabaseURL = "postgres://u@127.0.0.1:1/d"
	_, err := New(t.Context(), cfg)
	require.ErrorAs(t, err, new(*pgconn.ConnectError))
	b.exec(`update oxbow.schema_version set version = version + 1`)
	_, err = New(t.Context(), b.cfg)
	require.ErrorIs(t, err, migrations.ErrAhead)
}

// The worker's login need not be the owner: the role oxbow_worker suffices for everything except reembed.
func TestWorkerRole(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.memories (user_id, content) values ('ann', 'I like tea'), ('ann', 'I like tea')`)
	old := b.insert("ann", numbered(7, "memory")...)
	require.NoError(t, b.drain())
	require.Equal(t, 9, b.count(`oxbow.memory_vectors`))
	require.Positive(t, b.count(`oxbow.reflection_cycles`))
	require.Equal(t, 1, b.count(`oxbow.memories where superseded_by is not null`))

	b.exec(`select oxbow.touch('ann', $1)`, old)
	b.exec(`update oxbow.memories set forgotten_at = now() - interval '40 days' where id = $1`, old[0])
	b.exec(`delete from oxbow.memory_vectors where memory_id = $1`, old[1])
	b.exec(`update oxbow.memories set created_at = now() - interval '1 hour'`)
	b.exec(`update oxbow.memory_term_stats set terms = 0`)
	b.exec(`select oxbow.refuse_vectors(array['ann'], 'local-v1', $1, 'because')`, old[2:3])
	b.run()
	b.eventually(`select access_count = 1 from oxbow.memories where id = $1`, old[6])
	b.eventually(`select not exists (select from oxbow.memories where id = $1)`, old[0])
	b.eventually(`select exists (select from oxbow.memory_vectors where memory_id = $1)`, old[1])
	b.eventually(`select bool_and(terms > 0) from oxbow.memory_term_stats`)
	require.Zero(t, b.count(`oxbow.river_job where state in ('discarded', 'retryable')`))
}

// A worker starts even if PostgreSQL takes longer to answer than River waits.
func TestStartIsTriedAgain(t *testing.T) {
	b := setup(t)
	require.NoError(t, b.drain()) // creates the queues
	ids := b.insert("ann", "Ann keeps bees.")
	holder, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), "select from oxbow.river_queue for update")
	require.NoError(t, err)
	drained := make(chan error, 1)
	again := b.logged("retrying the start") // after 10 seconds, River's limit
	go func() { drained <- b.drain() }()
	select {
	case err := <-drained:
		require.Fail(t, "the start did not wait", err)
	case <-again:
	}
	require.NoError(t, holder.Rollback(t.Context()))
	require.NoError(t, <-drained)
	_, vectors := b.embedded(ids)
	require.Equal(t, 1, vectors)
}

// RunUntilIdle runs jobs that have become due, whichever worker leads.
func TestRunUntilIdleTakesDueJobs(t *testing.T) {
	b := setup(t)
	b.cfg.overdue = time.Hour
	b.exec(`insert into oxbow.river_leader (leader_id, elected_at, expires_at)
		values ('somebody', now() - interval '1 minute', now() + interval '1 day')`)
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args, state, scheduled_at)
		values ('reflect', 'reflect', 25, '{"user_id": "ann"}', 'scheduled', now() - interval '1 minute')`)
	require.NoError(t, b.drain())
	require.Equal(t, "completed", b.job("reflect").State)
	require.Equal(t, 1, b.count(`oxbow.river_leader where leader_id = 'somebody'`))
}

// A leader that is recorded but does nothing does not delay jobs.
func TestLeaderDoesNothing(t *testing.T) {
	b := setup(t)
	b.cfg.overdue = time.Second
	b.exec(`insert into oxbow.river_leader (leader_id, elected_at, expires_at)
		values ('somebody', now() - interval '1 minute', now() + interval '1 day')`)
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args, state, scheduled_at)
		values ('check_trigger', 'default', 25, '{"user_id": "ann"}', 'retryable', now() - interval '1 minute')`)
	require.NoError(t, b.drain())
	require.Zero(t, b.count(`oxbow.river_leader where leader_id = 'somebody'`))

	// A leader that does its work stays the leader.
	b.exec(`delete from oxbow.river_leader`)
	b.exec(`insert into oxbow.river_leader (leader_id, elected_at, expires_at)
		values ('somebody', now() - interval '1 minute', now() + interval '1 day')`)
	for state, due := range map[string]string{"scheduled": "1 hour", "available": "-1 hour"} {
		b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args, state, scheduled_at)
			values ('expire_trend', 'nobody works it', 25, '{}', $1::text::oxbow.river_job_state,
			now() + $2::text::interval)`, state, due)
	}
	deposed, err := store.DeposeLeader(t.Context(), b.pool, time.Second)
	require.NoError(t, err)
	require.False(t, deposed)
	require.Equal(t, 1, b.count(`oxbow.river_leader`))
}

// Jobs of one user that wait for an open transaction leave connections for the jobs of others.
func TestAnOpenTransactionStopsOneUserOnly(t *testing.T) {
	b := setup(t)
	ids := b.insert("ann", "I like tea")
	require.NoError(t, b.drain())
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `select from oxbow.memories where user_id = 'ann' for update`)
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `select pg_advisory_xact_lock(hashtextextended('oxbow.extract ann', 0))`)
	require.NoError(t, err)
	b.exec(`select oxbow.touch('ann', $1)`, ids)
	b.exec(`insert into oxbow.messages (user_id, session_id, role, content)
		select 'ann', 'talk ' || n, 'user', 'I like coffee' from generate_series(1, 9) n`)
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) values ('flush_activity', 'default', 25, '{}')`)
	b.enqueue("reflect", "ann")
	b.run()
	b.eventually(`select count(*) > 2 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
	bobs := b.insert("bob", "I like milk")
	b.eventually(`select exists (select from oxbow.memory_vectors where memory_id = $1)`, bobs[0])
	require.NoError(t, tx.Commit(t.Context()))
}
