package bench

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// What stands still is given up, and the jobs that are left are named; what goes on is waited for.
func TestAwait(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), pgtest.Database(t))
	require.NoError(t, err)
	defer pool.Close()
	const patience, every = 300 * time.Millisecond, 20 * time.Millisecond
	begun := time.Now()
	end, err := awaitFor(t.Context(), pool, patience, every, "select -(extract(epoch from clock_timestamp()) * 1000)::bigint", func() (bool, error) {
		return time.Since(begun) < 2*patience, nil
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(begun), 2*patience)
	require.Greater(t, end.Sub(begun), patience)

	require.NoError(t, insertJobs(t.Context(), pool, "embed", 2))
	begun = time.Now()
	end, err = awaitFor(t.Context(), pool, patience, every, workLeft, func() (bool, error) { return true, nil })
	require.EqualError(t, err, "no progress in 300ms, jobs left: 2 embed available")
	require.GreaterOrEqual(t, end.Sub(begun), patience)

	// where there are more than before, nothing was done
	_, err = awaitFor(t.Context(), pool, patience, every, workLeft, func() (bool, error) {
		return true, insertJobs(t.Context(), pool, "embed", 1)
	})
	require.ErrorContains(t, err, "no progress in 300ms, jobs left: ")
}
