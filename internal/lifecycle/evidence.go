package lifecycle

import "time"

// Quality grades a piece of evidence (C §4.2).
type Quality string

// The qualities, with the share of the remaining doubt that evidence of each removes.
const (
	QualityA Quality = "A" // 0.25: a second context shows the same
	QualityB Quality = "B" // 0.20: said outright
	QualityC Quality = "C" // 0.15: another session
	QualityD Quality = "D" // 0.05: the same session, or inferred
)

// Factor is the share of the remaining doubt that evidence of the quality removes, 0.05 to 0.25. An unknown quality counts
// as D.
func (q Quality) Factor() float64 {
	switch q {
	case QualityA:
		return 0.25
	case QualityB:
		return 0.20
	case QualityC:
		return 0.15
	}
	return 0.05
}

// MinSessions is from how many sessions evidence must come before anything is inferred: nobody is known by one
// conversation.
const MinSessions = 2

// Seen is where a trait's supporting evidence came from. The zero value has seen nothing.
type Seen struct {
	sessions, contexts map[string]bool
}

// Add notes a session and the context in which the evidence shows. The contexts "", general and contextual tell nothing.
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

// Grade returns the quality of further supporting evidence. inferred is evidence that speaks for something else, and for
// this by way of it.
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

// Reinforcement is the share of the remaining doubt that the evidence of one cycle removes: each session applies once, with
// its best quality. sessions has that quality for each session. 1 − Π(1 − f), and always below 1: the order does not matter.
func Reinforcement(sessions map[string]Quality) float64 {
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
			doubt *= 1 - q.Factor()
		}
	}
	return min(1-doubt, 1-margin) // a hundred sessions leave less doubt than a float64 near 1 can tell
}

// Contradiction is the share of confidence that the contradictions of one cycle take: min(0.4, 0.2 + 0.1·(n − 1)) (C §4.2).
// 0 for n < 1.
func Contradiction(n int) float64 {
	if n < 1 {
		return 0
	}
	return min(0.4, 0.2+0.1*float64(n-1))
}

// ReviewDue tells whether a contradiction review is due after a cycle that brought new contradicting memories: when more
// than 0.3 of all evidence contradicts (C §4.4).
func ReviewDue(supporting, contradicting, newContradictions int) bool {
	return newContradictions > 0 && 10*contradicting > 3*(supporting+contradicting)
}

// Reviewed is the confidence of a trait that a review worded anew: the share of it that all its evidence supports. It is in
// (0,1), so that an event can set it.
func Reviewed(c float64, supporting, contradicting int) float64 {
	return clamp(c * float64(supporting) / float64(max(supporting+contradicting, 1)))
}

// The start of a trait (C §3.3, §4.1).
const (
	behaviorStart  = 0.40
	candidateStart = 0.20 // of few memories over a long time, and of a revived trait
	promotedTrend  = 0.30
	enoughMemories = 3
	longSpan       = 14 * 24 * time.Hour
	window         = 30 * 24 * time.Hour
	moodWindow     = 14 * 24 * time.Hour

	promotingCycles = 2 // that reinforce a trend inside its window
)

// NewPattern returns the event that makes a trait of a pattern at a moment: 3 memories or more make a behavior at 0.40;
// fewer make a candidate at 0.20 if they span 14 days, otherwise a trend that is watched for 30 days, for 14 if it is a
// mood. ok is false for evidence from fewer than two sessions, which makes nothing.
func NewPattern(now time.Time, memories, sessions int, span time.Duration, emotional bool) (e Event, ok bool) {
	if sessions < MinSessions {
		return Event{}, false
	}
	e = Event{Kind: Created, At: now, Subtype: Behavior}
	switch {
	case memories >= enoughMemories:
		e.Sets = behaviorStart
	case span >= longSpan:
		e.Sets = candidateStart
	case emotional:
		e.WindowEnd = now.Add(moodWindow)
	default:
		e.WindowEnd = now.Add(window)
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

// spanBonus is what traits that show the same in several contexts are worth more (C §3.2).
const spanBonus = 0.05

// Promote returns the event that makes a trait of the next subtype of several: two or more behaviors, each at 0.5 or more,
// make a preference; two or more preferences, each at 0.6 or more, a trait of subtype core (C §3.3). It starts at the mean of
// their confidences, plus 0.05 if they show in two contexts or more, among which general and contextual do not count. context
// is theirs if they agree, else general, which it is too where each of them depends on the context. ok is false if the conditions are not met.
func Promote(now time.Time, to Subtype, members []Member) (e Event, context string, ok bool) {
	from, least := Behavior, 0.5
	switch to {
	case Preference:
	case CoreTrait:
		from, least = Preference, 0.6
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
		c += spanBonus
	}
	return Event{Kind: Created, At: now, Subtype: to, Sets: clamp(c)}, context, true
}

// UseFactor is the share of the remaining doubt that a real use in a reply removes, at most once a day (C §8.2).
const UseFactor = 0.02

// MayUse tells whether a use at a moment counts, the last that counted being at last (zero: none, which is long ago): once
// a day.
func MayUse(last, now time.Time) bool { return now.Sub(last) >= 24*time.Hour }
