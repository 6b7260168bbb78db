package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Statements take a user, a text and a vector.
const (
	bareVector = `
		select memory_id from oxbow.memory_vectors
		 where user_id = $1 and $2::text is not null order by embedding <=> $3 limit 10`
	plainRecall = "select * from oxbow.recall($1, $2, $3)"
)

// asker is a statement, and what it asks in place of a question's own user.
type asker struct {
	name, sql string
	user      string
}

// timed runs a statement for every question and returns the median time. A statement that finds nothing is an error.
func timed(ctx context.Context, conn *pgx.Conn, a asker, questions []question) (time.Duration, error) {
	times := make([]time.Duration, len(questions))
	for i, q := range questions {
		if a.user != "" {
			q.user = a.user
		}
		start := time.Now()
		rows, err := conn.Query(ctx, a.sql, q.user, q.text, q.vector)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", a.name, err)
		}
		found := 0
		for rows.Next() {
			found++
		}
		if err := rows.Err(); err != nil {
			return 0, fmt.Errorf("%s: %w", a.name, err)
		}
		if times[i] = time.Since(start); found == 0 {
			return 0, fmt.Errorf("%s finds nothing for %q of %s", a.name, q.text, q.user)
		}
	}
	return median(times), nil
}

// compare asks the questions in every way, in turns. The rounds' medians come back by way.
func (b *bench) compare(ctx context.Context, pool *pgxpool.Pool, questions []question,
	ways ...asker) (times [][]time.Duration, err error) {
	err = pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) (err error) {
		times, err = inTurns(b.rounds, len(ways),
			func(i int) (time.Duration, error) { return timed(ctx, conn.Conn(), ways[i], questions) })
		return err
	})
	return times, err
}

// size is a kind of user by the number of memories, and the most that recall may take in times of the bare query.
type size struct {
	memories, users int
	goal            float64
}

var sizes = []size{{1_000, 8, 3.5}, {10_000, 2, 1.7}}

// crowd fills a database with users of both sizes among many of 100 memories, and returns questions by size.
func (b *bench) crowd(ctx context.Context, name string, each int) (pool *pgxpool.Pool, questions [][]question,
	err error) {
	dsn, pool, err := b.fresh(ctx, name, 16)
	if err != nil {
		return nil, nil, err
	}
	w, left := newWriter(seed), b.sized(100_000)
	for _, s := range sizes {
		var asked []question
		for i := range s.users {
			user, texts := fmt.Sprintf("of-%d-%d", s.memories, i), w.texts(s.memories)
			if err := remember(ctx, pool, user, texts); err != nil {
				return nil, nil, err
			}
			some, err := w.ask(ctx, each/s.users, user, texts)
			if err != nil {
				return nil, nil, err
			}
			asked, left = append(asked, some...), left-s.memories
		}
		questions = append(questions, asked)
	}
	for i := 0; left > 0; i, left = i+1, left-100 {
		if err := remember(ctx, pool, fmt.Sprint("of-100-", i), w.texts(100)); err != nil {
			return nil, nil, err
		}
	}
	return pool, questions, embedAll(ctx, dsn, pool)
}

// recall compares oxbow.recall with the bare exact search of the same user's vectors, and an application's login with
// the owner.
func recall(ctx context.Context, b *bench) error {
	pool, questions, err := b.crowd(ctx, "bench_recall", 32)
	if err != nil {
		return err
	}
	t := b.table("Recall, median of a round", "user's memories", "bare vector query", "oxbow.recall", "recall/bare",
		"as oxbow_app", "login/owner")
	for i, s := range sizes {
		times, err := b.compare(ctx, pool, questions[i], asker{name: "bare", sql: bareVector},
			asker{name: "recall", sql: plainRecall})
		if err != nil {
			return err
		}
		byLogin, err := b.asLogin(ctx, pool, questions[i])
		if err != nil {
			return err
		}
		ratio, login := medianRatio(times[1], times[0]), medianRatio(byLogin[1], byLogin[0])
		t.row(s.memories, median(times[0]), median(times[1]), ratio, median(byLogin[1]), login)
		b.atMost(fmt.Sprintf("recall / bare vector query, user of %d memories", s.memories), s.goal, ratio)
		b.atMost(fmt.Sprintf("recall as `oxbow_app` / as owner, user of %d memories", s.memories), 1.1, login)
	}
	return nil
}

// asLogin asks as the owner and as a member of oxbow_app, in turns, about the one user that the login sees.
func (b *bench) asLogin(ctx context.Context, pool *pgxpool.Pool, questions []question) (times [][]time.Duration, err error) {
	user := questions[0].user
	var own []question
	for _, q := range questions {
		if q.user == user {
			own = append(own, q)
		}
	}
	roles := []string{"reset role", "set role oxbow_app"}
	err = pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) (err error) {
		if _, err := conn.Exec(ctx, "select set_config('oxbow.user_id', $1, false)", user); err != nil {
			return err
		}
		times, err = inTurns(4*b.rounds, len(roles), func(i int) (time.Duration, error) {
			if _, err := conn.Exec(ctx, roles[i]); err != nil {
				return 0, err
			}
			return timed(ctx, conn.Conn(), asker{name: roles[i], sql: plainRecall}, own)
		})
		_, reset := conn.Exec(ctx, "reset role; reset oxbow.user_id")
		return errors.Join(err, reset)
	})
	return times, err
}

// recallLoad asks by several clients at once. The promise is about the tail: the 99th percentile in times of the
// median.
func recallLoad(ctx context.Context, b *bench) error {
	const asks = 640
	pool, questions, err := b.crowd(ctx, "bench_load", 64)
	if err != nil {
		return err
	}
	t := b.table(fmt.Sprintf("Recall by clients at once, medians of %d rounds of %d questions", b.rounds, asks),
		"user's memories", "clients", "a second", "p50", "p99", "p99/p50")
	for i, s := range sizes {
		for _, clients := range []int{1, 4, 16} {
			var rates, tails []float64
			var p50s, p99s []time.Duration
			for round := range b.rounds + 1 {
				times, start := make([]time.Duration, asks), time.Now()
				if _, err := together(ctx, pool, clients, func(conn *pgxpool.Conn, client int) (int, error) {
					for n := client; n < asks; n += clients {
						one := questions[i][n%len(questions[i]):][:1]
						if times[n], err = timed(ctx, conn.Conn(), asker{name: "recall", sql: plainRecall},
							one); err != nil {
							return 0, err
						}
					}
					return 0, nil
				}); err != nil {
					return err
				}
				if round == 0 { // plans of the connections
					continue
				}
				p50, p99 := median(times), quantile(times, 0.99)
				rates, p50s, p99s = append(rates, asks/time.Since(start).Seconds()), append(p50s, p50), append(p99s,
					p99)
				tails = append(tails, float64(p99)/float64(p50))
			}
			t.row(s.memories, clients, median(rates), median(p50s), median(p99s), median(tails))
			b.atMost(fmt.Sprintf("recall p99/p50, 1 to 16 clients, user of %d memories", s.memories), 5, median(tails))
		}
	}
	return nil
}
