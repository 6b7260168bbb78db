package main

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/oxbow-memory/oxbow/worker"
)

// fair measures how long a single memory of another user waits while many memories of one user, or of as many users,
// wait to be embedded, however they were inserted; and what these get while others need four fifths of the capacity.
func fair(b *bench) {
	memories := b.sized(200_000)
	b.table(fmt.Sprintf("A single memory while %d of others wait, ms from COMMIT to recallable", memories),
		fmt.Sprintf("%-40s", "inserted"), "p50", "p95", "waiting then", "a second", "")
	for _, users := range []int{1, memories} {
		for _, rows := range []int{1, 1000, memories} {
			name := fmt.Sprintf("%d a statement, of %d users", rows, users)
			d := b.database("bench_fair")
			b.flood(d, memories, rows, users)
			b.working(d, worker.Config{}, func() { b.singles(d, name, users == 1 && rows == 1) })
		}
	}
}

// flood inserts memories.
func (b *bench) flood(d database, memories, rows, users int) {
	d.exec("create table texts (n serial primary key, text text)")
	d.exec("insert into texts (text) select unnest($1::text[])", newWriter(seed).texts(1000))
	d.exec(fmt.Sprintf(`
		do $$ begin
		  for i in 1..%[1]d by %[2]d loop
		    insert into oxbow.memories (user_id, memory_type, content, session_id)
		    select 'flood ' || m %% %[3]d, 'episodic', text || ' ' || m, 's1'
		      from generate_series(i, least(i + %[2]d - 1, %[1]d)) m join texts on n = m %% 1000 + 1;
		    commit;
		  end loop;
		end $$`, memories, rows, users))
	d.exec("vacuum analyze")
	d.exec("checkpoint")
}

const waiting = `(select coalesce(sum(cardinality(string_to_array(args ->> 'ids', ','))), 0) from oxbow.river_job
	where kind = 'embed' and finalized_at is null and args ->> 'user_id' like 'flood %')`

// singles measures single memories of different users for as long as others wait, and then perhaps a load of them.
func (b *bench) singles(d database, name string, load bool) {
	count := func() int { return ask[int](d, "select "+waiting) }
	b.untilRecallable(d, "first", "The worker has started.", "started")
	var times []float64
	begun, before := time.Now(), count()
	left := before
	for i := 0; left > before/4 && i < 40; i++ {
		b.pause(time.Duration(rand.IntN(100)) * time.Millisecond)
		times = append(times, b.untilRecallable(d, fmt.Sprint("single ", i), "I saw a", fmt.Sprint("word", i)))
		left = count()
	}
	capacity := float64(before-left) / time.Since(begun).Seconds()
	whole := func(f float64) string { return fmt.Sprintf("%.0f", f) }
	b.row(fmt.Sprintf("%-40s", name), whole(quantile(times, 0.5)), whole(quantile(times, 0.95)), before, whole(capacity), "")
	b.atMost("ms from COMMIT to recallable, p95, while memories wait: "+name, 1000, quantile(times, 0.95))
	if !load {
		return
	}
	const clients = 4
	begun, before = time.Now(), count()
	var sent atomic.Int64
	span := min(10*time.Second, time.Duration(float64(before)/capacity/2*float64(time.Second)))
	together(clients, func(client int) {
		for i := 0; time.Since(begun) < span; {
			if float64(i) > 0.8*capacity/clients*time.Since(begun).Seconds() {
				b.pause(time.Millisecond)
				continue
			}
			d.exec("insert into oxbow.memories (user_id, memory_type, content) values ($1, 'episodic', 'I saw one')",
				fmt.Sprintf("one %d of %d", i, client))
			i++
			sent.Add(1)
		}
	})
	left = count()
	done := int(sent.Load()) - ask[int](d, `select count(*) from oxbow.river_job
		where kind = 'embed' and finalized_at is null and args ->> 'user_id' like 'one %'`)
	fmt.Fprintf(b.out, "  then %d single memories in %s, %d embedded, and %d of the others\n", sent.Load(), span, done,
		before-left)
	b.atLeast("share of the flood in what is embedded, while single memories need up to four fifths of the capacity", 0.19,
		float64(before-left)/float64(before-left+done))
}
