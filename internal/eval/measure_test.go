package eval

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Three questions, counted by hand:
//
//	a: gold at 1 and 7        recall 1/2, 1, 1      hit 1, 1, 1
//	a: gold at 20 and nowhere recall 0, 0, 1/2      hit 0, 0, 1
//	b: gold at 6, 10, 11, no  recall 0, 1/2, 3/4    hit 0, 1, 1
func TestMeasures(t *testing.T) {
	t.Parallel()
	var tally Tally
	tally.Add("a", Answer{Memories: []int{1, 7}, Took: 3 * time.Millisecond})
	tally.Add("a", Answer{Memories: []int{20, 0}, Took: 1 * time.Millisecond})
	tally.Add("b", Answer{Memories: []int{6, 10, 11, 0}, Sessions: []int{5}, Took: 2500 * time.Microsecond})
	report := tally.Report()

	third := 1.0 / 3
	require.Equal(t, 3, report.All.N)
	require.InDelta(t, 0.5*third, report.All.Recall5, 1e-12)
	require.InDelta(t, 1.5*third, report.All.Recall10, 1e-12)
	require.InDelta(t, 2.25*third, report.All.Recall20, 1e-12)
	require.InDelta(t, 1*third, report.All.Hit5, 1e-12)
	require.InDelta(t, 2*third, report.All.Hit10, 1e-12)
	require.InDelta(t, 1, report.All.Hit20, 1e-12)
	require.Equal(t, map[string]Score{
		"a": {N: 2, Recall5: 0.25, Recall10: 0.5, Recall20: 0.75, Hit5: 0.5, Hit10: 0.5, Hit20: 1},
		"b": {N: 1, Recall10: 0.5, Recall20: 0.75, Hit10: 1, Hit20: 1},
	}, report.Categories)
	require.Equal(t, &Scores{
		All:        Score{N: 1, Recall5: 1, Recall10: 1, Recall20: 1, Hit5: 1, Hit10: 1, Hit20: 1},
		Categories: map[string]Score{"b": {N: 1, Recall5: 1, Recall10: 1, Recall20: 1, Hit5: 1, Hit10: 1, Hit20: 1}},
	}, report.Sessions)
	require.Equal(t, Latency{P50: 2.5, P95: 3, P99: 3}, report.Latency)
}

// Six questions, by hand: precision 1/3, 2/2, 0 (nothing came back), 0 (unknown), and two that do not count.
func TestPrecision(t *testing.T) {
	t.Parallel()
	var tally Tally
	tally.Add("", Answer{Memories: []int{3, 0}, Wanted: 1, Unwanted: 2})
	tally.Add("", Answer{Memories: []int{1, 2}, Wanted: 2})
	tally.Add("", Answer{Memories: []int{0}})
	tally.Add("", Answer{Unwanted: 4})
	tally.Add("", Answer{})
	tally.Add("", Answer{Sessions: []int{1}, Unwanted: 9})
	p := tally.Precision()
	require.InDelta(t, 1.0/3, p.Precision, 1e-12)
	require.InDelta(t, 0.5, p.Recall, 1e-12)
	require.Equal(t, [3]float64{4, 2, 0.5}, [3]float64{float64(p.N), float64(p.Unknown), p.Silent})
	require.Equal(t, &Precision{}, (&Tally{}).Precision())
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	q := Question{Gold: []string{"a", "0B6F0F0E-6A0A-4F0B-9E0D-1F2A3B4C5D6E", "z"}, Sessions: []string{"s2", "s9"}}
	results := [][]string{{"1", "x"}, {"0b6f0f0e-6a0a-4f0b-9e0d-1f2a3b4c5d6e", ""}, {"3", "a"}}
	sessions := [][]string{{"s1"}, {"s2"}}
	require.Equal(t, Answer{Memories: []int{3, 2, 0}, Sessions: []int{2, 0}, Wanted: 2, Unwanted: 1, Took: 1},
		q.Answer(results, sessions, 1))
	q.Unwanted = []string{"y"}
	require.Zero(t, q.Answer(results, sessions, 1).Unwanted, "x is neither gold nor unwanted")
	q.Unwanted = []string{"x"}
	require.Equal(t, 1, q.Answer(results, sessions, 1).Unwanted)
	var many [][]string
	for range Depth {
		many = append(many, []string{"n"})
	}
	require.Equal(t, 0, q.Answer(append(many, []string{"a"}), nil, 1).Wanted, "only the first results count")
}

func TestPercentiles(t *testing.T) {
	t.Parallel()
	var tally Tally
	for i := range 200 { // in descending order
		tally.Add("", Answer{Memories: []int{1}, Took: time.Duration(200-i) * time.Millisecond})
	}
	require.Equal(t, Latency{P50: 100, P95: 190, P99: 198}, tally.Report().Latency)
}

func TestReportAsJSON(t *testing.T) {
	t.Parallel()
	var tally Tally
	tally.Add("x", Answer{Memories: []int{3}, Took: 1500 * time.Microsecond})
	encoded, err := json.Marshal(tally.Report())
	require.NoError(t, err)
	const score = `{"n":1,"recall@5":1,"recall@10":1,"recall@20":1,"hit@5":1,"hit@10":1,"hit@20":1}`
	require.JSONEq(t, `{"all":`+score+`,"categories":{"x":`+score+`},"latency_ms":{"p50":1.5,"p95":1.5,"p99":1.5}}`,
		string(encoded))

	encoded, err = json.Marshal((&Tally{}).Report())
	require.NoError(t, err)
	require.JSONEq(t,
		`{"all":{"n":0,"recall@5":0,"recall@10":0,"recall@20":0,"hit@5":0,"hit@10":0,"hit@20":0},"categories":{},
		"latency_ms":{"p50":0,"p95":0,"p99":0}}`, string(encoded))
}
