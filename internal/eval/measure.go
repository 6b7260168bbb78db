package eval

import (
	"math"
	"slices"
	"time"
)

// Depth is the number of memories to recall: the largest k.
const Depth = 20

// cuts are the values of k in recall@k and hit@k.
var cuts = [3]int{5, 10, Depth}

// Score holds the measures over N questions. recall@k is the mean share of a question's gold
// memories among the first k results. hit@k is the share of questions with at least one gold memory
// among them. All are between 0 and 1, and 0 if N is 0.
type Score struct {
	N        int     `json:"n"`
	Recall5  float64 `json:"recall@5"`
	Recall10 float64 `json:"recall@10"`
	Recall20 float64 `json:"recall@20"`
	Hit5     float64 `json:"hit@5"`
	Hit10    float64 `json:"hit@10"`
	Hit20    float64 `json:"hit@20"`
}

// Latency holds percentiles of the questions' durations, in milliseconds.
type Latency struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// Report is the result of a run.
type Report struct {
	All        Score            `json:"all"`
	Categories map[string]Score `json:"categories"`
	Latency    Latency          `json:"latency_ms"`
}

// Tally accumulates answers. The zero value is ready to use.
type Tally struct {
	all       sum
	category  map[string]*sum
	durations []time.Duration
}

type sum struct {
	n           int
	recall, hit [3]float64
}

// Add counts one question. rank holds the 1-based rank of each gold memory in the answer, or 0 if
// it was not found. A question without gold memories does not count.
func (t *Tally) Add(category string, rank []int, took time.Duration) {
	if len(rank) == 0 {
		return
	}
	if t.category == nil {
		t.category = map[string]*sum{}
	}
	if t.category[category] == nil {
		t.category[category] = &sum{}
	}
	t.all.add(rank)
	t.category[category].add(rank)
	t.durations = append(t.durations, took)
}

func (s *sum) add(rank []int) {
	s.n++
	for i, k := range cuts {
		found := 0
		for _, r := range rank {
			if r > 0 && r <= k {
				found++
			}
		}
		s.recall[i] += float64(found) / float64(len(rank))
		if found > 0 {
			s.hit[i]++
		}
	}
}

func (s *sum) score() Score {
	n := float64(max(s.n, 1))
	return Score{s.n, s.recall[0] / n, s.recall[1] / n, s.recall[2] / n, s.hit[0] / n, s.hit[1] / n, s.hit[2] / n}
}

// Report returns the measures over everything added.
func (t *Tally) Report() Report {
	r := Report{All: t.all.score(), Categories: map[string]Score{}}
	for name, s := range t.category {
		r.Categories[name] = s.score()
	}
	slices.Sort(t.durations)
	r.Latency = Latency{percentile(t.durations, 0.50), percentile(t.durations, 0.95), percentile(t.durations, 0.99)}
	return r
}

// percentile uses the nearest rank: the smallest value that a share p of the values does not
// exceed.
func percentile(sorted []time.Duration, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := int(math.Ceil(p*float64(len(sorted)))) - 1
	return float64(sorted[at].Microseconds()) / 1000
}
