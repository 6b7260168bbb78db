package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/worker"
)

// nothing works embed jobs by doing nothing.
type nothing struct {
	river.WorkerDefaults[jobs.EmbedArgs]
}

func (*nothing) Work(context.Context, *river.Job[jobs.EmbedArgs]) error { return nil }

// queue compares the jobs a second of our worker with those of a bare River client with the same queue. The jobs
// embed memories that are gone: our worker looks for the memories, of up to 128 jobs at a time; River's does nothing.
func queue(ctx context.Context, b *bench) error {
	n := b.sized(20_000)
	dsn, pool, err := b.fresh(ctx, "bench_queue", 2)
	if err != nil {
		return err
	}
	crews := []func(context.Context, string, int) (func() error, error){
		func(ctx context.Context, dsn string, workers int) (func() error, error) {
			return startWorker(ctx, worker.Config{DatabaseURL: dsn, Concurrency: workers})
		},
		bareRiver,
	}
	t := b.table(fmt.Sprintf("%d waiting jobs, a second, medians of rounds in turns", n), "workers", "ours",
		"bare River", "ours/River")
	const workers = 2
	rates, err := inTurns(b.rounds, len(crews), func(i int) (float64, error) {
		if err := execAll(ctx, pool, "truncate oxbow.river_job", fmt.Sprintf(`
			insert into oxbow.river_job (kind, queue, max_attempts, args)
			select 'embed', 'embed', 25, jsonb_build_object('user_id', 'user-' || i %% 200, 'ids', gen_random_uuid())
			  from generate_series(1, %d) i`, n),
			"vacuum analyze oxbow.river_job", "checkpoint"); err != nil {
			return 0, err
		}
		stop, err := crews[i](ctx, dsn, workers)
		if err != nil {
			return 0, err
		}
		err = waitFor(ctx, pool,
			"not exists (select from oxbow.river_job where kind = 'embed' and finalized_at is null)")
		if err := errors.Join(err, stop()); err != nil {
			return 0, err
		}
		var seconds float64
		err = pool.QueryRow(ctx, `select extract(epoch from max(finalized_at) - min(attempted_at))
				from oxbow.river_job where kind = 'embed'`).Scan(&seconds)
		return float64(n) / seconds, err
	})
	if err != nil {
		return err
	}
	ratio := medianRatio(rates[0], rates[1])
	t.row(workers, median(rates[0]), median(rates[1]), ratio)
	b.atLeast("embed jobs that find nothing, a second / no-op jobs of a bare River client", 0.70, ratio)
	return nil
}

func bareRiver(ctx context.Context, dsn string, workers int) (func() error, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = int32(workers + 16) // as many as our worker may open
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	known := river.NewWorkers()
	river.AddWorker(known, &nothing{})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Schema: "oxbow", Workers: known, Logger: slog.New(slog.DiscardHandler),
		Queues: map[string]river.QueueConfig{
			jobs.QueueEmbed: {MaxWorkers: workers, FetchCooldown: 2 * time.Millisecond,
				FetchPollInterval: 100 * time.Millisecond},
		},
	})
	if err == nil {
		err = client.Start(context.WithoutCancel(ctx))
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return func() error {
		defer pool.Close()
		return client.Stop(context.WithoutCancel(ctx))
	}, nil
}
