package worker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/embedding/embeddingtest"
)

// singles stores one memory for each of n users, each with its own job.
func (b *bundle) singles(n int) {
	b.Helper()
	b.exec(`insert into oxbow.memories (user_id, memory_type, content)
		select 'user ' || n, 'episodic', 'memory of ' || n from generate_series(1, $1::int) n`, n)
	require.Equal(b, n, b.count(`oxbow.river_job where kind = 'embed' and state = 'available'`))
}

// oneAtOnce configures a provider that gets one call at a time, so that waiting memories share the next call.
func (b *bundle) oneAtOnce() *embeddingtest.Server {
	b.cfg.Concurrency = 1
	return b.remote()
}

func TestCoalesce(t *testing.T) {
	b := setup(t)
	server := b.oneAtOnce()
	b.singles(100)
	require.NoError(t, b.drain())
	require.Len(t, server.Requests(), 2, "64 texts in a call")
	require.Equal(t, 100, b.count(`oxbow.memory_vectors join oxbow.memory_terms
		using (user_id, memory_type, memory_id)`))
	require.Equal(t, 100, b.count(`oxbow.reflection_inbox`))
	require.Equal(t, 100, b.count(`oxbow.memory_term_stats where documents = 1`))
	const asRiver = `state = 'completed' and attempt = 1 and finalized_at >= attempted_at and errors is null`
	require.Equal(t, 100, b.count(`oxbow.river_job where kind = 'embed' and cardinality(attempted_by) = 1
		and `+asRiver))
	// A check may have given way to the second call once or more, each time with an entry in attempted_by.
	require.Equal(t, 100, b.count(`oxbow.river_job where kind = 'check_trigger' and `+asRiver))
}

// However the memories of others wait, a user's memory is in one of the first calls.
func TestTurns(t *testing.T) {
	t.Parallel()
	floods := map[string]string{
		"single rows": `do $$ begin for i in 1..1000 loop
			insert into oxbow.memories (user_id, memory_type, content) values ('flood', 'episodic', 'memory of ' || i);
			end loop; end $$`,
		"a statement of one user": `insert into oxbow.memories (user_id, memory_type, content)
			select 'flood', 'episodic', 'memory of ' || i from generate_series(1, 2000) i`,
		"a statement of many users": `insert into oxbow.memories (user_id, memory_type, content)
			select 'flood ' || i, 'episodic', 'memory of ' || i from generate_series(1, 1000) i`,
	}
	for name, order := range map[string][]string{
		"single rows before":               {"single rows", ""},
		"single rows before and after":     {"single rows", "", "single rows"},
		"a statement before":               {"a statement of one user", ""},
		"a statement before and after":     {"a statement of one user", "", "a statement of one user"},
		"a statement of many users before": {"a statement of many users", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			server := b.oneAtOnce()
			for i, flood := range order {
				if flood == "" {
					b.insert("ann", "I like tea")
				} else {
					b.exec(strings.ReplaceAll(floods[flood], "flood", fmt.Sprint("flood ", i)))
				}
			}
			call := func() int {
				return slices.IndexFunc(server.Requests(), func(r embeddingtest.Request) bool {
					return slices.Contains(r.Texts, "I like tea")
				})
			}
			w := b.worker()
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- w.RunUntilIdle(ctx, nil) }()
			require.Eventually(t, func() bool { return call() >= 0 }, time.Minute, time.Millisecond)
			cancel()
			if err := <-ended; err != nil {
				require.ErrorIs(t, err, context.Canceled)
			}
			require.Less(t, call(), 8, "of at least 16; a job of 128 memories takes two")
		})
	}
}

// A call has at most 1 MiB of text, from any users.
func TestCoalesceBytes(t *testing.T) {
	b := setup(t)
	server := b.oneAtOnce()
	b.exec(`insert into oxbow.memories (user_id, memory_type, content) select 'user ' || n, 'document', repeat('x',
		400000) || n from generate_series(1, 5) n`)
	require.NoError(t, b.drain())
	var texts []int
	for _, r := range server.Requests() {
		texts = append(texts, len(r.Texts))
	}
	require.Equal(t, []int{2, 2, 1}, texts)
	require.Equal(t, 5, b.count(`oxbow.river_job where kind = 'embed' and state = 'completed' and attempt = 1`))
}

