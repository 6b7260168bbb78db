package main

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/extract"
	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// merging measures how long the job merge takes to find the memories that a new one may be merged with, and to decide,
// for users of 1,000 and of 50,000 memories: by the gist, as for the rules, and by a scan of all vectors, as for a
// model.
func merging(b *bench) {
	few, many := 1000, b.sized(50_000)
	d, w, rules := b.database("bench_merge"), newWriter(seed), extract.New()
	d.exec(`update oxbow.settings set value = '{"policy": "never"}' where key = 'vector_index'`)
	fresh := map[string][]uuid.UUID{}
	store1 := func(user string, n int, text func() string) {
		d.copyInto("oxbow", "memories", []string{"user_id", "memory_type", "id", "content"}, n, func(i int) []any {
			id := uuid.New()
			if i%(n/100) == 0 {
				fresh[user] = append(fresh[user], id)
			}
			return []any{user, "episodic", id, text()}
		})
	}
	kinds := []string{"texts that differ", "texts alike"}
	for kind, text := range []func() string{
		func() string { return w.texts(1)[0] },
		func() string { return w.say("alike", nil) + " Then I met " + w.rare() + " and " + w.rare() + "." },
	} {
		store1(fmt.Sprint(kinds[kind], few), few, text)
		store1(fmt.Sprint(kinds[kind], many), many, text)
	}
	b.embedAll(d)
	b.working(d, worker.Config{}, func() {
		b.until(d, `not exists (select from oxbow.river_job where kind in ('check_trigger', 'merge') and finalized_at is null)
			and not exists (select from oxbow.reflection_inbox where not nominated)`)
	})
	d.exec("vacuum analyze")
	merge := func(user string, ids []uuid.UUID, same bool) float64 {
		d.exec(`delete from oxbow.memory_gists where user_id = $1 and memory_id = any($2)`, user, ids)
		begun := time.Now()
		if same {
			var gists []string
			var noted []uuid.UUID
			for _, m := range must.Get(store.MemoriesToMerge(d.ctx, d, user, ids, time.UTC)) {
				if gist := rules.Gist(m.Content, m.Time); gist != "" {
					noted, gists = append(noted, m.ID), append(gists, gist)
				}
			}
			must.OK(store.NoteGists(d.ctx, d, user, noted, gists))
			ids = noted
		}
		var group []reasoner.Held
		for _, n := range must.Get(store.NearMemories(d.ctx, d, user, ids, 40, same, time.UTC)) {
			group = append(group, n.Held)
		}
		if !same {
			must.Get(rules.Merge(d.ctx, [][]reasoner.Held{group}))
		}
		return msSince(begun) / float64(len(ids))
	}
	var variants []variant
	for _, kind := range kinds {
		for _, same := range []bool{true, false} {
			for _, n := range []int{few, many} {
				user := fmt.Sprint(kind, n)
				variants = append(variants, variant{fmt.Sprintf("%s, user of %d, by %s", kind, n,
					map[bool]string{true: "gist", false: "scan"}[same]), func() float64 { return merge(user, fresh[user], same) }})
			}
		}
	}
	r := b.compare("What a new memory may be merged with", "ms a memory", variants...)
	for i, kind := range kinds {
		b.atMost(fmt.Sprintf("finding what to merge, user of %d memories / of %d, %s", many, few, kind), 2, r.ratio(4*i+1, 4*i))
	}
	b.recallMerged()
}
