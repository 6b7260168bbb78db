package lifecycle

import (
	"maps"
	"math"
	"slices"
	"time"
)

// Quality is the grade of a piece of evidence (C §4.2).
type Quality string

// The qualities.
const (
	QualityA Quality = "A" // shown in a second context
	QualityB Quality = "B" // stated explicitly
	QualityC Quality = "C" // from another session
	QualityD Quality = "D" // from the same session, or inferred
)

// Factor returns the share of the remaining doubt that evidence of a quality removes. An unknown
// quality counts as D.
func (p *Policies) Factor(q Quality) float64 {
	switch q {
	case QualityA:
		return p.FactorA
	case QualityB:
		return p.FactorB
	case QualityC:
		return p.FactorC
	}
	return p.FactorD
}

// Seen records where a trait's supporting evidence came from. The zero value is empty.
type Seen struct {
	sessions, contexts map[string]bool
}

// Add records a session and the context of the evidence. The contexts "", general and contextual
// are ignored.
func (s *Seen) Add(session, context string) {
	if s.sessions == nil {
		s.sessions, s.contexts = map[string]bool{}, map[string]bool{}
	}
	s.sessions[session] = true
	if distinct(context) {
		s.contexts[context] = true
	}
}

// Sessions returns the number of sessions.
func (s *Seen) Sessions() int { return len(s.sessions) }

// Grade returns the quality of further supporting evidence. inferred marks evidence that supports
// another trait directly and this one through it.
func (s *Seen) Grade(session, context string, stated, inferred bool) Quality {
	switch {
	case inferred:
		return QualityD
	case distinct(context) && len(s.contexts) > 0 && !s.contexts[context]:
		return QualityA
	case stated:
		return QualityB
	case !s.sessions[session]:
		return QualityC
	}
	return QualityD
}

func distinct(context string) bool {
	return context != "" && context != "general" && context != "contextual"
}

// Reinforcement returns the share of the remaining doubt that the evidence of one cycle removes: 1
// − Π(1 − f) over the sessions, each with its best quality. The result is below 1 and does not
// depend on the order.
func (p *Policies) Reinforcement(sessions map[string]Quality) float64 {
	doubt := 1.0
	for _, q := range slices.Sorted(maps.Values(sessions)) { // so that the result is reproducible to the last bit
		doubt *= 1 - p.Factor(q)
	}
	return min(1-doubt, 1-margin) // with a hundred sessions, 1 − doubt rounds to 1
}

// Contradiction returns the share of confidence that n contradictions of one cycle remove (C
// §4.2), 0 for n < 1.
func (p *Policies) Contradiction(n int) float64 {
	if n < 1 {
		return 0
	}
	return min(p.ContradictionMax, p.ContradictionFirst+p.ContradictionStep*float64(n-1))
}

// ReviewDue reports whether a contradiction review is due after a cycle with new contradicting
// memories: they must exceed ReviewShare of all evidence (C §4.4).
func (p *Policies) ReviewDue(supporting, contradicting, newContradictions int) bool {
	// Integers make this exact for multiples of 0.001; floating-point numbers would not be.
	return newContradictions > 0 && 1000*contradicting > int(math.Round(1000*p.ReviewShare))*(supporting+contradicting)
}

// Reviewed returns the confidence of a trait that a review reworded: c times the share of the
// evidence that supports it. It is in (0,1), so that an event can set it.
func Reviewed(c float64, supporting, contradicting int) float64 {
	return clamp(c * float64(supporting) / float64(max(supporting+contradicting, 1)))
}

// NewPattern returns the event that creates a trait from a pattern (C §3.3, §4.1). MinMemories
// memories create a behavior. Fewer create a candidate if they span SpanDays, or else a trend,
// which is watched for WindowDays, or MoodWindowDays if it is emotional. ok is false if the
// evidence comes from fewer than MinSessions sessions.
func (p *Policies) NewPattern(now time.Time, memories, sessions int, span time.Duration,
	emotional bool) (e Event, ok bool) {
	if float64(sessions) < p.MinSessions {
		return Event{}, false
	}
	e = Event{Kind: Created, At: now, Subtype: Behavior}
	switch {
	case float64(memories) >= p.MinMemories:
		e.Sets = p.StartBehavior
	case span >= daysOf(p.SpanDays):
		e.Sets = p.StartCandidate
	case emotional:
		e.WindowEnd = now.Add(daysOf(p.MoodWindowDays))
	default:
		e.WindowEnd = now.Add(daysOf(p.WindowDays))
	}
	return e, true
}

// Member is a trait to be promoted together with others.
type Member struct {
	Subtype    Subtype
	Stage      Stage
	Confidence float64 // after decay
	Context    string
}

// Promote returns the event that creates a more abstract trait from several: two or more behaviors
// of at least PromotePreference make a preference, two or more preferences of at least PromoteCore
// make a trait of subtype core (C §3.3). The new trait starts at the mean of their confidences,
// plus SpanBonus if they occur in two or more contexts, not counting general and contextual (C
// §3.2). context is their common context, or general if they differ or are all contextual. ok is
// false if the conditions are not met.
func (p *Policies) Promote(now time.Time, to Subtype, members []Member) (e Event, context string, ok bool) {
	from, least := Behavior, p.PromotePreference
	switch to {
	case Preference:
	case CoreTrait:
		from, least = Preference, p.PromoteCore
	default:
		return Event{}, "", false
	}
	if len(members) < 2 {
		return Event{}, "", false
	}
	var sum float64
	var seen Seen
	context = members[0].Context
	for _, m := range members {
		if m.Subtype != from || !(m.Confidence >= least) || !m.Stage.Visible() { // written so that NaN is rejected
			return Event{}, "", false
		}
		sum += m.Confidence
		if seen.Add("", m.Context); m.Context != members[0].Context {
			context = "general"
		}
	}
	if context == "contextual" {
		context = "general"
	}
	c := sum / float64(len(members))
	if len(seen.contexts) > 1 {
		c += p.SpanBonus
	}
	return Event{Kind: Created, At: now, Subtype: to, Sets: clamp(c)}, context, true
}
