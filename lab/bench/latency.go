package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow/worker"
)

// latency measures from the commit of a single INSERT to the moment when recall finds it, with an idle worker.
func latency(ctx context.Context, b *bench) error {
	dsn, pool, err := b.fresh(ctx, "bench_latency", 2)
	if err != nil {
		return err
	}
	inserts := b.sized(60)
	t := b.table(fmt.Sprintf("From COMMIT to recallable, worker idle, %d inserts", inserts), "worker", "p50", "p95")
	for _, c := range []struct {
		name     string
		pollOnly bool
	}{{"with LISTEN", false}, {"poll only", true}} {
		stop, err := startWorker(ctx, worker.Config{DatabaseURL: dsn, PollOnly: c.pollOnly})
		if err != nil {
			return err
		}
		times, err := waitForInserts(ctx, pool, c.name, inserts)
		if err := errors.Join(err, stop()); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		t.row(c.name, median(times), quantile(times, 0.95))
		b.atMost("ms from COMMIT to recallable, p50, worker "+c.name, 150, median(times).Seconds()*1000)
	}
	return nil
}

func waitForInserts(ctx context.Context, pool *pgxpool.Pool, user string, n int) (times []time.Duration, err error) {
	w := newWriter(seed)
	for i := range n + 3 { // the first three warm up
		anyMoment := 200*time.Millisecond + time.Duration(w.IntN(150))*time.Millisecond // of the worker's poll
		if err := pause(ctx, anyMoment); err != nil {
			return nil, err
		}
		took, err := untilRecallable(ctx, pool, user, w.english(), fmt.Sprint("word", i))
		if err != nil {
			return nil, err
		}
		if i >= 3 {
			times = append(times, took)
		}
	}
	return times, nil
}

// untilRecallable inserts a memory with a word of its own and returns the time until recall finds it.
func untilRecallable(ctx context.Context, pool *pgxpool.Pool, user, text, word string) (time.Duration, error) {
	if _, err := pool.Exec(ctx, "insert into oxbow.memories (user_id, content) values ($1, $2)", user,
		text+" "+word); err != nil {
		return 0, err
	}
	start := time.Now()
	for found := false; !found; {
		if err := pause(ctx, time.Millisecond); err != nil {
			return 0, err
		}
		if err := pool.QueryRow(ctx, "select exists (select from oxbow.recall($1, $2))", user,
			word).Scan(&found); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}
