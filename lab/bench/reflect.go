package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow/worker"
)

// reflection measures the rules: how many memories a second the worker reflects on for 12 users, and how long a
// further thousand of one user take as the history grows, compared with a thousand of users who have only a thousand.
func reflection(ctx context.Context, b *bench) error {
	history := b.sized(50_000)
	dsn, pool, err := b.fresh(ctx, "bench_reflect", 2)
	if err != nil {
		return err
	}
	var newcomers []*life
	for i := range 12 {
		newcomers = append(newcomers, newLife(fmt.Sprint("newcomer-", i), i, []float64{0.95, 0.05}[i%2]))
	}
	took, _, err := tellAndReflect(ctx, dsn, pool, 1000, newcomers...)
	if err != nil {
		return err
	}
	b.atLeast("memories reflected on a second by the rules, 12 users at once", 500, 12_000/took.Seconds())
	t := b.table("Reflection on 1,000 further memories of one user, within cycles", "history", "milliseconds",
		"of newcomers", "ratio")
	veteran := newLife("veteran", 1000, 0.5)
	for _, n := range []int{1_000, 5_000, 10_000, 25_000, 50_000} {
		if n > history || len(newcomers) < 2 {
			break
		}
		if n > veteran.told {
			if _, _, err := tellAndReflect(ctx, dsn, pool, n-veteran.told, veteran); err != nil {
				return err
			}
		}
		var within [3]time.Duration // a newcomer before and one after: what else the machine does shows in both
		for i, l := range []*life{newcomers[0], veteran, newcomers[1]} {
			if _, within[i], err = tellAndReflect(ctx, dsn, pool, 1000, l); err != nil {
				return err
			}
		}
		newcomers = newcomers[2:]
		others := (within[0] + within[2]) / 2
		ratio := float64(within[1]) / float64(others)
		t.row(n, within[1], others, ratio)
		b.atMost("reflection after up to 50,000 memories / after 1,000", 2, ratio)
	}
	return nil
}

// tellAndReflect stores and embeds the next n memories of people while nobody is reflected on, then runs a worker
// until all are reflected on. It returns the time from the first cycle to the last, and the sum of the cycles.
func tellAndReflect(ctx context.Context, dsn string, pool *pgxpool.Pool, n int, people ...*life) (took,
	within time.Duration, err error) {
	if err := execAll(ctx, pool, `
		insert into oxbow.river_queue (name, paused_at, updated_at) values ('reflect', now(), now())
		on conflict (name) do update set paused_at = excluded.paused_at`); err != nil {
		return 0, 0, err
	}
	for _, l := range people {
		if err := l.remember(ctx, pool, n); err != nil {
			return 0, 0, err
		}
	}
	if err := embedAll(ctx, dsn, pool); err != nil {
		return 0, 0, err
	}
	if err := execAll(ctx, pool, "update oxbow.river_queue set paused_at = null"); err != nil {
		return 0, 0, err
	}
	start := time.Now()
	stop, err := startWorker(ctx, worker.Config{DatabaseURL: dsn})
	if err != nil {
		return 0, 0, err
	}
	err = waitFor(ctx, pool,
		`not exists (select from oxbow.reflection_inbox) and not exists (select from oxbow.river_job
		where kind in ('check_trigger', 'reflect', 'contradiction_review') and finalized_at is null)`)
	if err := errors.Join(err, stop()); err != nil {
		return 0, 0, err
	}
	err = pool.QueryRow(ctx, `
		select max(completed_at) - min(started_at), sum(completed_at - started_at) from oxbow.reflection_cycles
		  where started_at >= $1`,
		start).Scan(&took, &within)
	return took, within, err
}
