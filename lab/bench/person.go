package main

import (
	"context"
	_ "embed" // person.sql
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/abstraction"
	"github.com/oxbow-memory/oxbow/internal/feedback"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/store"
)

//go:embed sql/person.sql
var personSQL string

// grown is the user whose history grows.
const grown = "grown"

// person counts the pages that jobs and reads touch for one person, with a tenth of the memories, signals, intentions and
// so on, and with all of them. What changed meanwhile is the same.
func person(b *bench) {
	d, filled := b.database("bench_person"), 0
	d.exec(personSQL)
	steps := append([]variant{b.release(d)}, append(b.jobSteps(d), b.readSteps(d)...)...)
	exponents := b.growing(d, b.sized(40_000), func(size int) {
		d.exec("select grow($1, $2)", filled+1, size)
		filled = size
	}, steps)
	b.atMost("growth with a person's history, exponent of pages, the worst job or read", 0.1, slices.Max(exponents[1:]))
	b.atMost("pages of a release of patterns, exponent with the users who share them", 0.1, exponents[0])
}

// jobSteps are what the jobs do about a change. Each writes the change first.
func (b *bench) jobSteps(d database) []variant {
	now := time.Now()
	step := func(name, change string, do func(ctx context.Context, tx pgx.Tx)) variant {
		return b.step(d, name, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, change)
			must.OK(err)
			do(ctx, tx)
			return nil
		})
	}
	return []variant{
		step("judge: 20 messages of a long conversation", `
			insert into oxbow.messages (user_id, session_id, seq, role, content, extracted_at)
			select 'grown', 'long talk', 2000000000 + n, case n % 2 when 0 then 'user' else 'assistant' end, 'That is wrong',
			       now()
			  from generate_series(1, 20) n`, func(ctx context.Context, tx pgx.Tx) {
			turns := must.Get(store.TurnsToJudge(ctx, tx, grown, "long talk", 100))
			var found []store.FoundSignal
			for _, m := range turns {
				if m.Fresh && m.Seq%4 == 0 {
					found = append(found, store.FoundSignal{Signal: reasoner.Signal{Message: m.ID, Kind: "complaint",
						Type: "negative", Confidence: 0.8, Targets: []string{"final_answer"}}})
				}
			}
			must.OK(store.WriteSignals(ctx, tx, grown, "long talk", turns, "bench", found))
			must.Get(store.TurnsToJudge(ctx, tx, grown, "long talk", 1))
		}),
		step("dispatch: 20 signals", `
			with s as (insert into oxbow.feedback_signals (user_id, id, source, kind, type, confidence)
			           select 'grown', grown_id('new signal', n), 'judge', 'complaint', 'negative', 0.8
			             from generate_series(1, 20) n)
			insert into oxbow.feedback_subjects (user_id, signal_id, memory_type, memory_id)
			select 'grown', grown_id('new signal', n), m.memory_type, m.id
			  from generate_series(1, 20) n join oxbow.memories m on m.user_id = 'grown' and m.id = grown_id('memory', 100 + n / 2)`,
			func(ctx context.Context, tx pgx.Tx) { dispatchAll(ctx, tx, now) }),
		step("dispatch: nothing", `select`, func(ctx context.Context, tx pgx.Tx) { dispatchAll(ctx, tx, now) }),
		step("reflect: topics of 20 memories", `select`, func(ctx context.Context, tx pgx.Tx) {
			ids := must.Get(store.Collect[uuid.UUID](ctx, tx, `select grown_id('memory', n) from generate_series(1, 20) n`))
			var topics []reasoner.Topic
			for _, id := range ids {
				topics = append(topics, reasoner.Topic{Memory: id, Key: "do:sailing"})
			}
			must.Get(store.NoteFragments(ctx, tx, grown, topics, ids))
		}),
		step("abstract: a topic", `select`, concludeTopic),
		step("embed: 20 memories that name people", `
			insert into oxbow.memories (user_id, memory_type, id, content, metadata)
			select 'grown', 'episodic', grown_id('new memory', n), 'Met Friend3 and Friend' || n,
			       jsonb_build_object('entities', jsonb_build_array('Friend3', 'Friend' || n, 'Anna'))
			  from generate_series(1, 20) n`, func(ctx context.Context, tx pgx.Tx) {
			ids := must.Get(store.Collect[uuid.UUID](ctx, tx, `select grown_id('new memory', n) from generate_series(1, 20) n`))
			must.Get(store.IndexMemories(ctx, tx, store.Refs(grown, ids)))
		}),
		step("community: 20 people", `
			update oxbow.entities set community_due = true, community_id = null
			 where user_id = 'grown' and id in (select grown_id('friend', n) from generate_series(-1, 18) n)`,
			func(ctx context.Context, tx pgx.Tx) {
				for _, do := range []func(context.Context, store.DB, int) (int, error){store.Propagate, store.SummarizeCommunities} {
					for must.Get(do(ctx, tx, 100)) == 100 {
					}
				}
			}),
		step("flush_activity: joint uses of 20 replies", `select`, func(ctx context.Context, tx pgx.Tx) {
			must.Get(tx.Exec(ctx, `
				select oxbow.use_links(array_agg('grown'::text), array_agg(grown_id('memory', 200 + 20 * a + m)),
				         array_agg(now() - a * interval '1 hour'))
				  from generate_series(1, 20) a, generate_series(1, 5) m`))
		}),
		step("remind: 20 intentions", `
			insert into oxbow.intentions (user_id, content, due_at, precision, remind_at, recurrence, starts_at)
			select 'grown', 'Water the plants, pot ' || n, now(), 'minute', now(), case when n > 10 then 'FREQ=DAILY' end,
			       case when n > 10 then now() end
			  from generate_series(1, 20) n`, func(ctx context.Context, tx pgx.Tx) {
			for _, i := range must.Get(store.DueIntentions(ctx, tx, time.Now(), 200)) {
				if i.Recurrence != "" {
					must.OK(store.AdvanceIntention(ctx, tx, i.UserID, i.ID, i.DueAt.AddDate(0, 0, 1)))
				}
			}
			must.Get(store.LiveWebhooks(ctx, tx))
		}),
		step("notify: an intention", `
			insert into oxbow.intentions (user_id, id, content, state) values ('grown', grown_id('new', 1), 'Call mom', 'due');
			insert into oxbow.webhooks (id, url, secret) values (grown_id('new', 1), 'https://example.com', '\x00')`,
			func(ctx context.Context, tx pgx.Tx) {
				id := must.Get(store.Collect[uuid.UUID](ctx, tx, `select grown_id('new', 1)`))[0]
				must.Get(store.ReadDelivery(ctx, tx, id, grown, id))
				must.OK(store.RecordDelivery(ctx, tx, id, "204", false))
			}),
		step("sleep: a question", `insert into oxbow.nights (user_id, due_at) values ('grown', now() - interval '1 hour')`,
			func(ctx context.Context, tx pgx.Tx) { b.dream(ctx, tx, now) }),
		step("pattern: not due", `select oxbow.publish_patterns(now(), 1, 20, 5, 1, '{}', '{}', '{}')`,
			func(ctx context.Context, tx pgx.Tx) { must.Get(store.ReadPatternBudget(ctx, tx, now)) }),
	}
}

