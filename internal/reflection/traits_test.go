package reflection

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/traits"
)

func TestTrends(t *testing.T) {
	t.Parallel()
	trend := func(t *testing.T) (*book, traits.Trait) {
		b := newBook(t)
		m := b.on(1, 2)
		b.reflect(day(2), m, noticed(runs, m...))
		require.Equal(t, lifecycle.Trend, b.only().State.Stage)
		return b, b.only()
	}
	t.Run("reinforced in two cycles", func(t *testing.T) {
		t.Parallel()
		b, trait := trend(t)
		m := b.on(10, 11, 20)
		b.reflect(day(11), m[:2], reinforce(trait.ID, from(m[:2]...)...))
		require.Equal(t, lifecycle.Trend, b.only().State.Stage, "one cycle, whatever it brings")
		require.Nil(t, b.events[trait.ID][1].Confidence)
		p := b.reflect(day(20), m[2:], reinforce(trait.ID, from(m[2:]...)...))
		require.Equal(t, []lifecycle.Kind{lifecycle.Created, lifecycle.Reinforced, lifecycle.Reinforced,
			lifecycle.Promoted}, b.kinds(trait.ID))
		require.Equal(t, lifecycle.Candidate, b.only().State.Stage)
		require.Equal(t, 0.30, b.only().State.Confidence)
		require.Zero(t, b.only().State.WindowEnd)
		require.Equal(t, "trend_promotion", p.order[0].Derived)
	})
	t.Run("after its window", func(t *testing.T) {
		t.Parallel()
		b, trait := trend(t)
		m := b.on(10, 40)
		b.reflect(day(10), m[:1], reinforce(trait.ID, from(m[:1]...)...))
		p := b.reflect(day(2+30), m[1:], reinforce(trait.ID, from(m[1:]...)...))
		require.Equal(t, []string{"trait " + trait.ID.String() + " is dissolved"}, reasons(p), "nobody noted that yet")
		p = b.reflect(day(2+30), m[1:], noticed(runs, m[1:]...))
		require.Empty(t, p.Dropped)
		require.Equal(t, []lifecycle.Kind{lifecycle.Dissolution, lifecycle.Revived}, b.kinds(trait.ID)[2:])
		require.Equal(t, 0.20, b.only().State.Confidence)
	})
	t.Run("contradicted", func(t *testing.T) {
		t.Parallel()
		b, trait := trend(t)
		m := b.on(10, 11, 12, 13)
		p := b.reflect(day(13), m, contradict(trait.ID, m...))
		require.Equal(t, 4, b.only().State.Contradictions)
		require.Equal(t, lifecycle.Trend, b.only().State.Stage)
		require.Zero(t, p.Reviews, "the window decides")
		require.Zero(t, b.only().ReviewDueAt)
	})
}

// A user has a limited number of trends and candidates. Patterns beyond the limit stay clues and
// are not lost.
func TestTrendsHaveAnEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		days  []int
		stage lifecycle.Stage
		most  int
	}{
		"trends":     {[]int{1, 3}, lifecycle.Trend, maxTrends},
		"candidates": {[]int{1, 20}, lifecycle.Candidate, maxCandidates},
	} {
		b := newBook(t)
		for i := range c.most + 2 {
			says := fmt.Sprintf("pattern %d", i)
			m := []reasoner.Memory{b.memory(says+" a", c.days[0], "", ""), b.memory(says+" b", c.days[1], "", "")}
			p := b.reflect(day(20), m, noticed(says, m...))
			require.Empty(t, p.Dropped, name)
		}
		require.Len(t, b.traits, c.most, name)
		for _, trait := range b.traits {
			require.Equal(t, c.stage, trait.State.Stage, name)
		}
		require.Len(t, b.clues, 4, name)
		more := b.memory("pattern more", 20, "", "")
		last := fmt.Sprintf("pattern %d", c.most)
		b.reflect(day(20), []reasoner.Memory{more}, noticed(last, more))
		require.Len(t, b.traits, c.most+1, "three memories make a behavior, whatever is watched")
		require.Len(t, b.evidence[b.traits[c.most].ID], 3)
	}
}

