package sqlcode_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// stems are words that equal their stems; the tests of the terms cover stemming.
var stems = []string{"river", "boat", "lamp", "door", "tea", "bread", "lake", "wind", "hill", "road", "song", "bird"}

// corpus holds a user's memories as seen by BM25.
type corpus struct {
	ids   []string
	terms [][]string // with repeats
	days  []time.Time
}

func (c corpus) frequency(doc int, term string) (n int) {
	for _, t := range c.terms[doc] {
		if t == term {
			n++
		}
	}
	return n
}

// idf returns the idf of a term or day, and the number of memories that have it.
func (c corpus) idf(has func(doc int) bool) (idf float64, n int) {
	for doc := range c.ids {
		if has(doc) {
			n++
		}
	}
	return math.Log(1 + math.Max(float64(len(c.ids)-n)+0.5, 0)/(float64(n)+0.5)), n
}

// kept returns the words that count: the two rarest that occur, and others that are not too common.
func (c corpus) kept(words []string) []string {
	type word struct {
		term string
		n    int
	}
	var list []word
	for _, w := range words {
		if _, n := c.idf(func(doc int) bool { return c.frequency(doc, w) > 0 }); n > 0 {
			list = append(list, word{w, n})
		}
	}
	slices.SortFunc(list, func(a, b word) int { return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.term, b.term)) })
	var kept []string
	for i, w := range list {
		if i < 2 || float64(w.n) <= math.Max(0.3*float64(len(c.ids)), 50) {
			kept = append(kept, w.term)
		}
	}
	return kept
}

// scores computes the formula of oxbow.recall_text for one memory after another.
func (c corpus) scores(words, days []string) map[string]float64 {
	const k1, b = 1.2, 0.75
	total := 0
	for _, terms := range c.terms {
		total += len(terms)
	}
	average := float64(max(total, 1)) / float64(len(c.ids))
	scores := map[string]float64{}
	for doc, id := range c.ids {
		text, date := 0.0, 0.0
		for _, w := range c.kept(words) {
			f := float64(min(c.frequency(doc, w), 2))
			idf, _ := c.idf(func(doc int) bool { return c.frequency(doc, w) > 0 })
			text += math.Pow(idf, 1.5) * f * (k1 + 1) / (f + k1*(1-b+b*float64(len(c.terms[doc]))/average))
		}
		for _, day := range days {
			is := func(doc int) bool { return c.days[doc].Format("@2006-01-02") == day }
			if idf, _ := c.idf(is); is(doc) {
				date += idf
			}
		}
		if score := text*(1+date) + date; score > 0 {
			scores[id] = score
		}
	}
	return scores
}

// randomCorpus stores and indexes n memories, one per day, of English words and some Chinese text.
func randomCorpus(t *testing.T, tx db, random *rand.Rand, n int) corpus {
	t.Helper()
	const characters = "山水火木金土"
	var c corpus
	for range n {
		var text, terms []string
		for range 1 + random.IntN(12) {
			w := stems[min(random.IntN(len(stems)), random.IntN(len(stems)))]
			text, terms = append(text, w), append(terms, w)
		}
		if random.IntN(3) == 0 {
			var run []rune
			for range 2 + random.IntN(4) {
				run = append(run, []rune(characters)[random.IntN(6)])
			}
			text = append(text, string(run))
			for i := range len(run) - 1 {
				terms = append(terms, string(run[i:i+2]))
			}
		}
		day := ago(time.Duration(random.IntN(30)) * 24 * time.Hour)
		c.ids = append(c.ids, remember(t, tx, row{"user_id": ann(t),
			"memory_type": []string{"episodic", "document"}[random.IntN(2)],
			"content":     strings.Join(text, " "), "valid_at": day}))
		c.terms, c.days = append(c.terms, terms), append(c.days, day)
	}
	index(t, tx, ann(t))
	return c
}

func TestTextScoresAreBM25(t *testing.T) {
	t.Parallel()
	for seed, size := range []int{1, 2, 5, 20, 60, 200} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			tx := pgtest.Tx(t)
			random := rand.New(rand.NewPCG(uint64(seed), 3))
			c := randomCorpus(t, tx, random, size)
			for range 25 {
				words := append([]string{"nowhere", "山水"}, stems...)
				random.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
				words = words[:1+random.IntN(5)]
				var days []string
				for range random.IntN(3) {
					days = append(days, ago(time.Duration(random.IntN(30))*24*time.Hour).Format("@2006-01-02"))
				}
				days = slices.Compact(slices.Sorted(slices.Values(days)))

				var ids []string
				var scores []float64
				require.NoError(t, tx.QueryRow(t.Context(), `
					select coalesce(ids::text[], '{}'), coalesce(scores, '{}')
					  from oxbow.recall_text($1, '{fact,episodic,trait,document}', $2, $3, 1000, null)`, ann(t), words,
					days).Scan(&ids, &scores))
				want := c.scores(words, days)
				require.Len(t, ids, len(want), "%v %v", words, days)
				for i, id := range ids {
					require.InEpsilon(t, want[id], scores[i], 1e-9, "%v %v", words, days)
				}
				require.True(t, slices.IsSortedFunc(scores, func(a, b float64) int { return cmp.Compare(b, a) }))
			}
		})
	}
}