// release counts the pages of a release of patterns, which reads the traits of all users who share theirs.
func (b *bench) release(d database) variant {
	return b.step(d, "pattern: a release", func(ctx context.Context, tx pgx.Tx) error {
		now := time.Now()
		budget := must.Get(store.ReadPatternBudget(ctx, tx, now))
		counts := must.Get(store.CountPatterns(ctx, tx, []string{"openness"}, []string{"work"}, 5))
		return store.PublishPatterns(ctx, tx, now, budget, len(counts), counts)
	})
}

// dispatchAll is a run of the job dispatch.
func dispatchAll(ctx context.Context, tx pgx.Tx, now time.Time) {
	policies := must.Get(store.FeedbackPolicies(ctx, tx))
	for _, j := range must.Get(store.WaitingSignals(ctx, tx, now, 200)) {
		d := feedback.Decide(feedback.Subject{Signals: j.Signals, Adjustment: j.Adjustment}, policies)
		if len(d.Signals) > 0 {
			must.Get(store.Adjust(ctx, tx, j, d, now))
		}
		must.OK(store.SignalsCounted(ctx, tx, j.UserID, j.Taken))
	}
	must.Get(store.ExpireFeedback(ctx, tx, now, 200))
}

// concludeTopic draws a conclusion from a topic to which a tenth of the memories belongs.
func concludeTopic(ctx context.Context, tx pgx.Tx) {
	policies := must.Get(store.AbstractPolicies(ctx, tx))
	must.Get(store.UsersWithTopicsDue(ctx, tx, 500))
	topic := must.Get(store.DueTopics(ctx, tx, grown, 20))[0]
	held := must.Get(store.CurrentConclusions(ctx, tx, grown, topic))
	var all []abstraction.Fragment
	for _, f := range must.Get(store.FragmentsOf(ctx, tx, grown, topic, 64)) {
		all = append(all, abstraction.Fragment{Memory: reasoner.Memory{ID: f.ID, Time: f.At, Session: f.Session}})
	}
	var worded []abstraction.Worded
	for _, g := range policies.Groups(all, true) {
		worded = append(worded, abstraction.Worded{Group: g, Content: "Often goes running"})
	}
	must.OK(store.WriteConclusions(ctx, tx, grown, topic, "bench", true, policies.Changes(worded, held, uuid.New)))
}