// Tentative support does not make a candidate more confident. It is noted, and counts together
// with later support.
func TestTentativeForACandidate(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	m := b.on(1, 20, 21, 22)
	b.reflect(day(20), m[:2], noticed(runs, m[:2]...))
	require.Equal(t, lifecycle.Candidate, b.only().State.Stage)
	tentative := noticed(runs, m[2])
	tentative.Patterns[0].Tentative = true
	b.reflect(day(21), m[2:3], tentative)
	require.Zero(t, b.only().State.Reinforcements)
	require.Len(t, b.clues, 1)
	b.reflect(day(22), m[3:], noticed(runs, m[3]))
	require.Equal(t, 1, b.only().State.Reinforcements)
	require.Regexp(t, "CC$", b.qualities(b.only().ID, traits.Supporting))
	require.Empty(t, b.clues)
}

func TestContradictions(t *testing.T) {
	t.Parallel()
	for n, factor := range map[int]float64{1: 0.2, 2: 0.3, 3: 0.4, 4: 0.4, 9: 0.4} {
		b := newBook(t)
		trait := b.behavior(runs, 0.8, "")
		var m []reasoner.Memory
		for i := range n {
			m = append(m, b.memory("no "+string(rune('a'+i)), 3, "one session", ""))
		}
		p := b.reflect(day(3), m, contradict(trait.ID, m...))
		require.InDelta(t, 0.8*(1-factor), b.only().State.Confidence, 1e-12)
		require.Equal(t, n, b.only().State.Contradictions)
		e := b.events[trait.ID][len(b.events[trait.ID])-1]
		require.Equal(t, "no longer", *e.Reason)
		require.Equal(t, n, e.Memories)
		// With 3 supporting memories: 1 of 4 is not more than 0.3, 2 of 5 is.
		require.Equal(t, n >= 2, p.Reviews == 1)
		require.Equal(t, n >= 2, b.only().ReviewDueAt.Equal(day(3)))
	}
}

// A contradiction may name a pattern of the same proposals.
func TestDeniedInTheSameCycle(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	m := b.on(1, 2, 3, 4, 5)
	proposed := noticed(runs, m[:3]...)
	proposed.Contradictions = []reasoner.Contradiction{{Key: "key of " + runs, Evidence: from(m[3:]...)},
		{Key: "of nothing", Evidence: from(m[3])}}
	p := b.reflect(day(5), m, proposed)
	require.Empty(t, p.Dropped)
	require.Equal(t, []lifecycle.Kind{lifecycle.Created, lifecycle.Contradicted}, b.kinds(b.only().ID))
	require.InDelta(t, 0.4*0.7, b.only().State.Confidence, 1e-12)
	require.Equal(t, 1, p.Reviews)
	require.Equal(t, 2, b.evidence[b.only().ID][4].Nth)
	// An existing trait.
	n := b.on(6, 7)
	again := noticed(runs, n[0])
	again.Contradictions = []reasoner.Contradiction{{Key: "key of " + runs, Evidence: from(m[3], n[1])}}
	b.reflect(day(7), n, again)
	require.Equal(t, 3, b.only().State.Contradictions)
	// A pattern that stays a clue.
	k := b.on(8)
	clue := noticed("Ann swims.", k[0])
	clue.Contradictions = []reasoner.Contradiction{{Key: "key of Ann swims.", Evidence: from(k[0])}}
	require.Empty(t, b.reflect(day(8), k, clue).Dropped)
	require.Len(t, b.traits, 1)
	require.Len(t, b.clues, 2, "of nothing, and of swimming: one memory is not both")
}

