package bench

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// A wait for jobs that nobody works ends, and tells which they are; as long as they become fewer it goes on.
func TestPatience(t *testing.T) {
	pool, err := pgxpool.New(t.Context(), pgtest.Database(t))
	require.NoError(t, err)
	defer pool.Close()
	require.NoError(t, insertJobs(t.Context(), pool, "embed", 3))
	p := newPatience()
	require.NoError(t, p.check(t.Context(), pool), "it has not even begun")
	p.every, p.most = 0, time.Millisecond
	require.NoError(t, p.check(t.Context(), pool))
	time.Sleep(5 * time.Millisecond)
	_, err = pool.Exec(t.Context(), "delete from oxbow.river_job where id = (select min(id) from oxbow.river_job)")
	require.NoError(t, err)
	require.NoError(t, p.check(t.Context(), pool))
	time.Sleep(5 * time.Millisecond)
	require.EqualError(t, p.check(t.Context(), pool), "no progress for 1ms; jobs left: embed available 2")
}
