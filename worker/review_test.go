package worker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/llm/llmtest"
	"github.com/oxbow-memory/oxbow/store"
)

// review notes which facts are due, and reviews them.
func (b *bundle) review() {
	b.Helper()
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) values ('settle', 'default', 1, '{}'),
		('flush_activity', 'default', 1, '{}')`)
	require.NoError(b, b.drain())
	b.sweep()
	require.Zero(b, b.count(`oxbow.river_job where state not in ('completed')`))
}

// fact stores a fact of ann's that is days old, with a strength. Its review is due if it was stored then.
func (b *bundle) fact(content string, days int, strength float64) string {
	b.Helper()
	return get[string](b, `insert into oxbow.memories (user_id, content, created_at, strength, review_at)
		values ('ann', $1, now() - $2 * interval '1 day', $3, case when $2 >= 98 then now() end)
		returning id::text`, content, days, strength)
}

// reviewed returns the reviews of a memory.
func (b *bundle) reviewed(id string) string {
	b.Helper()
	return get[string](b, `select coalesce(string_agg(concat_ws(' ', h.event, h.actor, h.reason), ', ' order by h.at), '')
		from oxbow.history('ann', $1) h where h.actor like 'review %'`, id)
}

// Facts that are often used are promoted or kept; unused facts are kept or forgotten.
func TestReview(t *testing.T) {
	b := setup(t)
	name, passing := b.fact("My name is Ann", 1, 2.3), b.fact("I am tired today", 1, 2.3)
	weak, strong := b.fact("I live in Porto", 1, 2.1), b.fact("I like ramen", 1, 2.9)
	cats, tired := b.fact("I have two cats", 100, 1), b.fact("I was tired this morning", 100, 1)
	core, young := b.fact("I have a dog", 100, 1), b.fact("I have a parrot", 90, 1)
	sealed := b.fact("I have a secret garden", 100, 1)
	b.exec(`update oxbow.memories set category = 'mood' where id = $1`, tired)
	b.exec(`update oxbow.memories set tier = 'core' where id = $1`, core)
	b.exec(`update oxbow.memories set sensitivity = 2 where id = $1`, sealed)
	b.work()
	b.exec(`select oxbow.touch('ann', $1::uuid[])`, []string{name, passing, weak})
	b.review()

	require.Equal(t, "PROMOTE review rules-v1 it is lasting", b.reviewed(name))
	require.Equal(t, "KEEP review rules-v1 it holds for a time only", b.reviewed(passing))
	require.Equal(t, "PROMOTE review rules-v1 it is lasting", b.reviewed(strong), "stored above the threshold")
	require.Equal(t, "KEEP review rules-v1 nothing replaces it", b.reviewed(cats))
	require.Equal(t, "DELETE review rules-v1 it has passed", b.reviewed(tired))
	for _, id := range []string{weak, core, young, sealed} {
		require.Empty(t, b.reviewed(id))
	}
	require.Equal(t, 2, b.count(`oxbow.memories where tier = 'core' and strength < 4 and id = any($1::uuid[])`,
		[]string{name, strong}))
	require.Equal(t, 1, b.count(`oxbow.memories where id = $1 and strength = 0.5 and used_at > now() - interval '1 hour'
		and review_at between now() + interval '89 days' and now() + interval '91 days'`, cats))
	require.Equal(t, 1, b.count(`oxbow.weight_log where memory_id = $1 and cause = 'reviewed' and after > before`, cats))
	require.Equal(t, 1, b.count(`oxbow.memories where id = $1 and strength between 2.59 and 2.61`, passing))
	require.Equal(t, "auto", get[string](b, `select forgotten_by from oxbow.memories where id = $1`, tired))

	// a person takes back what the reviewer did, and it does not do it again at once
	b.exec(`select oxbow.restore('ann', $1), oxbow.set_tier('ann', $2, 'normal')`, tired, name)
	b.exec(`update oxbow.memories set strength = 2.4 where id = $1`, name)
	b.exec(`select oxbow.touch('ann', $1::uuid[])`, []string{name})
	b.review()
	require.Equal(t, 1, b.count(`oxbow.memories where id = $1 and forgotten_at is null and forgotten_by is null`, tired))
	require.Equal(t, 1, b.count(`oxbow.memories where id = $1 and tier = 'normal' and strength > 2.5`, name))

	// the next review comes after twice the time
	b.exec(`update oxbow.memories set used_at = now() - interval '8 days', review_at = now() where id = $1`, cats)
	b.review()
	require.Equal(t, 1, b.count(`oxbow.memories where id = $1 and strength = 0.5 and reviews = 2
		and review_at between now() + interval '179 days' and now() + interval '181 days'`, cats))

	// it was used since, so there is nothing to review
	b.exec(`update oxbow.memories set strength = 1, review_at = now() where id = $1`, cats)
	b.review()
	require.Equal(t, 1, b.count(`oxbow.memories where id = $1 and reviews = 2 and review_at is null`, cats))
}

// Nothing of a user who opted out is reviewed.
func TestReviewOptedOut(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.users (user_id, opted_out) values ('ann', true)`)
	cats := b.fact("I have two cats", 100, 1)
	strong := b.fact("I like ramen", 1, 2.9)
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args)
		values ('review', 'reflect', 1, '{"user_id": "ann"}')`)
	b.work()
	b.review()
	require.Empty(t, b.reviewed(cats)+b.reviewed(strong))
	require.Zero(t, b.count(`oxbow.memories where review_at is not null`), "sweep does not read them again")

	b.exec(`update oxbow.users set opted_out = false`)
	b.review()
	require.Equal(t, "PROMOTE review rules-v1 it is lasting", b.reviewed(strong))
	require.Equal(t, 1, b.count(`oxbow.memories where id = $1 and review_at > now() + interval '89 days'`, cats))
}

// Facts that an application stores with old times are not reviewed at once, but as if they were new.
func TestReviewBackfill(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.memories (user_id, content, external_id, category, created_at)
		select 'ann', f.text, f.text, c.category, now() - interval '1 year'
		  from (values
		    ('identity', array['Ann keeps the key of the %s', '安保管着%s的钥匙']),
		    ('stable_preference', array['Ann admires the %s', '安欣赏那个%s']),
		    ('short_preference', array['Ann is curious about the %s', '安最近对%s好奇']),
		    ('fact', array['Ann painted the %s', '安画了%s']),
		    ('skill', array['Ann can repair the %s', '安会修%s']),
		    ('temporary', array['Ann is waiting for the %s', '安在等%s']),
		    ('mood', array['Ann is annoyed by the %s', '安对%s很烦']),
		    ('plan', array['Ann will carry the %s home', '安打算把%s搬回家']),
		    (null, array['Ann borrowed the %s', '安借了%s']),
		    ('gossip', array['Ann heard about the %s', '安听说了%s'])) c(category, texts),
		  (values (array['lamp', '台灯']), (array['piano', '钢琴']), (array['boat', '小船']), (array['mirror', '镜子']),
		    (array['kettle', '水壶']), (array['carpet', '地毯']), (array['ladder', '梯子']), (array['clock', '时钟']),
		    (array['bicycle', '自行车']), (array['umbrella', '雨伞'])) t(things),
		  generate_series(1, 2) l(nth), format(c.texts[l.nth], t.things[l.nth]) f(text)`)
	strong := b.fact("I like ramen", 1, 2.9)
	_, err := store.WalkReviews(t.Context(), b.pool, time.Now(), 1000)
	require.NoError(t, err)
	require.Zero(t, b.count(`oxbow.memories where review_at is not null`), "nothing is indexed yet")

	b.work()
	b.review()
	require.Equal(t, "PROMOTE review rules-v1 it is lasting", b.reviewed(strong))
	require.Equal(t, 201, b.count(`oxbow.memories where forgotten_at is null and expired_at is null`))
	require.Equal(t, 200, b.count(`oxbow.memories where reviews = 0
		and review_at between now() + interval '89 days' and now() + interval '121 days'`))
	require.Greater(t, get[int](b, `select count(distinct review_at::date) from oxbow.memories where reviews = 0`), 20,
		"not all at once")
	require.Equal(t, 201, b.count(`oxbow.memories m
		where exists (select from oxbow.recall('ann', coalesce(m.external_id, m.content)) r where r.id = m.id)`))

	b.exec(`update oxbow.memories set review_at = review_at - interval '121 days'`)
	for range 200 / 20 {
		b.review()
	}
	require.Equal(t, 200, b.count(`oxbow.memories where reviews = 1 and review_at > now() + interval '89 days'`))
	require.Equal(t, 80, b.count(`oxbow.memories where forgotten_by = 'auto'`), "what has passed")
}

