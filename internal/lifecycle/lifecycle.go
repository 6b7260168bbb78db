// Package lifecycle contains the rules by which reflection changes traits: how confident the system
// is of a trait, and how evidence changes that. The functions are pure. Confidence is a number in
// (0,1). The rules come from §5 of the design and from C, the design of the classification;
// docs/traits.md explains them.
//
// The numbers in the rules are Policies, which the caller reads from the database. The rules of time,
// decay above all, are in sql/code/076_lifecycle.sql only: states have the confidence that they have
// decayed to.
package lifecycle

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
