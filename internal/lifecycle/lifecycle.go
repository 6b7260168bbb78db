// Package lifecycle contains the rules that govern traits: how confident the system is of a trait,
// and how evidence and time change that. The functions are pure; time is a parameter. Confidence
// is a number in (0,1). The rules come from §5 of the design and from C, the design of the
// classification; docs/traits.md explains them.
//
// The numbers in the rules are Policies, which the caller reads from the database.
// sql/code/076_lifecycle.sql contains the rules about time, which the database applies.
package lifecycle

import (
	"math"
	"time"
)

// Subtype is the level of abstraction of a trait.
type Subtype string

// The subtypes, from observable to inferred (C §3.2).
const (
	Behavior   Subtype = "behavior"
	Preference Subtype = "preference"
	CoreTrait  Subtype = "core"
)

// Stage is how well a trait is established.
type Stage string

// The stages (C §4.1). Events set Trend and Dissolved; the others follow from the confidence.
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

// Rate returns the rate of decay per day: λ = base / (1 + spacing · n), where n is the number of
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

// Decay returns a confidence after a time: c · exp(−λ · days) (C §4.2). A negative time counts as
// 0.
func (p *Policies) Decay(c float64, s Subtype, n int, elapsed time.Duration) float64 {
	return p.decay(c, s, n, elapsed.Seconds())
}

const day = 24 * 60 * 60 // seconds

// decay takes seconds because a time.Duration is limited to 292 years. The factor is at least
// exp(−700), below which PostgreSQL reports an underflow.
func (p *Policies) decay(c float64, s Subtype, n int, seconds float64) float64 {
	return c * math.Exp(max(-p.Rate(s, n)*max(seconds, 0)/day, -700))
}

func secondsBetween(from, to time.Time) float64 {
	return float64(to.Unix()-from.Unix()) + float64(to.Nanosecond()-from.Nanosecond())/1e9
}

// farthest is the latest transition time. Later ones are reported as farthest.
var farthest = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// NextTransition returns when time alone changes the stage of a trait: at the end of a trend's
// window, or when the confidence decays past the next stage boundary or below DissolveBelow. The
// boundary has been passed by the returned time, a full second that is at most two seconds late.
// Times after the year 9999 become that year's last day. NextTransition returns the zero time for
// a dissolved trait, a trend without an end, and the zero State.
func (p *Policies) NextTransition(s State) time.Time {
	switch s.Stage {
	case Dissolved, "":
		return time.Time{}
	case Trend:
		return s.WindowEnd
	}
	boundary := p.DissolveBelow
	for _, b := range []float64{p.CoreAbove, p.EstablishedMin, p.CandidateMax} {
		// CandidateMax and CoreAbove belong to the lower stage, EstablishedMin to the higher one.
		if s.Confidence > b || (b == p.EstablishedMin && s.Confidence == b) {
			boundary = b
			break
		}
	}
	if s.Confidence < boundary {
		return ceilSecond(s.At) // already too weak
	}
	at := p.after(s, math.Log(s.Confidence/boundary))
	if p.StageAt(s, at) == p.StageOf(s.Confidence) {
		// Decay is so slow that rounding keeps the confidence at the boundary. Add slightly more
		// than the error of log and exp.
		at = p.after(s, math.Log(s.Confidence/boundary)+4e-15)
	}
	return at
}

// after returns when the confidence has decayed by a factor of exp(−exponent), at the latest
// farthest.
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

// ceilSecond rounds up to the next full second, even from a full second.
func ceilSecond(t time.Time) time.Time { return t.Truncate(time.Second).Add(time.Second) }
