package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// batch is what a job of up to 128 memories has, with its vectors.
type batch struct {
	user    string
	ids     []uuid.UUID
	vectors [][]float32
}

// pipeline compares how fast waiting memories become recallable: by a worker with all its jobs, from its start, where
// they wait in jobs of 128 and where 200 users inserted them one by one, and by a bare loop that only writes the
// vectors and the terms.
func pipeline(ctx context.Context, b *bench) error {
	memories := b.sized(20_000)
	batches, err := b.fillPipeline(ctx, "bench_in_jobs", memories, 128)
	if err != nil {
		return err
	}
	if _, err := b.fillPipeline(ctx, "bench_one_by_one", memories, 1); err != nil {
		return err
	}
	ways := []struct {
		name, template string
		run            func(context.Context, *bench, []batch) (time.Duration, error)
	}{
		{"bare loop, jobs of 128", "bench_in_jobs", bareLoop},
		{"worker, jobs of 128", "bench_in_jobs", workPipeline},
		{"worker, single rows of 200 users", "bench_one_by_one", workPipeline},
	}
	rates, err := inTurns(b.rounds, len(ways), func(i int) (float64, error) {
		if err := b.copyDatabase(ctx, "bench_turn", ways[i].template); err != nil {
			return 0, err
		}
		took, err := ways[i].run(ctx, b, batches)
		return float64(memories) / took.Seconds(), err
	})
	if err != nil {
		return err
	}
	t := b.table(fmt.Sprintf("Memories embedded a second, %d that wait, medians of rounds in turns", memories),
		fmt.Sprintf("%-34s", ""), "a second")
	for i, way := range ways {
		t.row(way.name, median(rates[i]))
	}
	b.atLeast("worker / bare loop of vectors and terms, jobs of 128", 0.80, medianRatio(rates[1], rates[0]))
	b.atLeast("worker, single rows of 200 users / jobs of 128", 0.60, medianRatio(rates[2], rates[1]))
	b.atLeast("worker, single rows of 200 users, memories a second", 5000, median(rates[2]))
	return nil
}

// fillPipeline makes a database of memories that wait, inserted by statements of so many rows, and computes their
// vectors.
func (b *bench) fillPipeline(ctx context.Context, name string, memories, rows int) (batches []batch, err error) {
	dsn, err := b.database(ctx, name)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	w, local := newWriter(seed), embedding.NewLocal(embedding.LocalDimension)
	for done := 0; done < memories; done += rows {
		next, texts := batch{user: fmt.Sprint("user-", len(batches)%200)}, w.texts(min(rows, memories-done))
		for range texts {
			next.ids = append(next.ids, uuid.New())
		}
		if _, err := conn.Exec(ctx, `
			insert into oxbow.memories (user_id, memory_type, id, content, session_id)
			select $1, 'episodic', i, c, 's1' from unnest($2::uuid[], $3::text[]) r(i,
			  c)`, next.user, next.ids, texts); err != nil {
			return nil, err
		}
		if rows > 1 {
			if next.vectors, err = local.Embed(ctx, texts); err != nil {
				return nil, err
			}
		}
		batches = append(batches, next)
	}
	_, err = conn.Exec(ctx, "vacuum analyze")
	return batches, err
}

// bareLoop writes vectors and terms with as many connections as a worker has embed jobs, a transaction for each batch.
func bareLoop(ctx context.Context, b *bench, batches []batch) (time.Duration, error) {
	pool, err := openPool(ctx, b.server.DSN("bench_turn"), 2)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	model := store.EmbeddingModel{Model: embedding.LocalModel, Dimension: embedding.LocalDimension}
	var next atomic.Int64
	start := time.Now()
	_, err = together(ctx, pool, 2, func(conn *pgxpool.Conn, _ int) (int, error) {
		for i := next.Add(1) - 1; i < int64(len(batches)); i = next.Add(1) - 1 {
			of := batches[i]
			if err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
				if _, err := store.WriteVectors(ctx, tx, model, store.Refs(of.user, of.ids), of.vectors); err != nil {
					return err
				}
				_, err := store.IndexMemories(ctx, tx, store.Refs(of.user, of.ids))
				return err
			}); err != nil {
				return 0, err
			}
		}
		return 0, nil
	})
	return time.Since(start), err
}

// workPipeline returns the time from the start of a worker until everything is embedded. Stopping it does not count.
func workPipeline(ctx context.Context, b *bench, _ []batch) (time.Duration, error) {
	pool, err := openPool(ctx, b.server.DSN("bench_turn"), 1)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	start := time.Now()
	stop, err := startWorker(ctx, worker.Config{DatabaseURL: b.server.DSN("bench_turn")})
	if err != nil {
		return 0, err
	}
	err = waitEmbedded(ctx, pool)
	took := time.Since(start)
	return took, errors.Join(err, stop())
}
