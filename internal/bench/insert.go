package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	maxClients  = 32
	singleUsers = 200
	bulkRows    = 20_000
	// doorbellRounds are the most of each way to ring: it is a comparison of its own, and the section is to be short.
	doorbellRounds = 5
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
	{"single rows, 1 client", 1, 0, single(1)},
	{"single rows, 8 clients", 1, 0.50, single(8)},
	{"single rows, 32 clients", 1, 0, single(32)},
	{"100-row statements, 1 client", 1, 0, statements(100, 1, 1)},
	{"100-row statements, 8 clients", 1, 0, statements(100, 1, 8)},
	{"100-row statements, 32 clients", 1, 0, statements(100, 1, 32)},
	{"1,000-row statements", 2, 0.80, statements(1000, 1, 1)},
	{"the same, of 50 users each", 1, 0, statements(1000, 50, 1)},
	{"COPY, 1 client", 2, 0.80, copyRows(1)},
	{"COPY, 8 clients", 1, 0, copyRows(8)},
	{"COPY, 32 clients", 1, 0, copyRows(32)},
}

// insertRates compares inserts with the triggers to those without, and to a bare table.
func (b *bench) insertRates(ctx context.Context) error {
	dsn, err := b.database(ctx, "bench_insert")
	if err != nil {
		return err
	}
	pool, err := openPool(ctx, dsn, maxClients)
	if err != nil {
		return err
	}
	_, err = pool.Exec(ctx, `
		create table bare (like oxbow.memories including defaults including generated);
		create unique index on bare (user_id, id)`)
	if err != nil {
		return err
	}
	out := Table{Title: fmt.Sprintf("Insert rate, rows a second: medians of %d rounds in turns, twice as many for statements of 1,000 rows and COPY by 1 client", b.Rounds)}
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
	b.show(out)
	if err := b.doorbells(ctx, pool); err != nil {
		return fmt.Errorf("doorbells: %w", err)
	}
	pool.Close()
	return b.drop(ctx, "bench_insert")
}

// doorbells compares ways to tell a listening worker of new jobs: as it is installed, at every commit, and never.
func (b *bench) doorbells(ctx context.Context, pool *pgxpool.Pool) error {
	var installed string
	if err := pool.QueryRow(ctx, `select pg_get_functiondef('oxbow.enqueue_embed'::regproc)`).Scan(&installed); err != nil {
		return err
	}
	const try = "pg_try_advisory_xact_lock(hashtextextended('oxbow.doorbell', 0))"
	if !strings.Contains(installed, try) {
		return fmt.Errorf("the trigger has no %s any more", try)
	}
	kinds := []struct{ name, definition string }{
		{"debounced", installed},
		{"always", strings.ReplaceAll(installed, try, "true")},
		{"never", strings.ReplaceAll(installed, try, "false")},
	}
	rounds := min(b.Rounds, doorbellRounds)
	out := Table{Title: fmt.Sprintf("Doorbell, single rows a second, nobody listens: medians of %d rounds in turns", rounds)}
	out.add("clients", "debounced", "always", "never", "debounced/never", "always/never")
	for _, clients := range []int{1, 8, 32} {
		rates := map[string][]float64{}
		for round := -1; round < rounds; round++ {
			if round%2 == 0 {
				slices.Reverse(kinds)
			}
			for _, kind := range kinds {
				if _, err := pool.Exec(ctx, kind.definition); err != nil {
					return err
				}
				if err := empty(ctx, pool, triggersOn); err != nil {
					return err
				}
				start := time.Now()
				rows, err := single(clients)(b, ctx, pool, triggersOn, newWriter(b.Seed+uint64(round+1)))
				if err != nil {
					return err
				}
				if round >= 0 {
					rates[kind.name] = append(rates[kind.name], float64(rows)/time.Since(start).Seconds())
				}
			}
		}
		debounced, always, never := median(rates["debounced"]), median(rates["always"]), median(rates["never"])
		out.add(fmt.Sprint(clients), fmt.Sprintf("%.0f", debounced), fmt.Sprintf("%.0f", always), fmt.Sprintf("%.0f", never),
			fmt.Sprintf("%.2f", debounced/never), fmt.Sprintf("%.2f", always/never))
	}
	b.show(out)
	return nil
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

// single inserts rows in transactions of their own, by so many clients at once.
func single(clients int) func(b *bench, ctx context.Context, pool *pgxpool.Pool, t target, w writer) (int, error) {
	return func(b *bench, ctx context.Context, pool *pgxpool.Pool, t target, w writer) (int, error) {
		texts := make([]string, 1000)
		for i := range texts {
			texts[i] = w.text()
		}
		sql := "insert into " + t.table.Sanitize() + " (user_id, memory_type, content, session_id) values ($1, $2, $3, $4)"
		end := time.Now().Add(b.Round)
		return together(ctx, pool, clients, func(conn *pgxpool.Conn, client int) (rows int, err error) {
			for i := client; time.Now().Before(end); i += clients {
				if _, err := conn.Exec(ctx, sql, user(i), "episodic", texts[i%len(texts)], "s1"); err != nil {
					return rows, err
				}
				rows++
			}
			return rows, nil
		})
	}
}

// together lets clients work at once, each on a connection of its own, and adds up what they return.
func together(ctx context.Context, pool *pgxpool.Pool, clients int, work func(conn *pgxpool.Conn, client int) (int, error)) (sum int, err error) {
	type result struct {
		n   int
		err error
	}
	results := make(chan result)
	for c := range clients {
		go func() {
			var r result
			r.err = pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) (err error) {
				r.n, err = work(conn, c)
				return err
			})
			results <- r
		}()
	}
	for range clients {
		r := <-results
		sum, err = sum+r.n, errors.Join(err, r.err)
	}
	return sum, err
}

