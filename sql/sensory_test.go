package sqlcode_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// kept is the result of oxbow.sensory_partitions.
type kept struct {
	Made    int
	Moved   int64
	Dropped int
	Deleted int64
	PutOff  int
}

func keepDays(t *testing.T, conn db) kept {
	t.Helper()
	rows, err := conn.Query(t.Context(), "select * from oxbow.sensory_partitions()")
	require.NoError(t, err)
	k, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[kept])
	require.NoError(t, err)
	return k
}

// days returns the existing partitions as days from today.
func days(t *testing.T, conn db) []int {
	t.Helper()
	return all[int](t, conn, `
		select to_date(right(c.relname, 8), 'YYYYMMDD') - (now() at time zone 'UTC')::date
		  from pg_inherits i join pg_class c on c.oid = i.inhrelid
		 where i.inhparent = 'oxbow.sensory'::regclass and c.relname <> 'sensory_default' and c.relpersistence = 'u'
		 and c.relrowsecurity
		 order by 1`)
}

// sense adds a row dated the given number of days from now.
func sense(t *testing.T, conn db, user, content string, day float64) {
	t.Helper()
	exec(t, conn, "insert into oxbow.sensory (user_id, content, at) values ($1, $2, now() + $3 * interval '1 day')",
		user, content, day)
}

// places counts a user's rows in the days' partitions and in the default partition.
func places(t *testing.T, conn db, user string) (inDays, inDefault int) {
	t.Helper()
	inDefault = count(t, conn, "oxbow.sensory_default", user)
	return count(t, conn, "oxbow.sensory", user) - inDefault, inDefault
}

// countAll counts all rows. It waits for the transactions of other tests, which run on the same server and
// may stay open as long as the slowest of them.
func countAll(t *testing.T, conn db) {
	t.Helper()
	until := one[string](t, conn, "select (coalesce(max(tx), '0'))::text from oxbow.sensory")
	require.Eventually(t, func() bool {
		return one[bool](t, conn, "select pg_snapshot_xmin(pg_current_snapshot()) > $1::text::xid8", until)
	},
		10*time.Minute, 5*time.Millisecond)
	for one[int](t, conn, "select oxbow.count_sensory(3)") >= 3 {
	}
}

func candidates(t *testing.T, conn db, user string) []string {
	t.Helper()
	return all[string](t, conn,
		"select content || ' ' || times from oxbow.sensory_candidates where user_id = $1 order by content", user)
}

func TestSensoryTakesADayWithoutAPartition(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Database(t))
	require.Equal(t, kept{}, keepDays(t, conn), "a stream that is not used gets no partitions")
	sense(t, conn, ann(t), "now", 0)
	sense(t, conn, ann(t), "the day before", -1)
	inDays, inDefault := places(t, conn, ann(t))
	require.Equal(t, []int{0, 2}, []int{inDays, inDefault})

	exec(t, conn, "set timezone = 'Asia/Kolkata'; set datestyle = 'SQL, DMY'") // days are UTC regardless
	require.Equal(t, kept{Made: 6, Moved: 2}, keepDays(t, conn))
	require.Equal(t, []int{-3, -2, -1, 0, 1, 2}, days(t, conn))
	inDays, inDefault = places(t, conn, ann(t))
	require.Equal(t, []int{2, 0}, []int{inDays, inDefault})
	require.Equal(t, []string{"the day before", "now"}, all[string](t, conn,
		"select content from oxbow.sensory where user_id = $1 order by at", ann(t)))
	sense(t, conn, ann(t), "later", 0.9)
	_, inDefault = places(t, conn, ann(t))
	require.Zero(t, inDefault)
	require.Equal(t, kept{}, keepDays(t, conn), "there is nothing left to do")
}

