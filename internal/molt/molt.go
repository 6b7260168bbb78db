// Package molt decides which policies to change, and whether a change was a gain (U §10). It is pure: the job molt
// measures and writes.
package molt

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"
)

// The metrics of one answer, between 0 and 1.
const (
	MRR = "mrr" // 1 / the rank of the first memory that the reply used; 0: none was recalled
	F1  = "f1"  // the harmonic mean of the share of used among recalled and the share of recalled among used
)

// Policy is a policy with its value, default and range.
type Policy struct {
	Name                             string
	Value, Default, Minimum, Maximum float64
}

// Policies are the policies by name.
type Policies map[string]Policy

// Answer is a past reply whose use is known.
type Answer struct {
	UserID         string
	ID             uuid.UUID
	At             time.Time
	Query          string
	Recalled, Used []uuid.UUID
	Faded          int // used memories that are compressed
	Conflicting    int // recalled memories that are negated or contradicted
}

// Depth returns how many results a metric of the answer looks at: for F1, as many as the application asked for.
func (a Answer) Depth(metric string) int {
	const most = 20
	if metric == F1 {
		return max(1, min(len(a.Recalled), most))
	}
	return most
}

// Measure returns a metric of an answer that recalled these memories, best first, and used those.
func Measure(metric string, recalled, used []uuid.UUID) float64 {
	first, both := 0, 0
	for i, id := range recalled {
		if slices.Contains(used, id) {
			if both++; first == 0 {
				first = i + 1
			}
		}
	}
	switch {
	case both == 0:
		return 0
	case metric == F1:
		return 2 * float64(both) / float64(len(recalled)+len(used))
	default:
		return 1 / float64(first)
	}
}

// Sign is a reason to look for other values.
type Sign struct {
	About    string // recall, decay, conflict
	Metric   string // by which changes are measured
	Cause    string // in a sentence
	Policies []string
}

// Signs returns what is wrong with the latest answers, the clearest first: U §10's triggers. Dense fragments are
// not among them, because they change no policy.
func Signs(answers []Answer, p Policies) []Sign {
	if len(answers) == 0 {
		return nil
	}
	var rank, recalled, used, faded, conflicting float64
	for _, a := range answers {
		rank += Measure(MRR, a.Recalled, a.Used)
		recalled, used = recalled+float64(len(a.Recalled)), used+float64(len(a.Used))
		faded, conflicting = faded+float64(a.Faded), conflicting+float64(a.Conflicting)
	}
	var signs []Sign
	if rank/float64(len(answers)) < p["molt_rank"].Value {
		signs = append(signs, Sign{"recall", MRR, "The memories that replies use are recalled too far down.",
			[]string{"recall_weight", "recall_recency", "recall_importance"}})
	}
	if used > 0 && faded/used > p["molt_faded"].Value {
		signs = append(signs, Sign{"decay", MRR, "Replies use memories that had already faded.",
			[]string{"weight_decay", "memory_strength_decay", "weight_decay_used", "weight_decay_conclusion"}})
	}
	if recalled > 0 && conflicting/recalled > p["molt_conflicts"].Value {
		signs = append(signs, Sign{"conflict", MRR, "Many recalled memories are negated or contradicted.",
			[]string{"weight_conflict_min", "weight_conflict_fade", "weight_conflict_recovery"}})
	}
	if recalled > 0 && used/recalled < p["molt_share"].Value {
		signs = append(signs, Sign{"recall", F1, "Most of what is recalled is not used.", []string{"recall_threshold"}})
	}
	return signs
}

// Change is a set of values by the name of the policy.
type Change map[string]float64

// Candidates returns the changes of single policies to try for a sign: the default, a quarter of the value and four times
// the value, within the range. One at 0 goes up, but not above 1.
func Candidates(s Sign, p Policies) []Change {
	var changes []Change
	for _, name := range s.Policies {
		policy, ok := p[name]
		if !ok {
			continue
		}
		var values []float64
		switch {
		case name == "recall_threshold":
			for _, step := range []float64{-0.2, 0.2, 0.4, 0.6} {
				values = append(values, policy.Value+step)
			}
		case policy.Value == 0:
			values = []float64{min(policy.Maximum, 1) / 4, min(policy.Maximum, 1), policy.Default}
		default:
			values = []float64{policy.Default, policy.Value / 4, policy.Value * 4}
		}
		seen := map[float64]bool{policy.Value: true}
		for _, v := range values {
			v = min(max(v, policy.Minimum), policy.Maximum)
			v = math.Round(v*1e6) / 1e6
			if !seen[v] {
				seen[v] = true
				changes = append(changes, Change{name: v})
			}
		}
	}
	return changes
}

// Equal reports whether two changes are the same.
func (c Change) Equal(d Change) bool { return maps.Equal(c, d) }

// Gain is how much better one series is than another.
type Gain struct {
	Before, After float64 // means
	Low           float64 // lower bound of the difference, one-sided 95 %
	High          float64 // upper bound, one-sided 95 %
}

// resamples is the number of bootstrap samples.
const resamples = 2000

// Paired compares two values of the same answers by a paired bootstrap.
func Paired(before, after []float64) Gain {
	differences := make([]float64, len(before))
	for i := range before {
		differences[i] = after[i] - before[i]
	}
	g := Gain{Before: mean(before), After: mean(after)}
	g.Low, g.High = bounds(func(r *rand.Rand) float64 { return resample(r, differences) })
	return g
}

// Unpaired compares two series of different answers by a bootstrap.
func Unpaired(before, after []float64) Gain {
	g := Gain{Before: mean(before), After: mean(after)}
	g.Low, g.High = bounds(func(r *rand.Rand) float64 { return resample(r, after) - resample(r, before) })
	return g
}

// Adopt reports whether a gain is at least the margin, and certain enough.
func (g Gain) Adopt(margin float64) bool { return g.After-g.Before >= margin && g.Low > 0 }

// Worse reports whether the loss is certain enough.
func (g Gain) Worse() bool { return g.High < 0 }

func bounds(sample func(*rand.Rand) float64) (low, high float64) {
	random := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- the same decision for the same answers
	means := make([]float64, resamples)
	for i := range means {
		means[i] = sample(random)
	}
	slices.Sort(means)
	return means[resamples/20], means[resamples-1-resamples/20]
}

func resample(r *rand.Rand, values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	var sum float64
	for range values {
		sum += values[r.IntN(len(values))]
	}
	return sum / float64(len(values))
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(len(values), 1))
}

// MeanGain returns the mean difference of two values of the same answers.
func MeanGain(before, after []float64) float64 { return mean(after) - mean(before) }