// Memories may arrive late: contradictions of a pattern without support are noted and weighed when
// it becomes a trait. Those older than its first support do not count.
func TestDeniedBeforeItWasSeen(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	denial := func(m ...reasoner.Memory) reasoner.Proposals {
		return reasoner.Proposals{Contradictions: []reasoner.Contradiction{{Key: "key of " + runs, Evidence: from(m...),
			Reason: "no longer"}}}
	}
	m := b.on(1, 10, 11, 12, 20, 21)
	p := b.reflect(day(21), m[4:], denial(m[4:]...))
	require.Empty(t, p.Dropped)
	b.reflect(day(21), m[:1], denial(m[0]))
	require.Empty(t, b.traits)
	require.Len(t, b.clues, 3)
	for _, c := range b.clues {
		require.True(t, c.Against)
		require.Equal(t, "no longer", c.Content)
	}
	require.Empty(t, p.Question().Clues)

	// One more contradiction among those already noted.
	p = b.reflect(day(22), m[1:4], reasoner.Proposals{Patterns: noticed(runs, m[1:4]...).Patterns,
		Contradictions: denial(m[4]).Contradictions})
	require.Empty(t, p.Dropped)
	require.Empty(t, b.clues)
	require.Equal(t, []lifecycle.Kind{lifecycle.Created, lifecycle.Contradicted}, b.kinds(b.only().ID))
	require.Equal(t, 2, b.only().State.Contradictions)
	require.InDelta(t, 0.4*0.7, b.only().State.Confidence, 1e-12)
	require.Equal(t, 1, p.Reviews)
}

// With long histories, the share is computed from all evidence.
func TestReviewOfALongHistory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		supporting, contradicting int
		due                       bool
	}{{10_000, 4_285, false}, {10_000, 4_286, true}, {2_334, 1_000, false}, {2_331, 1_000, true},
		{100_000, 1_500, false}} {
		b := newBook(t)
		trait := b.behavior(runs, 0.9, "")
		b.change(trait.ID, func(t *traits.Trait) { t.State.Contradictions = c.contradicting - 1 })
		m := b.on(4)
		p := NewPlan(b.snapshot(day(4), m))
		proposed := contradict(trait.ID, m...)
		claims, weighed := p.Claims(proposed)
		seen := b.seen(claims, weighed)
		require.Less(t, weighed[trait.ID], 4*c.contradicting, "what is counted is bounded by what contradicts")
		seen[trait.ID].Supporting = min(c.supporting, weighed[trait.ID])
		p.Know(seen)
		p.Decide(proposed)
		require.Equal(t, c.due, p.Reviews == 1, "%+v", c)
	}
}

func TestAReviewIsDueOnce(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	trait := b.behavior(runs, 0.8, "")
	m := b.on(10, 11, 12, 13, 14)
	require.Equal(t, 1, b.reflect(day(11), m[:2], contradict(trait.ID, m[:2]...)).Reviews)
	require.Zero(t, b.reflect(day(13), m[2:4], contradict(trait.ID, m[2:4]...)).Reviews)
	require.Equal(t, day(11), b.only().ReviewDueAt)
	// A dissolved trait needs no review.
	b.happens(trait.ID, lifecycle.Event{Kind: lifecycle.Revised, At: day(13), Sets: 0.06})
	p := b.reflect(day(14), m[4:], contradict(trait.ID, m[4:]...))
	require.Equal(t, 1, p.Dissolved)
	require.Equal(t, lifecycle.Dissolved, b.only().State.Stage)
	require.Zero(t, b.only().ReviewDueAt)
}

// A person's edit takes precedence over reflection.
func TestEditedTraits(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	trait := b.behavior(runs, 0.5, "personal")
	b.happens(trait.ID, lifecycle.Event{Kind: lifecycle.Edited, At: day(10), Sets: 0.9})
	b.change(trait.ID, func(t *traits.Trait) { t.Content, t.EditedAt = "I run when it is cold.", day(10) })
	m := append(b.on(8, 11, 12), b.memory("the very moment", 10, "", ""))
	p := b.reflect(day(12), m, contradict(trait.ID, m...))
	require.Equal(t, []string{"the person corrected the trait after memory " + m[0].ID.String(),
		"the person corrected the trait after memory " + m[3].ID.String()},
		reasons(p))
	require.Equal(t, 2, b.only().State.Contradictions)
	require.Less(t, b.only().State.Confidence, 0.7)
	require.Zero(t, p.Reviews)
	require.Zero(t, b.only().ReviewDueAt)
	// Evidence of any age still counts, but the wording and the context stay.
	n := []reasoner.Memory{b.memory("at work", 7, "", "work"), b.memory("at home", 13, "", "social")}
	b.reflect(day(13), n, noticed(runs, n...))
	require.Equal(t, "I run when it is cold.", b.only().Content)
	require.Equal(t, "personal", b.only().Context)
	require.Equal(t, 5, b.count(trait.ID, traits.Supporting))
}

