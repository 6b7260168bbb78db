package worker

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/store"
)

// sweep runs the sweep and the jobs that it enqueues.
func (b *bundle) sweep() {
	b.Helper()
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) values ('sweep', 'default', 1, '{}')`)
	require.NoError(b, b.drain())
	require.Zero(b, b.count(`oxbow.river_job where kind = 'sweep' and state <> 'completed'`))
}

// embedJobs returns the number of unfinished embed jobs and the number of all embed jobs.
func (b *bundle) embedJobs() (live, all int) {
	b.Helper()
	return b.count(`oxbow.river_job where kind = 'embed' and state not in ('completed', 'cancelled', 'discarded')`),
		b.count(`oxbow.river_job where kind = 'embed'`)
}

func TestSweepRevivesGivenUpJobs(t *testing.T) {
	b := setup(t)
	ids := b.insert("ann", "one", "two")
	b.exec(`update oxbow.river_job set state = 'discarded', finalized_at = now() - interval '9 minutes'`)
	b.sweep()
	terms, _ := b.embedded(ids)
	require.Zero(t, terms, "not at once")
	b.exec(`update oxbow.river_job set finalized_at = now() - interval '11 minutes' where state = 'discarded'`)
	b.sweep()
	terms, vectors := b.embedded(ids)
	require.Equal(t, []int{2, 2}, []int{terms, vectors})

	b.exec(`delete from oxbow.memory_vectors`)
	b.sweep()
	_, vectors = b.embedded(ids)
	require.Zero(t, vectors, "a job is revived once")
}

func TestSweepFindsLostMemories(t *testing.T) {
	b := setup(t)
	young, recent, old := b.insert("ann", "young"), b.insert("ann", "recent"), b.insert("ann", "old", "old too")
	b.exec(`delete from oxbow.river_job`)
	age := func(ids []uuid.UUID, age time.Duration) {
		b.exec(`update oxbow.memories set created_at = now() - $2::interval where id = any($1)`, ids, age)
	}
	age(recent, time.Hour)
	age(old, 1000*time.Hour)
	b.sweep()
	for _, c := range []struct {
		ids  []uuid.UUID
		want int
	}{{young, 0}, {recent, 1}, {old, 2}} {
		terms, vectors := b.embedded(c.ids)
		require.Equal(t, []int{c.want, c.want}, []int{terms, vectors})
	}
	_, all := b.embedJobs()
	require.LessOrEqual(t, all, 2, "one job for several memories")

	// Only the vectors are missing, and the walk starts again after the last memory.
	b.exec(`delete from oxbow.memory_vectors where memory_id = any($1)`, old)
	b.sweep()
	b.sweep()
	_, vectors := b.embedded(old)
	require.Equal(t, 2, vectors)
}

// The sweep skips memories that have a job, and memories that the provider refused.
func TestSweepLeavesAlone(t *testing.T) {
	b := setup(t)
	waiting, refused := b.insert("ann", "waiting"), b.insert("ann", "refused")
	b.exec(`delete from oxbow.river_job where args ->> 'ids' = $1`, refused[0].String())
	b.exec(`update oxbow.river_job set state = 'retryable', scheduled_at = now() + interval '1 day'`)
	b.exec(`select oxbow.index_memories(array['ann'], $1)`, refused)
	b.exec(`select oxbow.refuse_vectors(array['ann'], 'local-v1', $1, 'because')`, refused)
	b.exec(`update oxbow.memories set created_at = now() - interval '1 hour'`)
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) values ('sweep', 'default', 1, '{}')`)
	require.ErrorAs(t, b.drain(), new(*UnfinishedError))
	live, all := b.embedJobs()
	require.Equal(t, []int{1, 1}, []int{live, all})
	terms, _ := b.embedded(waiting)
	require.Zero(t, terms)
}

func TestSweepWalksInPages(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.memories (user_id, content, created_at)
		select 'user ' || i % 7, 'memory ' || i, now() - interval '1000 hours' from generate_series(1, 50) i`)
	b.exec(`delete from oxbow.river_job`)
	var found []store.MemoryRef
	for pages := 0; ; pages++ {
		page, err := store.LostAnywhere(t.Context(), b.pool, time.Now(), 12, "local-v1")
		require.NoError(t, err)
		found = append(found, page...)
		if len(page) == 0 {
			require.Equal(t, 5, pages)
			break
		}
		require.LessOrEqual(t, len(page), 12)
	}
	require.Len(t, found, 50)
	again, err := store.LostAnywhere(t.Context(), b.pool, time.Now(), 12, "local-v1")
	require.NoError(t, err)
	require.Equal(t, found[:12], again, "from the beginning")
}

// The memories of one statement, which have the same time, are looked at in pages too.
func TestSweepLooksAtRecentMemoriesInPages(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.memories (user_id, content) select 'user ' || i % 3, 'x' from generate_series(1, 20010) i`)
	b.exec(`delete from oxbow.river_job`)
	var found []int
	for range 3 {
		page, err := store.LostRecently(t.Context(), b.pool, time.Now(), 30_000, "local-v1")
		require.NoError(t, err)
		found = append(found, len(page))
	}
	require.Equal(t, []int{20_000, 10, 0}, found)
}

