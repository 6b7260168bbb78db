package lifecycle_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
)

func created(c float64) lifecycle.Event {
	return lifecycle.Event{Kind: lifecycle.Created, At: start, Subtype: lifecycle.Behavior, Sets: c}
}

func after(d time.Duration) time.Time { return start.Add(d) }

func TestApply(t *testing.T) {
	t.Parallel()
	trend := lifecycle.Event{Kind: lifecycle.Created, At: start, Subtype: lifecycle.Behavior,
		WindowEnd: after(30 * days)}
	gone := lifecycle.Event{Kind: lifecycle.Dissolution, At: after(2 * days)}
	left := 0.4 * math.Exp(-0.05) // of 0.4, after ten days
	ten := after(10 * days)
	for _, c := range []struct {
		name   string
		events []lifecycle.Event
		want   lifecycle.State
	}{
		{"nothing", nil, lifecycle.State{}},
		{"created", []lifecycle.Event{created(0.4)}, lifecycle.State{lifecycle.Behavior, lifecycle.Emerging, 0.4, start,
			0, 0, time.Time{}}},
		{"created again begins anew", []lifecycle.Event{trend, {Kind: lifecycle.Reinforced, At: ten}, created(0.4)},
			lifecycle.State{lifecycle.Behavior, lifecycle.Emerging, 0.4, start, 0, 0, time.Time{}}},
		{"reinforced", []lifecycle.Event{created(0.4), {Kind: lifecycle.Reinforced, At: ten, Factor: 0.15}},
			lifecycle.State{lifecycle.Behavior, lifecycle.Emerging, left + (1-left)*0.15, ten, 1, 0, time.Time{}}},
		{"used leaves n", []lifecycle.Event{created(0.4), {Kind: lifecycle.Used, At: ten, Factor: policies.FactorUsed}},
			lifecycle.State{lifecycle.Behavior, lifecycle.Emerging, left + (1-left)*0.02, ten, 0, 0, time.Time{}}},
		{"contradicted", []lifecycle.Event{created(0.4), {Kind: lifecycle.Contradicted, At: ten,
			Factor: policies.Contradiction(2), Count: 2}},
			lifecycle.State{lifecycle.Behavior, lifecycle.Candidate, left * 0.7, ten, 0, 2, time.Time{}}},
		{"decayed", []lifecycle.Event{created(0.4), {Kind: lifecycle.Decayed, At: ten}},
			lifecycle.State{lifecycle.Behavior, lifecycle.Emerging, left, ten, 0, 0, time.Time{}}},
		{"became part of another", []lifecycle.Event{created(0.4), {Kind: lifecycle.Promoted, At: ten}},
			lifecycle.State{lifecycle.Behavior, lifecycle.Emerging, left, ten, 0, 0, time.Time{}}},
		{"reviewed and kept", []lifecycle.Event{created(0.4), {Kind: lifecycle.Revised, At: ten}},
			lifecycle.State{lifecycle.Behavior, lifecycle.Emerging, left, ten, 0, 0, time.Time{}}},
		{"revised", []lifecycle.Event{created(0.4), {Kind: lifecycle.Revised, At: ten, Sets: 0.25}},
			lifecycle.State{lifecycle.Behavior, lifecycle.Candidate, 0.25, ten, 0, 0, time.Time{}}},
		{"split", []lifecycle.Event{created(0.4), {Kind: lifecycle.Split, At: ten, Sets: 0.61}},
			lifecycle.State{lifecycle.Behavior, lifecycle.Established, 0.61, ten, 0, 0, time.Time{}}},
		{"edited", []lifecycle.Event{created(0.4), {Kind: lifecycle.Edited, At: ten, Sets: 0.9}},
			lifecycle.State{lifecycle.Behavior, lifecycle.Core, 0.9, ten, 0, 0, time.Time{}}},
		{"dissolved keeps its confidence", []lifecycle.Event{created(0.4), {Kind: lifecycle.Dissolution, At: ten}},
			lifecycle.State{lifecycle.Behavior, lifecycle.Dissolved, left, ten, 0, 0, time.Time{}}},
		{"a trend has no confidence", []lifecycle.Event{trend, {Kind: lifecycle.Reinforced, At: ten, Factor: 0.9},
			{Kind: lifecycle.Used, At: ten, Factor: 0.9},
			{Kind: lifecycle.Contradicted, At: ten, Factor: 0.4, Count: 3}}, lifecycle.State{lifecycle.Behavior,
			lifecycle.Trend, 0, ten, 1, 3, trend.WindowEnd}},
		{"a trend that was promoted", []lifecycle.Event{trend, {Kind: lifecycle.Promoted, At: ten, Sets: 0.3}},
			lifecycle.State{lifecycle.Behavior, lifecycle.Candidate, 0.3, ten, 0, 0, time.Time{}}},
		{"a trend that dissolved", []lifecycle.Event{trend, {Kind: lifecycle.Dissolution, At: ten}},
			lifecycle.State{lifecycle.Behavior, lifecycle.Dissolved, 0, ten, 0, 0, time.Time{}}},
		{"a trend that dissolved has none either", []lifecycle.Event{trend, gone,
			{Kind: lifecycle.Reinforced, At: ten, Factor: 0.9}}, lifecycle.State{lifecycle.Behavior,
			lifecycle.Dissolved, 0, ten, 1, 0, time.Time{}}},
		{"a trend that was edited", []lifecycle.Event{trend, {Kind: lifecycle.Edited, At: ten, Sets: 0.9}},
			lifecycle.State{lifecycle.Behavior, lifecycle.Core, 0.9, ten, 0, 0, time.Time{}}},
		{"revised does not bring back", []lifecycle.Event{created(0.4), gone,
			{Kind: lifecycle.Revised, At: ten, Sets: 0.7}}, lifecycle.State{lifecycle.Behavior, lifecycle.Dissolved,
			0.7, ten, 0, 0, time.Time{}}},
		{"evidence does not bring back", []lifecycle.Event{trend, gone, {Kind: lifecycle.Promoted, At: ten, Sets: 0.7}},
			lifecycle.State{lifecycle.Behavior, lifecycle.Dissolved, 0.7, ten, 0, 0, time.Time{}}},
		{"revived", []lifecycle.Event{created(0.4), {Kind: lifecycle.Reinforced, At: start}, gone,
			policies.Revive(ten)}, lifecycle.State{lifecycle.Behavior, lifecycle.Candidate, 0.2, ten, 1, 0,
			time.Time{}}},
		{"edited brings back", []lifecycle.Event{created(0.4), gone, {Kind: lifecycle.Edited, At: ten, Sets: 0.9}},
			lifecycle.State{lifecycle.Behavior, lifecycle.Core, 0.9, ten, 0, 0, time.Time{}}},
		{"an earlier moment is the last one", []lifecycle.Event{created(0.4), {Kind: lifecycle.Decayed, At: ten},
			{Kind: lifecycle.Contradicted, At: start, Factor: 0.2, Count: 1}},
			lifecycle.State{lifecycle.Behavior, lifecycle.Emerging, left * 0.8, ten, 0, 1, time.Time{}}},
		{"no trait, no effect", []lifecycle.Event{{Kind: lifecycle.Reinforced, At: start, Factor: 0.2},
			{Kind: lifecycle.Dissolution, At: start}, {Kind: lifecycle.Decayed, At: ten}}, lifecycle.State{}},
		{"no trait, a confidence", []lifecycle.Event{{Kind: lifecycle.Edited, At: ten, Sets: 0.7}},
			lifecycle.State{"", lifecycle.Established, 0.7, ten, 0, 0, time.Time{}}},
	} {
		got := policies.Replay(c.events)
		require.InDelta(t, c.want.Confidence, got.Confidence, 1e-15, c.name)
		got.Confidence = c.want.Confidence
		require.Equal(t, c.want, got, c.name)
	}
}

