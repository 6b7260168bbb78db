package worker

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// aged stores an episode and returns the query of a factor of its weight after some days.
func (b *bundle) aged(category string) func(factor string, days int) string {
	b.Helper()
	id := uuid.New()
	b.exec(`insert into oxbow.memories (user_id, memory_type, id, content, category, created_at)
		values ('ann', 'episodic', $1::uuid, 'The boat was painted ' || $1::uuid::text, nullif($2, ''), now())`, id, category)
	return func(factor string, days int) string {
		return fmt.Sprintf(`select w.%s from oxbow.weight('ann', '%s', now() + interval '%d days') w`, factor, id, days)
	}
}

// mentioned returns a query of a factor of a memory that was mentioned n times within the last n minutes, days later.
func mentioned(function string, n, days int) string {
	return fmt.Sprintf(`select oxbow.weight_%s(array(select row(now() - n * interval '1 minute', false)::oxbow.mention
		from generate_series(0, %d) n), now() + interval '%d days', oxbow.recall_rules('ann', 'infinity'))`, function, n-1, days)
}

// negated returns a query of the conflict factor some days after a negation, with the curve that W prints.
func negated(days int) string {
	return fmt.Sprintf(`select oxbow.weight_conflict(now() - interval '%d days', now(), jsonb_populate_record(
		oxbow.recall_rules('ann', 'infinity'), '{"weight_conflict_fade": 1}'))`, days)
}

// strength returns a query of the strength of a memory without use.
func strength(source string, value float64, days int) string {
	return fmt.Sprintf(`select oxbow.strength_now(%g, now() - interval '%d days', 'normal', '%s', now(),
		oxbow.recall_rules('ann', 'infinity'))`, value, days, source)
}

// logged returns a query of factors of the example in W's log of weights: a stable preference that was mentioned 11 days ago.
func logged(of string) string {
	return `select ` + of + ` from oxbow.weight_factors('stable_preference', now() - interval '40 days', now() - interval '11 days',
		null, array[row(now() - interval '11 days', false)::oxbow.mention], null, 1, 'normal', null, now(),
		oxbow.recall_rules('ann', 'infinity')) w`
}

// confidence returns a query of the confidence of a trait, from 0.8, after 100 days.
func confidence(subtype string, cycles int) string {
	return fmt.Sprintf(`select oxbow.trait_confidence_at(0.8, '%s', %d, now() - interval '100 days', now(),
		oxbow.trait_rules())`, subtype, cycles)
}

