// Package bm25 ranks texts by their words alone (Okapi BM25, Robertson and Zaragoza 2009). It is the baseline of the
// evaluations.
package bm25

import (
	"cmp"
	"math"
	"slices"
)

// The usual parameters: how soon further occurrences of a term stop counting, and how much long texts are discounted.
const (
	k1 = 1.2
	b  = 0.75
)

// Index holds texts for search.
type Index struct {
	postings map[string][]posting
	length   []float64 // in terms, per text
	average  float64
}

type posting struct {
	text  int
	count float64
}

// Hit is a found text, by its place among the indexed texts, with its score.
type Hit struct {
	Text  int
	Score float64
}

// New indexes texts.
func New(texts []string) *Index {
	x := &Index{postings: map[string][]posting{}, length: make([]float64, len(texts))}
	var total float64
	for i, text := range texts {
		for term, n := range counts(text) {
			x.postings[term] = append(x.postings[term], posting{i, n})
			x.length[i] += n
		}
		total += x.length[i]
	}
	x.average = total / float64(max(len(texts), 1))
	return x
}

// Search returns the texts that share a term with the query, best first; of equal scores, the earlier text first. If
// keep is not nil, it selects the texts that may be returned.
func (x *Index) Search(query string, keep func(text int) bool) []Hit {
	scores := map[int]float64{}
	n := float64(len(x.length))
	for term, repeated := range counts(query) {
		found := x.postings[term]
		df := float64(len(found))
		idf := math.Log(1 + (n-df+0.5)/(df+0.5))
		for _, p := range found {
			scores[p.text] += repeated * idf * p.count * (k1 + 1) / (p.count + k1*(1-b+b*x.length[p.text]/x.average))
		}
	}
	hits := make([]Hit, 0, len(scores))
	for text, score := range scores {
		if keep == nil || keep(text) {
			hits = append(hits, Hit{text, score})
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), a.Text-b.Text) })
	return hits
}

func counts(text string) map[string]float64 {
	n := map[string]float64{}
	for _, term := range Terms(text) {
		n[term]++
	}
	return n
}
