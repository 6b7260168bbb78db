package worker

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

func TestReflectionTrigger(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	// inbox adds a memory to the inbox, as an embed job would at that time.
	inbox := func(t *testing.T, tx pgx.Tx, importance float64, session *string, when time.Time) {
		_, err := tx.Exec(t.Context(), `
			with m as (insert into oxbow.memories (user_id, content) values ('ann', 'x') returning id)
			insert into oxbow.reflection_inbox (user_id, memory_type, memory_id, importance, valid_at, session_id,
			added_at)
			select 'ann', 'fact', id, $1, $3, $2, $3 from m`, importance, session, when)
		require.NoError(t, err)
	}
	exec := func(t *testing.T, tx pgx.Tx, sql string, args ...any) {
		_, err := tx.Exec(t.Context(), sql, args...)
		require.NoError(t, err)
	}
	session := "s"
	for name, c := range map[string]struct {
		given func(*testing.T, pgx.Tx)
		want  store.Trigger
	}{
		"nothing": {func(*testing.T, pgx.Tx) {}, store.Trigger{}},
		"a little": {func(t *testing.T, tx pgx.Tx) {
			inbox(t, tx, 1, nil, ago(time.Minute))
			inbox(t, tx, 1, nil, ago(time.Minute))
		}, store.Trigger{}},
		"importance, in tenths": {func(t *testing.T, tx pgx.Tx) {
			for range 10 {
				inbox(t, tx, 0.3, nil, ago(time.Minute))
			}
		}, store.Trigger{Type: "importance_accumulated", Value: 30}},
		"importance, of one who opted out": {func(t *testing.T, tx pgx.Tx) {
			for range 5 {
				inbox(t, tx, 1, nil, ago(time.Minute))
			}
			exec(t, tx, `insert into oxbow.users (user_id, opted_out) values ('ann', true)`)
		}, store.Trigger{}},
		"a conversation ended": {func(t *testing.T, tx pgx.Tx) {
			inbox(t, tx, 0.5, &session, ago(time.Minute))
			exec(t, tx, `insert into oxbow.sessions (user_id, id, last_activity_at, ended_at)
				values ('ann', 's', $1, $1)`, ago(time.Second))
		}, store.Trigger{Type: "session_end", Value: 1}},
		"it was reflected on": {func(t *testing.T, tx pgx.Tx) {
			inbox(t, tx, 0.5, &session, ago(time.Minute))
			exec(t, tx, `insert into oxbow.sessions (user_id, id, last_activity_at, ended_at, last_reflected_at)
				values ('ann', 's', $1, $1, $2)`, ago(time.Minute), ago(time.Second))
		}, store.Trigger{}},
		"a conversation is idle": {func(t *testing.T, tx pgx.Tx) {
			inbox(t, tx, 0.5, &session, ago(29*time.Minute))
			exec(t, tx, `insert into oxbow.sessions (user_id, id, last_activity_at) values ('ann', 's', $1)`,
				ago(30*time.Minute))
		}, store.Trigger{Type: "session_end", Value: 1}},
		"a conversation goes on": {func(t *testing.T, tx pgx.Tx) {
			inbox(t, tx, 0.5, &session, ago(time.Hour))
			exec(t, tx, `insert into oxbow.sessions (user_id, id, last_activity_at) values ('ann', 's', $1)`,
				ago(29*time.Minute))
		}, store.Trigger{}},
		"a conversation known by its memories": {func(t *testing.T, tx pgx.Tx) {
			inbox(t, tx, 0.5, &session, ago(40*time.Minute))
			inbox(t, tx, 0.5, &session, ago(30*time.Minute))
		}, store.Trigger{Type: "session_end", Value: 1}},
		"one that still gets memories": {func(t *testing.T, tx pgx.Tx) {
			inbox(t, tx, 0.5, &session, ago(40*time.Minute))
			inbox(t, tx, 0.5, &session, ago(29*time.Minute))
		}, store.Trigger{}},
		"a day, and never before": {func(t *testing.T, tx pgx.Tx) {
			inbox(t, tx, 0.5, nil, ago(36*time.Hour))
		}, store.Trigger{Type: "scheduled", Value: 36}},
		"a day since the last reflection": {func(t *testing.T, tx pgx.Tx) {
			inbox(t, tx, 0.5, nil, ago(time.Minute))
			exec(t, tx, `insert into oxbow.reflection_cycles (user_id, trigger_type, status, started_at, completed_at)
				values ('ann', 'manual', 'completed', $1, $1)`, ago(24*time.Hour))
		}, store.Trigger{Type: "scheduled", Value: 24}},
		"less than a day": {func(t *testing.T, tx pgx.Tx) {
			inbox(t, tx, 0.5, nil, ago(36*time.Hour))
			exec(t, tx, `insert into oxbow.reflection_cycles (user_id, trigger_type, status, started_at, completed_at)
				values ('ann', 'manual', 'completed', $1, $1)`, ago(23*time.Hour))
		}, store.Trigger{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tx := pgtest.Tx(t)
			c.given(t, tx)
			due, err := store.ReflectionTriggers(t.Context(), tx, []string{"ann"}, now)
			require.NoError(t, err)
			for _, d := range due {
				require.Equal(t, store.UserTrigger{UserID: "ann", Trigger: c.want}, d)
			}
			require.Equal(t, c.want != store.Trigger{}, len(due) == 1)
			users, err := store.InboxTriggers(t.Context(), tx, "", 10, now)
			require.NoError(t, err)
			for _, u := range users {
				require.Equal(t, store.UserTrigger{UserID: "ann", Trigger: c.want}, u)
			}
		})
	}
}

