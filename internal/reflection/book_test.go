package reflection

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/traits"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// book stores a user's traits in memory and answers claims like the database.
type book struct {
	*testing.T
	traits   []traits.Trait // in order of creation
	evidence map[uuid.UUID][]traits.Evidence
	events   map[uuid.UUID][]traits.Event
	clues    []traits.NotedClue
	refused  map[string]bool
	named    map[string]uuid.UUID // memories of the test
}

func newBook(t *testing.T) *book {
	return &book{T: t, evidence: map[uuid.UUID][]traits.Evidence{}, events: map[uuid.UUID][]traits.Event{},
		named: map[string]uuid.UUID{}}
}

// day returns noon of January n, 2026. n may exceed 31.
func day(n int) time.Time { return time.Date(2026, 1, n, 12, 0, 0, 0, time.UTC) }

// memory returns an episode of a day. By default each day is a session.
func (b *book) memory(name string, n int, session, context string) reasoner.Memory {
	id := uuid.NewSHA1(uuid.Nil, []byte(name))
	b.named[name] = id
	at := day(n)
	return reasoner.Memory{ID: id, Type: "episodic", Content: name, Time: at, Context: context,
		Session: cmp.Or(session, "day "+at.Format(time.DateOnly))}
}

// on returns memories of the given days, each in a session of its own.
func (b *book) on(days ...int) []reasoner.Memory {
	memories := make([]reasoner.Memory, len(days))
	for i, n := range days {
		memories[i] = b.memory(fmt.Sprintf("memory of day %d", n), n, "", "")
	}
	return memories
}

func from(memories ...reasoner.Memory) []reasoner.Support {
	var all []reasoner.Support
	for _, m := range memories {
		all = append(all, reasoner.Support{Memory: m.ID})
	}
	return all
}

// snapshot returns what a reflection loads.
func (b *book) snapshot(now time.Time, memories []reasoner.Memory) *Snapshot {
	s := &Snapshot{User: "ann", Person: reasoner.Person{Zone: time.UTC, Timezone: "UTC"}, Now: now, Cycle: uuid.New(),
		Memories: memories, Refused: b.refused, Policies: traittest.Policies.Policies}
	for _, m := range memories {
		s.Batch = append(s.Batch, traits.Unreflected{ID: m.ID, Type: m.Type})
	}
	s.Traits = slices.Clone(b.traits)
	for i := range s.Traits { // as store.DecayTraits does
		if t := &s.Traits[i].State; t.Confidence > 0 && t.At.Before(now) {
			t.Confidence, t.At = traittest.Policies.ConfidenceAt(*t, now), now
		}
	}
	for _, t := range b.traits {
		switch {
		case t.State.Stage == lifecycle.Trend:
			s.Held.Trends++
		case t.State.Stage == lifecycle.Candidate:
			s.Held.Candidates++
		case t.State.Stage.Visible():
			s.Held.Visible++
		}
	}
	slices.SortStableFunc(s.Traits, func(x, y traits.Trait) int {
		dissolved := func(t traits.Trait) int {
			if t.State.Stage == lifecycle.Dissolved {
				return 1
			}
			return 0
		}
		return cmp.Compare(dissolved(x), dissolved(y))
	})
	s.Clues = slices.Clone(b.clues)
	slices.SortStableFunc(s.Clues, func(x, y traits.NotedClue) int { return cmp.Compare(x.Key, y.Key) })
	return s
}

// seen answers claims.
func (b *book) seen(claims []traits.Claim, weighed map[uuid.UUID]int) map[uuid.UUID]*traits.EvidenceSeen {
	seen := map[uuid.UUID]*traits.EvidenceSeen{}
	of := func(id uuid.UUID) *traits.EvidenceSeen {
		if seen[id] == nil {
			seen[id] = &traits.EvidenceSeen{Counted: map[traits.EvidenceKey]bool{}}
		}
		return seen[id]
	}
	for _, c := range claims {
		for _, e := range b.evidence[c.Trait] {
			if e.Memory == c.Memory && e.Direction == c.Direction {
				of(c.Trait).Counted[traits.EvidenceKey{Memory: e.Memory, Direction: e.Direction}] = true
			}
			if e.Session == c.Session && e.Direction == traits.Supporting &&
				!slices.Contains(of(c.Trait).Sessions, e.Session) {
				of(c.Trait).Sessions = append(of(c.Trait).Sessions, e.Session)
			}
		}
	}
	for id, most := range weighed {
		of(id).Supporting = min(b.count(id, traits.Supporting), most)
	}
	return seen
}

func (b *book) count(trait uuid.UUID, direction string) (n int) {
	for _, e := range b.evidence[trait] {
		if e.Direction == direction {
			n++
		}
	}
	return n
}

// reflect runs a cycle and returns its plan.
func (b *book) reflect(now time.Time, memories []reasoner.Memory, proposals reasoner.Proposals) *Plan {
	b.Helper()
	p := NewPlan(b.snapshot(now, memories))
	p.Know(b.seen(p.Claims(proposals)))
	p.Decide(proposals)
	b.write(p)
	return p
}