func user(i int) string { return fmt.Sprintf("user-%d", i%singleUsers) }

// statements inserts so many rows at once, of so many users, by clients each of whom takes the next statement when the last is done.
func statements(rows, users, clients int) func(b *bench, ctx context.Context, pool *pgxpool.Pool, t target, w writer) (int, error) {
	return func(_ *bench, ctx context.Context, pool *pgxpool.Pool, t target, w writer) (int, error) {
		sql := "insert into " + t.table.Sanitize() + ` (user_id, memory_type, content, session_id)
			select u, 'episodic', c, 's1' from unnest($1::text[], $2::text[]) r(u, c)`
		texts := make([]string, rows)
		for i := range texts {
			texts[i] = w.text()
		}
		var taken atomic.Int64
		return together(ctx, pool, clients, func(conn *pgxpool.Conn, _ int) (done int, err error) {
			owners := make([]string, rows)
			for nth := int(taken.Add(1)) - 1; nth < bulkRows/rows; nth = int(taken.Add(1)) - 1 {
				for i := range owners {
					owners[i] = user(nth + i%users)
				}
				if _, err := conn.Exec(ctx, sql, owners, texts); err != nil {
					return done, err
				}
				done += rows
			}
			return done, nil
		})
	}
}

// copyRows inserts as many rows by COPY, one of each client, who have users of their own.
func copyRows(clients int) func(b *bench, ctx context.Context, pool *pgxpool.Pool, t target, w writer) (int, error) {
	return func(_ *bench, ctx context.Context, pool *pgxpool.Pool, t target, w writer) (int, error) {
		texts := make([]string, 1000)
		for i := range texts {
			texts[i] = w.text()
		}
		return together(ctx, pool, clients, func(conn *pgxpool.Conn, client int) (int, error) {
			n, err := conn.Conn().CopyFrom(ctx, t.table, []string{"user_id", "memory_type", "content", "session_id"},
				pgx.CopyFromSlice(bulkRows/clients, func(i int) ([]any, error) {
					return []any{user(5*client + i/4000), "episodic", texts[i%len(texts)], "s1"}, nil
				}))
			return int(n), err
		})
	}
}
