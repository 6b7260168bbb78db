// Evalfeedback measures what a complaint changes, with simulated people who complain once.
//
//	go -C lab run ./evalfeedback RECORDS
//
// RECORDS is a file for oxbow eval. For 200 of its questions, the best of the five first memories that does not answer
// the question is complained about, each memory once. It prints how many of these come back among the first five for the
// same question, and for it asked politely or shortened. It also prints how many of as many questions of the same people
// about other conversations get the same ten memories as before. It does so before and after the job dispatch counts the
// complaints.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	pgxvec "github.com/pgvector/pgvector-go/pgx"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/eval"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

const (
	complaints = 200
	first      = 5
	compared   = 10
)

func main() { must.Main("evalfeedback", command) }

// asked is a question about which somebody complains.
type asked struct {
	eval.Question
	wrong uuid.UUID
}

func command(ctx context.Context) {
	flag.Parse()
	if flag.NArg() != 1 {
		must.OK(errors.New("name a file: RECORDS"))
	}
	dsn := must.Get(pgtest.Create(ctx))
	defer func() { must.OK(pgtest.Drop(context.WithoutCancel(ctx), dsn)) }()
	must.OK(migrations.Up(ctx, dsn, migrations.Options{}))
	cfg := must.Get(pgxpool.ParseConfig(dsn))
	cfg.AfterConnect = pgxvec.RegisterTypes
	pool := must.Get(pgxpool.NewWithConfig(ctx, cfg))
	defer pool.Close()
	client := must.Get(oxbow.New(pool, oxbow.WithoutUseReports()))
	file := must.Get(os.ReadFile(flag.Arg(0)))
	must.Get(client.Import(ctx, bytes.NewReader(file), oxbow.ImportOptions{}))
	must.Get(pool.Exec(ctx, `delete from oxbow.river_job where kind not in ('embed')`))
	work := func() {
		w := must.Get(worker.New(ctx, worker.Config{DatabaseURL: dsn}))
		defer w.Close()
		must.OK(w.RunUntilIdle(ctx, func(store.Backlog) {}))
	}
	work()

	recall := func(user, question string, limit int) (ids []uuid.UUID, external []string) {
		for _, r := range must.Get(client.Recall(ctx, oxbow.Query{UserID: user, Text: question, Limit: limit})).Memories {
			ids, external = append(ids, r.ID), append(external, r.ExternalID)
		}
		return ids, external
	}
	set := must.Get(eval.Read(bytes.NewReader(file)))
	var about, others []asked
	for _, q := range set.Questions {
		switch sessions(ctx, pool, q) {
		case odd:
			if len(others) < complaints {
				others = append(others, asked{Question: q})
			}
			continue
		case mixed:
			continue
		}
		ids, external := recall(q.User, q.Text, first)
		for n, id := range ids {
			again := slices.ContainsFunc(about, func(a asked) bool { return a.wrong == id })
			if len(about) < complaints && !again && !slices.Contains(q.Gold, external[n]) {
				about = append(about, asked{q, id})
				break
			}
		}
	}
	before := make([][]uuid.UUID, len(others))
	for i, q := range others {
		before[i], _ = recall(q.User, q.Text, compared)
	}
	for _, q := range about {
		must.Get(client.Feedback(ctx, q.User, oxbow.Feedback{Kind: "wrong", IDs: []uuid.UUID{q.wrong}, Query: q.Text}))
	}
	measure := func(when string) {
		var same, polite, shorter, unchanged int
		for _, q := range about {
			if ids, _ := recall(q.User, q.Text, first); slices.Contains(ids, q.wrong) {
				same++
			}
			if ids, _ := recall(q.User, politely(q.Text), first); slices.Contains(ids, q.wrong) {
				polite++
			}
			if ids, _ := recall(q.User, shortened(q.Text), first); slices.Contains(ids, q.wrong) {
				shorter++
			}
		}
		for i, q := range others {
			if ids, _ := recall(q.User, q.Text, compared); slices.Equal(ids, before[i]) {
				unchanged++
			}
		}
		fmt.Printf("%s, %d of %d wrong memories came back for the same question\n", when, same, len(about))
		fmt.Printf("%d of %d came back for the question asked politely\n", polite, len(about))
		fmt.Printf("%d of %d came back for the question without a fifth of its words\n", shorter, len(about))
		fmt.Printf("%d of %d questions about other conversations recall the same %d memories as before\n", unchanged, len(others), compared)
	}
	measure("at once")
	must.Get(pool.Exec(ctx, `insert into oxbow.river_job (kind, queue, max_attempts, args) values ('dispatch', 'default', 1, '{}')`))
	work()
	measure("after the job dispatch")
}

// The conversations from which a question can be answered: those with odd or with even numbers, or both.
const (
	even = iota
	odd
	mixed
)

func sessions(ctx context.Context, pool *pgxpool.Pool, q eval.Question) int {
	var found []int
	must.OK(pool.QueryRow(ctx, `
		select array_agg(distinct (s.nth % 2)::integer)
		  from (select m.external_id, dense_rank() over (order by m.session_id) as nth from oxbow.memories m
		         where m.user_id = $1) s
		 where s.external_id = any($2)`, q.User, q.Gold).Scan(&found))
	if len(found) != 1 {
		return mixed
	}
	return found[0]
}

func politely(question string) string {
	if strings.Contains(question, " ") {
		return "Could you please tell me: " + question
	}
	return "请问一下," + question
}

// shortened leaves out a fifth of a question, in its middle.
func shortened(question string) string {
	if words := strings.Fields(question); len(words) > 4 {
		return strings.Join(slices.Delete(words, len(words)/2, len(words)/2+len(words)/5), " ")
	}
	runes := []rune(question)
	return string(slices.Delete(runes, len(runes)/2, len(runes)/2+len(runes)/5))
}