func TestDissolvedTraits(t *testing.T) {
	t.Parallel()
	dissolved := func(t *testing.T) (*book, traits.Trait) {
		b := newBook(t)
		trait := b.behavior(runs, 0.5, "")
		b.happens(trait.ID, lifecycle.Event{Kind: lifecycle.Dissolution, At: day(5)})
		return b, b.only()
	}
	t.Run("come back with new evidence", func(t *testing.T) {
		t.Parallel()
		b, trait := dissolved(t)
		m := b.on(20, 21)
		b.reflect(day(20), m[:1], reasoner.Proposals{Patterns: []reasoner.Pattern{{Key: trait.Key, Content: "x",
			Tentative: true, Evidence: from(m[0])}}})
		require.Equal(t, lifecycle.Dissolved, b.only().State.Stage, "what is tentative is noted")
		require.Len(t, b.clues, 1)
		p := b.reflect(day(21), m[1:], noticed(runs, m[1]))
		require.Equal(t, lifecycle.Candidate, b.only().State.Stage)
		require.Equal(t, 0.20, b.only().State.Confidence)
		require.Equal(t, 5, b.count(trait.ID, traits.Supporting), "with what was noted")
		require.Empty(t, b.clues)
		require.Equal(t, []int{0, 1}, []int{p.Created, p.Updated})
	})
	t.Run("not with what counted already", func(t *testing.T) {
		t.Parallel()
		b, trait := dissolved(t)
		old := reasoner.Memory{ID: b.named[runs+"a"], Type: "episodic", Time: day(1), Session: "day 2026-01-01"}
		p := b.reflect(day(20), []reasoner.Memory{old}, noticed(runs, old))
		require.Empty(t, p.order)
		require.Equal(t, trait.State, b.only().State)
	})
	t.Run("not by a reference", func(t *testing.T) {
		t.Parallel()
		b, trait := dissolved(t)
		m := b.on(20, 21)
		p := b.reflect(day(20), m, reasoner.Proposals{
			Reinforcements: reinforce(trait.ID, from(m[0])...).Reinforcements,
			Contradictions: contradict(trait.ID, m[1]).Contradictions,
		})
		require.Equal(t, []string{"trait " + trait.ID.String() + " is dissolved", "trait " + trait.ID.String() +
			" is dissolved"}, reasons(p))
		require.Empty(t, p.order)
	})
	t.Run("what a person affirmed and time dissolved", func(t *testing.T) {
		t.Parallel()
		b, trait := dissolved(t)
		b.change(trait.ID, func(t *traits.Trait) { t.EditedAt = day(5) })
		m := b.on(20, 21, 22)
		require.Empty(t, reasons(b.reflect(day(22), m, noticed(runs, m...))))
		require.Equal(t, lifecycle.Candidate, b.only().State.Stage)
		require.Equal(t, trait.Content, b.only().Content)
	})
	t.Run("not what a person dissolved", func(t *testing.T) {
		t.Parallel()
		b, trait := dissolved(t)
		b.change(trait.ID, func(t *traits.Trait) { t.EditedAt, t.Rejected = day(5), true })
		m := b.on(20, 21, 22)
		p := b.reflect(day(22), m, noticed(runs, m...))
		require.Equal(t, []string{"the person dissolved it"}, reasons(p))
		p = b.reflect(day(22), m, reasoner.Proposals{Patterns: []reasoner.Pattern{{Key: "another",
			Content: "ann runs, in the MORNING", Evidence: from(m...)}}})
		require.Equal(t, []string{"the person dissolved it"}, reasons(p))
		require.Equal(t, trait.State, b.only().State)
	})
}

