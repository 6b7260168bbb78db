// Package feedback decides what follows from signals about a memory or a skill (U §5, §6). It is pure: the job dispatch
// reads the signals and writes the decisions.
package feedback

import (
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Policies are the numbers of the rules, the policies feedback_….
type Policies struct {
	Confidence float64 `json:"confidence"` // minimum of a signal that counts
	Agreeing   float64 `json:"agreeing"`   // signals of one direction that adjust
	Certain    float64 `json:"certain"`    // confidence from which one signal adjusts
	Penalty    float64 `json:"penalty"`    // factor of the strength
	Reward     float64 `json:"reward"`
	Trait      float64 `json:"trait"` // share of the confidence that a trait loses
}

// Signal is one signal about a memory or a skill.
type Signal struct {
	ID         uuid.UUID
	Type       string  // negative, positive, neutral, mixed
	Confidence float64 // 0 to 1
	Share      float64 // of the signal that is about it, above 0, at most 1
	Kind       string
	At         time.Time
}

// Adjustment is the last one that is in force.
type Adjustment struct {
	ID            uuid.UUID
	Before, After float64
}

// Subject is a memory or a skill with the signals about it since its last adjustment, within the window, the earliest
// first.
type Subject struct {
	Trait      bool
	Signals    []Signal
	Adjustment *Adjustment // nil: none is in force
}

// Decision is what follows for a memory or a skill.
type Decision struct {
	Factor  float64   // of the strength, or of a trait's confidence; 0: nothing. A skill counts Score outcomes instead
	Undo    uuid.UUID // the adjustment to undo first; zero: none
	Cause   string    // in words, without the text of a memory
	Signals []uuid.UUID
	Score   float64 // the sum of the signals: their confidence, negative for negative ones
}

// Decide returns what follows from the signals about a memory or a skill. Signals below the minimum confidence and
// neutral ones do not count. Two signals that agree adjust the memory if their shares of it add up to the minimum
// confidence; so does one signal that is certain and about this memory alone. Signals against the last adjustment undo
// it, because it made things worse.
func Decide(s Subject, p *Policies) Decision {
	bad, good := s.of("negative", p), s.of("positive", p)
	switch {
	case p.convince(bad) && len(bad.ids) > len(good.ids):
		d := Decision{Signals: bad.ids, Score: -bad.sum, Cause: said(bad, "wrong", "against it")}
		if a := s.Adjustment; a != nil && a.After > a.Before {
			d.Undo = a.ID
			return d
		}
		if d.Factor = p.Penalty; s.Trait {
			d.Factor = 1 - p.Trait
		}
		return d
	case p.convince(good) && len(good.ids) > len(bad.ids):
		d := Decision{Signals: good.ids, Score: good.sum, Cause: said(good, "helpful", "for it")}
		if a := s.Adjustment; a != nil && a.After < a.Before {
			d.Undo = a.ID
			return d
		}
		if s.Trait {
			return Decision{} // evidence and use raise a trait's confidence, praise does not
		}
		d.Factor = p.Reward
		return d
	}
	return Decision{}
}

// side are the signals of one direction.
type side struct {
	ids     []uuid.UUID
	sum     float64 // of confidence times share
	certain float64 // the largest
}

func (s Subject) of(kind string, p *Policies) (a side) {
	for _, g := range s.Signals {
		if g.Type == kind && g.Confidence >= p.Confidence {
			a.ids = append(a.ids, g.ID)
			a.sum += g.Confidence * g.Share
			a.certain = max(a.certain, g.Confidence*g.Share)
		}
	}
	return a
}

func (p *Policies) convince(a side) bool {
	return float64(len(a.ids)) >= p.Agreeing && a.sum >= p.Confidence || a.certain >= p.Certain
}

func said(a side, one, many string) string {
	if len(a.ids) == 1 {
		return "a person said that it was " + one
	}
	return fmt.Sprintf("%d signals %s", len(a.ids), many)
}
