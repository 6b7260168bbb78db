package sqlcode_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/jobs"
	sqlcode "github.com/oxbow-memory/oxbow/sql"
)

// queued returns the ids in each job of a user.
func queued(t *testing.T, tx db, user string) [][]string {
	t.Helper()
	var lists [][]string
	for _, ids := range all[string](t, tx, `select args ->> 'ids' from oxbow.river_job where args ->> 'user_id' = $1
		order by id`, user) {
		lists = append(lists, strings.Split(ids, ","))
	}
	return lists
}

// requireQueued checks that every memory of the user is in exactly one job, and returns the jobs.
func requireQueued(t *testing.T, tx db, user string) [][]string {
	t.Helper()
	lists := queued(t, tx, user)
	ids := all[string](t, tx, "select id::text from oxbow.memories where user_id = $1", user)
	require.ElementsMatch(t, ids, slices.Concat(lists...))
	for _, list := range lists {
		require.LessOrEqual(t, len(list), 128)
	}
	return lists
}

func TestInsertEnqueuesItsJob(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := remember(t, tx, row{"user_id": "ann"})
	require.Equal(t, [][]string{{id}}, queued(t, tx, "ann"))
}

func TestEnqueuedJobIsWhatRiverWouldInsert(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := remember(t, tx, row{"user_id": "ann"})

	client, err := river.NewClient(riverpgxv5.New(nil), &river.Config{Schema: "oxbow"})
	require.NoError(t, err)
	inserted, err := client.InsertTx(t.Context(), tx, jobs.EmbedMemories("ann", []uuid.UUID{uuid.MustParse(id)}), nil)
	require.NoError(t, err)

	const shape = `select to_jsonb(j) - array['id', 'created_at', 'scheduled_at'] from oxbow.river_job j where `
	theirs := one[map[string]any](t, tx, shape+"id = $1", inserted.Job.ID)
	ours := one[map[string]any](t, tx, shape+"args ->> 'user_id' = 'ann' and id <> $1", inserted.Job.ID)
	require.Equal(t, theirs, ours)
	require.True(t, one[bool](t, tx,
		"select bool_and(scheduled_at <= clock_timestamp()) from oxbow.river_job where args ->> 'user_id' = 'ann'"))
}

func TestOneStatementOfManyRows(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	exec(t, tx, `insert into oxbow.memories (user_id, content)
	             select 'user ' || n % 3, 'line ' || n from generate_series(0, 999) n`)
	for user, jobs := range map[string]int{"user 0": 3, "user 1": 3, "user 2": 3} {
		require.Len(t, requireQueued(t, tx, user), jobs)
	}
}

func TestJobsHold128Ids(t *testing.T) {
	t.Parallel()
	for rows, jobs := range map[int]int{1: 1, 128: 1, 129: 2, 256: 2, 1000: 8} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			t.Parallel()
			tx := pgtest.Tx(t)
			exec(t, tx, `insert into oxbow.memories (user_id, content) select 'ann', 'line ' || n
				from generate_series(1, $1::int) n`, rows)
			require.Len(t, requireQueued(t, tx, "ann"), jobs)
		})
	}
}

func TestMultiRowValues(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	exec(t, tx, `insert into oxbow.memories (user_id, content, memory_type) values
	             ('ann', 'one', 'fact'), ('bob', 'two', 'fact'), ('ann', 'three', 'episodic'),
	             ('ann', 'four', 'document')`)
	require.Len(t, requireQueued(t, tx, "ann"), 1, "one job for all types")
	require.Len(t, requireQueued(t, tx, "bob"), 1)
}

func TestCopyEnqueues(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	n, err := tx.CopyFrom(t.Context(), pgx.Identifier{"oxbow", "memories"},
		[]string{"user_id", "memory_type", "content"}, pgx.CopyFromSlice(300, func(i int) ([]any, error) {
			return []any{"ann", "episodic", fmt.Sprint("line ", i)}, nil
		}))
	require.NoError(t, err)
	require.EqualValues(t, 300, n)
	require.Len(t, requireQueued(t, tx, "ann"), 3)
}

func TestInsertIntoAPartitionEnqueuesOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"fact", "episodic", "trait", "document"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			tx := pgtest.Tx(t)
			exec(t, tx, "set local oxbow.origin = 'import'")
			exec(t, tx, "insert into oxbow.memories_"+kind+" (user_id, memory_type, content) values ('ann', $1, 'one')",
				kind)
			require.Len(t, requireQueued(t, tx, "ann"), 1)
		})
	}
}

func TestRetriedInsertAddsNothing(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	sql, args := row{"user_id": "ann", "content": "one", "external_id": "order-1"}.statement("oxbow.memories")
	exec(t, tx, sql+" on conflict do nothing", args...)
	exec(t, tx, sql+" on conflict do nothing", args...)
	exec(t, tx, sql+" on conflict (user_id, memory_type, external_id) do nothing", args...)
	require.Equal(t, 1, one[int](t, tx, "select count(*) from oxbow.memories where user_id = 'ann'"))
	require.Len(t, requireQueued(t, tx, "ann"), 1)

	err := fails(t, tx, sql, args...)
	require.Equal(t, "23505", err.Code)
	require.Contains(t, err.Detail, "order-1")

	// the same external id belongs to another memory for another user or type
	remember(t, tx, row{"user_id": "bob", "external_id": "order-1"})
	remember(t, tx, row{"user_id": "ann", "external_id": "order-1", "memory_type": "episodic"})
}

func TestPartlyRetriedStatementEnqueuesTheNewRows(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	const sql = `insert into oxbow.memories (user_id, content, external_id)
	             select 'ann', 'line ' || n, 'x' || n from generate_series(1, $1::int) n on conflict do nothing`
	exec(t, tx, sql, 3)
	exec(t, tx, sql, 5)
	lists := requireQueued(t, tx, "ann")
	require.Len(t, lists[0], 3)
	require.Len(t, lists[1], 2)
}

func TestUpdateEnqueuesNothing(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	remember(t, tx, row{"user_id": "ann", "external_id": "x"})
	exec(t, tx, "update oxbow.memories set importance = 0.9, metadata = '{\"a\": 1}' where user_id = 'ann'")
	exec(t, tx, `insert into oxbow.memories (user_id, content, external_id) values ('ann', 'A boat on the river.', 'x')
	             on conflict (user_id, memory_type, external_id) do update
	             set mention_count = memories.mention_count + 1`)
	exec(t, tx, "insert into oxbow.memories (user_id, content) select 'ann', 'nothing' where false")
	require.Len(t, queued(t, tx, "ann"), 1)
}

func TestSavepointRolledBackLeavesNothing(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	remember(t, tx, row{"user_id": "ann"})
	inner, err := tx.Begin(t.Context())
	require.NoError(t, err)
	remember(t, inner, row{"user_id": "ann", "content": "not this"})
	require.NoError(t, inner.Rollback(t.Context()))
	remember(t, tx, row{"user_id": "ann", "content": "but this"})
	require.Len(t, requireQueued(t, tx, "ann"), 2)
}

func TestOpenTransactionsOfOneUserDoNotWait(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	first, second, third := begin(t, dsn), begin(t, dsn), begin(t, dsn)
	for _, tx := range []pgx.Tx{first, second, third, first, second} {
		remember(t, tx, row{"user_id": "ann", "content": "the same text, and no lock"})
	}
	require.NoError(t, second.Commit(t.Context()))
	require.NoError(t, third.Rollback(t.Context()))
	require.NoError(t, first.Commit(t.Context()))

	conn := connect(t, dsn)
	require.Len(t, requireQueued(t, conn, "ann"), 4, "and nothing of what was rolled back")
}

// bell listens on River's channel. The marker sends signs on the same channel to order notifications.
type bell struct{ listener, marker *pgx.Conn }

const bellChannel = `"oxbow.river_insert"`

func newBell(t *testing.T, dsn string) *bell {
	b := &bell{listener: connect(t, dsn), marker: connect(t, dsn)}
	exec(t, b.listener, "listen "+bellChannel)
	return b
}

// mark sends a sign, so that heard ends there.
func (b *bell) mark(t *testing.T, sign string) {
	exec(t, b.marker, "notify "+bellChannel+", '"+sign+"'")
}

// heard returns the notifications before the sign.
func (b *bell) heard(t *testing.T, sign string) []string {
	b.mark(t, sign)
	var sent []string
	for {
		n, err := b.listener.WaitForNotification(t.Context())
		require.NoError(t, err)
		sent = append(sent, n.Payload)
		if n.Payload == sign {
			return sent
		}
	}
}

