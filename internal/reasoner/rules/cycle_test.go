package rules

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// life is a user in memory: the cycle of reflection on a reasoner, without database, jobs or embeddings.
type life struct {
	t      testing.TB
	r      reasoner.Reasoner
	now    time.Time
	clues  map[string]*reasoner.Clue
	traits []*lived
	size   int  // of a batch
	zone   bool // the user's time zone is known
}

// lived is a trait with its state and evidence.
type lived struct {
	reasoner.Trait
	state         lifecycle.State
	seen          lifecycle.Seen
	memories      map[uuid.UUID]bool
	supporting    []reasoner.Evidence
	contradicting []reasoner.Evidence
}

func newLife(t testing.TB, now time.Time) *life {
	return &life{t: t, r: New(), now: now, clues: map[string]*reasoner.Clue{}, size: 200, zone: true}
}

// reflect works memories in batches, the earliest first.
func (l *life) reflect(memories []reasoner.Memory) {
	memories = slices.Clone(memories)
	slices.SortStableFunc(memories, func(a, b reasoner.Memory) int { return a.Time.Compare(b.Time) })
	for batch := range slices.Chunk(memories, l.size) {
		l.batch(batch)
	}
}

func (l *life) batch(memories []reasoner.Memory) {
	b := reasoner.Batch{Policies: traittest.Policies.Policies, Now: l.now, ZoneKnown: l.zone, Memories: memories}
	var keys []string
	keys, b.Found = l.r.Keys(memories)
	for _, k := range keys {
		if c := l.clues[k]; c != nil {
			shown := *c
			shown.Seen, shown.Skipped = kept(c.Seen)
			shown.Against, shown.SkippedAgainst = kept(c.Against)
			b.Clues = append(b.Clues, shown)
		}
	}
	for _, t := range l.traits {
		if stage := traittest.Policies.StageAt(t.state, l.now); stage == lifecycle.Trend ||
			stage == lifecycle.Candidate {
			shown := reasoner.Clue{Key: t.Key}
			for _, e := range t.supporting {
				shown.Seen = append(shown.Seen, reasoner.Sighting{Memory: e.ID, Time: e.Time, Session: e.Session,
					Context: e.Context})
			}
			b.Clues = append(b.Clues, shown)
		}
		t.Confidence, t.Stage = traittest.Policies.ConfidenceAt(t.state, l.now),
			traittest.Policies.StageAt(t.state, l.now)
		if t.Stage.Visible() {
			b.Visible++
		}
		if t.Stage != lifecycle.Dissolved || slices.Contains(keys, t.Key) {
			b.Traits = append(b.Traits, t.Trait)
		}
	}
	slices.SortStableFunc(b.Traits, func(a, b reasoner.Trait) int { return cmp.Compare(b.Confidence, a.Confidence) })
	p, err := l.r.Reflect(context.Background(), b)
	require.NoError(l.t, err)
	l.apply(b, p)
}

// kept are the sightings of a clue that the database keeps: the first 8 and the latest 16.
func kept(seen []reasoner.Sighting) (shown []reasoner.Sighting, skipped int) {
	n := len(seen)
	if n <= 24 {
		return seen, 0
	}
	return slices.Concat(seen[:8], seen[n-16:]), n - 24
}

