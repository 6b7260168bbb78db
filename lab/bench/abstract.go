package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/abstraction"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/store"
)

// abstracting counts the pages that the job abstract touches for a topic, of users with 1,000 and with 100,000 memories,
// of which a tenth belongs to the topic, and what reflect adds for 20 memories.
func abstracting(b *bench) {
	sizes := []int{1000, b.sized(100_000)}
	d := b.database("bench_abstract")
	policies := must.Get(store.AbstractPolicies(b.ctx, d))
	fresh := map[string][]uuid.UUID{}
	for _, n := range sizes {
		user := fmt.Sprint("user of ", n)
		d.exec(fmt.Sprintf(`
			set session_replication_role = replica;
			insert into oxbow.memories (user_id, memory_type, content, valid_at, session_id)
			select '%s', 'episodic', 'Went running, round ' || i, now() - i * interval '1 hour', 'talk ' || i / 20
			  from generate_series(1, %d) i;
			insert into oxbow.topic_fragments (user_id, topic, memory_type, memory_id, at)
			select user_id, case when substr(content, 21)::integer %% 10 = 0 then 'do:running'
			                     else 'do:topic ' || substr(content, 21)::integer %% (%[2]d / 20) end, memory_type, id, valid_at
			  from oxbow.memories where user_id = '%[1]s';
			insert into oxbow.topics (user_id, topic, pending, due)
			select user_id, topic, count(*), topic = 'do:running' from oxbow.topic_fragments where user_id = '%[1]s' group by 1, 2;
			reset session_replication_role`, user, n))
		fresh[user] = must.Get(store.Collect[uuid.UUID](b.ctx, d,
			`select id from oxbow.memories where user_id = $1 order by valid_at desc limit 20`, user))
	}
	d.exec("vacuum analyze")
	pages := func(do func(ctx context.Context, tx pgx.Tx) error) func() float64 {
		return func() float64 {
			const count = "select (blks_hit + blks_read)::float8 from pg_stat_database where datname = current_database()"
			d.exec("select pg_stat_force_next_flush()")
			before := ask[float64](d, count)
			tx := must.Get(d.Begin(b.ctx))
			must.OK(errors.Join(do(b.ctx, tx), tx.Rollback(b.ctx)))
			d.exec("select pg_stat_force_next_flush()")
			return ask[float64](d, count) - before
		}
	}
	var variants []variant
	for _, n := range sizes {
		user := fmt.Sprint("user of ", n)
		variants = append(variants, variant{"a topic, " + user, pages(func(ctx context.Context, tx pgx.Tx) error {
			topics := must.Get(store.DueTopics(ctx, tx, user, 20))
			held := must.Get(store.CurrentConclusions(ctx, tx, user, topics[0]))
			var all []abstraction.Fragment
			for _, f := range must.Get(store.FragmentsOf(ctx, tx, user, topics[0], 64)) {
				all = append(all, abstraction.Fragment{Memory: reasoner.Memory{ID: f.ID, Time: f.At, Session: f.Session}})
			}
			var worded []abstraction.Worded
			for _, g := range policies.Groups(all, true) {
				worded = append(worded, abstraction.Worded{Group: g, Content: "Often goes running"})
			}
			return store.WriteConclusions(ctx, tx, user, topics[0], "bench", true, policies.Changes(worded, held, uuid.New))
		})}, variant{"20 new fragments, " + user, pages(func(ctx context.Context, tx pgx.Tx) error {
			var topics []reasoner.Topic
			for _, id := range fresh[user] {
				topics = append(topics, reasoner.Topic{Memory: id, Key: "do:sailing"})
			}
			return last(store.NoteFragments(ctx, tx, user, topics, fresh[user]))
		})}, variant{"users with due topics, beside " + user, pages(func(ctx context.Context, tx pgx.Tx) error {
			return last(store.UsersWithTopicsDue(ctx, tx, 500))
		})}, variant{"conclusions_of, " + user, pages(func(ctx context.Context, tx pgx.Tx) error {
			return last(store.Conclusions(ctx, tx, user, "", false, 100))
		})})
	}
	r := b.compare("Pages of 8 kB touched", "pages", variants...)
	for i := range len(variants) / 2 {
		// Growth below 50 pages is not significant.
		growth := max(r.median(i+len(variants)/2), 50) / max(r.median(i), 50)
		b.atMost("abstraction, growth with the user's memories, exponent of pages, the worst step", 0.1,
			math.Log(growth)/math.Log(float64(sizes[1])/float64(sizes[0])))
	}
}
