package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// recallMerged compares recall of a user with many originals of merged memories with that of a user who has only the
// other memories.
func (b *bench) recallMerged() {
	const memories, events, times = 1000, 20, 500
	d, w := b.database("bench_merge_recall"), newWriter(seed)
	texts := w.texts(memories)
	d.copyInto("oxbow", "memories", []string{"user_id", "memory_type", "content"}, memories,
		func(i int) []any { return []any{"merged", "episodic", texts[i]} })
	again := make([]string, events)
	for i := range again {
		again[i] = fmt.Sprintf("Walked the dog around lake number %d with %s", i, w.rare())
	}
	d.copyInto("oxbow", "memories", []string{"user_id", "memory_type", "content", "valid_at"}, events*times,
		func(i int) []any {
			return []any{"merged", "episodic", again[i%events], time.Date(2025, 1, 1, i, 0, 0, 0, time.UTC)}
		})
	b.embedAll(d)
	b.working(d, worker.Config{}, func() {
		b.until(d, fmt.Sprintf(`%d = (select count(*) from oxbow.memories where superseded_by is not null)`, events*times))
	})
	for must.Get(store.SettleLevels(d.ctx, d, time.Now().AddDate(0, 0, 31), dueLevels)).Settled > 0 {
	}
	d.exec(`insert into oxbow.memories (user_id, memory_type, content, metadata, valid_at)
		select 'rest', memory_type, content, metadata, valid_at
		from oxbow.memories where expired_at is null and memory_type <> 'trait'`)
	b.embedAll(d)
	d.exec("vacuum analyze")
	rest := b.questions(w, 8, "rest", append(texts, again...))
	merged := slices.Clone(rest)
	for i := range merged {
		merged[i].user = "merged"
	}
	r := b.compare(fmt.Sprintf("Recall of a user of %d memories", memories), "ms", b.asking("alone", d, plainRecall, rest),
		b.asking(fmt.Sprintf("with %d originals of merged memories", events*times), d, plainRecall, merged))
	b.atMost(fmt.Sprintf("recall, %d memories and %d originals / without the originals", memories, events*times), 1.3,
		r.ratio(1, 0))
}