func (l *life) apply(b reasoner.Batch, p reasoner.Proposals) {
	byID := map[uuid.UUID]reasoner.Memory{}
	for _, m := range b.Memories {
		byID[m.ID] = m
	}
	for _, n := range p.Patterns {
		c := l.clue(n.Key)
		c.Content = n.Content // the latest wording
		for _, e := range n.Evidence {
			m, ok := byID[e.Memory]
			require.True(l.t, ok, "evidence that was not shown")
			c.Seen = append(c.Seen, reasoner.Sighting{Memory: m.ID, Time: m.Time, Session: m.Session,
				Context: e.Context})
		}
		sessions := map[string]bool{}
		for _, s := range c.Seen {
			sessions[s.Session] = true
		}
		if old := l.find(n.Key); !n.Tentative && old != nil &&
			traittest.Policies.StageAt(old.state, l.now) != lifecycle.Dissolved {
			p.Reinforcements = append(p.Reinforcements, reasoner.Reinforcement{Trait: old.ID, Evidence: n.Evidence})
			delete(l.clues, n.Key)
			continue
		}
		if n.Tentative || len(sessions) < 2 {
			continue
		}
		e, ok := traittest.Policies.NewPattern(l.now, len(c.Seen), len(sessions),
			c.Seen[len(c.Seen)-1].Time.Sub(c.Seen[0].Time), n.Emotional)
		if !ok {
			continue
		}
		if old := l.find(n.Key); old != nil {
			old.state = traittest.Policies.Apply(old.state, traittest.Policies.Revive(l.now))
			delete(l.clues, n.Key)
			continue
		}
		t := &lived{Trait: reasoner.Trait{ID: uuid.NewSHA1(uuid.NameSpaceOID, []byte(n.Key)), Key: n.Key,
			Content: n.Content, Subtype: lifecycle.Behavior, Context: n.Context}, memories: map[uuid.UUID]bool{}}
		t.state = traittest.Policies.Apply(t.state, e)
		for _, s := range c.Seen {
			t.seen.Add(s.Session, s.Context)
			t.memories[s.Memory] = true
			t.supporting = append(t.supporting, reasoner.Evidence{Memory: reasoner.Memory{ID: s.Memory, Time: s.Time,
				Session: s.Session, Context: s.Context}})
		}
		l.traits = append(l.traits, t)
		delete(l.clues, n.Key)
	}
	for _, n := range p.Reinforcements {
		t := l.byID(n.Trait)
		best := map[string]lifecycle.Quality{}
		for _, e := range n.Evidence {
			m := byID[e.Memory]
			if t.memories[m.ID] {
				continue
			}
			t.memories[m.ID] = true
			q := t.seen.Grade(m.Session, e.Context, e.Stated, false)
			if old, ok := best[m.Session]; !ok || traittest.Policies.Factor(q) > traittest.Policies.Factor(old) {
				best[m.Session] = q
			}
			t.seen.Add(m.Session, e.Context)
			m.Context = e.Context
			t.supporting = append(t.supporting, reasoner.Evidence{Memory: m, Quality: q})
		}
		if len(best) > 0 {
			t.state = traittest.Policies.Apply(t.state, lifecycle.Event{Kind: lifecycle.Reinforced, At: l.now,
				Factor: traittest.Policies.Reinforcement(best)})
			if e, ok := traittest.Policies.Follow(t.state, l.now); ok {
				t.state = traittest.Policies.Apply(t.state, e)
			}
		}
	}
	for _, n := range p.Contradictions {
		t := l.find(n.Key)
		if n.Key == "" {
			t = l.byID(n.Trait)
		} else if t == nil {
			c := l.clue(n.Key)
			for _, e := range n.Evidence {
				m := byID[e.Memory]
				c.Against = append(c.Against, reasoner.Sighting{Memory: m.ID, Time: m.Time, Session: m.Session,
					Context: e.Context})
			}
			continue
		}
		for _, e := range n.Evidence {
			m := byID[e.Memory]
			m.Context = e.Context
			t.contradicting = append(t.contradicting, reasoner.Evidence{Memory: m})
		}
		t.state = traittest.Policies.Apply(t.state, lifecycle.Event{Kind: lifecycle.Contradicted, At: l.now,
			Factor: traittest.Policies.Contradiction(len(n.Evidence)), Count: len(n.Evidence)})
		if traittest.Policies.ReviewDue(len(t.supporting), len(t.contradicting), len(n.Evidence)) {
			l.review(t)
		}
	}
	for _, n := range p.Clusters {
		var members []lifecycle.Member
		for _, id := range n.Members {
			t := l.byID(id)
			members = append(members, lifecycle.Member{Subtype: t.Subtype, Stage: t.state.Stage,
				Confidence: traittest.Policies.ConfidenceAt(t.state, l.now), Context: t.Context})
		}
		e, ctx, ok := traittest.Policies.Promote(l.now, n.Subtype, members)
		if !ok || l.find(n.Key) != nil {
			continue
		}
		t := &lived{Trait: reasoner.Trait{ID: uuid.NewSHA1(uuid.NameSpaceOID, []byte(n.Key)), Key: n.Key,
			Content: n.Content, Subtype: n.Subtype, Context: ctx}, memories: map[uuid.UUID]bool{}}
		t.state = traittest.Policies.Apply(t.state, e)
		l.traits = append(l.traits, t)
		for _, id := range n.Members {
			l.byID(id).Parent = t.ID
		}
	}
}

func (l *life) review(t *lived) {
	v, err := l.r.Review(context.Background(), reasoner.Case{Now: l.now, Trait: t.Trait, Supporting: t.supporting,
		Contradicting: t.contradicting})
	require.NoError(l.t, err)
	switch v.Action {
	case reasoner.Dissolve:
		t.state = traittest.Policies.Apply(t.state, lifecycle.Event{Kind: lifecycle.Dissolution, At: l.now})
	case reasoner.Revise, reasoner.Split:
		t.Content = v.Content
	}
}

func (l *life) clue(key string) *reasoner.Clue {
	if l.clues[key] == nil {
		l.clues[key] = &reasoner.Clue{Key: key}
	}
	return l.clues[key]
}

func (l *life) find(key string) *lived {
	for _, t := range l.traits {
		if t.Key == key {
			return t
		}
	}
	return nil
}

func (l *life) byID(id uuid.UUID) *lived {
	for _, t := range l.traits {
		if t.ID == id {
			return t
		}
	}
	require.FailNow(l.t, "a trait that was not shown", "%s", id)
	return nil
}

// visible are the sentences of the visible traits, the surest first.
func (l *life) visible() []string {
	shown := slices.DeleteFunc(slices.Clone(l.traits), func(t *lived) bool {
		return !traittest.Policies.StageAt(t.state, l.now).Visible()
	})
	slices.SortStableFunc(shown, func(a, b *lived) int { return cmp.Compare(b.state.Confidence, a.state.Confidence) })
	all := make([]string, len(shown))
	for i, t := range shown {
		all[i] = t.Content
	}
	return all
}

// days makes memories of texts, one a day from a Monday at nine on, each a session of its own.
func days(texts ...string) []reasoner.Memory {
	all := make([]reasoner.Memory, len(texts))
	for i, text := range texts {
		at := time.Date(2025, 3, 3, 9, 0, 0, 0, time.UTC).AddDate(0, 0, i)
		all[i] = reasoner.Memory{ID: uuid.NewSHA1(uuid.NameSpaceURL, fmt.Append(nil, i, text)), Type: "episodic",
			Content: text, Time: at, Session: at.Format(time.DateOnly)}
	}
	return all
}

// keysOf returns the keys of the patterns in memories.
func keysOf(memories []reasoner.Memory) []string {
	keys, _ := New().Keys(memories)
	return keys
}