// A deleted trait is not created again, and its wording is not recorded among the dropped
// proposals.
func TestDeletedTraits(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.refused = map[string]bool{"key of " + runs: true, "Ann likes tea.": true}
	m := b.on(1, 2, 3)
	p := b.reflect(day(3), m, reasoner.Proposals{
		Patterns: []reasoner.Pattern{{Key: "key of " + runs, Content: "She runs.", Evidence: from(m...)},
			{Content: "Ann likes tea.", Evidence: from(m...)}},
		Clusters: []reasoner.Cluster{{Subtype: lifecycle.Preference, Content: "Ann likes tea.",
			Members: []uuid.UUID{uuid.New()}}},
	})
	require.Empty(t, b.traits)
	require.Empty(t, b.clues)
	require.Len(t, p.Dropped, 3)
	for _, d := range p.Dropped {
		require.Equal(t, "the person deleted or forgot such a trait", d.Reason)
		require.NotContains(t, d.What, "runs")
		require.NotContains(t, d.What, "tea")
	}
	require.Contains(t, p.Dropped[0].What, m[2].ID.String())
}

// A different key with the same words is the same trait.
func TestTheSameWords(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	trait := b.behavior("Ann likes (green) tea.", 0.5, "")
	m := b.on(5, 6, 7)
	p := b.reflect(day(7), m, reasoner.Proposals{Patterns: []reasoner.Pattern{{Key: "k1",
		Content: "ann likes green tea", Evidence: from(m[0])},
		{Content: "ＡＮＮ likes green\ttea!", Evidence: from(m[1])}, {Key: trait.Key, Content: "Tea.",
			Evidence: from(m[2])}}})
	require.Empty(t, p.Dropped)
	require.Equal(t, 6, b.count(trait.ID, traits.Supporting))
	require.Equal(t, 1, b.only().State.Reinforcements)

	// A pattern proposed twice is one pattern.
	n := b.on(8, 9, 10)
	p = b.reflect(day(10), n, reasoner.Proposals{Patterns: []reasoner.Pattern{
		{Key: "a", Content: "Ann swims.", Evidence: from(n[0])},
		{Key: "b", Content: "Ann swims", Evidence: from(n[1])},
		{Key: "a", Content: "Ann goes swimming.", Evidence: from(n[2])},
	}})
	require.Empty(t, p.Dropped)
	require.Len(t, b.traits, 2)
	require.Equal(t, "Ann swims.", b.traits[1].Content)
	require.Equal(t, 0.40, b.traits[1].State.Confidence, "three memories")
}

// References that cannot be followed are reported; the rest is followed.
func TestDroppedReferences(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	trait := b.behavior(runs, 0.5, "")
	m := b.on(5, 6, 7)
	stranger := uuid.New()
	given := append(from(m[0]), reasoner.Support{Memory: stranger})
	p := b.reflect(day(7), m, reasoner.Proposals{
		Patterns: []reasoner.Pattern{{Content: "Ann swims.", Evidence: append(given, from(m[1:]...)...)},
			{Content: "Ann sings."}, {Content: " \x00 . "}, {Content: strings.Repeat("x", 301)}},
		Reinforcements: []reasoner.Reinforcement{{Trait: trait.ID, Evidence: given},
			{Trait: stranger, Evidence: given}},
		Contradictions: []reasoner.Contradiction{{Trait: trait.ID,
			Evidence: append(from(m[1]), reasoner.Support{Memory: stranger}), Reason: "r"}, {Trait: stranger}},
		Clusters: []reasoner.Cluster{{Subtype: lifecycle.Behavior, Content: "c", Members: []uuid.UUID{trait.ID}},
			{Subtype: "soul", Content: "d"}},
		Dropped: []reasoner.Dropped{{What: "x", Reason: "the reasoner's own"}},
	})
	unknown := "memory " + stranger.String() + " is not among those that were shown"
	require.ElementsMatch(t, []string{"the reasoner's own", unknown, "it has no evidence", "it is empty",
		"it has more than 300 characters",
		unknown, "trait " + stranger.String() + " is not among those that were shown",
		unknown, "trait " + stranger.String() + " is not among those that were shown",
		"traits are promoted to preference or core only", "traits are promoted to preference or core only"}, reasons(p))
	require.Len(t, b.traits, 2)
	require.Equal(t, 3, b.count(b.traits[1].ID, traits.Supporting))
	require.Equal(t, 4, b.count(trait.ID, traits.Supporting))
	require.Equal(t, 1, b.count(trait.ID, traits.Contradicting))
	require.True(t, slices.ContainsFunc(p.Dropped, func(d reasoner.Dropped) bool {
		return d.Reason == unknown && strings.Contains(d.What, "Ann swims.")
	}))
}