// If PostgreSQL rejects one user's memory, the other users' memories are stored, and their errors contain
// nothing of the rejected one.
func TestCoalesceBadMemory(t *testing.T) {
	b := setup(t)
	b.cfg.Concurrency = 1
	b.exec(`create function oxbow.test_poison() returns trigger language plpgsql as $$ begin
		if exists (select from oxbow.memories m where m.id = new.memory_id and m.content = 'memory of 7') then
			raise 'too much: memory of 7' using errcode = 'program_limit_exceeded';
		end if; return new; end $$;
		create trigger test_poison before insert on oxbow.memory_terms_episodic
		for each row execute function oxbow.test_poison()`)
	b.singles(20)
	require.ErrorAs(t, b.drain(), new(*UnfinishedError))
	require.Equal(t, 19, b.count(`oxbow.memory_vectors`))
	require.Equal(t, 19, b.count(`oxbow.river_job where kind = 'embed' and state = 'completed' and attempt = 1
		and errors is null`))
	require.Equal(t, 1, b.count(`oxbow.river_job where args ->> 'user_id' = 'user 7'
		and errors[1] ->> 'error' like '%memory of 7%'`))
}

// A batch that is cut to a single memory, which PostgreSQL rejects, leaves no job without memories.
func TestCoalesceBadLargeMemory(t *testing.T) {
	b := setup(t)
	b.cfg.Concurrency = 1
	b.exec(`alter table oxbow.memory_terms_document add constraint test_poison check (user_id <> 'user 1') not valid`)
	b.exec(`insert into oxbow.memories (user_id, memory_type, content) select 'user ' || n, 'document', repeat('x',
		600000) || n from generate_series(1, 3) n`)
	require.ErrorAs(t, b.drain(), new(*UnfinishedError))
	require.Equal(t, 2, b.count(`oxbow.river_job where kind = 'embed' and state = 'completed'`))
	require.Equal(t, 3, b.count(`oxbow.river_job where kind = 'embed'`))
}

// One text may cause an invalid answer, so each text is then embedded alone.
func TestCoalesceNonsense(t *testing.T) {
	b := setup(t)
	server := b.oneAtOnce()
	server.Next(embeddingtest.Garbage())
	b.singles(5)
	require.NoError(t, b.drain())
	require.Len(t, server.Requests(), 6)
	require.Equal(t, 5, b.count(`oxbow.river_job where kind = 'embed' and state = 'completed' and attempt = 1
		and errors is null`))
}

func TestCoalesceProviderDown(t *testing.T) {
	b := setup(t)
	server := b.oneAtOnce()
	server.Always(embeddingtest.TooManyRequests(20 * time.Second))
	b.singles(20)
	var left *UnfinishedError
	require.ErrorAs(t, b.drain(), &left)
	require.Equal(t, int64(20), left.Jobs)
	require.Equal(t, 20, b.count(`oxbow.memory_terms`), "words are indexed meanwhile")
	require.Equal(t, 20, b.count(`oxbow.river_job where kind = 'embed' and state = 'scheduled' and attempt = 0
		and scheduled_at > now() and metadata ? 'snoozes' and not metadata ? 'alone'`))
	server.Always(embeddingtest.Fault{})
	require.NoError(t, b.drain())
	require.Equal(t, 20, b.count(`oxbow.memory_vectors`))
}

// A text at which the provider breaks does not keep the others from being embedded.
func TestCoalesceBreakingText(t *testing.T) {
	b := setup(t)
	server := b.oneAtOnce()
	breaks := embeddingtest.Status(500, "broken")
	breaks.If = func(texts []string) bool { return slices.Contains(texts, "memory of 7") }
	server.Always(breaks)
	b.singles(20)
	for workers := 0; b.count(`oxbow.memory_vectors`) < 19; workers++ { // each calls the provider until it breaks
		require.Less(t, workers, 100)
		require.ErrorAs(t, b.drain(), new(*UnfinishedError))
		b.exec(`update oxbow.river_job set state = 'available', scheduled_at = now() - random() * interval '1 second'
			where state = 'scheduled'`)
	}
	require.ErrorAs(t, b.drain(), new(*UnfinishedError))
	require.Equal(t, 1, b.count(`oxbow.river_job where kind = 'embed' and state = 'scheduled' and attempt = 0
		and errors is null and metadata ? 'alone' and scheduled_at > now() + interval '15 seconds'`), "longer each time")
}

// A user's open transaction holds up the memories of the others in the batch for a few seconds only.
func TestCoalesceLockedUser(t *testing.T) {
	b := setup(t)
	old := b.insert("user 3", "old")
	require.NoError(t, b.drain())
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	_, err = tx.Exec(t.Context(), `select oxbow.erase_memory('user 3', $1)`, old[0])
	require.NoError(t, err)
	b.singles(20)
	_, stop, ended := b.run()
	b.eventually(`select count(*) = 19 from oxbow.memory_vectors where user_id <> 'user 3'`)
	require.Zero(t, b.count(`oxbow.river_job where kind = 'embed' and errors is not null`))
	require.NoError(t, tx.Commit(t.Context()))
	b.eventually(`select count(*) = 20 from oxbow.memory_vectors`)
	stop()
	require.NoError(t, end(t, ended))
}

