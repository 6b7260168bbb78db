package reflection

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/traits"
)

// life simulates a user with a reasoner that makes random proposals.
type life struct {
	*rand.Rand
	b    *book
	now  time.Time
	past []reasoner.Memory
	n    int
}

var contexts = []string{"", "", "general", "work", "social", "personal", "learning"}

func pick[T any](l *life, from []T) T { return from[l.IntN(len(from))] }

// batch returns new memories from a few sessions.
func (l *life) batch() []reasoner.Memory {
	memories := make([]reasoner.Memory, l.IntN(8))
	for i := range memories {
		l.n++
		m := l.b.memory(fmt.Sprintf("memory %d", l.n), 1, fmt.Sprintf("session %d", l.n/3+l.IntN(2)), pick(l, contexts))
		m.Time = l.now.Add(-time.Duration(l.IntN(20*24)) * time.Hour)
		memories[i] = m
	}
	slices.SortFunc(memories, func(x, y reasoner.Memory) int {
		return cmp.Or(x.Time.Compare(y.Time), cmp.Compare(x.Content, y.Content))
	})
	return memories
}

// evidence returns memories from the batch, earlier ones and unknown ones.
func (l *life) evidence(batch []reasoner.Memory) []reasoner.Support {
	var all []reasoner.Support
	for _, m := range batch {
		if l.IntN(2) == 0 {
			all = append(all, reasoner.Support{Memory: m.ID, Stated: l.IntN(5) == 0, Context: pick(l, contexts)})
		}
	}
	if len(l.past) > 0 && l.IntN(3) == 0 {
		all = append(all, reasoner.Support{Memory: pick(l, l.past).ID})
	}
	if l.IntN(20) == 0 {
		all = append(all, reasoner.Support{Memory: uuid.New()})
	}
	return all
}

// trait returns the id of one of the user's traits, or an unknown id.
func (l *life) trait() uuid.UUID {
	if len(l.b.traits) == 0 || l.IntN(30) == 0 {
		return uuid.New()
	}
	return pick(l, l.b.traits).ID
}

func (l *life) proposals(batch []reasoner.Memory) (p reasoner.Proposals) {
	for range l.IntN(4) {
		n := l.IntN(12)
		p.Patterns = append(p.Patterns, reasoner.Pattern{Key: fmt.Sprintf("key %d", n),
			Content: fmt.Sprintf("Pattern %d.", n), Context: pick(l, contexts),
			Emotional: n%5 == 0, Tentative: n%7 == 0 && l.IntN(2) == 0, Evidence: l.evidence(batch)})
	}
	for range l.IntN(4) {
		p.Reinforcements = append(p.Reinforcements, reasoner.Reinforcement{Trait: l.trait(),
			Evidence: l.evidence(batch)})
	}
	for range l.IntN(2) {
		p.Contradictions = append(p.Contradictions, reasoner.Contradiction{Trait: l.trait(),
			Evidence: l.evidence(batch)})
	}
	for range l.IntN(3) {
		n := l.IntN(3)
		k := reasoner.Cluster{Key: fmt.Sprintf("group %d", n), Subtype: lifecycle.Preference,
			Content: fmt.Sprintf("Group %d.", n)}
		if l.IntN(3) == 0 {
			k = reasoner.Cluster{Key: "core", Subtype: lifecycle.CoreTrait, Content: "Core."}
		}
		for range l.IntN(5) {
			k.Members = append(k.Members, l.trait())
		}
		p.Clusters = append(p.Clusters, k)
	}
	return p
}

// live runs cycles some days apart and calls cycle for each. Sometimes the person edits or
// dissolves a trait.
func (l *life) live(cycles int, cycle func(batch []reasoner.Memory, p reasoner.Proposals)) {
	for range cycles {
		l.now = l.now.Add(time.Duration(l.IntN(15*24)-24) * time.Hour) // the clock may go back
		batch := l.batch()
		cycle(batch, l.proposals(batch))
		l.past = append(l.past, batch...)
		if len(l.b.traits) > 0 && l.IntN(10) == 0 {
			id := pick(l, l.b.traits).ID
			e := lifecycle.Event{Kind: lifecycle.Edited, At: l.now, Sets: 0.9}
			if l.IntN(2) == 0 {
				e = lifecycle.Event{Kind: lifecycle.Dissolution, At: l.now}
			}
			l.b.happens(id, e)
			l.b.change(id, func(t *traits.Trait) {
				t.EditedAt, t.ReviewDueAt, t.Rejected = l.now, time.Time{}, e.Kind == lifecycle.Dissolution
			})
		}
	}
}

