package main

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// latency measures from the commit of a single INSERT to the moment when recall finds it, with an idle worker.
func latency(b *bench) {
	d, w := b.database("bench_latency"), newWriter(seed)
	inserts, words := b.sized(20), 0
	idle := func(name string, pollOnly bool) variant {
		return variant{name, func() float64 {
			times := make([]float64, inserts)
			b.working(d, worker.Config{PollOnly: pollOnly}, func() {
				for i := range times {
					words++
					if i == 0 {
						b.untilRecallable(d, name, "The worker has started.", fmt.Sprint("started", words))
					}
					b.pause(time.Duration(200+w.IntN(150)) * time.Millisecond) // any moment between two polls
					times[i] = b.untilRecallable(d, name, w.say("english", nil), fmt.Sprint("word", words))
				}
			})
			return quantile(times, 0.5)
		}}
	}
	variants := []variant{idle("with LISTEN", false), idle("poll only", true)}
	r := b.compare(fmt.Sprintf("From COMMIT to recallable, worker idle, p50 of %d inserts", inserts), "ms", variants...)
	for i, v := range variants {
		b.atMost("ms from COMMIT to recallable, p50, worker "+v.name, 150, r.median(i))
	}
}

// untilRecallable inserts a memory with a unique word and returns the milliseconds until recall finds it.
func (b *bench) untilRecallable(d database, user, text, word string) float64 {
	d.exec("insert into oxbow.memories (user_id, content) values ($1, $2)", user, text+" "+word)
	start := time.Now()
	for !ask[bool](d, "select exists (select from oxbow.recall($1, $2))", user, word) {
		b.pause(time.Millisecond)
	}
	return msSince(start)
}

// batch holds the memories of a job, up to 128, with their vectors.
type batch struct {
	refs    []store.MemoryRef
	vectors [][]float32
}

// pipeline compares how fast waiting memories become recallable with a bare loop that only writes vectors and terms,
// and with a worker and all its jobs, from its start. The memories wait in jobs of 128, or were inserted one by one by
// 200 users.
func pipeline(b *bench) {
	memories := b.sized(20_000)
	batches := b.fillPipeline("bench_in_jobs", memories, 128)
	b.fillPipeline("bench_one_by_one", memories, 1)
	in := func(name, template string, embed func(database) time.Duration) variant {
		return variant{name, func() float64 {
			return float64(memories) / embed(b.copyOf(template, "bench_turn")).Seconds()
		}}
	}
	r := b.compare(fmt.Sprintf("Embedding of %d memories that wait", memories), "a second",
		in("bare loop, jobs of 128", "bench_in_jobs", func(d database) time.Duration { return bareLoop(d, batches) }),
		in("worker, jobs of 128", "bench_in_jobs", b.workPipeline),
		in("worker, single rows of 200 users", "bench_one_by_one", b.workPipeline))
	b.atLeast("worker / bare loop of vectors and terms, jobs of 128", 0.80, r.ratio(1, 0))
	b.atLeast("worker, single rows of 200 users / jobs of 128", 0.60, r.ratio(2, 1))
	b.atLeast("worker, single rows of 200 users, memories a second", 5000, r.median(2))
}

// fillPipeline creates a database of waiting memories, inserted by statements of the given number of rows, and computes
// their vectors.
func (b *bench) fillPipeline(name string, memories, rows int) (batches []batch) {
	d, w, local := b.database(name), newWriter(seed), embedding.NewLocal(embedding.LocalDimension)
	for done := 0; done < memories; done += rows {
		user, texts := fmt.Sprint("user-", len(batches)%200), w.texts(min(rows, memories-done))
		ids := make([]uuid.UUID, len(texts))
		for i := range ids {
			ids[i] = uuid.New()
		}
		d.exec(`
			insert into oxbow.memories (user_id, memory_type, id, content, session_id)
			select $1, 'episodic', i, c, 's1' from unnest($2::uuid[], $3::text[]) r(i, c)`, user, ids, texts)
		batches = append(batches, batch{store.Refs(user, ids), must.Get(local.Embed(b.ctx, texts))})
	}
	d.exec("vacuum analyze")
	return batches
}

// bareLoop writes vectors and terms with as many connections as a worker has embed jobs, a transaction for each batch.
func bareLoop(d database, batches []batch) time.Duration {
	model := store.EmbeddingModel{Model: embedding.LocalModel, Dimension: embedding.LocalDimension}
	var next atomic.Int64
	start := time.Now()
	together(2, func(int) {
		for i := next.Add(1) - 1; i < int64(len(batches)); i = next.Add(1) - 1 {
			must.OK(pgx.BeginFunc(d.ctx, d, func(tx pgx.Tx) error {
				must.Get(store.WriteVectors(d.ctx, tx, model, batches[i].refs, batches[i].vectors))
				must.Get(store.IndexMemories(d.ctx, tx, batches[i].refs))
				return nil
			}))
		}
	})
	return time.Since(start)
}

// workPipeline returns the time from the start of a worker until everything is embedded. Stopping it does not count.
func (b *bench) workPipeline(d database) (took time.Duration) {
	start := time.Now()
	b.working(d, worker.Config{}, func() {
		b.until(d, allEmbedded)
		took = time.Since(start)
	})
	return took
}
