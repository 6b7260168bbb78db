package reflection

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/traits"
)

const runs = "Ann runs in the morning."

func noticed(content string, memories ...reasoner.Memory) reasoner.Proposals {
	return reasoner.Proposals{Patterns: []reasoner.Pattern{{Key: "key of " + content, Content: content,
		Evidence: from(memories...)}}}
}

func reinforce(trait uuid.UUID, evidence ...reasoner.Support) reasoner.Proposals {
	return reasoner.Proposals{Reinforcements: []reasoner.Reinforcement{{Trait: trait, Evidence: evidence}}}
}

func contradict(trait uuid.UUID, memories ...reasoner.Memory) reasoner.Proposals {
	return reasoner.Proposals{Contradictions: []reasoner.Contradiction{{Trait: trait, Evidence: from(memories...),
		Reason: "no longer"}}}
}

// The evidence determines what a pattern becomes (C §3.3, DESIGN §5).
func TestNewPatterns(t *testing.T) {
	t.Parallel()
	now := day(60)
	for name, c := range map[string]struct {
		days       []int
		session    string // of all memories; empty: one per day
		emotional  bool
		tentative  bool
		stage      lifecycle.Stage // empty: a clue
		confidence float64
		window     time.Duration
	}{
		"one session":                     {days: []int{1, 1, 1}},
		"one conversation over many days": {days: []int{1, 20, 40}, session: "s"},
		"one memory":                      {days: []int{1}},
		"two":                             {days: []int{1, 3}, stage: lifecycle.Trend, window: 30 * 24 * time.Hour},
		"two moods": {days: []int{1, 3}, emotional: true, stage: lifecycle.Trend,
			window: 14 * 24 * time.Hour},
		"two, a day short of two weeks": {days: []int{1, 14}, stage: lifecycle.Trend,
			window: 30 * 24 * time.Hour},
		"two, two weeks apart":                {days: []int{1, 15}, stage: lifecycle.Candidate, confidence: 0.20},
		"three":                               {days: []int{1, 2, 3}, stage: lifecycle.Emerging, confidence: 0.40},
		"three over a long time":              {days: []int{1, 20, 40}, stage: lifecycle.Emerging, confidence: 0.40},
		"three, but the reasoner is not sure": {days: []int{1, 2, 3}, tentative: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			var memories []reasoner.Memory
			for i, n := range c.days {
				memories = append(memories, b.memory(string(rune('a'+i)), n, c.session, ""))
			}
			proposed := noticed(runs, memories...)
			proposed.Patterns[0].Emotional, proposed.Patterns[0].Tentative = c.emotional, c.tentative
			p := b.reflect(now, memories, proposed)
			require.Empty(t, p.Dropped)
			if c.stage == "" {
				require.Empty(t, b.traits)
				require.Len(t, b.clues, len(c.days))
				require.Contains(t, b.clues, traits.NotedClue{Key: "key of " + runs, Content: runs, Type: "episodic",
					Memory: memories[0].ID, Session: memories[0].Session, ObservedAt: day(c.days[0])})
				require.Zero(t, p.Created)
				return
			}
			made := b.only()
			require.Equal(t, 1, p.Created)
			require.Empty(t, b.clues)
			require.Equal(t, runs, made.Content)
			require.Equal(t, c.stage, made.State.Stage)
			require.Equal(t, c.confidence, made.State.Confidence)
			require.Equal(t, lifecycle.Behavior, made.State.Subtype)
			require.Equal(t, now, made.State.At)
			require.Equal(t, "general", made.Context)
			require.Equal(t, day(c.days[0]), made.FirstObserved)
			require.Equal(t, day(c.days[len(c.days)-1]), made.LastReinforced)
			if c.window > 0 {
				require.Equal(t, now.Add(c.window), made.State.WindowEnd)
			} else {
				require.Zero(t, made.State.WindowEnd)
			}
			require.Equal(t, []lifecycle.Kind{lifecycle.Created}, b.kinds(made.ID))
			require.Equal(t, len(c.days), b.events[made.ID][0].Memories)
			require.Len(t, b.evidence[made.ID], len(c.days))
		})
	}
}

// Clues count when more evidence arrives, and are then closed.
func TestCluesCountLater(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	memories := b.on(1, 1, 2, 3)
	memories[1] = b.memory("the same day", 1, "", "")
	first := noticed(runs, memories[0])
	first.Patterns[0].Evidence[0].Stated, first.Patterns[0].Evidence[0].Context = true, "work"
	b.reflect(day(1), memories[:1], first)
	b.reflect(day(1), memories[1:2], noticed(runs, memories[1]))
	require.Len(t, b.clues, 2)
	require.Empty(t, b.traits)
	// Two days with three memories in total.
	p := b.reflect(day(3), memories[2:3], noticed("Ann goes for runs.", memories[2]))
	require.Len(t, b.traits, 0, "another key, other words: another pattern")
	require.Empty(t, p.Dropped)
	p = b.reflect(day(4), memories[3:], noticed(runs, memories[3]))
	require.Empty(t, p.Dropped)
	made := b.only()
	require.Equal(t, 0.40, made.State.Confidence)
	require.Len(t, b.evidence[made.ID], 3)
	require.True(t, b.evidence[made.ID][0].Stated || b.evidence[made.ID][1].Stated, "what was noted of a memory stays")
	require.Equal(t, []string{"work"}, made.Contexts)
	require.Len(t, b.clues, 1, "of the other pattern")
	require.Equal(t, []string{"key of " + runs}, p.closed)
}

// A memory is noted only once.
func TestCluesAreNotedOnce(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	memories := b.on(1)
	b.reflect(day(1), memories, noticed(runs, memories...))
	p := b.reflect(day(2), nil, noticed(runs, memories...)) // a reasoner may name a memory that it was shown as a clue
	require.Empty(t, p.clues)
	require.Len(t, b.clues, 1)
}