// An inbox that is larger than a batch is processed by several reflections.
func TestReflectInBatches(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.sessions (user_id, id) values ('ann', 's')`)
	b.exec(`insert into oxbow.memories (user_id, memory_type, content, session_id)
		select 'ann', 'episodic', 'memory ' || i, 's' from generate_series(1, 450) i`)
	// indexed without a worker, so that the whole inbox exists at once
	b.exec(`select oxbow.index_memories(array['ann'], array(select id from oxbow.memories))`)
	b.exec(`delete from oxbow.river_job`)
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args)
		values ('check_trigger', 'default', 25, '{"user_id": "ann"}')`)
	require.NoError(t, b.drain())
	require.Zero(t, b.count(`oxbow.reflection_inbox`))
	require.Equal(t, []int32{50, 200, 200}, get[[]int32](b, `select array_agg(memories_scanned
		order by memories_scanned) from oxbow.reflection_cycles`))
	require.Equal(t, 3, b.count(`oxbow.reflection_cycles where trigger_type = 'importance_accumulated'
		and trigger_value = 2250 and status = 'completed' and completed_at >= started_at`))
	require.Equal(t, 3, b.count(`oxbow.river_job where kind = 'reflect' and state = 'completed'`))
	require.Equal(t, 1, b.count(`oxbow.sessions where last_reflected_at is not null`))

	b.exec(`update oxbow.river_job set state = 'available', finalized_at = null where id = (select min(id)
		from oxbow.river_job where kind = 'reflect')`)
	require.NoError(t, b.drain())
	require.Equal(t, 3, b.count(`oxbow.reflection_cycles`), "repeated after its commit, it finds nothing")
}

