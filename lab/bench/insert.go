package main

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// insert compares the rates of insertion into Oxbow's table, with and without the trigger that enqueues jobs, and into
// a bare table with the same columns and one index.
func insert(b *bench) {
	d := b.database("bench_insert")
	d.exec(`
		create table public.bare (like oxbow.memories including defaults including generated);
		create unique index on public.bare (user_id, id)`)
	for _, way := range []struct {
		name      string
		bare, off float64 // promised shares of the rates of the bare table and without triggers
		insert    func(d database, table string) (rows int)
	}{
		{"single rows, 1 client", 0, 0, singleRows(1)},
		{"single rows, 8 clients", 0.50, 0.50, singleRows(8)},
		{"single rows, 32 clients", 0, 0, singleRows(32)},
		{"1,000-row statements", 0, 0.80, statements},
		{"COPY", 0, 0.80, copyRows},
	} {
		into := func(name, table, triggers string) variant {
			return variant{name, func() float64 {
				// Every round begins without rows, jobs, or unwritten pages.
				d.exec("truncate public.bare, oxbow.memories, oxbow.river_job cascade")
				for _, t := range []string{"memories", "memories_fact", "memories_episodic", "memories_document"} {
					d.exec("alter table oxbow." + t + " " + triggers + " trigger enqueue_embed")
				}
				d.exec("checkpoint")
				start := time.Now()
				return float64(way.insert(d, table)) / time.Since(start).Seconds()
			}}
		}
		r := b.compare(way.name, "rows a second", into("bare table", "public.bare", "enable"),
			into("triggers off", "oxbow.memories", "disable"), into("triggers on", "oxbow.memories", "enable"))
		if way.off > 0 {
			b.atLeast(way.name+": with triggers / without", way.off, r.ratio(2, 1))
		}
		if way.bare > 0 {
			b.atLeast(way.name+": with triggers / bare table", way.bare, r.ratio(2, 0))
		}
	}
}

// singleRows inserts rows of 200 users for 1.2 seconds, each in its own transaction.
func singleRows(clients int) func(database, string) int {
	return func(d database, table string) int {
		texts := newWriter(seed).texts(1000)
		sql := "insert into " + table + " (user_id, memory_type, content, session_id) values ($1, 'episodic', $2, 's1')"
		end := time.Now().Add(1200 * time.Millisecond)
		var rows atomic.Int64
		together(clients, func(client int) {
			for i := client; time.Now().Before(end); i += clients {
				d.exec(sql, fmt.Sprint("user-", i%200), texts[i%len(texts)])
				rows.Add(1)
			}
		})
		return int(rows.Load())
	}
}

const bulkRows = 20_000

// statements inserts 20,000 rows, 1,000 at once, by one client.
func statements(d database, table string) int {
	texts := newWriter(seed).texts(1000)
	for n := range bulkRows / len(texts) {
		d.exec("insert into "+table+` (user_id, memory_type, content, session_id)
			select $1, 'episodic', c, 's1' from unnest($2::text[]) c`, fmt.Sprint("user-", n), texts)
	}
	return bulkRows
}

// copyRows inserts 20,000 rows of five users by one COPY.
func copyRows(d database, table string) int {
	texts := newWriter(seed).texts(1000)
	schema, name, _ := strings.Cut(table, ".")
	d.copyInto(schema, name, []string{"user_id", "memory_type", "content", "session_id"}, bulkRows, func(i int) []any {
		return []any{fmt.Sprint("user-", i/4000), "episodic", texts[i%len(texts)], "s1"}
	})
	return bulkRows
}