var acceptedWeights = []acceptance{
	{"W", "identity fades more slowly than what is temporary: 0.4545 and 0.3077 after 180 days", func(b *bundle) string {
		return b.figures("%.4f and %.4f", b.aged("identity")(`"time"`, 180), b.aged("temporary")(`"time"`, 180))
	}},
	{"W", "a mention strengthens: 1.50, 1.35 after 7 days, 1.11 after 30", func(b *bundle) string {
		return b.figures("%.2f, %.2f, %.2f", mentioned("reinforcement", 1, 0), mentioned("reinforcement", 1, 7),
			mentioned("reinforcement", 1, 30))
	}},
	{"W", "a negation, by the printed curve: 1.00, 0.95 after 7 days, 0.82 after 30, 0.58 after 90", func(b *bundle) string {
		return b.figures("%.2f, %.2f, %.2f, %.2f", negated(0), negated(7), negated(30), negated(90))
	}},
	{"W", "the momentum is limited: 3 mentions 1.23, 10 mentions 1.30", func(b *bundle) string {
		return b.figures("%.2f, %.2f", mentioned("momentum", 3, 0), mentioned("momentum", 10, 0))
	}},
	{"W", "the example of the log, a stable preference mentioned 11 days ago: 0.9220 × 1.2885 × 1.3 = 1.5443", func(b *bundle) string {
		return b.figures("%.4f × %.4f × %.1f = %.4f", logged(`w."time"`), logged(`w.reinforcement`), logged(`w.importance`),
			logged(`w."time" * w.reinforcement * w.importance * w.momentum * w.conflict`))
	}},
	{"W", "an activated memory outweighs an ordinary one, and this a negated one", func(b *bundle) string {
		ids := []string{}
		for _, content := range []string{"Ann paints", "Ann sings", "Ann rows"} {
			ids = append(ids, b.fact(content, 30, 1))
		}
		b.exec(`update oxbow.memories set activated_at = now(), mentions = array[row(now(), false)::oxbow.mention] where id = $1`, ids[0])
		b.exec(`update oxbow.memories set negated_at = now() where id = $1`, ids[2])
		weights := []float64{}
		for _, id := range ids {
			weights = append(weights, get[float64](b, `select w.weight from oxbow.weight('ann', $1) w`, id))
		}
		require.Greater(b, weights[0], weights[1])
		require.Greater(b, weights[1], weights[2])
		return fmt.Sprintf("%.2f, %.2f, %.2f", weights[0], weights[1], weights[2])
	}},
	{"W", "three mentions within 24 hours are frequent: + 0.3 instead of 0.5, and + 0.2 of momentum", func(b *bundle) string {
		b.exec(`insert into oxbow.users (user_id) values ('ann')`)
		b.fact("Ann drinks coffee", 0, 1)
		for range 3 {
			b.exec(`select oxbow.mention_memory('ann', memory_type, id, array[now()], 1, 0::smallint, 'app') from oxbow.memories`)
		}
		return get[string](b, `select format('the last gives %s; the momentum is %s instead of %s',
			round(oxbow.weight_reinforcement(m.mentions[cardinality(m.mentions):], now(), r)::numeric, 2) - 1,
			round(oxbow.weight_momentum(m.mentions, now(), r)::numeric, 2),
			round(oxbow.weight_momentum(array(select row(x.at, false)::oxbow.mention from unnest(m.mentions) x), now(), r)::numeric, 2))
			from oxbow.memories m, oxbow.recall_rules('ann', 'infinity') r`)
	}},
	{"W", "a negation keeps the old memory with 0.3 of its weight, and stores a new one", func(b *bundle) string {
		b.exec(`update oxbow.settings set value = value || '{"policies": {"stable_preference": "weight_balance"}}'
			where key = 'conversations'`)
		for _, said := range []string{"我喜欢喝咖啡", "我不喜欢喝咖啡了"} {
			b.exec(`insert into oxbow.memories (user_id, content) values ('ann', $1)`, said)
			b.work()
		}
		return b.said(`select m.content || ' × ' || round(w.conflict::numeric, 2) from oxbow.memories m,
			oxbow.weight('ann', m.id) w where m.expired_at is null order by m.created_at`)
	}},
	{"W", "ten notes of the same become one memory, mentioned ten times", func(b *bundle) string {
		for i := range 10 {
			b.exec(`insert into oxbow.memories (user_id, memory_type, content, valid_at, category) values
				('ann', 'episodic', $1, $2::timestamptz, 'interest')`, lunches[i%len(lunches)], fmt.Sprintf("2026-11-%02d 12:30Z", i+1))
		}
		b.work()
		b.work()
		return get[string](b, `select format('%s, mentioned %s times', count(*), max(mention_count)) from oxbow.memories
			where memory_type = 'episodic' and expired_at is null`)
	}},
	{"W", "the five scenes of the table of decisions, and others", recorded("weight", "%s lives of examples/weights.jsonl",
		`contains (60) short life stories`)},
	{"W", "every day recalls full texts and summaries of weight 0.3 and more, a review also traces and archives", func(b *bundle) string {
		for content, days := range map[string]int{"The ferry sails at noon": 0, "We missed the ferry, and Anna cried": 3000} {
			b.exec(`insert into oxbow.memories (user_id, memory_type, content, created_at, stored_at) values
				('ann', 'episodic', $1, now() - $2 * interval '1 day', now() - $2 * interval '1 day')`, content, days)
		}
		b.work()
		b.exec(`update oxbow.memories set weight_next_at = now()`)
		b.exec(`select oxbow.settle_levels(now(), 10)`)
		return fmt.Sprintf("%d and %d memories", b.count(`oxbow.recall('ann', 'ferry', mode => 'normal')`),
			b.count(`oxbow.recall('ann', 'ferry', mode => 'review')`))
	}},
	{"W", "below 0.01 and 180 days without activity: archived", decided("a level for each of W's bounds from 0.30 down",
		"**The bounds of levels are W's below 0.30, not 0.01.**")},
	{"W", "what a person deletes is kept for 30 days", func(b *bundle) string {
		for content, days := range map[string]int{"29 days ago": 29, "31 days ago": 31} {
			b.exec(`select oxbow.forget('ann', $1)`, b.fact(content, 40, 1))
			b.exec(`update oxbow.memories set forgotten_at = now() - $2 * interval '1 day' where content = $1`, content, days)
		}
		b.sweep()
		return "of 29 and 31 days ago, left: " + b.said(`select content from oxbow.memories`)
	}},
	{"L", "strength × 0.95 after 7 days without use, summaries × 0.8, none from 3.0 on", func(b *bundle) string {
		return b.figures("%.2f, %.2f, %.2f", strength("", 1, 7), strength("summary", 1, 7), strength("", 3, 70))
	}},
	{"L", "a use adds 0.3, and only a memory that the answer rests on was used", func(b *bundle) string {
		ids := b.insert("ann", "Ann plays chess", "Ann has a cat")
		b.exec(`select oxbow.answered('ann', 'A game?', $1, $2)`, ids, ids[:1])
		b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) values ('flush_activity', 'default', 1, '{}')`)
		require.NoError(b, b.drain())
		return b.said(`select content || ' ' || round(strength::numeric, 1) from oxbow.memories order by content desc`)
	}},
	{"L", "a conversation is summarized after 30 messages, and the summary ends after 14 days", func(b *bundle) string {
		b.chronicle()
		b.chat("ann", "s1", 1, 30)
		before := len(b.summaries("ann"))
		b.chat("ann", "s1", 31, 31)
		return fmt.Sprintf("%d after 30, %d after 31 messages, for %s", before,
			b.count(`oxbow.memories where source = 'summary'`),
			get[string](b, `select (expires_at - valid_at)::text from oxbow.memories where source = 'summary'`))
	}},
	{"L", "at a strength of 2.5 a fact is promoted or kept, at 0.5 it is kept or deleted", func(b *bundle) string {
		ids := []string{b.fact("My name is Ann", 1, 2.3), b.fact("I am tired today", 1, 2.3), b.fact("I have two cats", 100, 1),
			b.fact("I was tired this morning", 100, 1)}
		b.exec(`update oxbow.memories set category = 'mood' where id = $1`, ids[3])
		b.work()
		b.exec(`select oxbow.touch('ann', $1::uuid[])`, ids[:2])
		b.review()
		return b.said(`select m.content || ': ' || h.event from unnest($1::uuid[]) with ordinality i(id, nth)
			join oxbow.memories m on m.id = i.id, oxbow.history('ann', i.id) h where h.actor like 'review %' order by i.nth`, ids)
	}},
	{"L", "a fact below 0.3 is deleted", recorded("review",
		"no: it is reviewed at %s, and deleted only if a later fact replaces it or it has passed", `falls to .review_keep_strength. \((0\.5)\)`)},
	{"L", "a person's correction replaces the old fact", func(b *bundle) string {
		for _, said := range []string{"I live in Lisbon", "I live in Porto"} {
			b.exec(`insert into oxbow.memories (user_id, content) values ('ann', $1)`, said)
			b.work()
		}
		return "recalled: " + b.said(`select content from oxbow.recall('ann', 'where do I live?')`)
	}},
}
