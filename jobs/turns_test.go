package jobs

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// Whatever room the calls have, the oldest jobs get a fifth of it over time, and the newest two fifths.
func TestShares(t *testing.T) {
	t.Parallel()
	for room := range 129 {
		given, oldest, newest := 0, 0, 0
		for range 20 {
			o, n := shares(given, room)
			given, oldest, newest = given+room, oldest+o, newest+n
			require.InDelta(t, given/5, oldest, 1, "%d of %d", room, given)
			require.InDelta(t, given*2/5, newest, 1, "%d of %d", room, given)
		}
	}
}

// take takes a job of a queue as River does, and returns its user.
func take(t *testing.T, exec riverdriver.Executor, queue string) string {
	t.Helper()
	got, err := exec.JobGetAvailable(t.Context(),
		&riverdriver.JobGetAvailableParams{ClientID: "me", MaxToLock: 1, Queue: queue, Schema: "oxbow"})
	require.NoError(t, err)
	require.Len(t, got.Jobs, 1)
	var args struct {
		UserID string `json:"user_id"`
	}
	require.NoError(t, json.Unmarshal(got.Jobs[0].EncodedArgs, &args))
	return args.UserID
}

// waits enqueues n jobs of a user.
func waits(t *testing.T, pool *pgxpool.Pool, k *Kind, user string, n int) {
	t.Helper()
	_, err := pool.Exec(t.Context(), `
		insert into oxbow.river_job (kind, queue, max_attempts, args)
		select $1, $2, 25, jsonb_strip_nulls(jsonb_build_object('user_id', nullif($3, ''), 'session_id', i))
		  from generate_series(1, $4::int) i`, k.Name, k.Queue, user, n)
	require.NoError(t, err)
}

// While other users need all slots, a user with many jobs gets a fifth, and the others' jobs do not wait for those.
func TestTurnsStarveNone(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	exec := Driver(pool).GetExecutor()
	extract := KindOf("extract")
	waits(t, pool, extract, "flood", 500)
	const takes = 50
	flood := 0
	for i := range takes {
		waits(t, pool, extract, fmt.Sprint("user ", i), 1)
		if take(t, exec, extract.Queue) == "flood" {
			flood++
		}
	}
	require.GreaterOrEqual(t, flood, takes/5)
	require.Less(t, flood, takes/3)
}

// A user's many jobs of any kind do not delay another user's job, nor a job about all users.
func TestTurnsOfKinds(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	exec := Driver(pool).GetExecutor()
	for _, k := range Kinds() {
		flooding, user := k, "other"
		if !k.OfUser {
			flooding, user = KindOf("notify"), ""
			require.Equal(t, flooding.Queue, k.Queue)
		}
		waits(t, pool, flooding, "flood", 200)
		waits(t, pool, k, user, 1)
		waits(t, pool, flooding, "flood", 200)
		var taken []string
		for range 5 { // of which two are by turn
			taken = append(taken, take(t, exec, k.Queue))
		}
		require.Contains(t, taken, user, k.Name)
		_, err := pool.Exec(t.Context(), "truncate oxbow.river_job")
		require.NoError(t, err)
	}
}

// A job that we take has all that River's driver reads of it, in every query mode of pgx.
func TestTurnsTakeWholeJobs(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe,
		pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		_, err := pool.Exec(t.Context(), `
			insert into oxbow.river_job (kind, queue, max_attempts, args, metadata, priority, tags, attempt, errors,
				attempted_by, scheduled_at)
			values ('embed', 'embed', 7, '{"user_id": "ann"}', '{"alone": true}', 2, '{a,b}', 3,
				array['{"at": "2025-01-02T03:04:05Z", "attempt": 1, "error": "broken", "trace": ""}', '"odd"']::jsonb[],
				array(select i::text from generate_series(1, 100) i), now() - interval '1 hour');
			update oxbow.river_job set unique_key = '\x01', unique_states = b'00000001' where state = 'available'`)
		require.NoError(t, err)
		cfg := pool.Config()
		cfg.ConnConfig.DefaultQueryExecMode = mode
		got, err := Driver(pgtest.PoolOf(t, cfg)).GetExecutor().JobGetAvailable(t.Context(),
			&riverdriver.JobGetAvailableParams{ClientID: "me", MaxToLock: 9, Queue: QueueEmbed, Schema: "oxbow"})
		require.NoError(t, err, mode)
		require.Len(t, got.Jobs, 1, mode)
		job := got.Jobs[0]
		want, err := riverpgxv5.New(pool).GetExecutor().JobGetByID(t.Context(),
			&riverdriver.JobGetByIDParams{ID: job.ID, Schema: "oxbow"})
		require.NoError(t, err)
		require.Len(t, want.AttemptedBy, 100)
		require.Equal(t, "me", want.AttemptedBy[99])
		require.WithinDuration(t, time.Now(), *want.AttemptedAt, time.Minute)
		want.UniqueStates = nil // only for those who insert
		require.Equal(t, want, job, mode)
	}
}
