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
	tally.Add("a", []int{1, 7}, 3*time.Millisecond)
	tally.Add("a", []int{20, 0}, 1*time.Millisecond)
	tally.Add("b", []int{6, 10, 11, 0}, 2500*time.Microsecond)
	tally.Add("c", nil, time.Hour)
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
	require.Equal(t, Latency{P50: 2.5, P95: 3, P99: 3}, report.Latency)
}

func TestPercentiles(t *testing.T) {
	t.Parallel()
	var tally Tally
	for i := range 200 { // in descending order
		tally.Add("", []int{1}, time.Duration(200-i)*time.Millisecond)
	}
	require.Equal(t, Latency{P50: 100, P95: 190, P99: 198}, tally.Report().Latency)
}

func TestReportAsJSON(t *testing.T) {
	t.Parallel()
	var tally Tally
	tally.Add("x", []int{3}, 1500*time.Microsecond)
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