func TestSensoryDropsOldPartitions(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Database(t))
	exec(t, conn, `update oxbow.settings set value = '{"days": 10}' where key = 'sensory'`)
	sense(t, conn, ann(t), "moved", -8)
	require.Equal(t, 13, keepDays(t, conn).Made)
	sense(t, conn, ann(t), "old", -9)
	sense(t, conn, ann(t), "young", -2)
	// a day that stayed in the default partition
	exec(t, conn,
		"drop table oxbow."+one[string](t, conn, "select oxbow.sensory_day((now() at time zone 'UTC')::date - 7)"))
	sense(t, conn, ann(t), "left", -7)
	exec(t, conn, `update oxbow.settings set value = '{"days": 2, "times": 3}' where key = 'sensory'`)

	require.Equal(t, kept{Dropped: 7, Deleted: 1}, keepDays(t, conn))
	require.Equal(t, []int{-2, -1, 0, 1, 2}, days(t, conn))
	require.Equal(t, []string{"young"}, all[string](t, conn, "select content from oxbow.sensory"))
}

func TestSensoryRefuses(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Database(t))
	sense(t, conn, ann(t), "now", 0)
	keepDays(t, conn)
	today := one[string](t, conn, "select 'oxbow.' || oxbow.sensory_day((now() at time zone 'UTC')::date)")
	for _, c := range []struct{ column, sql, says string }{
		{"at",
			"insert into oxbow.sensory (user_id, content, at) values ('ann', 'a', now() - interval '4 days 1 second')",
			"the sensory stream is kept for 3 days"},
		{"at", "insert into oxbow.sensory (user_id, content, at) values ('ann', 'a', now() + interval '25 hours')",
			"more than a day ahead"},
		{"at", "insert into oxbow.sensory (user_id, content, at) values ('ann', 'a', 'infinity')",
			"more than a day ahead"},
		{"at", "insert into oxbow.sensory (user_id, content, at) values ('ann', 'a', '-infinity')", "kept for 3 days"},
		{"at", "insert into " + today + " (user_id, content, at) values ('ann', 'a', '2020-01-01')", "kept for 3 days"},
		{"at", "insert into oxbow.sensory_default (user_id, content, at) values ('ann', 'a', '2020-01-01')",
			"kept for 3 days"},
		{"content", "insert into oxbow.sensory (user_id, content) values ('ann', ' ')", "must not be blank"},
		{"content", "insert into oxbow.sensory (user_id, content) values ('ann', repeat('a', 1048577))",
			"longer than 1 MiB"},
		{"user_id", "insert into oxbow.sensory (user_id, content) values ('', 'a')", "1 to 255 bytes"},
		{"kind", "insert into oxbow.sensory (user_id, content, kind) values ('ann', 'a', '')", "1 to 64 bytes"},
		{"metadata", "insert into oxbow.sensory (user_id, content, metadata) values ('ann', 'a', '[]')",
			"must be a JSON object"},
	} {
		err := fails(t, conn, c.sql)
		require.Equal(t, "23514", err.Code, c.sql)
		require.Equal(t, c.column, err.ColumnName, c.sql)
		require.Contains(t, err.Message, c.says)
	}
	for _, value := range []string{`{"days": 0}`, `{"days": 31}`, `{"days": 1.5}`, `{"days": "3"}`, `{"days": null}`,
		`{"times": 1}`, `{"times": true}`, `{"days": 3, "times": 1001}`, `[]`, `7`} {
		err := fails(t, conn, "update oxbow.settings set value = $1 where key = 'sensory'", value)
		require.Equal(t, "23514", err.Code, value)
		require.Contains(t, err.Message, "1 to 30", value)
	}
	for _, value := range []string{`{}`, `{"days": 30}`, `{"days": 1, "times": 1000}`} {
		exec(t, conn, "update oxbow.settings set value = $1 where key = 'sensory'", value)
	}
	require.Equal(t, 1, one[int](t, conn, "select days from oxbow.sensory_setting()"))
}

