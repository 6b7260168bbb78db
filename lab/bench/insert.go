package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// targets are Oxbow's table with and without the trigger that makes jobs, and a bare one with the same columns and one
// index.
var targets = []struct{ name, table, ready string }{
	{"triggers on", "oxbow.memories", "enable trigger enqueue_embed"},
	{"triggers off", "oxbow.memories", "disable trigger enqueue_embed"},
	{"bare table", "public.bare", ""},
}

// insert compares the rates at which rows get in.
func insert(ctx context.Context, b *bench) error {
	_, pool, err := b.fresh(ctx, "bench_insert", 32)
	if err != nil {
		return err
	}
	if _, err := pool.Exec(ctx, `
		create table public.bare (like oxbow.memories including defaults including generated);
		create unique index on public.bare (user_id, id)`); err != nil {
		return err
	}
	ways := []struct {
		name   string
		bare   float64 // promised share of the bare table's rate
		off    float64 // promised share of the rate without triggers
		insert func(ctx context.Context, pool *pgxpool.Pool, table string) (int, error)
	}{
		{"single rows, 1 client", 0, 0, singleRows(1)},
		{"single rows, 8 clients", 0.50, 0.50, singleRows(8)},
		{"single rows, 32 clients", 0, 0, singleRows(32)},
		{"1,000-row statements", 0, 0.80, statements(1000)},
		{"COPY", 0, 0.80, copyRows},
	}
	t := b.table("Rows a second, medians of rounds in turns", fmt.Sprintf("%-24s", ""), "triggers on", "triggers off",
		"bare table", "on/off", "on/bare")
	for _, way := range ways {
		rates, err := inTurns(b.rounds, len(targets), func(i int) (float64, error) {
			if err := emptyTables(ctx, pool, targets[i].ready); err != nil {
				return 0, err
			}
			start := time.Now()
			rows, err := way.insert(ctx, pool, targets[i].table)
			return float64(rows) / time.Since(start).Seconds(), err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", way.name, err)
		}
		off, bare := medianRatio(rates[0], rates[1]), medianRatio(rates[0], rates[2])
		t.row(way.name, median(rates[0]), median(rates[1]), median(rates[2]), off, bare)
		if way.off > 0 {
			b.atLeast(way.name+": with triggers / without", way.off, off)
		}
		if way.bare > 0 {
			b.atLeast(way.name+": with triggers / bare table", way.bare, bare)
		}
	}
	return nil
}

// emptyTables lets every round begin with no rows, no jobs, and nothing that the server still has to write.
func emptyTables(ctx context.Context, pool *pgxpool.Pool, ready string) error {
	statements := []string{"truncate public.bare, oxbow.memories, oxbow.river_job cascade"}
	for _, table := range []string{"memories", "memories_fact", "memories_episodic", "memories_document"} {
		if ready != "" {
			statements = append(statements, "alter table oxbow."+table+" "+ready)
		}
	}
	return execAll(ctx, pool, append(statements, "checkpoint")...)
}

func execAll(ctx context.Context, pool *pgxpool.Pool, statements ...string) error {
	for _, sql := range statements {
		if _, err := pool.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// singleRows inserts rows of 200 users for 1.2 seconds, each in a transaction of its own.
func singleRows(clients int) func(context.Context, *pgxpool.Pool, string) (int, error) {
	return func(ctx context.Context, pool *pgxpool.Pool, table string) (int, error) {
		texts := newWriter(seed).texts(1000)
		sql := "insert into " + table + " (user_id, memory_type, content, session_id) values ($1, 'episodic', $2, 's1')"
		end := time.Now().Add(1200 * time.Millisecond)
		return together(ctx, pool, clients, func(conn *pgxpool.Conn, client int) (rows int, err error) {
			for i := client; time.Now().Before(end); i += clients {
				if _, err := conn.Exec(ctx, sql, fmt.Sprint("user-", i%200), texts[i%len(texts)]); err != nil {
					return rows, err
				}
				rows++
			}
			return rows, nil
		})
	}
}

const bulkRows = 20_000

// statements inserts 20,000 rows, so many at once, by one client.
func statements(rows int) func(context.Context, *pgxpool.Pool, string) (int, error) {
	return func(ctx context.Context, pool *pgxpool.Pool, table string) (int, error) {
		texts := newWriter(seed).texts(rows)
		sql := "insert into " + table + ` (user_id, memory_type, content, session_id)
			select $1, 'episodic', c, 's1' from unnest($2::text[]) c`
		for n := range bulkRows / rows {
			if _, err := pool.Exec(ctx, sql, fmt.Sprint("user-", n), texts); err != nil {
				return 0, err
			}
		}
		return bulkRows, nil
	}
}

// copyRows inserts 20,000 rows of five users by one COPY.
func copyRows(ctx context.Context, pool *pgxpool.Pool, table string) (int, error) {
	texts, schema := newWriter(seed).texts(1000), pgx.Identifier{"oxbow", "memories"}
	if table == "public.bare" {
		schema = pgx.Identifier{"public", "bare"}
	}
	n, err := pool.CopyFrom(ctx, schema, []string{"user_id", "memory_type", "content", "session_id"},
		pgx.CopyFromSlice(bulkRows, func(i int) ([]any, error) {
			return []any{fmt.Sprint("user-", i/4000), "episodic", texts[i%len(texts)], "s1"}, nil
		}))
	return int(n), err
}
