package reflection

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/traits"
)

func cluster(subtype lifecycle.Subtype, content string, members ...traits.Trait) reasoner.Proposals {
	k := reasoner.Cluster{Key: "group " + content, Subtype: subtype, Content: content}
	for _, m := range members {
		k.Members = append(k.Members, m.ID)
	}
	return reasoner.Proposals{Clusters: []reasoner.Cluster{k}}
}

// Traits with a common tendency make a more abstract trait (C §3.2, §3.3).
func TestPromotion(t *testing.T) {
	t.Parallel()
	type member struct {
		confidence float64
		context    string
	}
	for name, c := range map[string]struct {
		members    []member
		confidence float64 // 0: none is created
		context    string
		contexts   []string
		dropped    []string
	}{
		"two that agree":    {[]member{{0.5, "work"}, {0.7, "work"}}, 0.6, "work", []string{"work"}, nil},
		"over contexts":     {[]member{{0.5, "work"}, {0.7, "social"}}, 0.65, "general", []string{"work", "social"}, nil},
		"without a context": {[]member{{0.5, "general"}, {0.7, "general"}, {0.9, "general"}}, 0.7, "general", nil, nil},
		"one is not sure enough": {[]member{{0.5, "work"}, {0.49, "work"}}, 0, "", nil,
			[]string{"is not confident enough", "fewer than two members"}},
		"one of three is not": {[]member{{0.5, "work"}, {0.49, "social"}, {0.9, "work"}}, 0.7, "work",
			[]string{"work"}, []string{"is not confident enough"}},
		"one": {[]member{{0.9, "work"}}, 0, "", nil, []string{"fewer than two members"}},
		"near one, over contexts": {[]member{{0.99, "work"}, {0.99, "social"}}, 1 - 1e-9, "general",
			[]string{"work", "social"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			var members []traits.Trait
			for i, m := range c.members {
				members = append(members, b.behavior("behavior "+string(rune('a'+i)), m.confidence, m.context))
			}
			p := b.reflect(day(3), nil, cluster(lifecycle.Preference, "Ann likes sports.", members...))
			require.Len(t, p.Dropped, len(c.dropped))
			for i, reason := range c.dropped {
				require.Contains(t, p.Dropped[i].Reason, reason)
			}
			if c.confidence == 0 {
				require.Len(t, b.traits, len(members))
				return
			}
			parent := b.traits[len(members)]
			require.Equal(t, lifecycle.Preference, parent.State.Subtype)
			require.InDelta(t, c.confidence, parent.State.Confidence, 1e-12)
			require.Equal(t, c.context, parent.Context)
			require.Equal(t, c.contexts, parent.Contexts)
			require.Equal(t, day(1), parent.FirstObserved)
			require.Equal(t, day(3), parent.LastReinforced)
			linked := 0
			for _, m := range members {
				if after := b.trait(m.ID); after.Parent == parent.ID {
					linked++
					require.Equal(t, lifecycle.Promoted, b.kinds(m.ID)[len(b.kinds(m.ID))-1])
					require.InDelta(t, m.State.Confidence, after.State.Confidence, 1e-12, "children stay")
				}
			}
			require.Equal(t, linked, b.count(parent.ID, traits.Supporting))
			require.Equal(t, linked, b.events[parent.ID][0].Memories)
			require.Equal(t, string("trait"), b.evidence[parent.ID][0].Type)
		})
	}
}

// Members decay before they are weighed.
func TestPromotionOfDecayedTraits(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	x, y := b.behavior("x", 0.51, ""), b.behavior("y", 0.9, "")
	p := b.reflect(day(30), nil, cluster(lifecycle.Preference, "z", x, y))
	require.Len(t, p.Dropped, 2)
	require.Len(t, b.traits, 2)
}

