package lifecycle

import (
	"math"
	"time"
)

// Kind is what happened to a trait.
type Kind string

// The events.
const (
	Created      Kind = "created"
	Reinforced   Kind = "reinforced"   // memories speak for it
	Contradicted Kind = "contradicted" // memories speak against it
	// a trend became a candidate (Sets), or the trait became part of a more abstract one
	Promoted    Kind = "promoted"
	Revised     Kind = "revised" // a review worded it differently, or kept it
	Split       Kind = "split"   // a review found that it depends on the context
	Edited      Kind = "edited"  // a person corrected it
	Decayed     Kind = "decayed" // time carried it over a boundary of stages
	Dissolution Kind = "dissolved"
	Revived     Kind = "revived" // new evidence for a dissolved one
	Used        Kind = "used"    // a reply really used it
)

// Event is what happened to a trait at a moment. The events of a trait, in their order, give its state: Replay.
type Event struct {
	Kind Kind
	At   time.Time
	// Factor is the share of the remaining doubt that Reinforced and Used remove, or the share of confidence that
	// Contradicted takes: in [0,1). What is no number, or below 0, counts as 0.
	Factor float64
	// Sets is the confidence that Created, Promoted, Revised, Split, Edited and Revived set
	// outright, in (0,1); 0: none.
	Sets float64
	// Count is how many memories contradicted.
	Count int
	// Subtype is what Created makes.
	Subtype Subtype
	// WindowEnd is until when a trend that was Created without Sets is watched; zero: without end.
	WindowEnd time.Time
}

// State is where a trait stands.
type State struct {
	Subtype        Subtype
	Stage          Stage
	Confidence     float64   // at At; 0 of a trend, which has none, also after it dissolved
	At             time.Time // when Confidence was set
	Reinforcements int       // how many cycles reinforced it
	Contradictions int       // how many memories contradicted it
	WindowEnd      time.Time // of a trend; else zero
}

// ConfidenceAt is the confidence decayed to a moment. Before At it is that of At: nothing has a negative age.
func (p *Policies) ConfidenceAt(s State, now time.Time) float64 {
	return p.decay(s.Confidence, s.Subtype, s.Reinforcements, secondsBetween(s.At, now))
}

// StageAt is the stage at a moment, time alone considered.
func (p *Policies) StageAt(s State, now time.Time) Stage {
	switch s.Stage {
	case Dissolved, "":
		return s.Stage
	case Trend:
		if s.WindowEnd.IsZero() || now.Before(s.WindowEnd) {
			return Trend
		}
		return Dissolved
	}
	c := p.ConfidenceAt(s, now)
	if c < p.DissolveBelow {
		return Dissolved
	}
	return p.StageOf(c)
}

// Apply returns the state after an event. Every event first decays the confidence to its moment,
// then changes it. An event before At is taken to be at At. Except for Created, Revived and Edited,
// events leave a dissolved trait dissolved. The zero State is changed only by Created and by what
// sets a confidence.
func (p *Policies) Apply(s State, e Event) State {
	if e.Kind == Created {
		s = State{Subtype: e.Subtype, Stage: Trend, At: e.At, WindowEnd: e.WindowEnd}
	} else if s.Stage == "" && !(e.Sets > 0) {
		return s
	}
	held := s.Stage != Trend && s.Confidence > 0
	if e.At.After(s.At) {
		if held {
			s.Confidence = clamp(p.ConfidenceAt(s, e.At))
		}
		s.At = e.At
	}
	switch e.Kind {
	case Reinforced, Used:
		if e.Kind == Reinforced {
			s.Reinforcements++
		}
		if held {
			s.Confidence = clamp(s.Confidence + (1-s.Confidence)*share(e.Factor))
		}
	case Contradicted:
		s.Contradictions += e.Count
		if held {
			s.Confidence = clamp(s.Confidence * (1 - share(e.Factor)))
		}
	case Dissolution:
		s.Stage, s.WindowEnd = Dissolved, time.Time{}
	}
	if e.Sets > 0 {
		s.Confidence, s.WindowEnd = clamp(e.Sets), time.Time{}
		if s.Stage != Dissolved || e.Kind == Revived || e.Kind == Edited {
			s.Stage = p.StageOf(s.Confidence)
		}
	} else if s.Stage != Trend && s.Stage != Dissolved {
		s.Stage = p.StageOf(s.Confidence)
	}
	return s
}

// Replay returns the state that events lead to, in their order. No events lead to the zero State.
func (p *Policies) Replay(events []Event) State {
	var s State
	for _, e := range events {
		s = p.Apply(s, e)
	}
	return s
}

// Follow returns the event that the rules demand at a moment, after what happened up to then: a
// trend that enough cycles reinforced inside its window becomes a candidate at once, otherwise it
// is dissolved at the window's end; a trait that became too weak is dissolved; one that decayed
// over a boundary is noted. ok is false if nothing is due.
func (p *Policies) Follow(s State, now time.Time) (e Event, ok bool) {
	next := p.StageAt(s, now)
	if next == Trend && float64(s.Reinforcements) >= p.PromotingCycles {
		return Event{Kind: Promoted, At: now, Sets: p.StartTrend}, true
	}
	switch next {
	case s.Stage:
		return Event{}, false
	case Dissolved:
		return Event{Kind: Dissolution, At: now}, true
	default:
		return Event{Kind: Decayed, At: now}, true
	}
}

// Revive is the event by which new evidence brings a dissolved trait back.
func (p *Policies) Revive(now time.Time) Event {
	return Event{Kind: Revived, At: now, Sets: p.StartCandidate}
}

const margin = 1e-9

// clamp keeps a confidence in (0,1), where rounding would leave it.
func clamp(c float64) float64 { return min(max(c, margin), 1-margin) }

// share keeps a factor in [0,1].
func share(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return min(max(f, 0), 1)
}
