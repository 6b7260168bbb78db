package jobs

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/store"
)

// A job that an older transaction enqueues while its user is erased cannot complete, whatever its kind, so its results are
// rolled back. A later one of the user's can.
func TestJobsOlderThanAnErasure(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	ctx := t.Context()
	kinds := Names(func(k *Kind) bool { return k.OfUser })
	require.NotEmpty(t, kinds)
	enqueue := func(tx pgx.Tx) (ids []int64) {
		rows, err := tx.Query(ctx, `insert into oxbow.river_job (kind, queue, max_attempts, args, state)
			select k, 'default', 1, '{"user_id": "zoe"}', 'running' from unnest($1::text[]) k returning id`, kinds)
		require.NoError(t, err)
		ids, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		require.NoError(t, err)
		return ids
	}
	older, err := pool.Begin(ctx)
	require.NoError(t, err)
	late := enqueue(older)
	_, err = pool.Exec(ctx, `select oxbow.erase_user('zoe')`)
	require.NoError(t, err)
	require.NoError(t, older.Commit(ctx))
	var fresh []int64
	require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		fresh = enqueue(tx)
		return nil
	}))
	for i, kind := range kinds {
		for id, want := range map[int64]bool{late[i]: true, fresh[i]: false} {
			outlived, err := store.Outlived(ctx, pool, id) // which complete asks
			require.NoError(t, err)
			require.Equal(t, want, outlived, kind)
		}
	}
	require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		done, err := store.CompleteJobs(ctx, tx, append(late, fresh...))
		require.ElementsMatch(t, fresh, done)
		return err
	}))
	left, err := store.FinishErasures(ctx, pool, "zoe")
	require.NoError(t, err)
	require.Zero(t, left)
	var jobs int
	require.NoError(t, pool.QueryRow(ctx, `select count(*) from oxbow.river_job where id = any($1)`, late).Scan(&jobs))
	require.Zero(t, jobs)
}
