package sqlcode_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// enqueue enqueues n embed jobs of one memory for each user in turn.
func enqueue(t *testing.T, tx db, n int, users ...string) {
	t.Helper()
	exec(t, tx, `
		insert into oxbow.river_job (kind, queue, max_attempts, args)
		select 'embed', 'embed', 25, jsonb_build_object('user_id', u, 'ids', gen_random_uuid())
		  from generate_series(1, $1) i, unnest($2::text[]) u`, n, users)
}

// taker is a worker: it takes memories of up to room at a time, as turns in package jobs does.
type taker struct {
	tx                   db
	room, oldest, newest int
	after                int64
	kind                 any
}

func batches(tx db) *taker { return &taker{tx: tx, room: 128, oldest: 26, newest: 51, kind: "embed"} }

// take returns the number of jobs taken by user.
func (w *taker) take(t *testing.T) map[string]int {
	t.Helper()
	rows, err := w.tx.Query(t.Context(), `
		select (t.job).args ->> 'user_id', t.after from oxbow.take_jobs('embed', 'me', $1, $2, $3, $4, $5, 'alone') t`,
		w.room, w.oldest, w.newest, w.after, w.kind)
	require.NoError(t, err)
	defer rows.Close()
	taken := map[string]int{}
	for rows.Next() {
		var user string
		require.NoError(t, rows.Scan(&user, &w.after))
		taken[user]++
	}
	require.NoError(t, rows.Err())
	return taken
}

// total returns the number of jobs taken.
func total(taken map[string]int) (n int) {
	for _, jobs := range taken {
		n += jobs
	}
	return n
}

// many returns the ids of n users.
func many(n int, name string) []string {
	users := make([]string, n)
	for i := range users {
		users[i] = fmt.Sprint(name, i)
	}
	return users
}

// Wherever a user's job waits among those of others, the next batch has it, reads few rows, and is full.
func TestTakeJobsSingle(t *testing.T) {
	t.Parallel()
	const bulk = 3000
	single, users := []string{"single"}, many(bulk, "user ")
	for name, order := range map[string][][]string{ // who enqueues bulk jobs, or the single one
		"after a flood":               {{"a"}, single},
		"between floods":              {{"a"}, single, {"b"}},
		"among alternating floods":    {{"a", "b"}, single, {"b", "a"}},
		"after a flood of many users": {users, single},
		"before many users":           {single, users},
		"after many users and one":    {users, {"a"}, single},
	} {
		for _, known := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, statistics %t", name, known), func(t *testing.T) {
				t.Parallel()
				tx := begin(t, pgtest.Database(t)) // its own reads are counted
				w := batches(tx)
				for range 6 { // plans made while the queue was empty
					require.Empty(t, w.take(t))
				}
				for _, who := range order {
					if who[0] == "single" {
						enqueue(t, tx, 1, who...)
					} else {
						enqueue(t, tx, bulk/len(who), who...)
					}
				}
				if known {
					exec(t, tx, "analyze oxbow.river_job")
				}
				before := jobReads(t, tx)
				taken := w.take(t)
				require.Equal(t, 1, taken["single"], "%v", taken)
				require.Equal(t, w.room, total(taken))
				require.Less(t, jobReads(t, tx)-before, 10*w.room, "rows read")
			})
		}
	}
}

// jobReads returns how many rows of river_job this transaction has read.
func jobReads(t *testing.T, tx db) int {
	t.Helper()
	return one[int](t, tx, `select coalesce(sum(seq_tup_read + idx_tup_fetch), 0)
		from pg_stat_xact_user_tables where relid = 'oxbow.river_job'::regclass`)
}

// If users who come and go need three quarters of the capacity, they wait for at most two batches, and a user with a
// flood gets the rest. If they need all of it, the flood gets a fifth.
func TestTakeJobsStarvesNone(t *testing.T) {
	t.Parallel()
	const batch = 128
	for _, arriving := range []int{batch * 3 / 4, batch} {
		t.Run(fmt.Sprint(arriving), func(t *testing.T) {
			t.Parallel()
			tx := pgtest.Tx(t)
			w := batches(tx)
			enqueue(t, tx, 5000, "flood")
			arrived, flood := map[string]int{}, 0
			const rounds = 20
			for round := range rounds {
				users := many(arriving, fmt.Sprintf("round %d, user ", round))
				enqueue(t, tx, 1, users...)
				for _, u := range users {
					arrived[u] = round
				}
				taken := w.take(t)
				require.Equal(t, batch, total(taken))
				flood += taken["flood"]
				for u := range taken {
					if u != "flood" && arriving < batch {
						require.LessOrEqual(t, round-arrived[u], 1, u)
					}
					delete(arrived, u)
				}
			}
			require.GreaterOrEqual(t, flood, rounds*batch/5, "a fifth")
		})
	}
}

// Two users with floods share evenly, although all jobs of one wait longer.
func TestTakeJobsSharesEvenly(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	w := batches(tx)
	enqueue(t, tx, 3000, "first")
	enqueue(t, tx, 3000, "second")
	taken := map[string]int{}
	for range 10 {
		for user, n := range w.take(t) {
			taken[user] += n
		}
	}
	require.Equal(t, 10*w.room, total(taken))
	require.Greater(t, taken["second"], 3*w.room, "of ten batches: %v", taken)
	require.Greater(t, taken["first"], 3*w.room, "%v", taken)
}

// A batch has no jobs that run alone, were attempted, are of another kind, are not due, come after those of a higher
// priority, or do not fit.
func TestTakeJobsOnlyWhatMayRunTogether(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for n, change := range []string{`metadata = '{"alone": true}'`, "attempt = 1", "kind = 'other'",
		"scheduled_at = now() + interval '1 second'", "priority = 2", "state = 'scheduled'", "queue = 'extract'",
		"args = args || jsonb_build_object('ids', repeat('1,', 109) || '1')"} {
		user := fmt.Sprint("unfit ", n)
		enqueue(t, tx, 20, user)
		exec(t, tx, "update oxbow.river_job set "+change+" where args ->> 'user_id' = $1", user)
	}
	enqueue(t, tx, 300, "fit")
	taken := batches(tx).take(t)
	require.Greater(t, taken["fit"], 100, "%v", taken)
	require.Equal(t, taken["fit"], total(taken), "%v", taken)
	require.Equal(t, taken["fit"], one[int](t, tx, `select count(*) from oxbow.river_job
		where state = 'running' and attempt = 1 and attempted_by = '{me}' and attempted_at = now()`))

	rest := map[string]int{"unfit 0": 20, "unfit 1": 20, "unfit 2": 20, "unfit 4": 20, "unfit 7": 20}
	rest["fit"] = 300 - taken["fit"]
	require.Equal(t, rest, (&taker{tx: tx, room: 1000, oldest: 200, newest: 400}).take(t), "River's")
}

// Workers that take at the same time get different jobs, and each a full batch.
func TestTakeJobsAtOnce(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	conn := connect(t, dsn)
	enqueue(t, conn, 1000, "a", "b")
	enqueue(t, conn, 1, "single")
	single := 0
	for range 4 {
		taken := batches(begin(t, dsn)).take(t)
		require.Equal(t, 128, total(taken))
		single += taken["single"]
	}
	require.Equal(t, 1, single)
}
