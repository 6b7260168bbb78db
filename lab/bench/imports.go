package main

import (
	"bytes"
	"context"
	_ "embed" // v1.sql
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/importv1"
	"github.com/oxbow-memory/oxbow/lab/program"
)

// importing measures an import of 31,439 Chinese memories, import and worker each a process of its own, until every
// memory is recallable, and the worker's memory.
func importing(ctx context.Context, b *bench) error {
	memories := b.sized(31_439)
	dir, err := os.MkdirTemp("", "oxbow-bench-import-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary directory
	w, file, lines := newWriter(seed), filepath.Join(dir, "memories.jsonl"), bytes.Buffer{}
	for i := range memories {
		at := time.Date(2025, 1, 1, 0, i*16, 0, 0, time.UTC).Format(time.RFC3339)
		const line = `{"type":"memory","user":"person-%d","id":"m%d","session":"s%d","seq":%d,"at":%q,"content":%q}` + "\n"
		fmt.Fprintf(&lines, line,
			i%5, i, i/60, i, at, w.chinese(90+w.IntN(66)))
	}
	if err := os.WriteFile(file, lines.Bytes(), 0o600); err != nil {
		return err
	}
	if _, err := program.Build(ctx); err != nil { // which does not count
		return err
	}
	var stored, embedded []float64
	var peak int
	t := b.table(fmt.Sprintf("Import of %d memories, seconds", memories), "stored", "embedded", "worker's memory, MiB")
	for range b.rounds {
		dsn, pool, err := b.fresh(ctx, "bench_import", 1)
		if err != nil {
			return err
		}
		start := time.Now()
		work, err := startProcess(ctx, dsn, "work")
		if err != nil {
			return err
		}
		load, err := startProcess(ctx, dsn, "import", file)
		if err == nil {
			err = load.end()
		}
		stored = append(stored, time.Since(start).Seconds())
		err = errors.Join(err, waitEmbedded(ctx, pool))
		embedded = append(embedded, time.Since(start).Seconds())
		peak = max(peak, work.peakMiB())
		if err := errors.Join(err, work.stop()); err != nil {
			return err
		}
		t.row(stored[len(stored)-1], embedded[len(embedded)-1], peak)
	}
	b.atMost(fmt.Sprintf("seconds until %d imported memories are recallable", memories), 8, median(embedded))
	b.atMost("MiB of memory of a worker during an import (promised for 1,000,000)", 190, float64(peak))
	return nil
}

// importV1 compares an import of version 1, from the same database and from another, with a COPY of the same memories
// into the same tables without triggers.
func importV1(ctx context.Context, b *bench) error {
	rows := b.sized(200_000)
	source, err := b.fillV1(ctx, rows)
	if err != nil {
		return err
	}
	var columns string
	var dump bytes.Buffer
	ways := []struct {
		name, template string
		run            func(context.Context, *pgx.Conn) error
	}{
		{"import-v1, the same database", "bench_v1", func(ctx context.Context, conn *pgx.Conn) error {
			_, err := importv1.Run(ctx, conn, importv1.Options{})
			return err
		}},
		{"import-v1, from another one", "migrated", func(ctx context.Context, conn *pgx.Conn) error {
			from, err := pgx.Connect(ctx, source)
			if err != nil {
				return err
			}
			defer from.Close(context.WithoutCancel(ctx))
			_, err = importv1.Run(ctx, conn, importv1.Options{Source: from})
			return err
		}},
		{"COPY without triggers", "migrated", func(ctx context.Context, conn *pgx.Conn) error {
			for _, t := range []string{"memories", "memories_fact", "memories_episodic", "memories_trait",
				"memories_document"} {
				if _, err := conn.Exec(ctx, "alter table oxbow."+t+" disable trigger user"); err != nil {
					return err
				}
			}
			_, err := conn.PgConn().CopyFrom(ctx, bytes.NewReader(dump.Bytes()),
				"copy oxbow.memories ("+columns+") from stdin")
			return err
		}},
	}
	rates, err := inTurns(b.rounds, len(ways), func(i int) (float64, error) {
		if err := b.copyDatabase(ctx, "bench_turn", ways[i].template); err != nil {
			return 0, err
		}
		conn, err := pgx.Connect(ctx, b.server.DSN("bench_turn"))
		if err != nil {
			return 0, err
		}
		defer conn.Close(context.WithoutCancel(ctx))
		start := time.Now()
		err = ways[i].run(ctx, conn)
		took := time.Since(start)
		if err == nil && dump.Len() == 0 { // the first import makes what COPY brings
			if err := conn.QueryRow(ctx,
				`select string_agg(quote_ident(column_name), ', ') from information_schema.columns
				where table_schema = 'oxbow' and table_name = 'memories'
				  and is_generated = 'NEVER'`).Scan(&columns); err != nil {
				return 0, err
			}
			_, err = conn.PgConn().CopyTo(ctx, &dump,
				"copy (select "+columns+" from oxbow.memories order by created_at) to stdout")
		}
		return float64(rows) / took.Seconds(), err
	})
	if err != nil {
		return err
	}
	t := b.table(fmt.Sprintf("Import of version 1, %d rows", rows), fmt.Sprintf("%-30s", ""), "a second")
	for i, way := range ways {
		t.row(way.name, median(rates[i]))
		if i < 2 {
			b.atLeast(way.name+" / COPY without triggers", 0.60, medianRatio(rates[i], rates[2]))
		}
	}
	return nil
}

//go:embed sql/v1.sql
var v1SQL string

// fillV1 makes a migrated database with a table of version 1.
func (b *bench) fillV1(ctx context.Context, rows int) (string, error) {
	dsn, err := b.database(ctx, "bench_v1")
	if err != nil {
		return "", err
	}
	pool, err := openPool(ctx, dsn, 1)
	if err != nil {
		return "", err
	}
	defer pool.Close()
	if err := execAll(ctx, pool, `
		create table public.embeddings (
		  id uuid primary key, user_id varchar(255) not null, content text not null, embedding vector(1024),
		  memory_type varchar(50) not null, metadata jsonb, valid_from timestamptz, valid_until timestamptz,
		  superseded_by uuid, version integer, access_count integer, last_accessed_at timestamptz,
		  created_at timestamptz not null);
		create temporary table text (n integer, content text)`); err != nil {
		return "", err
	}
	w := newWriter(seed)
	if _, err := pool.CopyFrom(ctx, pgx.Identifier{"text"}, []string{"n", "content"},
		pgx.CopyFromSlice(rows, func(i int) ([]any, error) {
			return []any{i, w.text()}, nil
		})); err != nil {
		return "", err
	}
	return dsn, execAll(ctx, pool, v1SQL, "create index on embeddings (user_id)", "vacuum (analyze) embeddings")
}