func TestMembersThatCannotBe(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	x, y, z, w, trend := b.behavior("x", 0.9, ""), b.behavior("y", 0.9, ""), b.behavior("z", 0.9, ""),
		b.behavior("w", 0.9, ""), b.on(1, 2)
	b.reflect(day(3), trend, noticed("a trend", trend...))
	watched := b.traits[4]
	b.reflect(day(3), nil, cluster(lifecycle.Preference, "first", x, y))
	first := b.traits[5]
	p := b.reflect(day(3), nil, cluster(lifecycle.Preference, "second", x, z, z, w, first, watched,
		traits.Trait{ID: uuid.New()}))
	require.Len(t, p.Dropped, 4)
	require.Contains(t, p.Dropped[0].Reason, "is part of another one")
	require.Contains(t, p.Dropped[1].Reason, "preference, is not confident enough or has the wrong subtype")
	require.Contains(t, p.Dropped[2].Reason, "is not confident enough")
	require.Contains(t, p.Dropped[3].Reason, "is not among those that were shown")
	second := b.traits[6]
	require.Equal(t, 2, b.count(second.ID, traits.Supporting))
	require.Equal(t, second.ID, b.trait(z.ID).Parent)
	require.Equal(t, first.ID, b.trait(x.ID).Parent)

	p = b.reflect(day(3), nil, cluster(lifecycle.CoreTrait, "x", first, second))
	require.Equal(t, []string{"trait " + x.ID.String() + " already has this wording and is a behavior"}, reasons(p))
	// After its parent dissolved, a trait may become part of another one.
	b.happens(first.ID, lifecycle.Event{Kind: lifecycle.Dissolution, At: day(4)})
	p = b.reflect(day(4), nil, cluster(lifecycle.Preference, "second", x))
	require.Empty(t, p.Dropped)
	require.Equal(t, second.ID, b.trait(x.ID).Parent)
}

func TestJoiningAParent(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	x, y, z := b.behavior("x", 0.6, "work"), b.behavior("y", 0.6, "work"), b.behavior("z", 0.6, "social")
	b.reflect(day(3), nil, cluster(lifecycle.Preference, "p", x, y))
	parent := b.traits[3]
	p := b.reflect(day(3), nil, cluster(lifecycle.Preference, "p", x, y))
	require.Empty(t, p.order, "they are together")
	require.Empty(t, p.Dropped)
	b.reflect(day(3), nil, cluster(lifecycle.Preference, "P!", x, z))
	require.Len(t, b.traits, 4)
	require.Equal(t, "CCA", b.qualities(parent.ID, traits.Supporting), "another context shows the same")
	require.InDelta(t, 1-0.4*0.75, b.trait(parent.ID).State.Confidence, 1e-12)
	require.Equal(t, "general", b.trait(parent.ID).Context)
	require.Equal(t, parent.ID, b.trait(z.ID).Parent)
}

// A dissolved preference is revived when another trait shows it, unless the person dissolved it.
func TestAParentComesBack(t *testing.T) {
	t.Parallel()
	for _, byPerson := range []bool{false, true} {
		b := newBook(t)
		x, y, z := b.behavior("x", 0.6, "work"), b.behavior("y", 0.6, "work"), b.behavior("z", 0.6, "work")
		b.reflect(day(3), nil, cluster(lifecycle.Preference, "p", x, y))
		parent := b.traits[3]
		b.happens(parent.ID, lifecycle.Event{Kind: lifecycle.Dissolution, At: day(3)})
		if byPerson {
			b.change(parent.ID, func(t *traits.Trait) { t.EditedAt, t.Rejected = day(3), true })
		}
		p := b.reflect(day(3), nil, cluster(lifecycle.Preference, "p", x, z))
		after := b.trait(parent.ID)
		if byPerson {
			require.Equal(t, []string{"the person dissolved it"}, reasons(p))
			require.Equal(t, lifecycle.Dissolved, after.State.Stage)
			continue
		}
		require.Empty(t, p.Dropped)
		require.Equal(t, 0.20, after.State.Confidence)
		require.Equal(t, parent.ID, b.trait(z.ID).Parent)
	}
}

