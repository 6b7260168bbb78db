package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/consistency"
	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/gauges"
	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// growth counts the pages that the same work touches in a database of 100,000 memories and in one of 1,000,000.
// Unlike time, pages are the same on every machine. The exponent is 0 for work that does not grow, and 1 for work
// proportional to the data.
func growth(b *bench) {
	largest := b.sized(1_000_000)
	d, w := b.database("bench_growth"), newWriter(seed)
	own := w.texts(1000)
	d.remember("asked", own)
	d.insertTraits("asked-", 50, 50)
	answers := `insert into oxbow.answers (user_id, at, query, recalled, used)
		select m.user_id, now() - %s, min(m.content), array_agg(m.id), array[min(m.id::text)::uuid]
		  from (select user_id, id, content, row_number() over (partition by user_id order by id) as n
		          from oxbow.memories where user_id like '%s%%') m
		 group by m.user_id, m.n / 10`
	d.exec(fmt.Sprintf(answers, "interval '1 minute'", "asked"))
	strangers := 0
	exponents := b.growing(d, largest, func(total int) {
		first := strangers
		for ; strangers < total/100; strangers++ {
			d.remember(fmt.Sprint("stranger-", strangers), w.texts(100))
		}
		d.insertTraits(fmt.Sprintf("stranger-of-%d-", total), 5*(strangers-first), 5)
		d.exec("delete from oxbow.answers where user_id like 'stranger%'")
		d.exec(fmt.Sprintf(answers, "interval '1 hour' - random() * interval '60 days'", "stranger"))
		// Both databases have the same recent memories: the sweep reads what is new, at most 20,000 memories.
		d.exec("set session_replication_role = replica; " +
			"update oxbow.memories_trait set created_at = created_at - interval '2 days' where user_id like 'stranger%'; " +
			"reset session_replication_role")
		work := must.Get(worker.New(b.ctx, worker.Config{DatabaseURL: d.dsn}))
		err := work.RunUntilIdle(b.ctx, nil)
		work.Close()
		must.OK(err)
	}, b.steps(d, b.questions(w, 20, "asked", own)))
	b.atMost("growth with the database, exponent of pages, the worst step", 0.1, slices.Max(exponents))
}

// growing compares steps in a database of a tenth of the largest size and in one of that size, which fill makes, and
// returns the exponents.
func (b *bench) growing(d database, largest int, fill func(size int), steps []variant) (exponents []float64) {
	measured := make([]results, 2)
	for i, size := range []int{largest / 10, largest} {
		fill(size)
		d.exec("vacuum analyze")
		d.exec("checkpoint")
		measured[i] = b.compare(fmt.Sprintf("Pages of 8 kB touched among %d memories", size), "pages", steps...)
	}
	b.table("Growth", fmt.Sprintf("%-44s", ""), "before", "after", "exponent")
	for i, s := range steps {
		before, after := measured[0].median(i), measured[1].median(i)
		exponent := math.Log10(max(after, 50) / max(before, 50)) // growth below 50 pages is not significant
		b.row(fmt.Sprintf("%-44s", s.name), before, after, exponent)
		exponents = append(exponents, exponent)
	}
	return exponents
}

// pages counts the pages that a call touches.
func (b *bench) pages(d database, do func()) float64 {
	const count = "select (blks_hit + blks_read)::float8 from pg_stat_database where datname = current_database()"
	d.exec("select pg_stat_force_next_flush()")
	before := ask[float64](d, count)
	do()
	d.exec("select pg_stat_force_next_flush()")
	return ask[float64](d, count) - before
}

// step counts the pages that a call touches in a transaction that is rolled back.
func (b *bench) step(d database, name string, do func(ctx context.Context, tx pgx.Tx) error) variant {
	return variant{name, func() float64 {
		return b.pages(d, func() {
			tx := must.Get(d.Begin(b.ctx))
			err := must.Try(func() { must.OK(do(b.ctx, tx)) })
			must.OK(errors.Join(err, tx.Rollback(b.ctx)))
		})
	}}
}

