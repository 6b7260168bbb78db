package sqlcode_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// Concurrent operations on a user's memories never deadlock and leave consistent data.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	const rounds, contents, each = 60, 10, 12
	pool := pgtest.Pool(t)
	var ids []string
	for i := range contents {
		ids = append(ids, facts(t, pool, ann(t), fmt.Sprintf("Fact number %d.", i), each)...)
	}
	// the target may be erased, superseded or forgotten by then
	expected := []string{"OX101", "OX102", "OX103"}
	doings := map[string]func(*pgx.Conn, *rand.Rand) error{
		"index": func(conn *pgx.Conn, random *rand.Rand) error {
			batch := make([]string, 1+random.IntN(20))
			for i := range batch {
				batch[i] = ids[random.IntN(len(ids))]
			}
			_, err := conn.Exec(t.Context(), "select oxbow.index_memories(array[$1], $2::text[]::uuid[])", ann(t),
				batch)
			return err
		},
		"touch": func(conn *pgx.Conn, random *rand.Rand) error {
			_, err := conn.Exec(t.Context(), "select oxbow.touch($1, array[$2, $3]::uuid[])", ann(t),
				ids[random.IntN(len(ids))], ids[random.IntN(len(ids))])
			return err
		},
		"fold_activity": func(conn *pgx.Conn, _ *rand.Rand) error {
			_, err := conn.Exec(t.Context(), "select oxbow.fold_activity(100)")
			return err
		},
		"erase": func(conn *pgx.Conn, random *rand.Rand) error {
			_, err := conn.Exec(t.Context(), "select oxbow.erase_memory($1, $2)", ann(t), ids[random.IntN(len(ids))])
			return err
		},
		"forget": func(conn *pgx.Conn, random *rand.Rand) error {
			_, err := conn.Exec(t.Context(), "select oxbow.forget($1, $2)", ann(t), ids[random.IntN(len(ids))])
			return err
		},
		"supersede": func(conn *pgx.Conn, random *rand.Rand) error {
			_, err := conn.Exec(t.Context(), "select oxbow.supersede($1, $2, 'Fact number ' || $3::int || '.')", ann(t),
				ids[random.IntN(len(ids))], random.IntN(contents))
			return err
		},
	}
	done := make(chan error)
	workers := 0
	for name, do := range doings {
		copies := 1
		if name == "index" {
			copies = 3
		}
		for range copies {
			workers++
			conn, random := connect(t, pool.Config().ConnString()), rand.New(rand.NewPCG(11, uint64(workers)))
			go func() {
				for range rounds {
					err := do(conn, random)
					var pgErr *pgconn.PgError
					if errors.As(err, &pgErr) && slices.Contains(expected, pgErr.Code) {
						err = nil
					}
					if err != nil {
						done <- fmt.Errorf("%s: %w", name, err)
						return
					}
				}
				done <- nil
			}()
		}
	}
	var errs []error
	for range workers {
		errs = append(errs, <-done)
	}
	require.NoError(t, errors.Join(errs...))

	index(t, pool, ann(t))
	left := requireStats(t, pool, ann(t))
	require.Equal(t, one[int](t, pool, "select count(*) from oxbow.memories"), left)
	require.Empty(t, all[string](t, pool, `
		select content from oxbow.memories where expired_at is null and forgotten_at is null and invalid_at is null
		group by content having count(*) > 1`))
	require.Empty(t, all[string](t, pool, `
		select m.id::text from oxbow.memories m
		 where superseded_by is not null and not exists (select from oxbow.memories n where n.user_id = m.user_id
		 and n.id = m.superseded_by)`))
}

// An erasure of several memories locks all of them before it deletes the first and uncounts its terms,
// because a job that holds one may be about to count the terms of others.
func TestErasedTogetherAreLockedFirst(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	dsn := pool.Config().ConnString()
	facts(t, pool, ann(t), "The boat is called Heron.", 3)
	index(t, pool, ann(t))
	kept := one[string](t, pool, "select id::text from oxbow.memories where expired_at is null")
	for _, held := range all[string](t, pool, "select id::text from oxbow.memories order by id") {
		job, eraser := begin(t, dsn), connect(t, dsn)
		exec(t, job, "select from oxbow.memories where user_id = $1 and id = $2 for key share", ann(t), held)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := eraser.Exec(ctx, "begin; select oxbow.erase_memory('"+ann(t)+"', '"+kept+"')")
			ended <- err
		}()
		require.Eventually(t, func() bool {
			return one[bool](t, pool, "select exists (select from pg_locks where pid = $1::int and not granted)",
				eraser.PgConn().PID())
		}, time.Minute, 10*time.Millisecond, "it waits for the job")
		exec(t, job, "update oxbow.memory_term_stats set documents = documents where user_id = $1", ann(t))
		require.NoError(t, job.Commit(t.Context()))
		require.NoError(t, <-ended)
		cancel()
		exec(t, eraser, "rollback")
	}
}

// A job that indexes a memory holds it for key share and may lock it again to fold it, so forgetting must not wait in
// between.
func TestForgetDoesNotWaitForEmbed(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	facts(t, pool, ann(t), "The boat is called Heron.", 1)
	job, app := begin(t, pool.Config().ConnString()), connect(t, pool.Config().ConnString())
	exec(t, job, "select from oxbow.memories where user_id = $1 for key share", ann(t))
	exec(t, app, "set lock_timeout = '5s'")
	exec(t, app, "select oxbow.forget(user_id, id) from oxbow.memories where user_id = $1", ann(t))
	exec(t, app, "select oxbow.restore(user_id, id) from oxbow.memories where user_id = $1", ann(t))
}

// Two memories of a report of oxbow.touch are erased at the same time.
func TestErasuresShareActivity(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	ids := one[[]string](t, pool, `with m as (insert into oxbow.memories (user_id, memory_type, content)
		select 'ann', 'document', 'page ' || n from generate_series(1, 3) n returning id) select array_agg(id::text) from m`)
	exec(t, pool, `select oxbow.touch('ann', $1)`, ids)
	exec(t, pool, `delete from oxbow.river_job`) // they name the memories, too
	first, err := pool.Begin(t.Context())
	require.NoError(t, err)
	exec(t, first, `select oxbow.erase_memory('ann', $1)`, ids[0])
	second := connect(t, pool.Config().ConnString())
	erased := make(chan error, 1)
	go func() {
		_, err := second.Exec(context.WithoutCancel(t.Context()), `select oxbow.erase_memory('ann', $1)`, ids[1])
		erased <- err
	}()
	require.Eventually(t, func() bool {
		return one[bool](t, pool, `select coalesce(wait_event_type = 'Lock', false) from pg_stat_activity where pid = $1`, second.PgConn().PID())
	}, 2*time.Minute, 5*time.Millisecond)
	require.NoError(t, first.Commit(t.Context()))
	require.NoError(t, <-erased)
	require.Equal(t, ids[2:], one[[]string](t, pool, `select memory_ids::text[] from oxbow.activity`))
}
