package bench

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/localpg"
)

// What stands still is given up, and the jobs that are left are named; what goes on is waited for.
func TestAwait(t *testing.T) {
	t.Parallel()
	base, err := os.MkdirTemp("/var/tmp", "oxbow-bench-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, remove(context.Background(), base)) })
	require.NoError(t, os.Chmod(base, 0o755)) //nolint:gosec // PostgreSQL may run as another user
	server, err := localpg.Start(t.Context(), localpg.Config{BaseDir: base})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.Background())) })
	b := &bench{server: server}
	dsn, err := b.database(t.Context(), "bench_await")
	require.NoError(t, err)
	pool, err := openPool(t.Context(), dsn, 1)
	require.NoError(t, err)
	defer pool.Close()

	looks := 0
	begun := time.Now()
	end, err := await(t.Context(), pool, 300*time.Millisecond, "select (extract(epoch from clock_timestamp()) * 1000)::bigint", func() (bool, error) {
		looks++
		return looks < 4, nil
	})
	require.NoError(t, err)
	require.Equal(t, 4, looks)
	require.Greater(t, end.Sub(begun), 500*time.Millisecond)

	_, err = pool.Exec(t.Context(), "insert into oxbow.memories (user_id, memory_type, content) values ('ann', 'episodic', 'Ann lives in Lisbon.')")
	require.NoError(t, err)
	_, err = await(t.Context(), pool, 300*time.Millisecond, "select count(*) from oxbow.memory_vectors", func() (bool, error) { return true, nil })
	require.ErrorContains(t, err, "no progress in 300ms, jobs left: ")
	require.ErrorContains(t, err, "1 embed available")
}

// The promises are about a size each: nothing is said of another one.
func TestImportPromises(t *testing.T) {
	require.Equal(t, []string{"31439", "6.0", "19.0", "1655", "≤ 20 for 31,439 reached"}, importRow(31_439, 6*time.Second, 19*time.Second))
	require.Equal(t, "≤ 20 for 31,439 missed", importRow(31_439, 6*time.Second, 21*time.Second)[4])
	require.Equal(t, "≤ 20 for 31,439", importRow(1_000_000, 6*time.Second, 21*time.Second)[4])
	require.Equal(t, "< 200 for 1,000,000 reached", memoryPromise(1_000_000, 199_999_999))
	require.Equal(t, "< 200 for 1,000,000 missed", memoryPromise(1_000_000, 200_000_000))
	require.Equal(t, "< 200 for 1,000,000", memoryPromise(1_000_000, 0), "it is not known everywhere")
	require.Equal(t, "< 200 for 1,000,000", memoryPromise(31_439, 300_000_000))
}
