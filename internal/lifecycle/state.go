package lifecycle

import (
	"math"
	"time"
)

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	Created      Kind = "created"
	Reinforced   Kind = "reinforced"   // supported by memories
	Contradicted Kind = "contradicted" // contradicted by memories
	// A trend became a candidate (Sets), or the trait became part of a more abstract one.
	Promoted    Kind = "promoted"
	Revised     Kind = "revised" // a review reworded it or kept it
	Split       Kind = "split"   // a review found that it depends on the context
	Edited      Kind = "edited"  // a person corrected it
	Decayed     Kind = "decayed" // time moved it to another stage
	Dissolution Kind = "dissolved"
	Revived     Kind = "revived" // new evidence revived a dissolved trait
	Used        Kind = "used"    // a reply used it
)

// Event is something that happened to a trait. Replaying a trait's events in order yields its
// state.
type Event struct {
	Kind Kind
	At   time.Time
	// Factor is the share of the remaining doubt that Reinforced and Used remove, or the share of
	// confidence that Contradicted removes, in [0,1). NaN and negative numbers count as 0.
	Factor float64
	// Sets is the confidence that Created, Promoted, Revised, Split, Edited and Revived set, in
	// (0,1); 0: none.
	Sets float64
	// Count is the number of contradicting memories.
	Count int
	// Subtype is the subtype of the created trait.
	Subtype Subtype
	// WindowEnd is when the window of a trend created without Sets ends; zero: never.
	WindowEnd time.Time
}

// State is the state of a trait.
type State struct {
	Subtype        Subtype
	Stage          Stage
	Confidence     float64   // 0 for a trend, even after it dissolved
	At             time.Time // when Confidence was set, or what it has decayed to
	Reinforcements int       // number of cycles that reinforced it
	Contradictions int       // number of memories that contradicted it
	WindowEnd      time.Time // of a trend, otherwise zero
}

// StageAt returns the stage at now of a state whose confidence has been decayed to now.
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
	if s.Confidence < p.DissolveBelow {
		return Dissolved
	}
	return p.StageOf(s.Confidence)
}

// Apply returns the state after an event, given the confidence at the time of the event. An event
// before At is applied at At. A dissolved trait stays dissolved, except after Created, Revived and
// Edited. The zero State is changed only by Created and by events that set a confidence.
func (p *Policies) Apply(s State, e Event) State {
	if e.Kind == Created {
		s = State{Subtype: e.Subtype, Stage: Trend, At: e.At, WindowEnd: e.WindowEnd}
	} else if s.Stage == "" && !(e.Sets > 0) {
		return s
	}
	held := s.Stage != Trend && s.Confidence > 0
	if e.At.After(s.At) {
		if held {
			s.Confidence = clamp(s.Confidence)
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

// Follow returns the event that the rules require at now. A trend that PromotingCycles cycles
// reinforced within its window becomes a candidate at once; any other trend is dissolved at the
// window's end. A trait that became too weak is dissolved, and one that decayed into another stage
// gets a Decayed event. ok is false if nothing is due.
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

// Revive returns the event that new evidence for a dissolved trait causes.
func (p *Policies) Revive(now time.Time) Event {
	return Event{Kind: Revived, At: now, Sets: p.StartCandidate}
}

const margin = 1e-9

// clamp limits a confidence to (0,1), which rounding could leave.
func clamp(c float64) float64 { return min(max(c, margin), 1-margin) }

// share limits a factor to [0,1]. NaN becomes 0.
func share(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return min(max(f, 0), 1)
}