// sqlStep is a step of one statement.
func (b *bench) sqlStep(d database, name, statement string) variant {
	return b.step(d, name, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, statement)
		return err
	})
}

// steps are the calls that users wait for, and the maintenance of all users' data: sweep, the check, the gauges,
// settling. Each is rolled back, except the check, which needs its own transaction and changes nothing.
func (b *bench) steps(d database, questions []question) []variant {
	step := func(name string, do func(ctx context.Context, tx pgx.Tx) error) variant { return b.step(d, name, do) }
	sql := func(name, statement string) variant { return b.sqlStep(d, name, statement) }
	// The sweep begins with the first users, who are the same in every database.
	sweep := func(name string, do func(ctx context.Context, tx pgx.Tx) error) variant {
		return step("sweep: "+name, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "delete from oxbow.settings where key like 'sweep.%'")
			return errors.Join(err, do(ctx, tx))
		})
	}
	asked := func(name, statement string) variant {
		return step(name, func(_ context.Context, tx pgx.Tx) error {
			b.timedAll(tx, statement, questions)
			return nil
		})
	}
	past := time.Now().Add(-10 * time.Minute)
	return []variant{
		asked("recall", plainRecall),
		asked("context", "select oxbow.context($1, $2, $3)"),
		sql("insert of 50 memories", `insert into oxbow.memories (user_id, content)
			select 'asked', 'A note with the number ' || i from generate_series(1, 50) i`),
		step("gauges", func(ctx context.Context, tx pgx.Tx) error { return last(gauges.Read(ctx, tx)) }),
		{"consistency_check, 40 users", func() float64 {
			return b.pages(d, func() {
				d.exec("delete from oxbow.settings where key = 'consistency'")
				must.Get(consistency.CheckNext(b.ctx, d, time.Now(), 40, func(consistency.Problem) error { return nil }))
			})
		}},
		sweep("given up", func(ctx context.Context, tx pgx.Tx) error {
			return last(store.GivenUpEmbeds(ctx, tx, past, 100))
		}),
		sweep("recent memories", func(ctx context.Context, tx pgx.Tx) error {
			return last(store.LostRecently(ctx, tx, past, 2000, embedding.LocalModel))
		}),
		sweep("walk", func(ctx context.Context, tx pgx.Tx) error {
			return last(store.LostAnywhere(ctx, tx, past, 2000, embedding.LocalModel))
		}),
		sweep("messages", func(ctx context.Context, tx pgx.Tx) error {
			return last(store.LostMessages(ctx, tx, past, 500))
		}),
		sweep("triggers", func(ctx context.Context, tx pgx.Tx) error {
			return last(store.DueTriggers(ctx, tx, 500, time.Now()))
		}),
		sweep("reviews", func(ctx context.Context, tx pgx.Tx) error {
			return last(store.DueReviews(ctx, tx, 500))
		}),
		sweep("forgotten", func(ctx context.Context, tx pgx.Tx) error {
			return last(store.EraseForgotten(ctx, tx, past, 200))
		}),
		sweep("statistics", func(ctx context.Context, tx pgx.Tx) error {
			return last(store.RecountTerms(ctx, tx, 10))
		}),
		sweep("entities", func(ctx context.Context, tx pgx.Tx) error {
			return last(store.NoteOldEntities(ctx, tx, 20))
		}),
		step("settle, 20 traits", func(_ context.Context, tx pgx.Tx) error {
			d.settleDue(tx, 20)
			return nil
		}),
		sql("molt: the latest replies", "select from oxbow.replayed_answers(100)"),
		sql("molt: 20 replies asked again", `
			select oxbow.replay_answer(a.user_id, a.id, null, '{"recall_recency": 1}', 20)
			  from (select * from oxbow.answers where user_id = 'asked' order by id limit 20) a`),
		sql("erase the user", "select from oxbow.erase_user('asked')"),
	}
}

func last[T any](_ T, err error) error { return err }
