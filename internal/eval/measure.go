package eval

import (
	"math"
	"slices"
	"time"
)

// Depth is the number of memories to recall: the largest k. A question with gold sessions needs more
// memories to reach that many sessions.
const (
	Depth        = 20
	SessionDepth = 10 * Depth
)

// cuts are the values of k in recall@k and hit@k.
var cuts = [3]int{5, 10, Depth}

// Score holds the measures over N questions. recall@k is the mean share of a question's gold
// memories among the first k results. hit@k is the share of questions with at least one gold memory
// among them. All are between 0 and 1, and 0 if N is 0. For gold sessions, the results are the
// distinct sessions of the recalled memories, each at the place of its first memory.
type Score struct {
	N        int     `json:"n"`
	Recall5  float64 `json:"recall@5"`
	Recall10 float64 `json:"recall@10"`
	Recall20 float64 `json:"recall@20"`
	Hit5     float64 `json:"hit@5"`
	Hit10    float64 `json:"hit@10"`
	Hit20    float64 `json:"hit@20"`
}

// Scores holds the measures over all questions and by category.
type Scores struct {
	All        Score            `json:"all"`
	Categories map[string]Score `json:"categories"`
}

// Precision measures how much is found that should not be. A question's precision is the share of gold
// memories among the first Depth results that are gold or unwanted; it is 0 if no result is either. A
// question about which nothing is known has the precision 0 if something unwanted was found, and
// otherwise does not count.
type Precision struct {
	N         int     `json:"n"` // questions that count
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`  // mean share of gold memories among the first Depth results, of the questions with any
	Unknown   int     `json:"unknown"` // questions about which nothing is known
	Silent    float64 `json:"silent"`  // share of these for which nothing unwanted was found
}

// Latency holds percentiles of the questions' durations, in milliseconds.
type Latency struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// Report is the result of a run.
type Report struct {
	Scores
	Sessions  *Scores      `json:"sessions,omitempty"`  // if questions have gold sessions
	Precision *Precision   `json:"precision,omitempty"` // if it was requested
	Points    *PointScores `json:"points,omitempty"`    // if there are any and memories were extracted
	Latency   Latency      `json:"latency_ms"`
}

// Answer is what came back for a question.
type Answer struct {
	// Memories and Sessions are the 1-based ranks of the gold memories and sessions, 0 if not found.
	Memories, Sessions []int
	// Wanted and Unwanted count the gold and the unwanted memories among the first Depth results.
	Wanted, Unwanted int
	Took             time.Duration
}

// Tally accumulates answers. The zero value is ready to use.
type Tally struct {
	memories, sessions sums
	precise            int // questions with a precision
	precision, recall  float64
	unknown, silent    int
	durations          []time.Duration
}

// Add counts a question of a category.
func (t *Tally) Add(category string, a Answer) {
	t.durations = append(t.durations, a.Took)
	t.memories.add(category, a.Memories)
	t.sessions.add(category, a.Sessions)
	if len(a.Memories)+len(a.Sessions) == 0 {
		if t.unknown++; a.Unwanted == 0 {
			t.silent++
			return
		}
	} else if len(a.Memories) == 0 {
		return
	}
	t.precise++
	t.precision += float64(a.Wanted) / float64(max(a.Wanted+a.Unwanted, 1))
	t.recall += float64(a.Wanted) / float64(max(len(a.Memories), 1))
}

// sums adds up the ranks of all questions with gold, and by category.
type sums struct {
	all      sum
	category map[string]*sum
}

func (s *sums) add(category string, rank []int) {
	if len(rank) == 0 {
		return
	}
	if s.category == nil {
		s.category = map[string]*sum{}
	}
	if s.category[category] == nil {
		s.category[category] = &sum{}
	}
	s.all.add(rank)
	s.category[category].add(rank)
}

func (s *sums) scores() Scores {
	scores := Scores{All: s.all.score(), Categories: map[string]Score{}}
	for name, c := range s.category {
		scores.Categories[name] = c.score()
	}
	return scores
}

type sum struct {
	n           int
	recall, hit [3]float64
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
	r := Report{Scores: t.memories.scores()}
	if t.sessions.all.n > 0 {
		scores := t.sessions.scores()
		r.Sessions = &scores
	}
	slices.Sort(t.durations)
	r.Latency = Latency{percentile(t.durations, 0.50), percentile(t.durations, 0.95), percentile(t.durations, 0.99)}
	return r
}

// Precision returns the precision of everything added.
func (t *Tally) Precision() *Precision {
	return &Precision{
		N: t.precise, Precision: t.precision / float64(max(t.precise, 1)),
		Recall:  t.recall / float64(max(t.memories.all.n, 1)),
		Unknown: t.unknown, Silent: float64(t.silent) / float64(max(t.unknown, 1)),
	}
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