func TestSensoryPartitionsAreSecured(t *testing.T) {
	t.Parallel()
	tx := begin(t, pgtest.Database(t))
	sense(t, tx, ann(t), "ann's", 0)
	sense(t, tx, bob(t), "bob's", 0)
	keepDays(t, tx)
	partitions := all[string](t, tx,
		"select inhrelid::regclass::text from pg_inherits where inhparent = 'oxbow.sensory'::regclass")
	require.Len(t, partitions, 7)
	today := one[string](t, tx, "select 'oxbow.' || oxbow.sensory_day((now() at time zone 'UTC')::date)")
	asApp(t, tx)
	for _, table := range append(partitions, "oxbow.sensory") {
		require.Zero(t, one[int](t, tx, "select count(*) from "+table), table)
	}
	setUser(t, tx, ann(t))
	for _, table := range []string{today, "oxbow.sensory"} {
		require.Equal(t, []string{"ann's"}, all[string](t, tx, "select content from "+table), table)
		exec(t, tx, "insert into "+table+" (user_id, content) values ($1, 'another')", bob(t))
		for _, sql := range []string{"delete from %s", "update %s set content = 'a'", "truncate %s", "drop table %s"} {
			require.Equal(t, "42501", fails(t, tx, fmt.Sprintf(sql, table)).Code, sql)
		}
	}
	exec(t, tx, "reset role")
	exec(t, tx, "call oxbow.secure_tables()") // as the migration does, once partitions exist
}

// INSERTs neither fail nor get lost while partitions come and go.
func TestSensoryPartitionsUnderLoad(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	conn := connect(t, dsn)
	pool, err := pgxpool.New(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	exec(t, conn, `update oxbow.settings set value = '{"days": 5}' where key = 'sensory'`)

	stop := make(chan struct{})
	var writers sync.WaitGroup
	var mu sync.Mutex
	added := 0
	for w := range 4 {
		writers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				// the days that may lack a partition: yesterday, today, tomorrow
				_, err := pool.Exec(t.Context(),
					`insert into oxbow.sensory (user_id, content, at)
						values ($1, 'tick', now() + $2 * interval '1 day')`,
					fmt.Sprint("user ", w), float64(n%3-1)*0.99)
				if err != nil {
					t.Errorf("an INSERT failed: %v", err)
					return
				}
				mu.Lock()
				added++
				mu.Unlock()
			}
		})
	}
	made := 0
	for range 10 {
		// drop all days with their rows, as if the worker had been away, and let several calls create them
		// again
		var makers sync.WaitGroup
		for range 3 {
			makers.Go(func() {
				var n int
				if err := pool.QueryRow(t.Context(), "select made from oxbow.sensory_partitions()").Scan(
					&n); err != nil {
					t.Errorf("sensory_partitions failed: %v", err)
				}
				mu.Lock()
				made += n
				mu.Unlock()
			})
		}
		makers.Wait()
		detach(t, conn)
	}
	close(stop)
	writers.Wait()
	require.Greater(t, made, 20)
	require.Equal(t, added, one[int](t, conn, "select count(*) from oxbow.sensory"))
	require.Positive(t, added)
}

// detach moves all days back into the default partition.
func detach(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	exec(t, tx, "lock table oxbow.sensory in access exclusive mode")
	for _, name := range all[string](t, tx, `select c.relname::text from pg_inherits i
		join pg_class c on c.oid = i.inhrelid
		where i.inhparent = 'oxbow.sensory'::regclass and c.relname <> 'sensory_default'`) {
		exec(t, tx, "alter table oxbow.sensory detach partition oxbow."+name)
		exec(t, tx,
			`insert into oxbow.sensory_default (user_id, at, id, content, tx) select user_id, at, id, content, tx
				from oxbow.`+name)
		exec(t, tx, "drop table oxbow."+name)
	}
	require.NoError(t, tx.Commit(t.Context()))
}

// A long lock on the stream does not block others: partitions wait for the next run, an INSERT for 200 ms.
func TestSensoryPartitionsDoNotWait(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	conn, other := connect(t, dsn), begin(t, dsn)
	sense(t, conn, ann(t), "the day before", -1)
	sense(t, other, ann(t), "in a transaction that stays open", 0)
	k := keepDays(t, conn) // the transaction stays open until the test ends
	require.Equal(t, 1, k.PutOff)
	require.Zero(t, k.Moved)
	require.NotContains(t, days(t, conn), 0)
	sense(t, conn, ann(t), "meanwhile", 0)
	require.NoError(t, other.Commit(t.Context()))
	k = keepDays(t, conn)
	require.EqualValues(t, 3, k.Moved)
	require.Zero(t, k.PutOff)
	require.Equal(t, []int{-3, -2, -1, 0, 1, 2}, days(t, conn))

	// nor do two concurrent calls
	tx := begin(t, dsn)
	keepDays(t, tx)
	require.Equal(t, kept{PutOff: 1}, keepDays(t, conn))
}

