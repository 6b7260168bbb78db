package worker

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/traittest"
	"github.com/oxbow-memory/oxbow/store"
)

// rules returns the rules of traits that the database has.
func (b *bundle) rules() *lifecycle.Policies {
	b.Helper()
	p, err := store.TraitPolicies(b.Context(), b.pool, time.Now())
	require.NoError(b, err)
	return p
}

// promoted returns the subtype that members of a subtype and a confidence make together, or nothing.
func promoted(p *lifecycle.Policies, from, to lifecycle.Subtype, confidence float64) string {
	m := lifecycle.Member{Subtype: from, Stage: p.StageOf(confidence), Confidence: confidence, Context: "work"}
	if _, _, ok := p.Promote(time.Now(), to, []lifecycle.Member{m, m}); !ok {
		return "nothing"
	}
	return "a trait"
}

var acceptedC = []acceptance{
	{"C §2.2", "fewer than 3 memories within 2 weeks are a trend, 3 a behavior of 0.4", func(b *bundle) string {
		p := b.rules()
		trend, ok := p.NewPattern(time.Now(), 2, 2, 13*24*time.Hour, false)
		behavior, also := p.NewPattern(time.Now(), 3, 2, 13*24*time.Hour, false)
		require.True(b, ok && also)
		return fmt.Sprintf("2 a trend for %.0f days, 3 a behavior of %.1f", time.Until(trend.WindowEnd).Round(time.Hour).Hours()/24,
			behavior.Sets)
	}},
	{"C §3.2", "工作严谨 and 生活随性 become one trait with two contexts", func(b *bundle) string {
		b.live(12, 3, "10:00Z", "我工作上很严谨，同事都知道", "生活里我这人比较随性")
		return b.said(`select content || ' (' || context || ')' from oxbow.traits where user_id = 'ann' and subtype = 'preference'`)
	}},
	{"C §3.3", "three conversations late at night make a behavior", func(b *bundle) string {
		b.exec(`insert into oxbow.users (user_id, timezone) values ('ann', 'Asia/Shanghai')`)
		b.live(3, 3, "01:40+08", "今天也聊到很晚")
		return b.said(`select content from oxbow.traits where user_id = 'ann' and stage = 'emerging'`)
	}},
	{"C §3.3", "behaviors about data and process become preferences, and these high conscientiousness (S §4.2: a chain of three)", func(b *bundle) string {
		b.live(25, 5, "11:00Z", "讨论方案时又要求看数据", "写代码前先画架构图", "拒绝了未经测试就上线的请求")
		return b.said(`
			with recursive chain as (
			  select m.id, m.content from oxbow.memories_trait m where m.trait_subtype = 'core' and m.expired_at is null
			  union all
			  select m.id, c.content || ' ← ' || m.content from oxbow.memories_trait m join chain c on m.trait_parent_id = c.id)
			select content from chain where content like '% ← % ← %' order by content collate "C"`)
	}},
	{"C §3.3", "2 behaviors of 0.5 make a preference, 2 preferences of 0.6 a core trait", func(b *bundle) string {
		p := b.rules()
		return fmt.Sprintf("of 0.49 %s, of 0.50 %s; of 0.59 %s, of 0.60 %s",
			promoted(p, lifecycle.Behavior, lifecycle.Preference, 0.49), promoted(p, lifecycle.Behavior, lifecycle.Preference, 0.5),
			promoted(p, lifecycle.Preference, lifecycle.CoreTrait, 0.59), promoted(p, lifecycle.Preference, lifecycle.CoreTrait, 0.6))
	}},
	{"C §3.3", "a trend reinforced twice in its window becomes a candidate of 0.3, any other is dissolved", func(b *bundle) string {
		p, now := b.rules(), time.Now()
		trend := lifecycle.State{Stage: lifecycle.Trend, At: now, WindowEnd: now.Add(time.Hour), Reinforcements: 2}
		kept, ok := p.Follow(trend, now)
		require.True(b, ok)
		trend.Reinforcements = 1
		_, early := p.Follow(trend, now)
		require.False(b, early)
		ended, ok := p.Follow(trend, now.Add(2*time.Hour))
		require.True(b, ok)
		return fmt.Sprintf("%s at %.1f; %s", kept.Kind, kept.Sets, ended.Kind)
	}},
	{"C §4.1", "candidate to 0.3, emerging to 0.6, established to 0.85, then core; the first is not recalled", func(b *bundle) string {
		return b.said(`select format('%s %s', c, oxbow.trait_stage_of(c)) from unnest('{0.3,0.31,0.59,0.6,0.85,0.86}'::float8[]) c`)
	}},
	{"C §4.2", "evidence of the qualities A to D removes 0.25, 0.20, 0.15 and 0.05 of the doubt", func(b *bundle) string {
		return b.said(`select round(oxbow.trait_reinforcement(array[q], now())::numeric, 2)::text from unnest('{A,B,C,D}'::text[]) q`)
	}},
	{"C §4.2", "a contradiction removes 0.2 of the confidence, several up to 0.4", func(b *bundle) string {
		return b.said(`select round(oxbow.trait_contradiction(n, now())::numeric, 2)::text from generate_series(1, 5) n`)
	}},
	{"C §4.2", "a behavior decays by 0.005 a day, half as fast after 10 cycles, a core trait by 0.001", func(b *bundle) string {
		return b.figures("0.8 falls in 100 days to %.3f, %.3f, %.3f", confidence("behavior", 0), confidence("behavior", 10),
			confidence("core", 0))
	}},
	{"C §4.4", "a review is due when more than 0.3 of the evidence contradicts", func(b *bundle) string {
		p := b.rules()
		return fmt.Sprintf("3 of 10: %t, 4 of 10: %t", p.ReviewDue(7, 3, 1), p.ReviewDue(6, 4, 1))
	}},
	{"C §4.5", "reflection begins after an importance of 30 (of 10 each), 24 hours, or 30 minutes of quiet", func(b *bundle) string {
		return b.figures("%.0f, %.0f hours, %.0f minutes", `select oxbow.policy('reflection_importance')`,
			`select oxbow.policy('reflection_hours')`, `select oxbow.policy('reflection_idle_minutes')`)
	}},
	{"C §6.1", "recall prefers emerging, established and core traits by 0.05, 0.15 and 0.25", func(b *bundle) string {
		return b.figures("%.2f, %.2f, %.2f", `select oxbow.policy('recall_emerging')`,
			`select oxbow.policy('recall_established')`, `select oxbow.policy('recall_core')`)
	}},
	{"C §8.2", "a trait that an answer used gains 0.02 of the doubt", func(b *bundle) string {
		id := traittest.Trait{Events: []traittest.Event{traittest.Created(time.Now(), 0.5)}}.Insert(b.T, b.pool)
		b.exec(`select oxbow.touch('ann', array[$1::uuid])`, id)
		b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) values ('flush_activity', 'default', 1, '{}')`)
		require.NoError(b, b.drain())
		return b.figures("0.50 becomes %.2f", `select trait_confidence from oxbow.memories_trait`)
	}},
	{"C §8.3", "predictions are calibrated, and better than the base rate", recorded("prediction",
		"Brier score of a day %s, base rate %s, share of earlier days %s",
		`Chinese \| a day \| [0-9,]+ \| [0-9.]+ % \| (0\.\d+) \| (0\.\d+) \| (0\.\d+)`)},
	{"C §8.3", "reflection in two phases, questions first, finds more", recorded("decisions",
		"%s questions of two nights of 5 people: %s new traits", `nights asked (\d+) questions,[^.]* (\d+) new traits`)},
}
