package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// Statements take a user, a text and a vector.
const (
	bareVector = `
		select memory_id from oxbow.memory_vectors
		 where user_id = $1 and $2::text is not null order by embedding <=> $3 limit 10`
	plainRecall = "select * from oxbow.recall($1, $2, $3)"
)

// querier is a pool of connections or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// timed runs a statement for a question and returns the milliseconds. A statement that finds nothing is an error.
func (b *bench) timed(db querier, sql string, q question) float64 {
	start, found := time.Now(), 0
	rows := must.Get(db.Query(b.ctx, sql, q.user, q.text, q.vector))
	for rows.Next() {
		found++
	}
	must.OK(rows.Err())
	if found == 0 {
		must.OK(fmt.Errorf("%s finds nothing for %q of %s", sql, q.text, q.user))
	}
	return msSince(start)
}

// timedAll returns the median of the times of all questions.
func (b *bench) timedAll(db querier, sql string, questions []question) float64 {
	times := make([]float64, len(questions))
	for i, q := range questions {
		times[i] = b.timed(db, sql, q)
	}
	return quantile(times, 0.5)
}

// asking returns a variant that asks all questions.
func (b *bench) asking(name string, db querier, sql string, questions []question) variant {
	return variant{name, func() float64 { return b.timedAll(db, sql, questions) }}
}

// size is a number of memories of a user, and the promised maximum of recall in multiples of the bare query.
type size struct {
	memories, users int
	goal            float64
}

var sizes = []size{{1_000, 8, 3.5}, {10_000, 2, 1.7}}

// crowd fills a database with users of both sizes among many of 100 memories, and returns 64 questions by size.
func (b *bench) crowd(name string) (database, [][]question) {
	d := b.database(name)
	w, left := newWriter(seed), b.sized(100_000)
	questions := make([][]question, len(sizes))
	for i, s := range sizes {
		for n := range s.users {
			user, texts := fmt.Sprintf("of-%d-%d", s.memories, n), w.texts(s.memories)
			d.remember(user, texts)
			questions[i] = append(questions[i], b.questions(w, 64/s.users, user, texts)...)
			left -= s.memories
		}
	}
	for ; left > 0; left -= 100 {
		d.remember(fmt.Sprint("of-100-", left), w.texts(100))
	}
	b.embedAll(d)
	return d, questions
}

// recall compares oxbow.recall with the bare exact search of the same user's vectors, and an application's login with
// the owner. A login sees one user.
func recall(b *bench) {
	d, questions := b.crowd("bench_recall")
	for i, s := range sizes {
		own := questions[i][:64/s.users]
		login := b.open("bench_recall", map[string]string{"role": "oxbow_app", "oxbow.user_id": own[0].user})
		r := b.compare(fmt.Sprintf("Recall of a user of %d memories", s.memories), "ms",
			b.asking("bare vector query", d, bareVector, questions[i]),
			b.asking("oxbow.recall", d, plainRecall, questions[i]),
			b.asking("one user as owner", d, plainRecall, own),
			b.asking("one user as oxbow_app", login, plainRecall, own))
		login.Close()
		b.atMost(fmt.Sprintf("recall / bare vector query, user of %d memories", s.memories), s.goal, r.ratio(1, 0))
		b.atMost(fmt.Sprintf("recall as `oxbow_app` / as owner, user of %d memories", s.memories), 1.1, r.ratio(3, 2))
	}
}

// recallLoad asks with several clients at once. The promise is about the tail: the 99th percentile in multiples of the
// median.
func recallLoad(b *bench) {
	const asks = 640
	d, questions := b.crowd("bench_load")
	for i, s := range sizes {
		var variants []variant
		for _, clients := range []int{1, 4, 16} {
			variants = append(variants, variant{fmt.Sprint("clients: ", clients), func() float64 {
				times := make([]float64, asks)
				together(clients, func(client int) {
					for n := client; n < asks; n += clients {
						times[n] = b.timed(d, plainRecall, questions[i][n%len(questions[i])])
					}
				})
				return quantile(times, 0.99) / quantile(times, 0.5)
			}})
		}
		r := b.compare(fmt.Sprintf("Tail of recall, user of %d memories", s.memories), "p99/p50", variants...)
		for v := range variants {
			b.atMost(fmt.Sprintf("recall p99/p50, 1 to 16 clients, user of %d memories", s.memories), 5, r.median(v))
		}
	}
}