// One cycle can create behaviors, their preference and a core trait above it.
func TestAChainInOneCycle(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	x, y, z, w := b.behavior("x", 0.7, ""), b.behavior("y", 0.7, ""), b.behavior("z", 0.8, ""), b.behavior("w", 0.8, "")
	b.reflect(day(3), nil, cluster(lifecycle.Preference, "first", x, y))
	first := b.traits[4]
	// The reasoner cannot know the id of a preference created in this cycle, so promotion to core
	// follows in the next cycle.
	b.reflect(day(3), nil, cluster(lifecycle.Preference, "second", z, w))
	second := b.traits[5]
	m := b.on(4)
	proposed := cluster(lifecycle.CoreTrait, "core", first, second)
	proposed.Reinforcements = []reasoner.Reinforcement{{Trait: x.ID, Evidence: from(m...)}}
	p := b.reflect(day(3), m, proposed)
	require.Empty(t, p.Dropped)
	core := b.traits[6]
	require.Equal(t, lifecycle.CoreTrait, core.State.Subtype)
	require.InDelta(t, (1-0.3*0.95+0.8)/2, core.State.Confidence, 1e-12,
		"the preference was reinforced by way of the behavior before")
	require.Equal(t, core.ID, b.trait(first.ID).Parent)
}

// Support for a trait also supports its ancestors by inference, once per cycle.
func TestInference(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	x, y, z, w := b.behavior("x", 0.7, "work"), b.behavior("y", 0.7, "work"), b.behavior("z", 0.8, "work"),
		b.behavior("w", 0.8, "work")
	b.reflect(day(3), nil, cluster(lifecycle.Preference, "first", x, y))
	b.reflect(day(3), nil, cluster(lifecycle.Preference, "second", z, w))
	first, second := b.traits[4], b.traits[5]
	b.reflect(day(3), nil, cluster(lifecycle.CoreTrait, "core", first, second))
	core := b.traits[6]

	m := []reasoner.Memory{b.memory("m", 10, "s1", "social"), b.memory("n", 11, "s2", "social"),
		b.memory("o", 12, "s2", "social")}
	proposed := reinforce(x.ID, from(m[:2]...)...)
	proposed.Reinforcements = append(proposed.Reinforcements, reinforce(y.ID, from(m[1:]...)...).Reinforcements...)
	b.reflect(day(3), m, proposed)
	require.Equal(t, "CCDDD", b.qualities(first.ID, traits.Supporting), "inferred, whatever the context")
	require.InDelta(t, 1-0.3*0.95*0.95, b.trait(first.ID).State.Confidence, 1e-12, "each session once")
	require.Equal(t, 1, b.trait(first.ID).State.Reinforcements)
	require.Equal(t, "CCDDD", b.qualities(core.ID, traits.Supporting))
	require.Equal(t, 1, b.trait(core.ID).State.Reinforcements)
	require.Equal(t, 2, b.count(second.ID, traits.Supporting))
	require.Equal(t, "by way of: x", *b.events[first.ID][len(b.events[first.ID])-1].Reason)

	// The same memory does not count again through the other child.
	p := b.reflect(day(3), m, reinforce(y.ID, from(m[0])...))
	require.Len(t, p.order, 1)
	// Direct support for the preference counts more.
	n := []reasoner.Memory{b.memory("direct", 13, "s3", "")}
	both := reinforce(x.ID, from(n...)...)
	both.Reinforcements = append(both.Reinforcements, reinforce(first.ID, from(n...)...).Reinforcements...)
	b.reflect(day(3), n, both)
	require.Equal(t, "CCDDDC", b.qualities(first.ID, traits.Supporting))
	// A contradiction of a behavior does not contradict its preference.
	k := b.on(20)
	b.reflect(day(3), k, contradict(x.ID, k...))
	require.Zero(t, b.count(first.ID, traits.Contradicting))
}