// A conversation counts as reflected on, and triggers a reflection, only after its messages are extracted.
func TestReflectBeforeExtraction(t *testing.T) {
	b := setup(t)
	b.insert("ann", numbered(10, "memory")...)
	b.exec(`select oxbow.index_memories(array['ann'], array(select id from oxbow.memories))`)
	b.exec(`insert into oxbow.messages (user_id, session_id, content) values ('ann', 'waits', 'I live in Porto.'),
		('ann', 'failed', 'I live in Porto.')`)
	b.exec(`update oxbow.messages set extract_failures = 1 where session_id = 'failed'`)
	b.exec(`insert into oxbow.sessions (user_id, id) values ('ann', 'extracted')`)
	b.exec(`delete from oxbow.river_job`)
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args)
		values ('check_trigger', 'default', 25, '{"user_id": "ann"}')`)
	require.NoError(t, b.drain())
	require.Equal(t, "extracted,failed", get[string](b, `select string_agg(id, ',' order by id) from oxbow.sessions
		where last_reflected_at is not null`))

	b.insert("ann", "one more memory")
	b.exec(`select oxbow.index_memories(array['ann'], array(select id from oxbow.memories))`)
	b.exec(`update oxbow.sessions set ended_at = clock_timestamp() where id = 'waits'`)
	due := `select coalesce(trigger_type, '') from oxbow.reflection_due('ann', now() + interval '1 minute')`
	require.Empty(t, get[string](b, due))
	b.exec(`update oxbow.messages set extracted_at = now()`)
	require.Equal(t, "session_end", get[string](b, due))
}

// A worker that runs until idle folds the waiting activity before it stops.
func TestIdleFoldsActivity(t *testing.T) {
	b := setup(t)
	id := b.insert("ann", "a memory")[0]
	require.NoError(t, b.drain())
	b.exec(`select oxbow.touch('ann', array[$1::uuid])`, id)
	require.NoError(t, b.drain())
	require.Zero(t, b.count(`oxbow.activity`))
	require.Equal(t, 1, b.count(`oxbow.memories where access_count = 1`))
	require.NoError(t, b.drain())
	require.Equal(t, 1, b.count(`oxbow.river_job where kind = 'flush_activity'`),
		"without activity there is nothing to fold")
}

// It also folds activity that another worker's flush_activity job came too early to see.
func TestIdleFoldsActivityAfterAnother(t *testing.T) {
	b := setup(t)
	ids := b.insert("ann", "a memory")
	b.exec(`select oxbow.touch('ann', $1)`, ids)
	w := b.worker()
	client, err := w.client(nil, time.Second)
	require.NoError(t, err)
	idle, begun := 0, false
	require.NoError(t, w.RunUntilIdle(t.Context(), func(left store.Backlog) {
		switch idle++; {
		case left.Now > 0 || left.Soon > 0: // the other worker's job ends
			idle = 0
			b.exec(`update oxbow.river_job set state = 'completed', finalized_at = now()
				where kind = 'flush_activity' and state = 'running' and attempted_by is null`)
		case idle == 2 && !begun: // the other worker's job runs while this worker enqueues its own
			begun = true
			require.NoError(t, pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
				if _, err := client.InsertTx(t.Context(), tx, jobs.FlushActivityArgs{}, nil); err != nil {
					return err
				}
				_, err := tx.Exec(t.Context(), `update oxbow.river_job set state = 'running' where kind = 'flush_activity'`)
				return err
			}))
		}
	}))
	require.True(t, begun)
	require.Zero(t, b.count(`oxbow.activity`))
	require.Equal(t, 1, b.count(`oxbow.memories where access_count = 1`))
}

func TestReflectOptedOut(t *testing.T) {
	b := setup(t)
	b.insert("ann", numbered(10, "memory")...)
	b.exec(`select oxbow.index_memories(array['ann'], array(select id from oxbow.memories))`)
	b.exec(`insert into oxbow.users (user_id, opted_out) values ('ann', true)`)
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args)
		values ('reflect', 'reflect', 25, '{"user_id": "ann"}')`)
	require.NoError(t, b.drain())
	require.Zero(t, b.count(`oxbow.reflection_inbox`))
	require.Zero(t, b.count(`oxbow.reflection_cycles`))
	b.insert("ann", numbered(10, "later memory")...)
	require.NoError(t, b.drain())
	require.Zero(t, b.count(`oxbow.reflection_inbox`))
	require.Equal(t, 1, b.count(`oxbow.river_job where kind = 'reflect'`))
}