// Whatever a reasoner proposes, events yield the states and nothing counts twice (book.write
// checks both), no pattern makes two traits, and decisions of the person stay.
func TestPlansKeepTheRules(t *testing.T) {
	t.Parallel()
	made := map[lifecycle.Subtype]int{}
	kinds := map[lifecycle.Kind]int{}
	for seed := range uint64(60) {
		b := newBook(t)
		l := &life{Rand: rand.New(rand.NewPCG(seed, 1)), b: b, now: day(1)}
		l.live(60, func(batch []reasoner.Memory, proposals reasoner.Proposals) {
			before := map[uuid.UUID]traits.Trait{}
			for _, h := range b.traits {
				before[h.ID] = h
			}
			b.reflect(l.now, batch, proposals)
			keys := map[string]bool{}
			for _, after := range b.traits {
				was := before[after.ID]
				require.False(t, keys[after.Key], "one trait a key")
				keys[after.Key] = true
				require.LessOrEqual(t, after.State.Reinforcements-was.State.Reinforcements, 1, "once a cycle")
				require.False(t, after.State.At.Before(was.State.At), "nothing becomes younger")
				if !was.EditedAt.IsZero() {
					require.Zero(t, after.ReviewDueAt)
					if was.Rejected {
						require.Equal(t, was.State, after.State, "the person dissolved it")
					}
				}
				if after.Parent != uuid.Nil {
					above := map[lifecycle.Subtype]lifecycle.Subtype{lifecycle.Behavior: lifecycle.Preference,
						lifecycle.Preference: lifecycle.CoreTrait}
					require.Equal(t, above[after.State.Subtype], b.trait(after.Parent).State.Subtype)
				}
			}
		})
		for _, h := range b.traits {
			made[h.State.Subtype]++
			for _, k := range b.kinds(h.ID) {
				kinds[k]++
			}
		}
	}
	for _, k := range []lifecycle.Kind{lifecycle.Created, lifecycle.Reinforced, lifecycle.Contradicted,
		lifecycle.Promoted, lifecycle.Dissolution, lifecycle.Revived} {
		require.Positive(t, kinds[k], "%s was not tried", k)
	}
	for _, s := range []lifecycle.Subtype{lifecycle.Behavior, lifecycle.Preference, lifecycle.CoreTrait} {
		require.Positive(t, made[s], "%s was not tried", s)
	}
}

// outcome describes the effect of a plan without new ids and independent of order.
func outcome(p *Plan) map[string]string {
	told := map[string]string{}
	for _, c := range p.order {
		evidence := map[string]bool{}
		for _, e := range c.Evidence {
			if e.Type != "trait" {
				evidence[fmt.Sprint(e.Memory, e.Direction, e.Quality, e.Session, e.Stated)] = true
			}
		}
		contexts := slices.Sorted(slices.Values(c.Contexts))
		told[c.Key] = fmt.Sprint(c.State, c.Content, c.Context, contexts, c.FirstObserved, c.LastReinforced,
			slices.Sorted(maps.Keys(evidence)), len(c.Events))
	}
	for _, n := range p.clues {
		told[fmt.Sprint("clue ", n.Key, n.Memory)] = fmt.Sprint(n)
	}
	told["reviews"] = fmt.Sprint(p.Reviews, p.Created, p.Updated, p.Dissolved)
	return told
}

// The order of proposals about different traits, and of the evidence for one trait, does not
// matter. The order of clusters does: a trait becomes part of the first.
func TestOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		b := newBook(t)
		l := &life{Rand: rand.New(rand.NewPCG(seed, 2)), b: b, now: day(1)}
		l.live(40, func(batch []reasoner.Memory, proposals reasoner.Proposals) {
			for i := range proposals.Patterns { // the first context of a pattern is used
				proposals.Patterns[i].Context = ""
			}
			decide := func(x reasoner.Proposals) map[string]string {
				p := NewPlan(b.snapshot(l.now, batch))
				p.Know(b.seen(p.Claims(x)))
				p.Decide(x)
				return outcome(p)
			}
			want := decide(proposals)
			for range 3 {
				x := proposals
				x.Patterns, x.Reinforcements, x.Contradictions = slices.Clone(x.Patterns),
					slices.Clone(x.Reinforcements), slices.Clone(x.Contradictions)
				for i := range x.Patterns {
					x.Patterns[i].Evidence = l.shuffled(x.Patterns[i].Evidence)
				}
				for i := range x.Reinforcements {
					x.Reinforcements[i].Evidence = l.shuffled(x.Reinforcements[i].Evidence)
				}
				l.Shuffle(len(x.Patterns), func(i, j int) {
					x.Patterns[i], x.Patterns[j] = x.Patterns[j], x.Patterns[i]
				})
				l.Shuffle(len(x.Reinforcements), func(i, j int) {
					x.Reinforcements[i], x.Reinforcements[j] = x.Reinforcements[j], x.Reinforcements[i]
				})
				l.Shuffle(len(x.Contradictions), func(i, j int) {
					x.Contradictions[i], x.Contradictions[j] = x.Contradictions[j], x.Contradictions[i]
				})
				require.Equal(t, want, decide(x))
			}
			b.reflect(l.now, batch, proposals)
		})
	}
}

func (l *life) shuffled(evidence []reasoner.Support) []reasoner.Support {
	evidence = slices.Clone(evidence)
	l.Shuffle(len(evidence), func(i, j int) { evidence[i], evidence[j] = evidence[j], evidence[i] })
	return evidence
}
