package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	clients     = 8
	singleUsers = 200
	bulkRows    = 20_000
)

// target is a table to insert into, and how it is made ready.
type target struct {
	name  string
	table pgx.Identifier
	ready string
}

var (
	triggersOn = target{"triggers on", pgx.Identifier{"oxbow", "memories"}, "enable trigger"}
	triggerOff = target{"triggers off", pgx.Identifier{"oxbow", "memories"}, "disable trigger"}
	bareTable  = target{"bare table", pgx.Identifier{"bare"}, ""}
	targets    = []target{triggersOn, triggerOff, bareTable}
)

// way is how rows get in; it returns how many did.
type way struct {
	name   string
	more   int     // times as many rounds, for those that are short
	goal   float64 // of triggers on, as a share of triggers off; 0: only told
	insert func(b *bench, ctx context.Context, pool *pgxpool.Pool, t target, w writer) (rows int, err error)
}

var ways = []way{
	{"single rows, 8 clients", 1, 0.50, (*bench).insertSingle},
	{"1,000-row statements", 2, 0.80, func(b *bench, ctx context.Context, pool *pgxpool.Pool, t target, w writer) (int, error) {
		return b.insertStatements(ctx, pool, t, w, 1)
	}},
	{"the same, of 50 users each", 1, 0, func(b *bench, ctx context.Context, pool *pgxpool.Pool, t target, w writer) (int, error) {
		return b.insertStatements(ctx, pool, t, w, 50)
	}},
	{"COPY", 2, 0.80, (*bench).copyRows},
}

// insertRates compares inserts with the triggers to those without, and to a bare table.
func (b *bench) insertRates(ctx context.Context) error {
	dsn, err := b.database(ctx, "bench_insert")
	if err != nil {
		return err
	}
	pool, err := openPool(ctx, dsn, clients)
	if err != nil {
		return err
	}
	_, err = pool.Exec(ctx, `
		create table bare (like oxbow.memories including defaults including generated);
		create unique index on bare (user_id, id)`)
	if err != nil {
		return err
	}
	out := Table{Title: fmt.Sprintf("Insert rate, rows a second: medians of %d rounds in turns, twice as many for statements of 1,000 rows and COPY", b.Rounds)}
	out.add("", triggersOn.name, triggerOff.name, bareTable.name, "on/off", "on/bare", "promised")
	for _, way := range ways {
		rates, err := b.rounds3(ctx, pool, way)
		if err != nil {
			return fmt.Errorf("%s: %w", way.name, err)
		}
		on, off, bare := median(rates[0]), median(rates[1]), median(rates[2])
		promise := ""
		if way.goal > 0 {
			promise = fmt.Sprintf("≥ %.2f %s", way.goal, verdict(on/off >= way.goal))
		}
		out.add(way.name, fmt.Sprintf("%.0f", on), fmt.Sprintf("%.0f", off), fmt.Sprintf("%.0f", bare),
			fmt.Sprintf("%.2f", on/off), fmt.Sprintf("%.2f", on/bare), promise)
	}
	pool.Close()
	b.show(out)
	return b.drop(ctx, "bench_insert")
}

// rounds3 measures one way in all targets, in turns whose order changes, after a round that does not count.
func (b *bench) rounds3(ctx context.Context, pool *pgxpool.Pool, way way) ([3][]float64, error) {
	var rates [3][]float64
	for round := -1; round < b.Rounds*way.more; round++ {
		order := []int{0, 1, 2}
		if round%2 == 0 {
			slices.Reverse(order)
		}
		for _, i := range order {
			if err := empty(ctx, pool, targets[i]); err != nil {
				return rates, err
			}
			start := time.Now()
			rows, err := way.insert(b, ctx, pool, targets[i], newWriter(b.Seed+uint64(round+1)))
			if err != nil {
				return rates, err
			}
			if round >= 0 {
				rates[i] = append(rates[i], float64(rows)/time.Since(start).Seconds())
			}
		}
	}
	return rates, nil
}

// empty makes every round begin with the same: no rows, no jobs, nothing that the server still has to write.
func empty(ctx context.Context, pool *pgxpool.Pool, t target) error {
	if _, err := pool.Exec(ctx, "truncate bare, oxbow.memories, oxbow.river_job cascade"); err != nil {
		return err
	}
	if t.ready != "" {
		for _, name := range []string{"memories", "memories_fact", "memories_episodic", "memories_document"} {
			if _, err := pool.Exec(ctx, "alter table oxbow."+name+" "+t.ready+" enqueue_embed"); err != nil {
				return err
			}
		}
	}
	_, err := pool.Exec(ctx, "checkpoint")
	return err
}

func (b *bench) insertSingle(ctx context.Context, pool *pgxpool.Pool, t target, w writer) (int, error) {
	texts := make([]string, 1000)
	for i := range texts {
		texts[i] = w.text()
	}
	sql := "insert into " + t.table.Sanitize() + " (user_id, memory_type, content, session_id) values ($1, $2, $3, $4)"
	var rows atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, clients)
	end := time.Now().Add(b.Round)
	for c := range clients {
		wg.Go(func() {
			errs <- pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
				for i := c; time.Now().Before(end); i += clients {
					if _, err := conn.Exec(ctx, sql, user(i), "episodic", texts[i%len(texts)], "s1"); err != nil {
						return err
					}
					rows.Add(1)
				}
				return nil
			})
		})
	}
	wg.Wait()
	for range clients {
		if err := <-errs; err != nil {
			return 0, err
		}
	}
	return int(rows.Load()), nil
}

func user(i int) string { return fmt.Sprintf("user-%d", i%singleUsers) }

func (b *bench) insertStatements(ctx context.Context, pool *pgxpool.Pool, t target, w writer, users int) (int, error) {
	const rows = 1000
	sql := "insert into " + t.table.Sanitize() + ` (user_id, memory_type, content, session_id)
		select u, 'episodic', c, 's1' from unnest($1::text[], $2::text[]) r(u, c)`
	owners, texts := make([]string, rows), make([]string, rows)
	for i := range texts {
		texts[i] = w.text()
	}
	for done := 0; done < bulkRows; done += rows {
		for i := range owners {
			owners[i] = user(done/rows + i%users)
		}
		if _, err := pool.Exec(ctx, sql, owners, texts); err != nil {
			return 0, err
		}
	}
	return bulkRows, nil
}

func (b *bench) copyRows(ctx context.Context, pool *pgxpool.Pool, t target, w writer) (int, error) {
	texts := make([]string, 1000)
	for i := range texts {
		texts[i] = w.text()
	}
	n, err := pool.CopyFrom(ctx, t.table, []string{"user_id", "memory_type", "content", "session_id"},
		pgx.CopyFromSlice(bulkRows, func(i int) ([]any, error) {
			return []any{user(i / 4000), "episodic", texts[i%len(texts)], "s1"}, nil
		}))
	return int(n), err
}
