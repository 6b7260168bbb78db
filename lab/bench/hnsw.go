package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow/worker"
)

// hnsw compares recall of a large user by the exact scan with recall by the index that the worker builds: times and
// results.
func hnsw(ctx context.Context, b *bench) error {
	memories := b.sized(50_000)
	dsn, pool, err := b.fresh(ctx, "bench_hnsw", 1)
	if err != nil {
		return err
	}
	policy := "update oxbow.settings set value = '{\"policy\": \"%s\"}' where key = 'vector_index'"
	w := newWriter(seed)
	texts := w.texts(memories)
	if err := errors.Join(execAll(ctx, pool, fmt.Sprintf(policy, "never")), remember(ctx, pool, "large", texts),
		embedAll(ctx, dsn, pool)); err != nil {
		return err
	}
	questions, err := w.ask(ctx, 40, "large", texts)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := buildIndex(ctx, dsn, pool, fmt.Sprintf(policy, "always")); err != nil {
		return err
	}
	built := time.Since(start)
	ways := []bool{true, false}
	found := map[bool][][]string{}
	times, err := inTurns(b.rounds, len(ways), func(i int) (time.Duration, error) {
		took, ids, err := askLarge(ctx, pool, questions, ways[i])
		found[ways[i]] = ids
		return took, err
	})
	if err != nil {
		return err
	}
	same := 0
	for q := range questions {
		for _, id := range found[false][q] {
			if slices.Contains(found[true][q], id) {
				same++
			}
		}
	}
	t := b.table(fmt.Sprintf("Recall of a user of %d memories, median of a round; the index was built in %.0f s",
		memories, built.Seconds()),
		"exact scan", "index", "index/scan", "same ten")
	share := float64(same) / float64(10*len(questions))
	t.row(median(times[0]), median(times[1]), medianRatio(times[1], times[0]), share)
	b.atLeast(fmt.Sprintf("recall's ten by vector alone, share that the index finds, user of %d memories", memories),
		0.95, share)
	return nil
}

func buildIndex(ctx context.Context, dsn string, pool *pgxpool.Pool, policy string) error {
	if err := execAll(ctx, pool, policy); err != nil {
		return err
	}
	stop, err := startWorker(ctx, worker.Config{DatabaseURL: dsn})
	if err != nil {
		return err
	}
	err = waitFor(ctx, pool,
		"exists (select from oxbow.vector_slots where memory_type = 'episodic' and ready_at is not null)")
	return errors.Join(err, stop(), execAll(ctx, pool, "vacuum analyze"))
}

// askLarge asks every question and returns the median time of recall, and the ten results by the vector alone. For an
// exact scan it hides the index in its transaction.
func askLarge(ctx context.Context, pool *pgxpool.Pool, questions []question, scan bool) (took time.Duration,
	ids [][]string, err error) {
	undo := errors.New("roll back")
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if scan {
			if _, err := tx.Exec(ctx, "update oxbow.vector_slots set ready_at = null"); err != nil {
				return err
			}
		}
		for _, q := range questions {
			var nearest []string
			if err := tx.QueryRow(ctx, `
				select array(select id::text from oxbow.recall($1, null, $2,
				  types => '{episodic}') limit 10)`, q.user, q.vector).Scan(&nearest); err != nil {
				return err
			}
			ids = append(ids, nearest)
		}
		if took, err = timed(ctx, tx.Conn(), asker{name: "recall", sql: plainRecall}, questions); err != nil {
			return err
		}
		return undo
	})
	if errors.Is(err, undo) {
		err = nil
	}
	return took, ids, err
}