// An event raises n after the decay up to it, so n slows only the decay that follows.
func TestReinforcedDecaysFirst(t *testing.T) {
	t.Parallel()
	s := policies.Replay([]lifecycle.Event{created(0.4), {Kind: lifecycle.Reinforced, At: after(100 * days),
		Factor: 0.2}})
	was := 0.4 * math.Exp(-0.5)
	require.InDelta(t, was+(1-was)*0.2, s.Confidence, 1e-15)
	require.InDelta(t, s.Confidence*math.Exp(-0.005/1.1*100), policies.ConfidenceAt(s, after(200*days)), 1e-15)
	// start has a fractional second.
	for _, d := range []time.Duration{time.Millisecond, 900 * time.Millisecond, 36*time.Hour + time.Microsecond} {
		require.InDelta(t, policies.Decay(s.Confidence, lifecycle.Behavior, 1, d),
			policies.ConfidenceAt(s, s.At.Add(d)), 1e-15)
	}
}

// Confidence stays in (0,1) whatever the factor is, and NaN changes nothing.
func TestApplyBadNumbers(t *testing.T) {
	t.Parallel()
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		kind lifecycle.Kind
		f    float64
		want float64
	}{
		{lifecycle.Reinforced, nan, 0.4}, {lifecycle.Reinforced, -0.5, 0.4}, {lifecycle.Reinforced, -inf, 0.4},
		{lifecycle.Reinforced, 1, 1 - 1e-9}, {lifecycle.Reinforced, inf, 1 - margin},
		{lifecycle.Used, nan, 0.4}, {lifecycle.Used, 2, 1 - margin},
		{lifecycle.Contradicted, nan, 0.4}, {lifecycle.Contradicted, -1, 0.4}, {lifecycle.Contradicted, 1, 1e-9},
		{lifecycle.Contradicted, inf, margin},
	} {
		s := policies.Replay([]lifecycle.Event{created(0.4), {Kind: c.kind, At: start, Factor: c.f}})
		require.InDelta(t, c.want, s.Confidence, 1e-15, "%s %v", c.kind, c.f)
	}
	for sets, want := range map[float64]float64{1: 1 - margin, 7: 1 - margin, inf: 1 - margin, 1e-300: 1e-9, -1: 0.4,
		-inf: 0.4, 0: 0.4} {
		s := policies.Replay([]lifecycle.Event{created(0.4), {Kind: lifecycle.Edited, At: start, Sets: sets}})
		require.InDelta(t, want, s.Confidence, 1e-15, "%v", sets)
	}
	require.InDelta(t, 0.4, policies.Replay([]lifecycle.Event{created(0.4),
		{Kind: lifecycle.Edited, At: start, Sets: nan}}).Confidence, 1e-15)
	require.Equal(t, lifecycle.Trend, policies.Replay([]lifecycle.Event{created(nan)}).Stage)
}

