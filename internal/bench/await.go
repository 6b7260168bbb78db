package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// patience is how long nothing may come of what is waited for until it is given up.
	patience = 15 * time.Minute
	// statesLeft are those of jobs that are still to be worked, as a list for SQL.
	statesLeft = "('available', 'pending', 'retryable', 'running', 'scheduled')"
	// workLeft counts what there is for a worker.
	workLeft = `
		select (select count(*) from oxbow.river_job where finalized_at is null) + (select count(*) from oxbow.reflection_inbox)`
)

// await looks every so often, and returns when nothing waits any more, with the time just before it looked. The statement counts
// what is left, or, below zero, what is done: where that has not become less for as long as the patience lasts, it fails and names
// the jobs that are left.
func await(ctx context.Context, pool *pgxpool.Pool, every time.Duration, left string, waiting func() (bool, error)) (end time.Time, err error) {
	return awaitFor(ctx, pool, patience, every, left, waiting)
}

func awaitFor(ctx context.Context, pool *pgxpool.Pool, patience, every time.Duration, left string, waiting func() (bool, error)) (end time.Time, err error) {
	fewest, since := 0, time.Time{}
	next := time.Now().Add(patience / 15) // to count: seldom, as there may be many
	for {
		end = time.Now()
		if waits, err := waiting(); err != nil || !waits {
			return end, err
		}
		if !end.Before(next) {
			var now int
			if err := pool.QueryRow(ctx, left).Scan(&now); err != nil {
				return end, err
			}
			if since.IsZero() || now < fewest {
				fewest, since = now, end
			}
			if end.Sub(since) >= patience {
				jobs, err := jobsLeft(ctx, pool)
				return end, errors.Join(fmt.Errorf("no progress in %s, jobs left: %s", patience, jobs), err)
			}
			next = end.Add(patience / 15)
		}
		if err := pause(ctx, every); err != nil {
			return end, err
		}
	}
}

// jobsLeft tells how many jobs of which kind are in which state, those that were given up too.
func jobsLeft(ctx context.Context, pool *pgxpool.Pool) (left string, err error) {
	err = pool.QueryRow(ctx, `
		select coalesce(string_agg(format('%s %s %s', n, kind, state), ', ' order by kind, state), 'none')
		  from (select kind, state, count(*) as n from oxbow.river_job where state <> 'completed' group by 1, 2) j`).Scan(&left)
	return left, err
}

func exists(ctx context.Context, pool *pgxpool.Pool, what string) (found bool, err error) {
	err = pool.QueryRow(ctx, "select exists (select from "+what+")").Scan(&found)
	return found, err
}