// A burst of memories causes one check. Memories that arrive during a check cause another.
func TestChecksFold(t *testing.T) {
	b := setup(t)
	for i := range 30 {
		b.insert("ann", numbered(1, string(rune('a'+i)))...)
	}
	b.exec(`insert into oxbow.river_queue (name, created_at, updated_at, paused_at)
		values ('default', now(), now(), now())`)
	ctx, cancel := context.WithCancel(t.Context())
	err := b.worker().RunUntilIdle(ctx, func(left store.Backlog) {
		if b.count(`oxbow.river_job where kind = 'embed' and state <> 'completed'`) == 0 {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 30, b.count(`oxbow.memory_vectors`))
	require.Equal(t, 1, b.count(`oxbow.river_job where kind = 'check_trigger'`))
	require.Equal(t, "available", b.job("check_trigger").State)
}

// A memory that enters the inbox while its user is being checked is not lost: its embed job waits for the
// check that is about to complete, and then enqueues another.
func TestCheckAfterCheck(t *testing.T) {
	b := setup(t)
	w := b.worker()
	client, err := w.client(nil, time.Second)
	require.NoError(t, err)
	// The test delays the completion.
	b.exec(
		`create function oxbow.test_wait() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(1); return new; end $$;
		create trigger test_wait before update on oxbow.river_job for each row
			when (new.state = 'completed' and new.kind = 'check_trigger') execute function oxbow.test_wait()`)
	hold, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	defer hold.Rollback(t.Context())
	_, err = hold.Exec(t.Context(), `select pg_advisory_xact_lock(1)`)
	require.NoError(t, err)
	waiting := func(n int) {
		t.Helper()
		require.Eventually(t, func() bool {
			return b.count(`pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`) == n
		}, 5*time.Minute, 10*time.Millisecond)
	}

	_, err = client.Insert(t.Context(), jobs.CheckTriggerArgs{UserID: "ann"}, nil)
	require.NoError(t, err)
	worked, embedded := make(chan error, 1), make(chan error, 1)
	go func() { worked <- w.RunUntilIdle(t.Context(), nil) }()
	waiting(1)
	go func() {
		embedded <- pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), `with m as (insert into oxbow.memories (user_id, content)
				select 'ann', 'x' || i from generate_series(1, 6) i returning id)
				insert into oxbow.reflection_inbox (user_id, memory_type, memory_id, importance, valid_at)
				select 'ann', 'fact', id, 0.5, now() from m`)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(t.Context(), `delete from oxbow.river_job where kind = 'embed'`); err != nil {
				return err // this transaction stands for the embed job
			}
			_, err = client.InsertTx(t.Context(), tx, jobs.CheckTriggerArgs{UserID: "ann"}, nil)
			return err
		})
	}()
	waiting(2)
	require.NoError(t, hold.Commit(t.Context()))
	require.NoError(t, <-embedded)
	require.NoError(t, <-worked)
	require.NoError(t, b.drain()) // the worker may have been idle before the insertion was committed
	require.Equal(t, 1, b.count(`oxbow.reflection_cycles where memories_scanned = 6`))
}

func TestFlushActivity(t *testing.T) {
	b := setup(t)
	ids := b.insert("ann", "one", "two", "three")
	b.exec(`select oxbow.touch('ann', array[$1, $1, $2]::uuid[])`, ids[0], ids[1])
	b.exec(`insert into oxbow.activity (user_id, memory_ids, at) select 'ann', array[$1::uuid], now() - interval '1 day'
		from generate_series(1, 2500)`, ids[2])
	// activity of a memory that does not exist, and of another user's
	b.exec(`insert into oxbow.activity (user_id, memory_ids)
		values ('ann', array[gen_random_uuid()]), ('bob', array[$1::uuid])`, ids[0])
	for range 2 {
		b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args)
			values ('flush_activity', 'default', 1, '{}')`)
		require.NoError(t, b.drain())
		require.Zero(t, b.count(`oxbow.activity`))
		require.Equal(t, []int32{2, 1, 2500}, get[[]int32](b,
			`select array_agg(access_count order by array_position($1, id)) from oxbow.memories`, ids))
		require.Equal(t, 1, b.count(`oxbow.memories where last_accessed_at < now() - interval '23 hours'`))
		require.Equal(t, 2, b.count(`oxbow.memories where last_accessed_at > now() - interval '1 hour'`))
	}
}