// Rows that are too many to move stay in the default partition and are found there.
func TestSensoryLeavesAFullDayInTheDefaultPartition(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Database(t))
	exec(t, conn, "insert into oxbow.sensory (user_id, content) select $1, 'tick' from generate_series(1, 10001)",
		ann(t))
	require.Zero(t, keepDays(t, conn).Moved)
	require.Equal(t, []int{-3, -2, -1, 1, 2}, days(t, conn))
	require.Equal(t, 10001, count(t, conn, "oxbow.sensory", ann(t)))
	exec(t, conn, "delete from oxbow.sensory where ctid in (select ctid from oxbow.sensory limit 1)")
	require.EqualValues(t, 10000, keepDays(t, conn).Moved)
}

func TestSensoryCandidates(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Database(t))
	for range 2 {
		sense(t, conn, ann(t), "opens the calendar", -2.5)
		sense(t, conn, bob(t), "opens the calendar", 0)
		sense(t, conn, ann(t), "once or twice", 0)
	}
	countAll(t, conn)
	require.Empty(t, candidates(t, conn, ann(t)))
	keepDays(t, conn) // the rows move
	sense(t, conn, ann(t), "opens the calendar", 0)
	for range 4 {
		sense(t, conn, ann(t), "听音乐", 0.5)
	}
	countAll(t, conn)
	require.Equal(t, []string{"opens the calendar 3", "听音乐 4"}, candidates(t, conn, ann(t)))
	require.Empty(t, candidates(t, conn, bob(t)))
	require.True(t, one[bool](t, conn,
		`select last_at - first_at between '2.4 days' and '2.6 days' from oxbow.sensory_candidates
				where times = 3`))
	require.Zero(t, one[int](t, conn, "select oxbow.count_sensory(100)"), "nothing is looked at twice")

	// a candidate that comes again is counted further
	sense(t, conn, ann(t), "opens the calendar", 0)
	countAll(t, conn)
	require.Equal(t, []string{"opens the calendar 4", "听音乐 4"}, candidates(t, conn, ann(t)))

	// the required number is configurable
	exec(t, conn, `update oxbow.settings set value = '{"times": 2}' where key = 'sensory'`)
	sense(t, conn, bob(t), "anything", 0)
	sense(t, conn, bob(t), "opens the calendar", 0)
	countAll(t, conn)
	require.Equal(t, []string{"opens the calendar 3"}, candidates(t, conn, bob(t)))
}

func TestSensoryCandidatesAge(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Database(t))
	exec(t, conn, `update oxbow.settings set value = '{"days": 20}' where key = 'sensory'`)
	for i := range 4 {
		sense(t, conn, ann(t), "all old", -10)
		sense(t, conn, ann(t), "too few", -10+float64(i)*3)       // 10, 7, 4, 1 days ago
		sense(t, conn, ann(t), "still frequent", -6+float64(i)*2) // 6, 4, 2, 0
	}
	keepDays(t, conn)
	countAll(t, conn)
	require.Equal(t, []string{"all old 4", "still frequent 4", "too few 4"}, candidates(t, conn, ann(t)))
	require.Zero(t, one[int](t, conn, "select oxbow.age_candidates(100)"))

	exec(t, conn, `update oxbow.settings set value = '{"days": 5}' where key = 'sensory'`)
	keepDays(t, conn)
	require.Equal(t, 2, one[int](t, conn, "select oxbow.age_candidates(2)"))
	require.Equal(t, 1, one[int](t, conn, "select oxbow.age_candidates(2)"))
	require.Zero(t, one[int](t, conn, "select oxbow.age_candidates(2)"))
	require.Equal(t, []string{"still frequent 3"}, candidates(t, conn, ann(t)))
}