// write stores and checks a plan's changes.
func (b *book) write(p *Plan) {
	b.Helper()
	changes := p.Changes()
	for _, c := range changes.Traits {
		i := slices.IndexFunc(b.traits, func(t traits.Trait) bool { return t.ID == c.ID })
		require.Equal(b, c.New, i < 0)
		if c.Reworded != "" {
			c.Content = c.Reworded
		}
		if c.Version++; c.New {
			b.traits = append(b.traits, c.Trait)
		} else {
			b.traits[i] = c.Trait
		}
		before := len(b.events[c.ID])
		for _, e := range c.Evidence {
			require.False(b, slices.ContainsFunc(b.evidence[c.ID],
				func(o traits.Evidence) bool { return o.Memory == e.Memory && o.Direction == e.Direction }),
				"a memory counts once per trait and direction")
			require.True(b, e.Nth >= 1 && e.Nth <= len(c.Events), "it counts in an event of this cycle")
			require.Contains(b, []string{"A", "B", "C", "D"}, string(e.Quality))
			b.evidence[c.ID] = append(b.evidence[c.ID], e)
		}
		for i, e := range c.Events {
			require.Equal(b, i+1, e.Nth)
			b.events[c.ID] = append(b.events[c.ID], e)
		}
		require.Greater(b, len(b.events[c.ID]), before, "what changes says why")
		b.replay(c.ID)
	}
	b.clues = slices.DeleteFunc(b.clues, func(c traits.NotedClue) bool {
		return slices.Contains(changes.Closed, c.Key)
	})
	for _, c := range changes.Clues {
		require.False(b, slices.ContainsFunc(b.clues, func(o traits.NotedClue) bool {
			return o.Key == c.Key && o.Memory == c.Memory
		}))
		b.clues = append(b.clues, c)
	}
}

// replay checks that the events of a trait yield its state.
func (b *book) replay(id uuid.UUID) {
	b.Helper()
	var s lifecycle.State
	for _, row := range b.events[id] {
		e := lifecycle.Event{Kind: row.Event, At: row.At, Count: row.Memories}
		for from, to := range map[*float64]*float64{row.Factor: &e.Factor, row.Sets: &e.Sets} {
			if from != nil {
				*to = *from
			}
		}
		if row.Subtype != nil {
			e.Subtype = lifecycle.Subtype(*row.Subtype)
		}
		if row.WindowEnd != nil {
			e.WindowEnd = *row.WindowEnd
		}
		s = traittest.Policies.Apply(s, e)
		require.Equal(b, s.Stage, row.Stage)
		if row.Confidence == nil {
			require.Zero(b, s.Confidence)
		} else {
			require.InDelta(b, s.Confidence, *row.Confidence, 1e-12)
			require.True(b, *row.Confidence > 0 && *row.Confidence < 1)
		}
	}
	require.Equal(b, s, b.trait(id).State)
}

func (b *book) trait(id uuid.UUID) traits.Trait {
	b.Helper()
	i := slices.IndexFunc(b.traits, func(t traits.Trait) bool { return t.ID == id })
	require.GreaterOrEqual(b, i, 0)
	return b.traits[i]
}

// only returns the only trait.
func (b *book) only() traits.Trait {
	b.Helper()
	require.Len(b, b.traits, 1)
	return b.traits[0]
}

// change modifies a trait as something other than reflection would.
func (b *book) change(id uuid.UUID, do func(*traits.Trait)) {
	for i := range b.traits {
		if b.traits[i].ID == id {
			do(&b.traits[i])
		}
	}
}

// happens applies an event to a trait.
func (b *book) happens(id uuid.UUID, e lifecycle.Event) {
	b.Helper()
	b.change(id, func(t *traits.Trait) {
		t.State = traittest.Policies.Apply(t.State, e)
		row := traits.Event{Trait: id, Event: e.Kind, At: e.At, Memories: e.Count, Stage: t.State.Stage}
		if e.Factor > 0 {
			row.Factor = &e.Factor
		}
		if e.Sets > 0 {
			row.Sets = &e.Sets
		}
		if c := t.State.Confidence; c > 0 {
			row.Confidence = &c
		}
		b.events[id] = append(b.events[id], row)
	})
	b.replay(id)
}

// qualities returns the qualities of a trait's evidence in order.
func (b *book) qualities(id uuid.UUID, direction string) (all string) {
	for _, e := range b.evidence[id] {
		if e.Direction == direction {
			all += string(e.Quality)
		}
	}
	return all
}

// kinds returns the kinds of a trait's events.
func (b *book) kinds(id uuid.UUID) (all []lifecycle.Kind) {
	for _, e := range b.events[id] {
		all = append(all, e.Event)
	}
	return all
}

func reasons(p *Plan) (all []string) {
	for _, d := range p.Dropped {
		all = append(all, d.Reason)
	}
	return all
}