func TestSweepChecksWhetherReflectionIsDue(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.memories (user_id, content) select 'user ' || i, 'memory' from generate_series(1, 5) i`)
	require.NoError(t, b.drain())
	require.Equal(t, 5, b.count(`oxbow.reflection_inbox`))
	b.exec(`update oxbow.reflection_inbox set added_at = now() - interval '25 hours'
		where user_id in ('user 2', 'user 4')`)
	b.sweep()
	require.Equal(t, []string{"user 2", "user 4"}, get[[]string](b,
		`select array_agg(user_id order by user_id) from oxbow.reflection_cycles where trigger_type = 'scheduled'`))

	var seen []string
	for range 4 {
		users, err := store.InboxTriggers(t.Context(), b.pool, last(seen), 1, time.Now())
		require.NoError(t, err)
		for _, u := range users {
			seen = append(seen, u.UserID)
		}
	}
	require.Equal(t, []string{"user 1", "user 3", "user 5"}, seen)
}

// A transaction that completes several jobs locks their rows, and so does the sweep when it enqueues several. If
// they deadlock, PostgreSQL aborts one of them.
func TestSweepMeetsADeadlock(t *testing.T) {
	b := setup(t)
	due := func() {
		b.insert("ann", "memory")
		b.insert("ben", "memory")
		require.NoError(t, b.drain())
		b.exec(`update oxbow.reflection_inbox set added_at = now() - interval '25 hours'`)
	}
	due()
	b.sweep()
	due()
	b.exec(`update oxbow.reflection_cycles set completed_at = now() - interval '25 hours'`)
	// another worker runs them
	b.exec(`update oxbow.river_job set state = 'running', attempted_at = now(), finalized_at = null
		where kind = 'reflect'`)

	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	lock := func(user string) {
		_, err := tx.Exec(t.Context(), `select from oxbow.river_job where kind = 'reflect'
			and args ->> 'user_id' = $1 for update`, user)
		require.NoError(t, err)
	}
	_, err = tx.Exec(t.Context(), `set local deadlock_timeout = '1min'`) // so that the sweep detects the deadlock
	require.NoError(t, err)
	lock("ben")
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) values ('sweep', 'default', 1, '{}')`)
	swept := make(chan error, 1)
	go func() { swept <- b.drain() }()
	require.Eventually(t, func() bool {
		return b.count(
			`pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%JobInsertFastMany%'`) == 1
	}, 5*time.Minute, 10*time.Millisecond)
	lock("ann")
	require.NoError(t, tx.Rollback(t.Context()))
	require.Eventually(t, func() bool {
		return b.count(`oxbow.river_job where kind = 'sweep'
		and finalized_at is null`) == 0
	}, 5*time.Minute, 10*time.Millisecond)
	b.exec(`update oxbow.river_job set state = 'completed', finalized_at = now() where kind = 'reflect'`)
	require.NoError(t, <-swept)
	require.Equal(t, 2, b.count(`oxbow.river_job where kind = 'sweep' and state = 'completed'`))
	require.Zero(t, b.count(`oxbow.river_job where kind = 'sweep' and state <> 'completed'`))
	require.Positive(t, get[int](b, `select deadlocks::int from pg_stat_database where datname = current_database()`),
		"the sweep may meet it again when it tries again")
}

func last(of []string) string {
	if len(of) == 0 {
		return ""
	}
	return of[len(of)-1]
}

func TestSweepErasesForgottenMemories(t *testing.T) {
	b := setup(t)
	ids := b.insert("ann", "long ago", "lately", "not")
	require.NoError(t, b.drain())
	b.exec(`update oxbow.memories set forgotten_at = now() - interval '31 days' where id = $1`, ids[0])
	b.exec(`update oxbow.memories set forgotten_at = now() - interval '29 days' where id = $1`, ids[1])
	b.sweep()
	require.Equal(t, 2, b.count(`oxbow.memories`))
	require.Zero(t, b.count(`oxbow.memories where id = $1`, ids[0]))
	require.Zero(t, b.count(`oxbow.river_job where args::text like '%' || $1 || '%'`, ids[0].String()))
}

// A memory that cannot be erased does not keep others from being erased.
func TestSweepErasesPastAnError(t *testing.T) {
	b := setup(t)
	ids := b.insert("ann", "held", "one", "two")
	require.NoError(t, b.drain())
	b.exec(`update oxbow.memories set forgotten_at = now() - interval '32 days'`)
	b.exec(`create function oxbow.test_hold() returns trigger language plpgsql as $$ begin
		if old.content = 'held' then raise 'held'; end if; return old; end $$;
		create trigger test_hold before delete on oxbow.memories_episodic for each row execute function oxbow.test_hold()`)
	erased, err := store.EraseForgotten(t.Context(), b.pool, time.Now().Add(-store.Restorable), 10)
	require.ErrorContains(t, err, "held")
	require.Equal(t, 2, erased)
	require.Equal(t, 1, b.count(`oxbow.memories where id = $1`, ids[0]))
}