// A row that commits late is counted, even if newer ones were counted before.
func TestSensoryCountsLateCommits(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	conn, late := connect(t, dsn), begin(t, dsn)
	sense(t, late, ann(t), "late", 0)
	for range 3 {
		sense(t, conn, ann(t), "early", 0)
	}
	require.Zero(t, one[int](t, conn, "select oxbow.count_sensory(100)"))
	sense(t, late, ann(t), "late", 0)
	sense(t, late, ann(t), "late", 0)
	require.NoError(t, late.Commit(t.Context()))
	countAll(t, conn)
	require.Equal(t, []string{"early 3", "late 3"}, candidates(t, conn, ann(t)))

	// a database restored on a server with lower transaction ids
	exec(t, conn,
		`update oxbow.settings set value = '{"tx": "9223372036854775807", "id": "00000000-0000-0000-0000-000000000000"}'
			where key = 'sensory.counted'`)
	exec(t, conn, "delete from oxbow.sensory_candidates")
	countAll(t, conn)
	require.Equal(t, []string{"early 3", "late 3"}, candidates(t, conn, ann(t)))
}

// A user erased while the job counts leaves no candidate.
func TestSensoryErasedWhileCounted(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	conn := connect(t, dsn)
	for range 3 {
		sense(t, conn, ann(t), "secret", 0)
		sense(t, conn, bob(t), "tick", 0)
	}
	countAll(t, conn)
	exec(t, conn, "delete from oxbow.sensory_candidates; delete from oxbow.settings where key = 'sensory.counted'")

	// the erasure runs first
	erasing := begin(t, dsn)
	exec(t, erasing, "select oxbow.erase_user($1)", ann(t))
	counting := begin(t, dsn)
	count := func() {
		require.Eventually(t, func() bool {
			exec(t, counting, "delete from oxbow.settings where key = 'sensory.counted'")
			exec(t, counting, "select oxbow.count_sensory(100)")
			return len(candidates(t, counting, bob(t))) == 1
		}, 2*time.Minute, 5*time.Millisecond)
	}
	count()
	require.Empty(t, candidates(t, counting, ann(t)))
	require.NoError(t, erasing.Commit(t.Context()))
	require.NoError(t, counting.Commit(t.Context()))
	require.Empty(t, candidates(t, conn, ann(t)))

	// the job runs first
	exec(t, conn, "delete from oxbow.sensory_candidates")
	exec(t, conn, "delete from oxbow.settings where key = 'sensory.counted'")
	counting = begin(t, dsn)
	count()
	erased := make(chan error, 1)
	pid := one[int](t, conn, "select pg_backend_pid()")
	go func() {
		_, err := conn.Exec(t.Context(), "select oxbow.erase_user($1)", bob(t))
		erased <- err
	}()
	watching := connect(t, dsn)
	require.Eventually(t, func() bool {
		return one[bool](t, watching,
			"select coalesce((select wait_event_type = 'Lock' from pg_stat_activity where pid = $1), false)", pid)
	}, 2*time.Minute, 5*time.Millisecond)
	require.NoError(t, counting.Commit(t.Context()))
	require.NoError(t, <-erased)
	require.Empty(t, candidates(t, conn, bob(t)))
	require.Empty(t, all[string](t, conn, "select content from oxbow.sensory where user_id = $1", bob(t)))
}

// Finding a user's rows, also for erasure, reads no other user's rows.
func TestSensoryIsReadByUser(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Database(t))
	sense(t, conn, ann(t), "now", 0)
	keepDays(t, conn)
	exec(t, conn,
		`insert into oxbow.sensory (user_id, content) select 'user ' || n % 500, 'tick ' || n
			from generate_series(1, 20000) n`)
	exec(t, conn, "analyze oxbow.sensory")
	for _, sql := range []string{
		"delete from oxbow.sensory t where t.user_id = 'user 7'",
		"select s.content from oxbow.sensory s where s.user_id = 'user 7' order by s.at desc, s.id desc limit 20",
	} {
		plan := strings.Join(all[string](t, conn, "explain "+sql), "\n")
		require.NotContains(t, plan, "Seq Scan on "+one[string](t, conn,
			"select oxbow.sensory_day((now() at time zone 'UTC')::date)"), plan)
	}
}
