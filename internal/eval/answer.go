package eval

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Answer compares results with what the question should find. results and sessions have the ids of each result and of each
// distinct session, best first. took is the duration of the recall.
func (q Question) Answer(results, sessions [][]string, took time.Duration) Answer {
	a := Answer{Memories: ranks(q.Gold, results), Sessions: ranks(q.Sessions, sessions), Took: took}
	for _, ids := range results[:min(len(results), Depth)] {
		switch {
		case has(q.Gold, ids):
			a.Wanted++
		case q.Unwanted == nil || has(q.Unwanted, ids):
			a.Unwanted++
		}
	}
	return a
}

// ranks returns the rank of each gold id among the results, from 1, or 0 if it is not there.
func ranks(gold []string, results [][]string) []int {
	rank := make([]int, len(gold))
	for i, id := range gold {
		rank[i] = 1 + slices.IndexFunc(results, func(ids []string) bool { return slices.Contains(ids, canonical(id)) })
	}
	return rank
}

func has(list, ids []string) bool {
	return slices.ContainsFunc(list, func(id string) bool { return slices.Contains(ids, canonical(id)) })
}

// canonical returns a UUID as the database writes it, and any other id unchanged.
func canonical(id string) string {
	if parsed, err := uuid.Parse(id); err == nil {
		return parsed.String()
	}
	return id
}