// Erasing a user whose memories are in a batch with others' leaves nothing of the user; the others lose nothing.
func TestErasedInBatch(t *testing.T) {
	for _, erase := range []string{
		`select oxbow.erase_user('user 3')`,
		`select oxbow.erase_memory('user 3', (select id from oxbow.memories where user_id = 'user 3'))`,
		// the user of the job that River runs
		`select oxbow.erase_user('user 3'), oxbow.erase_user(args ->> 'user_id') from oxbow.river_job
			where kind = 'embed' order by id limit 1`,
	} {
		t.Run(erase, func(t *testing.T) {
			b := setup(t)
			server := b.oneAtOnce()
			b.singles(10)
			erased := false
			server.Refuse(func(texts []string) bool {
				if !erased && slices.Contains(texts, "memory of 3") {
					erased = true
					_, err := b.pool.Exec(context.WithoutCancel(b.Context()), erase)
					return err != nil
				}
				return false
			})
			require.NoError(t, b.drain())
			require.True(t, erased)
			b.exec(`select oxbow.finish_erasures('user 3')`)
			for _, table := range get[[]string](b, `select array_agg(distinct c.table_name::text)
				from information_schema.columns c join information_schema.tables t
				using (table_schema, table_name) where table_schema = 'oxbow' and column_name = 'user_id'
				and table_type = 'BASE TABLE'`) {
				require.Zero(t, b.count(`oxbow.`+table+` where user_id = 'user 3'`), table)
			}
			require.Zero(t, b.count(`oxbow.river_job where args ->> 'user_id' = 'user 3'`))
			remain := b.count(`oxbow.memories`)
			require.Equal(t, map[bool]int{true: 8, false: 9}[strings.Contains(erase, "args")], remain)
			require.Equal(t, remain, b.count(`oxbow.memory_vectors join oxbow.memory_terms
				using (user_id, memory_type, memory_id)`))
			require.Equal(t, remain, b.count(`oxbow.reflection_inbox`))
			require.Equal(t, remain, b.count(`oxbow.river_job where kind = 'embed' and state = 'completed'
				and attempt = 1`))
		})
	}
}

// A user who opts out while their memories are in a batch with others' is not reflected on.
func TestOptedOutInBatch(t *testing.T) {
	b := setup(t)
	server := b.oneAtOnce()
	b.singles(10)
	server.Refuse(func([]string) bool {
		_, err := b.pool.Exec(b.Context(), `insert into oxbow.users (user_id, opted_out) values ('user 3', true)
			on conflict do nothing`)
		return err != nil
	})
	require.NoError(t, b.drain())
	require.Equal(t, 10, b.count(`oxbow.memory_vectors`))
	require.Equal(t, 9, b.count(`oxbow.reflection_inbox`))
	require.Zero(t, b.count(`oxbow.reflection_inbox where user_id = 'user 3'`))
}

// A worker that stops returns the jobs that it took, and they do not count as attempted.
func TestCoalesceStopped(t *testing.T) {
	b := setup(t)
	server := b.oneAtOnce()
	server.Always(embeddingtest.Hang())
	b.cfg.StopTimeout = time.Nanosecond
	b.singles(10)
	w := b.worker()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	<-server.Hanging()
	require.Equal(t, 10, b.count(`oxbow.river_job where kind = 'embed' and state = 'running'`))
	stop()
	require.NoError(t, <-done)
	require.Equal(t, 10, b.count(`oxbow.river_job where kind = 'embed' and state = 'available' and attempt = 0
		and errors is null and not metadata ? 'alone'`))
}

// River's rescuer finds the jobs that a dead worker took, like any others.
func TestCoalescedAreRescued(t *testing.T) {
	b := setup(t)
	server := b.oneAtOnce()
	server.Always(embeddingtest.Hang())
	b.cfg.StopTimeout = time.Nanosecond
	b.singles(10)
	// A leader looks for jobs to rescue when it is elected, so nobody is until an hour has passed.
	b.exec(`insert into oxbow.river_leader (leader_id, elected_at, expires_at)
		values ('nobody', now(), now() + interval '1 day')`)
	_, stop, ended := b.run()
	<-server.Hanging()
	b.exec(`update oxbow.river_job set attempted_at = attempted_at - interval '1 hour' where state = 'running'`)
	b.exec(`delete from oxbow.river_leader`)
	server.Always(embeddingtest.Fault{})
	_, stopOther, otherEnded := b.run()
	b.eventually(`select count(*) = 10 from oxbow.memory_vectors`)
	b.eventually(`select count(*) = 10 from oxbow.river_job
		where kind = 'embed' and state = 'completed' and attempt = 2 and errors[1] ->> 'error' like 'Stuck job%'`)
	stop()
	stopOther()
	require.NoError(t, end(t, otherEnded))
	require.NoError(t, end(t, ended))
}
