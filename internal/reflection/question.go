package reflection

import (
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/sensitive"
	"github.com/oxbow-memory/oxbow/internal/traits"
)

// Add adds traits that the snapshot does not contain yet.
func (s *Snapshot) Add(traits []traits.Trait) {
	there := make(map[uuid.UUID]bool, len(s.Traits))
	for _, t := range s.Traits {
		there[t.ID] = true
	}
	for _, t := range traits {
		if !there[t.ID] {
			there[t.ID] = true
			s.Traits = append(s.Traits, t)
		}
	}
}

// Watched reports whether a trait is not visible yet: a trend, a trend whose window has ended, or
// a candidate.
func (s *Snapshot) Watched(t traits.Trait) bool {
	stage := s.Policies.StageAt(t.State, s.Now)
	return stage == lifecycle.Trend || stage == lifecycle.Candidate ||
		stage == lifecycle.Dissolved && t.State.Confidence == 0
}

// Question returns what the reasoner is shown.
func (s *Snapshot) Question() reasoner.Batch {
	b := reasoner.Batch{Now: s.Now.In(s.Person.Zone), ZoneKnown: s.Person.ZoneKnown, Language: s.Person.Language,
		Memories: s.Memories, Found: s.Found, Visible: s.Held.Visible,
		Policies: s.Policies}
	for _, t := range s.Traits {
		b.Traits = append(b.Traits, s.shown(t))
	}
	clues := map[string]*reasoner.Clue{}
	clue := func(key, content string) *reasoner.Clue {
		if clues[key] == nil {
			clues[key] = &reasoner.Clue{Key: key}
		}
		clues[key].Content = content // the latest wording wins
		return clues[key]
	}
	for _, t := range s.Traits {
		if seen := s.Seen[t.ID]; len(seen) > 0 {
			clue(t.Key, t.Content).Seen = seen
		}
	}
	for _, c := range s.Clues {
		noted := clue(c.Key, c.Content)
		seen := reasoner.Sighting{Memory: c.Memory, Time: c.ObservedAt.In(s.Person.Zone), Session: c.Session,
			Context: c.Context}
		if c.Against {
			noted.Against, noted.SkippedAgainst = append(noted.Against, seen), noted.SkippedAgainst+c.Skipped
		} else {
			noted.Seen, noted.Skipped = append(noted.Seen, seen), noted.Skipped+c.Skipped
		}
	}
	for _, key := range slices.Sorted(maps.Keys(clues)) {
		c := clues[key]
		slices.SortStableFunc(c.Seen, func(a, b reasoner.Sighting) int { return a.Time.Compare(b.Time) })
		b.Clues = append(b.Clues, *c)
	}
	return b
}

func (s *Snapshot) shown(t traits.Trait) reasoner.Trait {
	shown := reasoner.Trait{ID: t.ID, Key: t.Key, Content: t.Content, Subtype: t.State.Subtype,
		Stage: s.Policies.StageAt(t.State, s.Now), Context: t.Context, Parent: t.Parent, Edited: !t.EditedAt.IsZero()}
	if shown.Stage == lifecycle.Dissolved {
		shown.Edited = t.Rejected
	}
	if _, hit := sensitive.Category(t.Content); hit {
		shown.Content = "" // a person wrote sensitive content; it is not shown to the reasoner
	}
	if shown.Stage != lifecycle.Trend {
		shown.Confidence = t.State.Confidence
	}
	return shown
}