// dream answers a question of a night as the job sleep does, without a reasoner.
func (b *bench) dream(ctx context.Context, tx pgx.Tx, now time.Time) {
	must.Get(store.DueNights(ctx, tx, now, 500))
	person := must.Get(store.ReadPerson(ctx, tx, grown))
	night := must.Get(store.ReadNight(ctx, tx, grown, now))
	must.Get(store.InboxHasMore(ctx, tx, grown))
	must.Get(store.RecentMemories(ctx, tx, grown, person, now, 40))
	q := must.Get(store.NextQuestion(ctx, tx, grown))
	if q == nil {
		must.OK(fmt.Errorf("%s has no question", grown))
	}
	must.Get(store.MemoriesAbout(ctx, tx, grown, person, now, q.Content, night.Recalls))
	must.Get(store.CluesByKey(ctx, tx, grown, []string{q.Key}))
	must.Get(store.LiveTraits(ctx, tx, grown, 400))
	must.Get(store.TraitsByKey(ctx, tx, grown, []string{q.Key}))
	must.Get(store.RejectedTraits(ctx, tx, grown, 50))
	must.Get(store.CountTraits(ctx, tx, grown))
	must.OK(store.NoteQuestion(ctx, tx, grown, q.Key, 10, now))
	must.OK(store.EndNight(ctx, tx, grown, now, true))
}

// readSteps are the calls that users wait for.
func (b *bench) readSteps(d database) []variant {
	var steps []variant
	for _, c := range []struct{ name, statement string }{
		{"answered", `select oxbow.answered('grown', 'Where did I go with Friend5?', array[grown_id('memory', 1)])`},
		{"feedback", `select oxbow.feedback('grown', 'wrong', array[grown_id('memory', 1)], query => 'Where did I go with Friend5?')`},
		{"rollback", `select oxbow.rollback('grown', grown_id('adjustment', 2))`},
		{"intend", `select oxbow.intend('grown', 'Call the bank', now() + interval '1 day')`},
		{"complete_intention", `select oxbow.complete_intention('grown', grown_id('intention', 10))`},
		{"hearing that an intention is done", `select oxbow.hear_intentions('grown', 'talk 1',
			'[{"content": "I called Friend10", "closes": "done"}]')`},
		{"upcoming, the next 100", `select from oxbow.upcoming('grown')`},
		{"upcoming, until tomorrow", `select from oxbow.upcoming('grown', now() + interval '1 day')`},
		{"conclusions_of, the surest 100", `select from oxbow.conclusions_of('grown')`},
		{"communities, the largest 10", `select from oxbow.communities('grown')`},
		{"communities that a query names", `select from oxbow.communities('grown', 'Where is Friend5?')`},
		{"why, a memory", `select from oxbow.why('grown', grown_id('memory', 1))`},
		{"why, a conclusion", `select from oxbow.why('grown', grown_id('conclusion', 2))`},
		{"why, an adjustment", `select from oxbow.why('grown', grown_id('adjustment', 2))`},
		{"related", `select from oxbow.related('grown', grown_id('memory', 50))`},
		{"context", `select oxbow.context('grown', 'When was I in place7?')`},
		{"recall", `select from oxbow.recall('grown', 'When was I in place7?')`},
	} {
		steps = append(steps, b.sqlStep(d, c.name, c.statement))
	}
	return steps
}