// Confidence never reaches zero, however much time passes and however often it is read.
func TestApplyAfterAges(t *testing.T) {
	t.Parallel()
	s := policies.Apply(lifecycle.State{}, lifecycle.Event{Kind: lifecycle.Created, Subtype: lifecycle.Behavior,
		Sets: 0.4})
	for year := 1000; year <= 9000; year += 1000 {
		s = policies.Apply(s, lifecycle.Event{Kind: lifecycle.Decayed, At: time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)})
		require.Equal(t, margin, s.Confidence)
	}
}

func TestStageAt(t *testing.T) {
	t.Parallel()
	s := policies.Replay([]lifecycle.Event{created(0.4)})
	require.Equal(t, lifecycle.Emerging, policies.StageAt(s, start))
	require.Equal(t, lifecycle.Emerging, policies.StageAt(s, after(-500*days)))
	require.Equal(t, lifecycle.Candidate, policies.StageAt(s, after(58*days)))
	require.Equal(t, lifecycle.Dissolved, policies.StageAt(s, after(416*days)))
	trend := lifecycle.State{Stage: lifecycle.Trend, At: start, WindowEnd: after(30 * days)}
	require.Equal(t, lifecycle.Trend, policies.StageAt(trend, after(30*days-1)))
	require.Equal(t, lifecycle.Dissolved, policies.StageAt(trend, after(30*days)))
	require.Equal(t, lifecycle.Trend, policies.StageAt(lifecycle.State{Stage: lifecycle.Trend}, start))
	require.Equal(t, lifecycle.Dissolved, policies.StageAt(lifecycle.State{Stage: lifecycle.Dissolved, Confidence: 0.9,
		At: start}, start))
	require.Equal(t, lifecycle.Stage(""), policies.StageAt(lifecycle.State{}, start))
}

