package lifecycle

import "time"

// Policies contains the numbers of the rules in force at a moment. They are the policies of the
// database named trait_…. docs/policies.md gives their defaults, ranges and meaning.
type Policies struct {
	DecayBehavior   float64 `json:"decay_behavior"` // per day
	DecayPreference float64 `json:"decay_preference"`
	DecayCore       float64 `json:"decay_core"`
	Spacing         float64 `json:"spacing"`

	DissolveBelow  float64 `json:"dissolve_below"`
	CandidateMax   float64 `json:"candidate_max"`
	EstablishedMin float64 `json:"established_min"`
	CoreAbove      float64 `json:"core_above"`

	FactorA    float64 `json:"factor_a"`
	FactorB    float64 `json:"factor_b"`
	FactorC    float64 `json:"factor_c"`
	FactorD    float64 `json:"factor_d"`
	FactorUsed float64 `json:"factor_used"`

	ContradictionFirst float64 `json:"contradiction"`
	ContradictionStep  float64 `json:"contradiction_step"`
	ContradictionMax   float64 `json:"contradiction_max"`
	ReviewShare        float64 `json:"review_share"`

	MinSessions     float64 `json:"sessions_min"`
	MinMemories     float64 `json:"memories_min"`
	SpanDays        float64 `json:"span_days"`
	WindowDays      float64 `json:"window_days"`
	MoodWindowDays  float64 `json:"window_mood_days"`
	PromotingCycles float64 `json:"promoting_cycles"`

	StartBehavior  float64 `json:"start_behavior"`
	StartCandidate float64 `json:"start_candidate"`
	StartTrend     float64 `json:"start_trend"`

	PromotePreference float64 `json:"promote_preference"`
	PromoteCore       float64 `json:"promote_core"`
	SpanBonus         float64 `json:"span_bonus"`
}

// daysOf returns a duration of n days.
func daysOf(n float64) time.Duration { return time.Duration(n * 24 * float64(time.Hour)) }