// A model sees the related facts, may search twice, and sees no secret. Verdicts that it may not give are refused.
func TestReviewByModel(t *testing.T) {
	b := setup(t)
	garden := b.fact("Ann dreams of a garden", 100, 1)
	verified, name := b.fact("Ann bought a lamp", 100, 1), b.fact("My name is Ann", 100, 1)
	lasting := b.fact("Ann loves the sea", 1, 2.6)
	for _, content := range numbered(8, "Ann dreams of a garden with tree") {
		b.fact(content, 3, 1)
	}
	b.fact("Tomatoes grow on the balcony", 3, 1)
	b.exec(`update oxbow.memories set verified = true where id = $1`, verified)
	b.work()
	hidden := b.fact("My password is hunter2.", 100, 1)
	b.exec(`delete from oxbow.river_job`) // nothing has looked at it yet

	server := llmtest.New(t)
	b.cfg.Reasoner = ReasonerConfig{Provider: "openai", Model: "gpt-5-mini", URL: server.URL()}
	asked := map[string]int{}
	server.Answer(func(r llmtest.Request) llmtest.Reply {
		require.NotContains(t, string(r.Body), "hunter2")
		if r.Purpose != "judge" {
			return llmtest.Nothing(r)
		}
		var all llmtest.Judgements
		for _, f := range r.Data("facts") {
			asked[f.Text]++
			j := llmtest.Judgement{Fact: f.Ref, Verdict: "DELETE", Reason: "nobody needs it"}
			switch {
			case strings.Contains(f.Text, "garden"):
				require.Equal(t, asked[f.Text] < 3, f.MaySearch)
				require.Equal(t, asked[f.Text] > 1, slices.ContainsFunc(f.Related,
					func(r llmtest.Item) bool { return strings.HasPrefix(r.Text, "Tomatoes") }))
				if asked[f.Text] < 3 {
					j.Verdict, j.Search = "SEARCH", "tomatoes on the balcony"
				}
			case strings.Contains(f.Text, "sea"):
				require.Equal(t, "promotion", f.Review)
				j.Verdict = "promote"
			}
			all = append(all, j)
		}
		return llmtest.Say(all.JSON())
	})
	b.review()
	const actor = " review openai/gpt-5-mini "
	require.Equal(t, "DELETE"+actor+"nobody needs it", b.reviewed(garden))
	require.Equal(t, "PROMOTE"+actor+"nobody needs it", b.reviewed(lasting))
	require.Equal(t, "KEEP"+actor+"a person confirmed it", b.reviewed(verified))
	require.Equal(t, "KEEP"+actor+"it says who somebody is", b.reviewed(name))
	require.Empty(t, b.reviewed(hidden))
	require.Equal(t, 3, b.count(`oxbow.llm_calls where purpose = 'judge' and user_id = 'ann'`))
}

