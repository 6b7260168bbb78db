package main

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/worker"
)

// reconciling measures how fast facts that applications stored are compared with the current ones, for users of 1,000
// memories, for one of them, and for one of 50,000: jobs of one user run one after another. The facts are embedded
// already; a third has another value of an attribute.
func reconciling(b *bench) {
	facts := b.sized(10_000)
	d, w := b.database("bench_reconcile"), newWriter(seed)
	d.remember("of-many", w.texts(50_000))
	d.remember("of-one", w.texts(1000))
	for i := range 50 {
		d.remember(fmt.Sprint("of-few-", i), w.texts(1000))
	}
	b.embedAll(d)
	enable := func(on bool) {
		d.exec(`insert into oxbow.settings (key, value) values ('reconcile', jsonb_build_object('enabled', $1::boolean))
			on conflict (key) do update set value = excluded.value`, on)
	}
	stored := 0
	fact := func() string {
		stored++
		return fmt.Sprintf([]string{"Lives in Town %d", "Likes game %d", "Has been to museum %d", "Works at Firm %d",
			"No longer likes game %d", "Knows neighbour %d"}[stored%6], stored/6)
	}
	run := func(name string, user func(i int) string) variant {
		return variant{name, func() float64 {
			ids := map[string][]uuid.UUID{}
			d.copyInto("oxbow", "memories", []string{"user_id", "memory_type", "id", "content"}, facts, func(i int) []any {
				id := uuid.New()
				ids[user(i)] = append(ids[user(i)], id)
				return []any{user(i), "fact", id, fact()}
			})
			enable(false)
			b.embedAll(d)
			d.exec(`delete from oxbow.river_job where kind = 'reconcile'`)
			enable(true)
			for user, all := range ids {
				for len(all) > 0 {
					some := all[:min(128, len(all))]
					args := jobs.EmbedMemories(user, some)
					d.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) values ('reconcile', 'extract', 25,
						jsonb_build_object('user_id', $1::text, 'ids', $2::text))`, args.UserID, args.IDs)
					all = all[len(some):]
				}
			}
			start, took := time.Now(), 0.0
			b.working(d, worker.Config{}, func() {
				b.until(d, `not exists (select from oxbow.river_job where kind = 'reconcile' and finalized_at is null)`)
				took = time.Since(start).Seconds()
			})
			return float64(facts) / took
		}}
	}
	r := b.compare(fmt.Sprintf("Reconciliation by the rules, %d facts", facts), "a second",
		run("50 users of 1,000 memories", func(i int) string { return fmt.Sprint("of-few-", i%50) }),
		run("1 user of 1,000", func(int) string { return "of-one" }),
		run("1 user of 50,000", func(int) string { return "of-many" }))
	b.atLeast("facts reconciled a second, users of 1,000 memories", 2000, r.median(0))
	b.atMost("facts reconciled a second, one user of 1,000 memories / one of 50,000", 1.5, r.ratio(1, 2))
}
