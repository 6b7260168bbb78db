package main

import (
	"bytes"
	_ "embed" // v1.sql
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/oxbow-memory/oxbow/internal/importv1"
	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/lab/program"
)

// importing measures an import of 31,439 Chinese memories, with import and worker in separate processes, until every
// memory is recallable, and the worker's memory.
func importing(b *bench) {
	memories := b.sized(31_439)
	dir := must.Get(os.MkdirTemp("", "oxbow-bench-import-"))
	defer func() { _ = os.RemoveAll(dir) }() // a temporary directory
	w, file, lines := newWriter(seed), filepath.Join(dir, "memories.jsonl"), bytes.Buffer{}
	for i := range memories {
		at := time.Date(2025, 1, 1, 0, i*16, 0, 0, time.UTC).Format(time.RFC3339)
		fmt.Fprintf(&lines,
			`{"type":"memory","user":"person-%d","id":"m%d","session":"s%d","seq":%d,"at":%q,"content":%q}`+"\n",
			i%5, i, i/60, i, at, w.chinese(90+w.IntN(66)))
	}
	must.OK(os.WriteFile(file, lines.Bytes(), 0o600))
	must.Get(program.Build(b.ctx)) // which does not count
	peak := 0
	r := b.compare(fmt.Sprintf("Import of %d memories until they are recallable", memories), "seconds",
		variant{"import and worker", func() float64 {
			d := b.database("bench_import")
			start := time.Now()
			work := b.start(d, "work")
			defer work.stop()
			b.start(d, "import", file).end()
			b.until(d, allEmbedded)
			peak = max(peak, work.memory("VmHWM"))
			return time.Since(start).Seconds()
		}})
	b.atMost(fmt.Sprintf("seconds until %d imported memories are recallable", memories), 8, r.median(0))
	b.atMost("MiB of memory of a worker during an import (promised for 1,000,000)", 190, float64(peak))
}

// importV1 compares an import of version 1, from the same database and from another, with a COPY of the same memories
// into the same tables without triggers.
func importV1(b *bench) {
	rows := b.sized(200_000)
	b.fillV1("bench_v1", rows)
	var columns string
	var dump bytes.Buffer
	into := func(name, template string, load func(database)) variant {
		return variant{name, func() float64 {
			d := b.copyOf(template, "bench_turn")
			start := time.Now()
			load(d)
			return float64(rows) / time.Since(start).Seconds()
		}}
	}
	run := func(d database, o importv1.Options) {
		conn := must.Get(d.Acquire(b.ctx))
		defer conn.Release()
		must.Get(importv1.Run(b.ctx, conn.Conn(), o))
	}
	same := into("import-v1, the same database", "bench_v1", func(d database) { run(d, importv1.Options{}) })
	another := into("import-v1, from another one", "migrated", func(d database) {
		from := must.Get(b.databases["bench_v1"].Acquire(b.ctx))
		defer from.Release()
		run(d, importv1.Options{Source: from.Conn()})
	})
	same.measure() // computes the rows of the COPY
	d := b.databases["bench_turn"]
	columns = ask[string](d, `
		select string_agg(quote_ident(column_name), ', ') from information_schema.columns
		 where table_schema = 'oxbow' and table_name = 'memories' and is_generated = 'NEVER'`)
	conn := must.Get(d.Acquire(b.ctx))
	must.Get(conn.Conn().PgConn().CopyTo(b.ctx, &dump,
		"copy (select "+columns+" from oxbow.memories order by created_at) to stdout"))
	conn.Release()
	r := b.compare(fmt.Sprintf("Import of version 1, %d rows", rows), "a second",
		into("COPY without triggers", "migrated", func(d database) {
			for _, t := range []string{"memories", "memories_fact", "memories_episodic", "memories_trait",
				"memories_document"} {
				d.exec("alter table oxbow." + t + " disable trigger user")
			}
			conn := must.Get(d.Acquire(b.ctx))
			defer conn.Release()
			must.Get(conn.Conn().PgConn().CopyFrom(b.ctx, bytes.NewReader(dump.Bytes()),
				"copy oxbow.memories ("+columns+") from stdin"))
		}), same, another)
	b.atLeast("import-v1, the same database / COPY without triggers", 0.60, r.ratio(1, 0))
	b.atLeast("import-v1, from another one / COPY without triggers", 0.60, r.ratio(2, 0))
}

//go:embed sql/v1.sql
var v1SQL string

// fillV1 creates a migrated database with a table of version 1.
func (b *bench) fillV1(name string, rows int) {
	d, w := b.database(name), newWriter(seed)
	d.exec(`
		create table public.embeddings (
		  id uuid primary key, user_id varchar(255) not null, content text not null, embedding vector(1024),
		  memory_type varchar(50) not null, metadata jsonb, valid_from timestamptz, valid_until timestamptz,
		  superseded_by uuid, version integer, access_count integer, last_accessed_at timestamptz,
		  created_at timestamptz not null);
		create table public.text (n integer, content text)`)
	d.copyInto("public", "text", []string{"n", "content"}, rows, func(i int) []any {
		return []any{i, w.texts(1)[0]}
	})
	d.exec(v1SQL + "; drop table public.text; create index on embeddings (user_id)")
	d.exec("vacuum (analyze) embeddings")
}