func TestFollow(t *testing.T) {
	t.Parallel()
	window := after(30 * days)
	trend := func(n int) lifecycle.State {
		return lifecycle.State{Stage: lifecycle.Trend, At: start, WindowEnd: window, Reinforcements: n}
	}
	emerging := lifecycle.State{Stage: lifecycle.Emerging, Subtype: lifecycle.Behavior, Confidence: 0.4, At: start}
	for _, c := range []struct {
		name string
		s    lifecycle.State
		now  time.Time
		want lifecycle.Event // without At; zero: none
	}{
		{"trend, once", trend(1), after(days), lifecycle.Event{}},
		{"trend, twice", trend(2), after(days), lifecycle.Event{Kind: lifecycle.Promoted, Sets: 0.30}},
		{"trend, more often", trend(5), window.Add(-1), lifecycle.Event{Kind: lifecycle.Promoted, Sets: 0.30}},
		{"trend, its window over", trend(1), window, lifecycle.Event{Kind: lifecycle.Dissolution}},
		{"trend, too late", trend(2), window, lifecycle.Event{Kind: lifecycle.Dissolution}},
		{"trend without an end, twice", lifecycle.State{Stage: lifecycle.Trend, Reinforcements: 2}, after(days),
			lifecycle.Event{Kind: lifecycle.Promoted, Sets: 0.30}},
		{"no change", emerging, after(57 * days), lifecycle.Event{}},
		{"over a boundary", emerging, after(58 * days), lifecycle.Event{Kind: lifecycle.Decayed}},
		{"too weak", emerging, after(416 * days), lifecycle.Event{Kind: lifecycle.Dissolution}},
		{"contradicted below 0.05", policies.Replay([]lifecycle.Event{created(0.06),
			{Kind: lifecycle.Contradicted, At: start, Factor: 0.4, Count: 3}}), start,
			lifecycle.Event{Kind: lifecycle.Dissolution}},
		{"dissolved", lifecycle.State{Stage: lifecycle.Dissolved, Confidence: 0.01, At: start}, after(9000 * days),
			lifecycle.Event{}},
		{"nothing", lifecycle.State{}, start, lifecycle.Event{}},
	} {
		e, ok := policies.Follow(c.s, c.now)
		require.Equal(t, c.want.Kind != "", ok, c.name)
		if ok {
			c.want.At = c.now
		}
		require.Equal(t, c.want, e, c.name)
	}
}

// A trend that two cycles reinforce within its window becomes a candidate at once and decays from
// then on.
func TestTrendIsPromoted(t *testing.T) {
	t.Parallel()
	e, ok := policies.NewPattern(start, 2, 2, 3*days, false)
	require.True(t, ok)
	s := policies.Apply(policies.Apply(lifecycle.State{}, e),
		lifecycle.Event{Kind: lifecycle.Reinforced, At: after(5 * days), Factor: 0.15})
	_, ok = policies.Follow(s, after(5*days))
	require.False(t, ok)
	s = policies.Apply(s, lifecycle.Event{Kind: lifecycle.Reinforced, At: after(29 * days), Factor: 0.15})
	e, ok = policies.Follow(s, after(29*days))
	require.True(t, ok)
	s = policies.Apply(s, e)
	require.Equal(t, lifecycle.State{Subtype: lifecycle.Behavior, Stage: lifecycle.Candidate, Confidence: 0.30,
		At: after(29 * days), Reinforcements: 2}, s)
	require.InDelta(t, 0.30*math.Exp(-0.005/1.2*10), policies.ConfidenceAt(s, after(39*days)), 1e-15)
}

func TestTrendIsDissolvedAndRevived(t *testing.T) {
	t.Parallel()
	e, ok := policies.NewPattern(start, 2, 2, 3*days, true)
	require.True(t, ok)
	s := policies.Apply(policies.Apply(lifecycle.State{}, e),
		lifecycle.Event{Kind: lifecycle.Reinforced, At: after(5 * days), Factor: 0.15})
	require.Equal(t, after(14*days), policies.NextTransition(s))
	e, ok = policies.Follow(s, policies.NextTransition(s))
	require.True(t, ok)
	s = policies.Apply(s, e)
	require.Equal(t, lifecycle.State{Subtype: lifecycle.Behavior, Stage: lifecycle.Dissolved, At: after(14 * days),
		Reinforcements: 1}, s)
	s = policies.Apply(s, policies.Revive(after(100*days)))
	require.Equal(t, lifecycle.State{Subtype: lifecycle.Behavior, Stage: lifecycle.Candidate, Confidence: 0.20,
		At: after(100 * days), Reinforcements: 1}, s)
}
