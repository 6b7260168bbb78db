package main

import (
	"fmt"
	"time"

	"github.com/oxbow-memory/oxbow/worker"
)

// extraction measures the rules, from stored messages to recallable memories, for 200 users of up to 1,000 memories,
// and for one user of 10,000.
func extraction(b *bench) {
	messages := b.sized(20_000)
	d, w := b.database("bench_extract"), newWriter(seed)
	d.remember("talker-of-one", w.texts(messages/2))
	for i := range 200 {
		d.remember(fmt.Sprint("talker-of-many-", i), w.texts(1+messages/20*(i+1)/200))
	}
	b.embedAll(d)
	said := 0
	talk := func(name string, n int, user func(i int) (name string, turn int)) variant {
		return variant{name, func() float64 {
			columns := []string{"user_id", "session_id", "seq", "role", "content", "created_at"}
			begin, first := time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC), said
			d.copyInto("oxbow", "messages", columns, n, func(i int) []any {
				said++
				name, turn := user(i)
				role, content := "assistant", w.say("answer", nil)
				if turn%2 == 0 {
					role, content = "user", w.say("statement", nil)
				}
				return []any{name, fmt.Sprintf("%d-%d", first, turn/20), int64(said), role, content,
					begin.Add(time.Duration(said) * time.Second)}
			})
			d.exec(`
				update oxbow.river_job set state = 'available', scheduled_at = now()
				 where kind = 'extract' and state = 'scheduled'`) // quiet conversations are due
			start, took := time.Now(), 0.0
			b.working(d, worker.Config{}, func() {
				b.until(d, `not exists (select from oxbow.messages where extracted_at is null)
					and not exists (select from oxbow.river_job where kind in ('extract', 'embed')
					and finalized_at is null)`)
				took = time.Since(start).Seconds()
			})
			return float64(n) / took
		}}
	}
	r := b.compare(fmt.Sprintf("Extraction by the rules, %d messages", messages), "a second",
		talk("200 users", messages, func(i int) (string, int) { return fmt.Sprint("talker-of-many-", i%200), i / 200 }),
		talk("1 user, a tenth of the messages", messages/10, func(i int) (string, int) { return "talker-of-one", i }))
	b.atLeast("messages extracted a second by the rules, 200 users at once", 1000, r.median(0))
}
