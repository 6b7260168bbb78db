package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow/internal/consistency"
	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/gauges"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// growth counts the pages that the same work touches in a database that grows from 10,000 memories to 1,000,000.
// Unlike time, pages are the same on every machine. The exponent is 0 for work that does not grow, and 1 for work
// that grows as the data.
func growth(ctx context.Context, b *bench) error {
	largest := b.sized(1_000_000)
	dsn, pool, err := b.fresh(ctx, "bench_growth", 1)
	if err != nil {
		return err
	}
	w := newWriter(seed)
	own := w.texts(1000)
	if err := errors.Join(remember(ctx, pool, "asked", own), insertTraits(ctx, pool, "asked-", 50, 50)); err != nil {
		return err
	}
	questions, err := w.ask(ctx, 20, "asked", own)
	if err != nil {
		return err
	}
	var totals []int
	var pages []map[string]int
	for total, added := largest/100, 0; total <= largest; total *= 10 {
		if err := fillStrangers(ctx, dsn, pool, w, added/100, total/100); err != nil {
			return err
		}
		touched, err := touchedPages(ctx, pool, questions)
		if err != nil {
			return err
		}
		totals, pages, added = append(totals, total), append(pages, touched), total
		fmt.Fprintf(b.out, "measured among %d memories\n", total)
	}
	columns := []string{fmt.Sprintf("%-28s", "")}
	for _, total := range totals {
		columns = append(columns, fmt.Sprint("of ", total))
	}
	t := b.table("Pages of 8 kB touched", append(columns, "exponent")...)
	last := len(totals) - 1
	for _, s := range steps {
		cells := []any{s.name}
		for i := range totals {
			cells = append(cells, pages[i][s.name])
		}
		// Of the smallest database PostgreSQL reads whole tables. Below 50 pages, growth says nothing.
		grown := max(float64(pages[last][s.name]), 50) / max(float64(pages[last-1][s.name]), 50)
		exponent := math.Log(grown) / math.Log(float64(totals[last])/float64(totals[last-1]))
		t.row(append(cells, exponent)...)
		b.atMost("growth with the database, exponent of pages, the worst step", 0.1, exponent)
	}
	return nil
}

// fillStrangers adds users of 100 memories and 5 traits each, and lets a worker embed and reflect until it is idle.
func fillStrangers(ctx context.Context, dsn string, pool *pgxpool.Pool, w writer, from, to int) error {
	for i := from; i < to; i++ {
		if err := remember(ctx, pool, fmt.Sprint("stranger-", i), w.texts(100)); err != nil {
			return err
		}
	}
	if err := insertTraits(ctx, pool, fmt.Sprintf("stranger-of-%d-", to), 5*(to-from), 5); err != nil {
		return err
	}
	work, err := worker.New(ctx, worker.Config{DatabaseURL: dsn})
	if err != nil {
		return err
	}
	defer work.Close()
	return errors.Join(work.RunUntilIdle(ctx, nil), execAll(ctx, pool, "vacuum analyze", "checkpoint"))
}

