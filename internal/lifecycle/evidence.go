package lifecycle

import (
	"math"
	"time"
)

// Quality grades a piece of evidence (C §4.2).
type Quality string

// The qualities.
const (
	QualityA Quality = "A" // a second context shows the same
	QualityB Quality = "B" // said outright
	QualityC Quality = "C" // another session
	QualityD Quality = "D" // the same session, or inferred
)

// Factor returns the share of the remaining doubt that evidence of the quality removes. An unknown quality counts as D.
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

// Seen is where a trait's supporting evidence came from. The zero value has seen nothing.
type Seen struct {
	sessions, contexts map[string]bool
}

// Add notes a session and the context in which the evidence shows. The contexts "", general and
// contextual tell nothing.
func (s *Seen) Add(session, context string) {
	if s.sessions == nil {
		s.sessions, s.contexts = map[string]bool{}, map[string]bool{}
	}
	s.sessions[session] = true
	if distinct(context) {
		s.contexts[context] = true
	}
}

// Sessions is how many sessions the evidence came from.
func (s *Seen) Sessions() int { return len(s.sessions) }

// Grade returns the quality of further supporting evidence. inferred is evidence that speaks for
// something else, and for this by way of it.
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

// Reinforcement is the share of the remaining doubt that the evidence of one cycle removes: each
// session applies once, with its best quality. sessions has that quality for each session. 1 − Π(1
// − f), and always below 1: the order does not matter.
func (p *Policies) Reinforcement(sessions map[string]Quality) float64 {
	var counts [4]int // multiplied in one order, so that the result is the same to the last bit
	for _, q := range sessions {
		switch q {
		case QualityA:
			counts[0]++
		case QualityB:
			counts[1]++
		case QualityC:
			counts[2]++
		default:
			counts[3]++
		}
	}
	doubt := 1.0
	for i, q := range []Quality{QualityA, QualityB, QualityC, QualityD} {
		for range counts[i] {
			doubt *= 1 - p.Factor(q)
		}
	}
	return min(1-doubt, 1-margin) // a hundred sessions leave less doubt than a float64 near 1 can tell
}

// Contradiction returns the share of confidence that n contradictions of one cycle take (C §4.2): 0 for n < 1.
func (p *Policies) Contradiction(n int) float64 {
	if n < 1 {
		return 0
	}
	return min(p.ContradictionMax, p.ContradictionFirst+p.ContradictionStep*float64(n-1))
}

// ReviewDue reports whether a contradiction review is due after a cycle that brought new
// contradicting memories: when more than a share of all evidence contradicts (C §4.4).
func (p *Policies) ReviewDue(supporting, contradicting, newContradictions int) bool {
	// exact for shares of thousandths, which a product of floating-point numbers is not
	return newContradictions > 0 && 1000*contradicting > int(math.Round(1000*p.ReviewShare))*(supporting+contradicting)
}

// Reviewed is the confidence of a trait that a review worded anew: the share of it that all its
// evidence supports. It is in (0,1), so that an event can set it.
func Reviewed(c float64, supporting, contradicting int) float64 {
	return clamp(c * float64(supporting) / float64(max(supporting+contradicting, 1)))
}

// NewPattern returns the event that makes a trait of a pattern at a moment (C §3.3, §4.1): enough
// memories make a behavior; fewer make a candidate if they span a long time, otherwise a trend that
// is watched for a window, a shorter one if it is a mood. ok is false for evidence from too few
// sessions, which makes nothing: nobody is known by one conversation.
func (p *Policies) NewPattern(now time.Time, memories, sessions int, span time.Duration, emotional bool) (e Event, ok bool) {
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

// Member is a trait that is to be promoted with others.
type Member struct {
	Subtype    Subtype
	Stage      Stage
	Confidence float64 // decayed
	Context    string
}

// Promote returns the event that makes a trait of the next subtype of several: two or more
// behaviors, each sure enough, make a preference; two or more preferences a trait of subtype core
// (C §3.3). It starts at the mean of their confidences, plus a bonus if they show in two contexts
// or more (C §3.2), among which general and contextual do not count. context is theirs if they
// agree, else general, which it is too where each of them depends on the context. ok is false if
// the conditions are not met.
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
		if m.Subtype != from || !(m.Confidence >= least) || !m.Stage.Visible() { // no number is refused too
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