// Nothing sensitive is inferred, whatever a reasoner proposes, and nothing sensitive is recorded
// elsewhere.
func TestSensitiveProposals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ key, content, category string }{
		{"", "Ann has depression.", "health"},
		{"", "安患有抑郁症。", "health"},
		{"mood:depression", "Ann is quiet.", "health"},
		{"", "Ann goes to church because she is a devout Catholic.", "religion"},
		{"", "小林是虔诚的佛教徒", "religion"},
	} {
		b := newBook(t)
		trait := b.behavior(runs, 0.8, "")
		tea := b.behavior("Ann likes tea.", 0.8, "")
		m := b.on(5, 6, 7)
		p := b.reflect(day(7), m, reasoner.Proposals{
			Patterns: []reasoner.Pattern{{Key: c.key, Content: c.content, Evidence: from(m...)}},
			Clusters: []reasoner.Cluster{{Key: c.key, Subtype: lifecycle.Preference, Content: c.content,
				Members: []uuid.UUID{trait.ID, tea.ID}}},
			Contradictions: []reasoner.Contradiction{{Trait: trait.ID, Evidence: from(m[0]), Reason: c.key + ": " +
				c.content}},
			Dropped: []reasoner.Dropped{{What: c.key + ": " + c.content, Reason: "r"}},
		})
		require.Equal(t, []string{"r", "nothing is inferred about " + c.category, "nothing is inferred about " +
			c.category}, reasons(p))
		require.Len(t, b.traits, 2)
		for _, d := range p.Dropped {
			require.NotContains(t, d.What, c.content)
		}
		require.Contains(t, p.Dropped[1].What, m[0].ID.String())
		last := b.events[trait.ID][len(b.events[trait.ID])-1]
		require.Equal(t, lifecycle.Contradicted, last.Event)
		require.Nil(t, last.Reason)
	}
	// Sensitive traits that were edited or imported are not reinforced.
	b := newBook(t)
	trait := b.behavior(runs, 0.5, "")
	b.change(trait.ID, func(t *traits.Trait) { t.Content = "I have asthma." })
	m := b.on(5, 6)
	p := b.reflect(day(6), m, reasoner.Proposals{Reinforcements: reinforce(trait.ID, from(m[0])...).Reinforcements,
		Patterns: []reasoner.Pattern{{Key: trait.Key, Content: runs, Evidence: from(m[1])}}})
	require.Len(t, p.Dropped, 2)
	require.Empty(t, p.order)
}

func TestLongKeys(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("钥", 300)
	require.LessOrEqual(t, len(PatternKey(long, "")), maxKey)
	require.NotEqual(t, PatternKey(long, ""), PatternKey(long+"匙", ""))
	require.Equal(t, "a\tb", PatternKey("a\x00\tb\xff", ""))
	require.Equal(t, "says ann likes tea", PatternKey("", "Ann likes tea!"))
	for key := range map[string]bool{PatternKey(long, ""): true, PatternKey("", strings.Repeat("茶 ", 290)): true} {
		require.True(t, strings.ToValidUTF8(key, "") == key)
		require.Equal(t, key, PatternKey(key, ""))
	}
}

// A clock that was set back makes no trait younger or more confident.
func TestClockGoesBack(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	trait := b.behavior(runs, 0.5, "")
	m := b.on(10, 2)
	b.reflect(day(50), m[:1], reinforce(trait.ID, from(m[0])...))
	was := b.only().State
	p := b.reflect(day(5), nil, reasoner.Proposals{})
	require.Empty(t, p.order)
	b.reflect(day(5), m[1:], contradict(trait.ID, m[1]))
	after := b.only().State
	require.Equal(t, was.At, after.At)
	require.InDelta(t, was.Confidence*0.8, after.Confidence, 1e-12)
	require.Equal(t, day(10), b.only().LastReinforced)
}