// steps are what users wait for, and the upkeep of everybody's data: sweep, the check, the gauges, settling.
var steps = []struct {
	name string
	// run is rolled back. The check needs a transaction of its own, and has none.
	run func(ctx context.Context, tx pgx.Tx, questions []question) error
}{
	{"recall", askAll(plainRecall)},
	{"context", askAll("select oxbow.context($1, $2, $3)")},
	{"insert of 50 memories", func(ctx context.Context, tx pgx.Tx, _ []question) error {
		_, err := tx.Exec(ctx, `
			insert into oxbow.memories (user_id, content)
			select 'asked', 'A note with the number ' || i from generate_series(1, 50) i`)
		return err
	}},
	{"gauges", func(ctx context.Context, tx pgx.Tx, _ []question) error { _, err := gauges.Read(ctx, tx); return err }},
	{"consistency_check, 40 users", nil},
	{"sweep: given up", sweepStep(func(ctx context.Context, tx pgx.Tx) error {
		_, err := store.GivenUpEmbeds(ctx, tx, past(), 100)
		return err
	})},
	{"sweep: recent memories", sweepStep(func(ctx context.Context, tx pgx.Tx) error {
		_, err := store.LostRecently(ctx, tx, past(), 2000, embedding.LocalModel)
		return err
	})},
	{"sweep: walk", sweepStep(func(ctx context.Context, tx pgx.Tx) error {
		_, err := store.LostAnywhere(ctx, tx, past(), 2000, embedding.LocalModel)
		return err
	})},
	{"sweep: messages", sweepStep(func(ctx context.Context, tx pgx.Tx) error {
		_, err := store.LostMessages(ctx, tx, past(), 500)
		return err
	})},
	{"sweep: triggers", sweepStep(func(ctx context.Context, tx pgx.Tx) error {
		_, err := store.DueTriggers(ctx, tx, 500, time.Now())
		return err
	})},
	{"sweep: reviews", sweepStep(func(ctx context.Context, tx pgx.Tx) error {
		_,
			err := store.DueReviews(ctx, tx, 500)
		return err
	})},
	{"sweep: forgotten", sweepStep(func(ctx context.Context, tx pgx.Tx) error {
		_, err := store.EraseForgotten(ctx, tx, past(), 200)
		return err
	})},
	{"sweep: statistics", sweepStep(func(ctx context.Context, tx pgx.Tx) error {
		_, err := store.RecountTerms(ctx, tx,
			10)
		return err
	})},
	{"sweep: entities", sweepStep(func(ctx context.Context, tx pgx.Tx) error {
		_,
			err := store.NoteOldEntities(ctx, tx, 20)
		return err
	})},
	{"settle, 20 traits", func(ctx context.Context, tx pgx.Tx, _ []question) error {
		var clock time.Time
		if err := tx.QueryRow(ctx,
			`select max(d.at) from (select trait_next_transition_at as at from oxbow.memories_trait
			where trait_next_transition_at is not null order by 1 limit 20) d`).Scan(&clock); err != nil {
			return err
		}
		_, err := store.SettleTraits(ctx, tx, clock, 20)
		return err
	}},
	{"erase the user", func(ctx context.Context, tx pgx.Tx, _ []question) error {
		_, err := tx.Exec(ctx, "select from oxbow.erase_user('asked')")
		return err
	}},
}

func past() time.Time { return time.Now().Add(-10 * time.Minute) }

// sweepStep begins with the first users, who are the same in every database.
func sweepStep(do func(context.Context, pgx.Tx) error) func(context.Context, pgx.Tx, []question) error {
	return func(ctx context.Context, tx pgx.Tx, _ []question) error {
		_, err := tx.Exec(ctx, "delete from oxbow.settings where key like 'sweep.%' or key = 'consistency'")
		return errors.Join(err, do(ctx, tx))
	}
}

func askAll(sql string) func(context.Context, pgx.Tx, []question) error {
	return func(ctx context.Context, tx pgx.Tx, questions []question) error {
		_, err := timed(ctx, tx.Conn(), asker{name: sql, sql: sql}, questions)
		return err
	}
}

// touchedPages runs every step in a transaction that is rolled back, and returns the fewest pages of three runs:
// autovacuum's are counted too.
func touchedPages(ctx context.Context, pool *pgxpool.Pool, questions []question) (map[string]int, error) {
	touched := map[string]int{}
	for _, s := range steps {
		for range 3 {
			before, err := countPages(ctx, pool)
			if err != nil {
				return nil, err
			}
			if err := runStep(ctx, pool, s.run, questions); err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			after, err := countPages(ctx, pool)
			if err != nil {
				return nil, err
			}
			if fewest, ok := touched[s.name]; !ok || after-before < fewest {
				touched[s.name] = after - before
			}
		}
	}
	return touched, nil
}

func runStep(ctx context.Context, pool *pgxpool.Pool, run func(context.Context, pgx.Tx, []question) error,
	questions []question) error {
	if run == nil {
		if err := execAll(ctx, pool, "delete from oxbow.settings where key = 'consistency'"); err != nil {
			return err
		}
		_, err := consistency.CheckNext(ctx, pool, time.Now(), 40, func(consistency.Problem) error { return nil })
		return err
	}
	tx, err := pool.Begin(ctx)
	if err != nil {
		return err
	}
	return errors.Join(run(ctx, tx, questions), tx.Rollback(ctx))
}

func countPages(ctx context.Context, pool *pgxpool.Pool) (pages int, err error) {
	if _, err := pool.Exec(ctx, "select pg_stat_force_next_flush()"); err != nil {
		return 0, err
	}
	err = pool.QueryRow(ctx,
		"select blks_hit + blks_read from pg_stat_database where datname = current_database()").Scan(&pages)
	return pages, err
}