func TestQuality(t *testing.T) {
	t.Parallel()
	made := func(b *book) traits.Trait {
		memories := []reasoner.Memory{b.memory("a", 1, "s1", "work"), b.memory("b", 2, "s2", "work"),
			b.memory("c", 3, "s3", "general")}
		b.reflect(day(3), memories, noticed(runs, memories...))
		return b.only()
	}
	type evidence struct {
		session, context string
		stated           bool
	}
	for name, c := range map[string]struct {
		given []evidence
		want  string // of each, in order
		doubt float64
	}{
		"another session":                  {[]evidence{{"s4", "", false}}, "C", 0.85},
		"the same session":                 {[]evidence{{"s1", "", false}}, "D", 0.95},
		"said outright":                    {[]evidence{{"s1", "", true}}, "B", 0.80},
		"a second context":                 {[]evidence{{"s4", "social", false}}, "A", 0.75},
		"a second context, said outright":  {[]evidence{{"s1", "social", true}}, "A", 0.75},
		"the context that is known":        {[]evidence{{"s4", "work", false}}, "C", 0.85},
		"no context is no second context":  {[]evidence{{"s4", "general", false}}, "C", 0.85},
		"the best of a session":            {[]evidence{{"s4", "", false}, {"s4", "", true}, {"s4", "", false}}, "CBD", 0.80},
		"two sessions":                     {[]evidence{{"s4", "", false}, {"s5", "", false}}, "CC", 0.85 * 0.85},
		"a context is second once":         {[]evidence{{"s4", "social", false}, {"s5", "social", false}}, "AC", 0.75 * 0.85},
		"a session and one that was there": {[]evidence{{"s4", "", false}, {"s2", "", false}}, "CD", 0.85 * 0.95},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			trait := made(b)
			require.Equal(t, "CCC", b.qualities(trait.ID, traits.Supporting), "of its making")
			var memories []reasoner.Memory
			var given []reasoner.Support
			for i, e := range c.given {
				m := b.memory("given "+string(rune('a'+i)), 4+i, e.session, e.context)
				memories = append(memories, m)
				given = append(given, reasoner.Support{Memory: m.ID, Stated: e.stated})
			}
			b.reflect(day(3), memories, reinforce(trait.ID, given...)) // at once, so nothing decays
			require.Equal(t, "CCC"+c.want, b.qualities(trait.ID, traits.Supporting))
			after := b.only()
			require.InDelta(t, 1-0.6*c.doubt, after.State.Confidence, 1e-12)
			require.Equal(t, 1, after.State.Reinforcements)
			require.Equal(t, len(c.given), b.events[trait.ID][1].Memories)
		})
	}
}

// A reasoner may name the context of a memory.
func TestGivenContext(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	memories := []reasoner.Memory{b.memory("a", 1, "", "work"), b.memory("b", 2, "", "work"),
		b.memory("c", 3, "", "work")}
	b.reflect(day(3), memories, noticed(runs, memories...))
	require.Equal(t, "general", b.only().Context, "that of the pattern")
	m := b.on(4)
	b.reflect(day(4), m, reinforce(b.only().ID, reasoner.Support{Memory: m[0].ID, Context: "learning"}))
	require.Equal(t, "CCCA", b.qualities(b.only().ID, traits.Supporting))
	require.Equal(t, []string{"work", "learning"}, b.only().Contexts)
	m = b.on(5)
	b.reflect(day(5), m, reinforce(b.only().ID, reasoner.Support{Memory: m[0].ID, Context: "on the moon"}))
	require.Equal(t, "CCCAC", b.qualities(b.only().ID, traits.Supporting), "that is none")
}

// behavior creates a trait with a confidence, supported by three days.
func (b *book) behavior(content string, confidence float64, context string) traits.Trait {
	b.Helper()
	var memories []reasoner.Memory
	for n := range 3 {
		memories = append(memories, b.memory(content+string(rune('a'+n)), n+1, "", context))
	}
	proposed := noticed(content, memories...)
	proposed.Patterns[0].Context = context
	b.reflect(day(3), memories, proposed)
	made := b.traits[len(b.traits)-1]
	b.happens(made.ID, lifecycle.Event{Kind: lifecycle.Revised, At: day(3), Sets: confidence})
	return b.trait(made.ID)
}

func TestAMemoryCountsOnce(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	trait := b.behavior(runs, 0.5, "")
	m := b.on(5)
	b.reflect(day(5), m, reinforce(trait.ID, from(m...)...))
	was := b.only().State
	p := b.reflect(day(6), m, reinforce(trait.ID, from(m...)...))
	require.Empty(t, p.order, "nothing happens")
	p = b.reflect(day(6), m, noticed(runs, m...))
	require.Empty(t, p.order)
	require.Equal(t, was, b.only().State)
	b.reflect(day(6), m, contradict(trait.ID, m...))
	require.Equal(t, 1, b.count(trait.ID, traits.Contradicting), "in each direction")
	p = b.reflect(day(7), m, contradict(trait.ID, m...))
	require.Empty(t, p.order)
	// The same memory several times in one proposal and in several proposals.
	n := b.on(8)
	twice := reinforce(trait.ID, append(from(n...), from(n...)...)...)
	twice.Reinforcements = append(twice.Reinforcements, twice.Reinforcements[0])
	twice.Patterns = noticed(runs, n...).Patterns
	b.reflect(day(8), n, twice)
	require.Equal(t, 5, b.count(trait.ID, traits.Supporting))
	require.Equal(t, 2, b.only().State.Reinforcements, "once a cycle")
}
