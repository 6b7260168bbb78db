package reflection

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/traits"
)

// Case returns what a review of a trait is shown, without the evidence.
func (s *Snapshot) Case(t traits.Trait) *reasoner.Case {
	return &reasoner.Case{Now: s.Now.In(s.Person.Zone), ZoneKnown: s.Person.ZoneKnown, Language: s.Person.Language,
		Trait: s.shown(t)}
}

// Settled returns the verdict on a case that needs no reasoner. ok is false if it needs one.
func Settled(c *reasoner.Case) (v reasoner.Verdict, ok bool) {
	v.Action = reasoner.Keep
	if c.Trait.Stage == lifecycle.Dissolved || c.Trait.Edited || c.Trait.Content == "" {
		return v, true
	}
	if len(c.Contradicting) == 0 {
		v.Reason = "what contradicted it is gone"
		return v, true
	}
	return v, false
}

// ReviewWeight returns how many supporting memories must be counted for a review of a trait.
func (s *Snapshot) ReviewWeight(t traits.Trait) int {
	return enough(s.Policies, t.State.Contradictions)
}

// Conclude applies a verdict on a trait of the snapshot. seen describes its evidence.
func (s *Snapshot) Conclude(v reasoner.Verdict, c *reasoner.Case, seen map[uuid.UUID]*traits.EvidenceSeen) *Plan {
	p := NewPlan(s)
	p.Know(seen)
	t := p.byID[c.Trait.ID]
	t.ReviewDueAt = time.Time{}
	p.verdict(t, v, c)
	p.tally()
	return p
}

// verdict applies the verdict of a review. Confidences follow from the evidence: a revised trait
// keeps the share of its confidence that its supporting evidence has in all its evidence. Each
// tendency of a split trait gets the share of its context, computed from the latest memories.
func (p *Plan) verdict(t *change, v reasoner.Verdict, c *reasoner.Case) {
	if c.Trait.Stage == lifecycle.Dissolved || c.Trait.Edited {
		p.event(t, lifecycle.Event{Kind: lifecycle.Revised, At: p.Now}, 0, "nothing is left to review", nil)
		return
	}
	now := t.State.Confidence
	reason := Reason(v.Reason)
	keep := func(why string) {
		p.event(t, lifecycle.Event{Kind: lifecycle.Revised, At: p.Now}, 0, why, map[string]any{"action": reasoner.Keep})
	}
	switch v.Action {
	case reasoner.Dissolve:
		p.event(t, lifecycle.Event{Kind: lifecycle.Dissolution, At: p.Now}, 0, reason, nil)
	case reasoner.Revise:
		content, err := wording(v.Content)
		if err != nil {
			p.drop(v, "%s", err)
			keep("its new wording was refused: " + err.Error())
			return
		}
		t.Reworded, t.Reason = content, reason
		share := lifecycle.Reviewed(now, t.supporting, t.State.Contradictions)
		p.event(t, lifecycle.Event{Kind: lifecycle.Revised, At: p.Now, Sets: share}, 0, reason,
			map[string]any{"action": v.Action})
	case reasoner.Split:
		content, tendencies, err := tendencies(v, c, now)
		if err != nil {
			p.drop(v, "%s", err)
			keep("its tendencies were refused: " + err.Error())
			return
		}
		t.Reworded, t.Reason, t.Context = content, reason, "contextual"
		t.Tendencies, _ = json.Marshal(tendencies) // numbers and text can always be encoded
		var sum float64
		for _, context := range slices.Sorted(maps.Keys(tendencies)) { // fixed order: the sum is equal to the last bit
			sum += tendencies[context].Confidence
		}
		e := lifecycle.Event{Kind: lifecycle.Split, At: p.Now, Sets: sum / float64(len(tendencies))}
		p.event(t, e, 0, reason, map[string]any{"contexts": tendencies})
	case reasoner.Keep:
		keep(reason)
	default:
		p.drop(v, "unknown action %q", v.Action)
		keep("the verdict is invalid")
	}
	p.follow(t)
}

// tendency is what a split trait means in one context.
type tendency struct {
	Tendency   string  `json:"tendency"`
	Confidence float64 `json:"confidence"`
}

// tendencies validates a split and gives each context its share of the confidence: the share of
// supporting or of contradicting evidence in the context, whichever is larger.
func tendencies(v reasoner.Verdict, c *reasoner.Case, now float64) (string, map[string]tendency, error) {
	content, err := wording(v.Content)
	if err != nil {
		return "", nil, err
	}
	found := map[string]tendency{}
	for context, says := range v.Tendencies {
		if reasoner.KnownContext(context) == "" {
			return "", nil, fmt.Errorf("unknown context %q", context)
		}
		says, err := wording(says)
		if err != nil {
			return "", nil, err
		}
		found[context] = tendency{says, shareIn(context, c, now)}
	}
	if len(found) < 2 {
		return "", nil, errors.New("a split needs at least two contexts")
	}
	return content, found, nil
}

func shareIn(context string, c *reasoner.Case, now float64) float64 {
	count := func(evidence []reasoner.Evidence) (n int) {
		for _, e := range evidence {
			if e.Context == context {
				n++
			}
		}
		return n
	}
	in, against := count(c.Supporting), count(c.Contradicting)
	if in+against == 0 {
		return now / 2 // no evidence in this context
	}
	return now * float64(max(in, against)) / float64(in+against)
}
