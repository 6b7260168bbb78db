package main

import (
	"fmt"
	"time"

	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/worker"
)

// reflection measures the rules: the number of memories a second that the worker reflects on for 12 users, and the time
// for 1,000 further memories of a user with a long history, compared with the second 1,000 of new users.
func reflection(b *bench) {
	history, d := b.sized(50_000), b.database("bench_reflect")
	people := 0
	newcomers := func(n int) (all []*life) {
		for range n {
			people++
			all = append(all, newLife(fmt.Sprint("newcomer-", people), people, []float64{0.95, 0.05}[people%2]))
		}
		return all
	}
	r := b.compare("Reflection by the rules", "a second", variant{"12 users of 1,000 memories", func() float64 {
		took, _ := b.tellAndReflect(d, 1000, newcomers(12)...)
		return 12_000 / took
	}})
	b.atLeast("memories reflected on a second by the rules, 12 users at once", 500, r.median(0))
	veteran := newLife("veteran", 0, 0.5)
	b.tellAndReflect(d, history, veteran)
	r = b.compare("Reflection on 1,000 further memories of a user, within cycles", "seconds",
		variant{"after 1,000 memories", func() float64 {
			newcomer := newcomers(1)
			b.tellAndReflect(d, 1000, newcomer...)
			_, within := b.tellAndReflect(d, 1000, newcomer...)
			return within
		}},
		variant{fmt.Sprintf("after %d memories", history), func() float64 {
			_, within := b.tellAndReflect(d, 1000, veteran)
			return within
		}})
	b.atMost("reflection after up to 50,000 memories / after 1,000", 2, r.ratio(1, 0))
}

// tellAndReflect stores and embeds the next n memories of people without reflection, then runs a worker until all are
// reflected on. It returns the seconds from the first cycle to the last, and the sum of the cycles.
func (b *bench) tellAndReflect(d database, n int, people ...*life) (took, within float64) {
	d.exec(`
		insert into oxbow.river_queue (name, paused_at, updated_at) values ('reflect', now(), now())
		on conflict (name) do update set paused_at = excluded.paused_at`)
	for _, l := range people {
		l.remember(d, n)
	}
	b.embedAll(d)
	d.exec("update oxbow.river_queue set paused_at = null")
	start := time.Now()
	b.working(d, worker.Config{}, func() {
		b.until(d, `
			not exists (select from oxbow.reflection_inbox) and not exists (select from oxbow.river_job
			  where kind in ('check_trigger', 'reflect', 'contradiction_review') and finalized_at is null)`)
	})
	must.OK(d.QueryRow(b.ctx, `
		select extract(epoch from max(completed_at) - min(started_at))::float8,
		       extract(epoch from sum(completed_at - started_at))::float8
		  from oxbow.reflection_cycles where started_at >= $1`, start).Scan(&took, &within))
	return took, within
}
