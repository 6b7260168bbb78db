// Package lifecycle holds the rules by which traits settle: how sure the system is of one, what
// evidence does to that, and what time does. The functions are pure; time is a parameter.
// Confidence is a number in (0,1). The rules come from the design's §5 and from C, the design of
// the classification (docs/traits.md explains them).
//
// Their numbers are Policies, which the caller has from the database. sql/code/076_lifecycle.sql
// has what time does, and the database applies it.
package lifecycle

import (
	"math"
	"time"
)

// Subtype is how abstract a trait is.
type Subtype string

// The subtypes, from what can be observed to what has to be inferred (C §3.2).
const (
	Behavior   Subtype = "behavior"
	Preference Subtype = "preference"
	CoreTrait  Subtype = "core"
)

// Stage is how sure the system is of a trait.
type Stage string

// The stages (C §4.1). Trend and Dissolved are set by events, the others follow from the confidence.
const (
	Trend       Stage = "trend" // watched until its window ends
	Candidate   Stage = "candidate"
	Emerging    Stage = "emerging"
	Established Stage = "established"
	Core        Stage = "core"
	Dissolved   Stage = "dissolved" // archived
)

// Visible reports whether traits in the stage are recalled.
func (s Stage) Visible() bool { return s == Emerging || s == Established || s == Core }

// StageOf returns the stage of a confidence: candidate, emerging, established or core.
func (p *Policies) StageOf(c float64) Stage {
	switch {
	case c > p.CoreAbove:
		return Core
	case c >= p.EstablishedMin:
		return Established
	case c > p.CandidateMax:
		return Emerging
	}
	return Candidate
}

// Rate is how fast confidence decays, per day: λ = base / (1 + spacing · n), n being the number of
// cycles that reinforced the trait (C §4.2, the spacing effect). A negative n counts as 0, an
// unknown subtype as a behavior.
func (p *Policies) Rate(s Subtype, n int) float64 {
	base := p.DecayBehavior
	switch s {
	case Preference:
		base = p.DecayPreference
	case CoreTrait:
		base = p.DecayCore
	}
	return base / (1 + p.Spacing*float64(max(n, 0)))
}

// Decay returns what is left of a confidence after a time: c · exp(−λ · days) (C §4.2). A negative time counts as none.
func (p *Policies) Decay(c float64, s Subtype, n int, elapsed time.Duration) float64 {
	return p.decay(c, s, n, elapsed.Seconds())
}

const day = 24 * 60 * 60 // seconds

// decay takes seconds, because a time.Duration ends at 292 years. Nothing decays to less than
// exp(−700) of itself: there the database would call it an underflow.
func (p *Policies) decay(c float64, s Subtype, n int, seconds float64) float64 {
	return c * math.Exp(max(-p.Rate(s, n)*max(seconds, 0)/day, -700))
}

func secondsBetween(from, to time.Time) float64 {
	return float64(to.Unix()-from.Unix()) + float64(to.Nanosecond()-from.Nanosecond())/1e9
}

// farthest is the last moment that is told as a transition: beyond it nobody waits.
var farthest = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// NextTransition returns when time alone changes the stage of a trait: at the end of a trend's
// window, or when decay carries its confidence over the next boundary or below the last. That is
// rounded up to a second, and one more at most, so that the boundary is passed then; what is
// farther than the year 9999 is told as that year's last day. It is zero for a dissolved trait, for
// a trend without an end, and for the zero State.
func (p *Policies) NextTransition(s State) time.Time {
	switch s.Stage {
	case Dissolved, "":
		return time.Time{}
	case Trend:
		return s.WindowEnd
	}
	boundary := p.DissolveBelow
	for _, b := range []float64{p.CoreAbove, p.EstablishedMin, p.CandidateMax} {
		// at the first and the last the lower stage begins, at the middle one the higher one still holds
		if s.Confidence > b || (b == p.EstablishedMin && s.Confidence == b) {
			boundary = b
			break
		}
	}
	if s.Confidence < boundary {
		return ceilSecond(s.At) // too weak already
	}
	at := p.after(s, math.Log(s.Confidence/boundary))
	if p.StageAt(s, at) == p.StageOf(s.Confidence) {
		// so slow that the boundary is not passed for rounding: a little more than the error of log and exp
		at = p.after(s, math.Log(s.Confidence/boundary)+4e-15)
	}
	return at
}

// after is the moment after which confidence has decayed to exp(−exponent) of itself, at the latest farthest.
func (p *Policies) after(s State, exponent float64) time.Time {
	seconds := math.Ceil(exponent / p.Rate(s.Subtype, s.Reinforcements) * day)
	if seconds > secondsBetween(s.At, farthest) {
		if s.At.Before(farthest) {
			return farthest
		}
		return ceilSecond(s.At)
	}
	return ceilSecond(time.Unix(s.At.Unix()+int64(seconds), int64(s.At.Nanosecond())).In(s.At.Location()))
}

// ceilSecond rounds up, and always up.
func ceilSecond(t time.Time) time.Time { return t.Truncate(time.Second).Add(time.Second) }
