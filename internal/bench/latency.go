package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow/worker"
)

// latencyGoal is promised for the median, whether the worker listens or polls.
const latencyGoal = 150 * time.Millisecond

// recallLimit is how long a memory may take until it is recallable before the measurement is given up. It is longer than a
// worker takes to take up again what it lost.
const recallLimit = 5 * time.Minute

// latencies measures from the commit of a single INSERT to the moment when recall finds it, with a worker that has
// nothing else to do.
func (b *bench) latencies(ctx context.Context) error {
	dsn, err := b.database(ctx, "bench_latency")
	if err != nil {
		return err
	}
	pool, err := openPool(ctx, dsn, 2)
	if err != nil {
		return err
	}
	out := Table{Title: fmt.Sprintf("From COMMIT to recallable, worker idle, milliseconds, %d inserts each", b.Inserts)}
	out.add("worker", "p50", "p95", "promised")
	for _, c := range []struct {
		name     string
		pollOnly bool
	}{{"with LISTEN", false}, {"poll only", true}} {
		times, err := b.waitForInserts(ctx, pool, worker.Config{DatabaseURL: dsn, PollOnly: c.pollOnly}, c.name)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		out.add(c.name, ms(median(times)), ms(quantile(times, 0.95)),
			fmt.Sprintf("p50 < %d %s", latencyGoal.Milliseconds(), verdict(median(times) < latencyGoal)))
	}
	pool.Close()
	b.show(out)
	return b.drop(ctx, "bench_latency")
}

func (b *bench) waitForInserts(ctx context.Context, pool *pgxpool.Pool, cfg worker.Config, user string) (times []time.Duration, err error) {
	stop, err := startWorker(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	w := newWriter(b.Seed)
	const warmUp = 3
	for i := range warmUp + b.Inserts {
		// at any moment of the worker's round
		if err := pause(ctx, 200*time.Millisecond+time.Duration(w.IntN(int(150*time.Millisecond)))); err != nil {
			return nil, err
		}
		word := fmt.Sprintf("word%d", i)
		if _, err := pool.Exec(ctx, "insert into oxbow.memories (user_id, content) values ($1, $2)", user, w.english()+" "+word); err != nil {
			return nil, err
		}
		start := time.Now()
		for found := false; !found; {
			if err := pool.QueryRow(ctx, "select exists (select from oxbow.recall($1, $2))", user, word).Scan(&found); err != nil {
				return nil, err
			}
			if time.Since(start) > recallLimit {
				return nil, fmt.Errorf("a memory was not recallable within %s", recallLimit)
			}
			if err := pause(ctx, time.Millisecond); err != nil {
				return nil, err
			}
		}
		if i >= warmUp {
			times = append(times, time.Since(start))
		}
	}
	return times, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