// If a model gives only invalid answers about facts, they are kept.
func TestNonsenseAboutFacts(t *testing.T) {
	b := setup(t)
	cats := b.fact("I have two cats", 100, 1)
	b.work()
	server := llmtest.New(t)
	server.Answer(func(llmtest.Request) llmtest.Reply { return llmtest.Prose() })
	b.cfg.Reasoner = ReasonerConfig{Provider: "openai", Model: "gpt-5-mini", URL: server.URL()}
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args)
		values ('review', 'reflect', 25, '{"user_id": "ann"}')`)
	b.persist()
	require.Len(t, server.Requests(), 9*2, "each answer is repaired once")
	require.Equal(t, "KEEP review openai/gpt-5-mini the reasoner's answer is unusable: the answer is not a JSON object",
		b.reviewed(cats))
}

// If an answer about many facts is unusable, fewer are reviewed at once.
func TestReviewOfFewerFacts(t *testing.T) {
	b := setup(t)
	for _, content := range numbered(20, "Ann dreams of a garden with tree") {
		b.fact(content, 100, 1)
	}
	b.work()
	server := llmtest.New(t)
	server.Answer(func(r llmtest.Request) llmtest.Reply {
		if len(r.Data("facts")) > 5 {
			return llmtest.Truncated(`{"judgements": [`)
		}
		return llmtest.Nothing(r)
	})
	b.cfg.Reasoner = ReasonerConfig{Provider: "openai", Model: "gpt-5-mini", URL: server.URL()}
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args)
		values ('review', 'reflect', 25, '{"user_id": "ann"}')`)
	b.persist()
	require.Equal(t, 5, b.count(`oxbow.memories where reviews = 1`))
	require.Len(t, server.Requests(), 5, "about 20, 10 and 5 facts, each of the first two twice")
}

// Extraction sets the topic of memories if it is clear.
func TestTopicsOfExtractedFacts(t *testing.T) {
	b := setup(t)
	b.say("ann", "s", "I love hiking in the mountains.", "My name is Ann Weaver.",
		"I promised my sister to visit her every summer.")
	b.work()
	require.Equal(t, "personal, preference, promise", get[string](b, `
		select string_agg(distinct topic, ', ' order by topic) from oxbow.memories where user_id = 'ann'`))
}
