package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/oxbow-memory/oxbow/internal/noop"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/worker"
)

const (
	// queueGoal is promised for jobs a second, in shares of River's own.
	queueGoal = 0.70
	// queueRounds at most of each way to work jobs, in turns whose order changes, after one that does not count.
	queueRounds = 5
	// manyWorkers keep fetching, working and completing busy at once.
	manyWorkers = 100
)

// crew is who works jobs, of which kind, with how many workers of the queue.
type crew struct {
	name  string
	start func(ctx context.Context, dsn string, workers int) (stop func() error, err error)
}

var (
	riversOwn = crew{"River", bareRiver}
	ours      = crew{"ours", ourWorker}
)

// queued is a kind of job, how many are there, and how many workers a queue has.
type queued struct {
	name, kind    string
	jobs, workers int
}

// queueRates compares our worker with River's client, and looks at what jobs leave in their table.
func (b *bench) queueRates(ctx context.Context) error {
	dsn, err := b.database(ctx, "bench_queue")
	if err != nil {
		return err
	}
	pool, err := openPool(ctx, dsn, 2)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := b.throughput(ctx, pool, dsn); err != nil {
		return err
	}
	if err := b.churn(ctx, pool, dsn); err != nil {
		return fmt.Errorf("churn: %w", err)
	}
	pool.Close()
	return b.drop(ctx, "bench_queue")
}

// ourWorker works all that it knows, and the job that does nothing.
func ourWorker(ctx context.Context, dsn string, workers int) (func() error, error) {
	return startWorker(noop.Context(ctx), worker.Config{DatabaseURL: dsn, Concurrency: workers})
}

// bareRiver is River's client with a queue like ours, and nothing of ours around the job.
func bareRiver(ctx context.Context, dsn string, workers int) (func() error, error) {
	return startRiver(ctx, dsn, workers, time.Hour)
}

func startRiver(ctx context.Context, dsn string, workers int, retention time.Duration) (func() error, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	// As many as our worker may open, and like its own none before it is needed: connections that open while jobs are worked
	// would count against River.
	cfg.MaxConns = int32(workers + 16)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	known := river.NewWorkers()
	noop.Register(known)
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Schema: "oxbow", Workers: known, Logger: slog.New(slog.DiscardHandler), CompletedJobRetentionPeriod: retention,
		Queues: map[string]river.QueueConfig{
			jobs.QueueEmbed: {MaxWorkers: workers, FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 100 * time.Millisecond},
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

// throughput lets each crew work as many jobs that were there before it came.
func (b *bench) throughput(ctx context.Context, pool *pgxpool.Pool, dsn string) error {
	few, nothing := min(max(runtime.NumCPU(), 2), 4), noop.Args{}.Kind()
	compared := []struct {
		queued
		crews []crew
	}{
		{queued{"no-op, many workers", nothing, b.Jobs, manyWorkers}, []crew{riversOwn, ours}},
		{queued{"no-op, as many as embed has", nothing, b.Jobs / 10, few}, []crew{riversOwn, ours}},
		{queued{"embed of a memory that is gone", jobs.EmbedArgs{}.Kind(), b.Jobs / 10, few}, []crew{ours}},
	}
	rounds := min(b.Rounds, queueRounds)
	out := Table{Title: fmt.Sprintf("Jobs a second that wait already: medians of %d rounds in turns, in one process, the queue's other settings alike", rounds)}
	out.add("job", "jobs", "workers", "ours", "River", "ours/River", "promised")
	for _, c := range compared {
		rates := map[string][]float64{}
		for round := -1; round < rounds; round++ {
			slices.Reverse(c.crews)
			for _, who := range c.crews {
				rate, err := b.workAll(ctx, pool, dsn, c.queued, who)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", c.name, who.name, err)
				}
				if round >= 0 {
					rates[who.name] = append(rates[who.name], rate)
				}
			}
		}
		row := []string{c.name, fmt.Sprint(c.jobs), fmt.Sprint(c.workers), fmt.Sprintf("%.0f", median(rates[ours.name])), "", "", ""}
		if theirs := median(rates[riversOwn.name]); theirs > 0 {
			ratio := median(rates[ours.name]) / theirs
			row[4], row[5] = fmt.Sprintf("%.0f", theirs), fmt.Sprintf("%.2f", ratio)
			row[6] = fmt.Sprintf("≥ %.2f %s", queueGoal, verdict(ratio >= queueGoal))
		}
		out.add(row...)
	}
	b.show(out)
	return nil
}

// workAll makes jobs, lets them be worked, and returns how many were a second, from the first that was taken to the last
// that was completed.
func (b *bench) workAll(ctx context.Context, pool *pgxpool.Pool, dsn string, what queued, who crew) (rate float64, err error) {
	if _, err := pool.Exec(ctx, "truncate oxbow.river_job"); err != nil {
		return 0, err
	}
	if err := insertJobs(ctx, pool, what.kind, what.jobs); err != nil {
		return 0, err
	}
	for _, sql := range []string{"vacuum analyze oxbow.river_job", "checkpoint"} {
		if _, err := pool.Exec(ctx, sql); err != nil {
			return 0, err
		}
	}
	stop, err := who.start(ctx, dsn, what.workers)
	if err != nil {
		return 0, err
	}
	err = waitJobs(ctx, pool, what.kind, 0)
	if err := errors.Join(err, stop()); err != nil {
		return 0, err
	}
	var done int
	var seconds float64
	if err := pool.QueryRow(ctx, `
		select count(*), extract(epoch from max(finalized_at) - min(attempted_at)) from oxbow.river_job where kind = $1 and state = 'completed'`,
		what.kind).Scan(&done, &seconds); err != nil {
		return 0, err
	}
	if done != what.jobs {
		return 0, fmt.Errorf("%d of %d jobs were completed", done, what.jobs)
	}
	return float64(done) / seconds, nil
}

// insertJobs makes jobs that are due; those that embed are about memories that are gone.
func insertJobs(ctx context.Context, pool *pgxpool.Pool, kind string, n int) error {
	_, err := pool.Exec(ctx, `
		insert into oxbow.river_job (kind, queue, max_attempts, args)
		select $1, 'embed', 25, jsonb_build_object('user_id', 'user-' || i % 200, 'ids', gen_random_uuid()) from generate_series(1, $2::int) i`, kind, n)
	return err
}

// waitJobs returns when no more than so many jobs of a kind wait to be taken, or, with 0, when all are completed.
func waitJobs(ctx context.Context, pool *pgxpool.Pool, kind string, left int) error {
	_, err := await(ctx, pool, 50*time.Millisecond, workLeft, func() (waiting bool, err error) {
		err = pool.QueryRow(ctx, `
			select exists (select from oxbow.river_job where state = 'available' and kind = $1 offset $2)
			    or $2 = 0 and exists (select from oxbow.river_job where state in ('running', 'retryable', 'scheduled') and kind = $1)`, kind, left).Scan(&waiting)
		return waiting, err
	})
	return err
}