// A memory that its user restores while sweep waits for another one is kept.
func TestSweepMeetsARestore(t *testing.T) {
	b := setup(t)
	ids := b.insert("ann", "one", "two")
	require.NoError(t, b.drain())
	b.exec(`update oxbow.memories set forgotten_at = now() - interval '31 days' - (content = 'one')::int * interval '1 hour'`)
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	_, err = tx.Exec(t.Context(), `select from oxbow.memories where id = $1 for update`, ids[0])
	require.NoError(t, err)
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) values ('sweep', 'default', 1, '{}')`)
	swept := make(chan error, 1)
	go func() { swept <- b.drain() }()
	b.eventually(`select count(*) = 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
	b.exec(`select oxbow.restore('ann', $1)`, ids[1])
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-swept)
	require.Equal(t, []string{"two"}, get[[]string](b, `select array_agg(content) from oxbow.memories`))
}

// Sweep deletes the completed jobs that are older than the retention of their kind, and no others. River deletes those
// older than jobs.MaxRetention.
func TestSweepDeletesCompletedJobs(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.river_job (kind, queue, args, max_attempts, state, finalized_at)
		select k, 'default', '{}', 1, s::oxbow.river_job_state, now() - a * interval '1 minute'
		  from unnest('{embed,flush_activity,reflect}'::text[]) k, unnest('{completed,cancelled,discarded}'::text[]) s,
		       unnest('{9,11}'::integer[]) a`)
	b.sweep()
	require.Zero(t, b.count(`oxbow.river_job where kind in ('embed', 'flush_activity') and state = 'completed'
		and finalized_at < now() - interval '10 minutes'`))
	require.Equal(t, 16, b.count(`oxbow.river_job where kind <> 'sweep'`))
}

func TestSweepCorrectsStatistics(t *testing.T) {
	b := setup(t)
	b.insert("ann", "one two three", "four")
	b.insert("bob", "five six")
	require.NoError(t, b.drain())
	right := get[string](b, `select jsonb_agg(s order by user_id)::text from oxbow.memory_term_stats s`)
	b.exec(`update oxbow.memory_term_stats set documents = documents + 7, terms = 0 where user_id = 'ann'`)
	b.sweep()
	require.Equal(t, right, get[string](b, `select jsonb_agg(s order by user_id)::text from oxbow.memory_term_stats s`))
}

// A user whose recount times out does not prevent the recount of others.
func TestRecountContinuesAfterTimeout(t *testing.T) {
	b := setup(t)
	b.insert("ann", "one")
	b.insert("ben", "two")
	require.NoError(t, b.drain())
	b.exec(`update oxbow.memory_term_stats set documents = 7`)
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	_, err = tx.Exec(t.Context(), `select from oxbow.memory_term_stats where user_id = 'ann' for update`)
	require.NoError(t, err)
	const blocked = `exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')`
	waiting, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		b.eventually("select " + blocked)
	}()
	_, err = store.RecountTerms(waiting, b.pool, 10)
	require.ErrorIs(t, err, context.Canceled)
	wrong, err := store.RecountTerms(t.Context(), b.pool, 10)
	require.NoError(t, err)
	require.Equal(t, 1, wrong, "ben's")
	b.eventually("select not " + blocked) // otherwise the cancelled recount could finish after the rollback
	require.NoError(t, tx.Rollback(t.Context()))
	wrong, err = store.RecountTerms(t.Context(), b.pool, 10)
	require.NoError(t, err)
	require.Equal(t, 1, wrong, "ann's, in the next round")
}

// The entities of memories that are older than the entity tables are recorded once.
func TestSweepNotesOldEntities(t *testing.T) {
	b := setup(t)
	for _, user := range []string{"ann", "bob", "林"} {
		b.exec(`insert into oxbow.memories (user_id, content, metadata)
			values ($1, 'Anna sings.', '{"entities": [{"name": "Anna", "kind": "person"}]}'), ($1, 'x', '{}')`, user)
	}
	require.NoError(t, b.drain())
	b.exec(`delete from oxbow.entity_mentions`)
	require.Zero(t, b.count(`oxbow.entities`))
	b.sweep()
	require.Zero(t, b.count(`oxbow.entities`), "nothing is to be done")
	b.exec(`insert into oxbow.settings (key, value) values ('sweep.entities', '""')`)
	b.sweep()
	require.Equal(t, 3, b.count(`oxbow.entity_mentions`))
	b.sweep()
	require.Zero(t, b.count(`oxbow.settings where key = 'sweep.entities'`))
}
