package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/worker"
)

// hnsw compares recall of a large user by the exact scan with recall by the index that the worker builds: times and
// results.
func hnsw(b *bench) {
	memories := b.sized(50_000)
	d, w := b.database("bench_hnsw"), newWriter(seed)
	policy := func(name string) {
		d.exec(`update oxbow.settings set value = jsonb_build_object('policy', $1::text) where key = 'vector_index'`,
			name)
	}
	policy("never")
	texts := w.texts(memories)
	d.remember("large", texts)
	b.embedAll(d)
	questions := b.questions(w, 40, "large", texts)
	start := time.Now()
	policy("always")
	b.working(d, worker.Config{}, func() {
		b.until(d, "exists (select from oxbow.vector_slots where memory_type = 'episodic' and ready_at is not null)")
	})
	built := time.Since(start)
	d.exec("vacuum analyze")

	var nearest [2][][]string // by the exact scan, which hides the index in its transaction, and by the index
	by := func(way int, prepare string) func() float64 {
		return func() (ms float64) {
			tx := must.Get(d.Begin(b.ctx))
			defer func() { must.OK(tx.Rollback(b.ctx)) }()
			must.Get(tx.Exec(b.ctx, prepare))
			nearest[way] = nil
			for _, q := range questions {
				rows := must.Get(tx.Query(b.ctx, `
					select id::text from oxbow.recall($1, null, $2, types => '{episodic}') limit 10`, q.user, q.vector))
				nearest[way] = append(nearest[way], must.Get(pgx.CollectRows(rows, pgx.RowTo[string])))
			}
			return b.timedAll(tx, plainRecall, questions)
		}
	}
	b.compare(fmt.Sprintf("Recall of a user of %d memories; the index was built in %.0f s", memories, built.Seconds()),
		"ms", variant{"exact scan", by(0, "update oxbow.vector_slots set ready_at = null")},
		variant{"index", by(1, "select")})
	same := 0
	for q := range questions {
		for _, id := range nearest[0][q] {
			if slices.Contains(nearest[1][q], id) {
				same++
			}
		}
	}
	b.atLeast(fmt.Sprintf("recall's ten by vector alone, share that the index finds, user of %d memories", memories),
		0.95, float64(same)/float64(10*len(questions)))
}