const ring = `{"queue":"embed"}`

func TestDoorbell(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	b := newBell(t, dsn)
	conn := connect(t, dsn)

	remember(t, conn, row{"user_id": "ann"})
	require.Equal(t, []string{ring, "committed"}, b.heard(t, "committed"))

	// one notification for several statements
	tx := begin(t, dsn)
	remember(t, tx, row{"user_id": "ann", "content": "two"})
	remember(t, tx, row{"user_id": "ann", "content": "three"})
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, []string{ring, "twice"}, b.heard(t, "twice"))

	// none without a job
	exec(t, conn, "update oxbow.memories set importance = 0.6 where user_id = 'ann'")
	tx = begin(t, dsn)
	remember(t, tx, row{"user_id": "ann", "content": "four"})
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, []string{"nothing"}, b.heard(t, "nothing"))

	// rolling back to a savepoint discards its notification, and the next insert notifies again
	tx = begin(t, dsn)
	inner, err := tx.Begin(t.Context())
	require.NoError(t, err)
	remember(t, inner, row{"user_id": "ann", "content": "five"})
	require.NoError(t, inner.Rollback(t.Context()))
	remember(t, tx, row{"user_id": "ann", "content": "six"})
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, []string{ring, "savepoint"}, b.heard(t, "savepoint"))
}

func TestOneOfTwoOpenTransactionsRings(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	b := newBell(t, dsn)
	first, second := begin(t, dsn), begin(t, dsn)
	remember(t, first, row{"user_id": "ann"})
	id := remember(t, second, row{"user_id": "bob"})
	exec(t, second, "select oxbow.forget('bob', $1), oxbow.restore('bob', $1)", id)
	require.Len(t, queued(t, second, "bob"), 2, "restored before it was embedded")
	require.Equal(t, []bool{true}, all[bool](t, first, `
		select classid::bigint not in (0, 4294967295) from pg_locks where locktype = 'advisory'
		and pid = pg_backend_pid()`),
		"one lock, of a number that no application uses: those are small")
	require.NoError(t, second.Commit(t.Context()))
	require.Equal(t, []string{"second"}, b.heard(t, "second"), "the first is still open, so commits do not queue up")
	require.NoError(t, first.Commit(t.Context()))
	require.Equal(t, []string{ring, "first"}, b.heard(t, "first"))
}

func TestInsertRightIsEnough(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	asApp(t, tx)
	exec(t, tx, "insert into oxbow.memories (user_id, content) values ('ann', 'one')")
	require.Equal(t, "42501", fails(t, tx, "select from oxbow.river_job").Code)
	require.Equal(t, "42501", fails(t, tx, "select oxbow.ring_doorbell()").Code)
	exec(t, tx, "reset role")
	require.Len(t, requireQueued(t, tx, "ann"), 1)
}

// A statement on a partition fires only the partition's triggers, which a new partition does not inherit.
func TestEveryPartitionHasTheTriggersOfItsParent(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	const missing = `
		select p.inhrelid::regclass || ' lacks ' || t.tgname
		  from pg_trigger t join pg_inherits p on p.inhparent = t.tgrelid
		  join pg_class c on c.oid = t.tgrelid and c.relkind = 'p'
		 where c.relnamespace = 'oxbow'::regnamespace and not t.tgisinternal
		   and not exists (select from pg_trigger o where o.tgrelid = p.inhrelid and o.tgname = t.tgname
		   and o.tgenabled = 'O')
		 order by 1`
	require.Positive(t,
		one[int](t, tx, "select count(*) from pg_trigger where tgname in ('enqueue_embed', 'uncount_terms')"))
	require.Empty(t, all[string](t, tx, missing))

	exec(t, tx, "create table oxbow.memories_other partition of oxbow.memories default")
	require.Equal(t, []string{"oxbow.memories_other lacks enqueue_embed",
		"oxbow.memories_other lacks refuse_trait_change"}, all[string](t, tx, missing))
	for _, file := range []string{"code/020_enqueue.sql", "code/045_immutable.sql"} {
		text, err := sqlcode.FS.ReadFile(file)
		require.NoError(t, err)
		exec(t, tx, string(text))
	}
	require.Empty(t, all[string](t, tx, missing))
}
