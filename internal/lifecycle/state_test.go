package lifecycle

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func created(c float64) Event { return Event{Kind: Created, At: start, Subtype: Behavior, Sets: c} }

func after(d time.Duration) time.Time { return start.Add(d) }

func TestApply(t *testing.T) {
	t.Parallel()
	trend := Event{Kind: Created, At: start, Subtype: Behavior, WindowEnd: after(30 * days)}
	gone := Event{Kind: Dissolution, At: after(2 * days)}
	left := 0.4 * math.Exp(-0.05) // of 0.4, after ten days
	ten := after(10 * days)
	for _, c := range []struct {
		name   string
		events []Event
		want   State
	}{
		{"nothing", nil, State{}},
		{"created", []Event{created(0.4)}, State{Behavior, Emerging, 0.4, start, 0, 0, time.Time{}}},
		{"created again begins anew", []Event{trend, {Kind: Reinforced, At: ten}, created(0.4)}, State{Behavior, Emerging, 0.4, start, 0, 0, time.Time{}}},
		{"reinforced", []Event{created(0.4), {Kind: Reinforced, At: ten, Factor: 0.15}},
			State{Behavior, Emerging, left + (1-left)*0.15, ten, 1, 0, time.Time{}}},
		{"used leaves n", []Event{created(0.4), {Kind: Used, At: ten, Factor: policies.FactorUsed}},
			State{Behavior, Emerging, left + (1-left)*0.02, ten, 0, 0, time.Time{}}},
		{"contradicted", []Event{created(0.4), {Kind: Contradicted, At: ten, Factor: policies.Contradiction(2), Count: 2}},
			State{Behavior, Candidate, left * 0.7, ten, 0, 2, time.Time{}}},
		{"decayed", []Event{created(0.4), {Kind: Decayed, At: ten}}, State{Behavior, Emerging, left, ten, 0, 0, time.Time{}}},
		{"became part of another", []Event{created(0.4), {Kind: Promoted, At: ten}}, State{Behavior, Emerging, left, ten, 0, 0, time.Time{}}},
		{"reviewed and kept", []Event{created(0.4), {Kind: Revised, At: ten}}, State{Behavior, Emerging, left, ten, 0, 0, time.Time{}}},
		{"revised", []Event{created(0.4), {Kind: Revised, At: ten, Sets: 0.25}}, State{Behavior, Candidate, 0.25, ten, 0, 0, time.Time{}}},
		{"split", []Event{created(0.4), {Kind: Split, At: ten, Sets: 0.61}}, State{Behavior, Established, 0.61, ten, 0, 0, time.Time{}}},
		{"edited", []Event{created(0.4), {Kind: Edited, At: ten, Sets: 0.9}}, State{Behavior, Core, 0.9, ten, 0, 0, time.Time{}}},
		{"dissolved keeps its confidence", []Event{created(0.4), {Kind: Dissolution, At: ten}}, State{Behavior, Dissolved, left, ten, 0, 0, time.Time{}}},
		{"a trend has no confidence", []Event{trend, {Kind: Reinforced, At: ten, Factor: 0.9}, {Kind: Used, At: ten, Factor: 0.9},
			{Kind: Contradicted, At: ten, Factor: 0.4, Count: 3}}, State{Behavior, Trend, 0, ten, 1, 3, trend.WindowEnd}},
		{"a trend that was promoted", []Event{trend, {Kind: Promoted, At: ten, Sets: 0.3}}, State{Behavior, Candidate, 0.3, ten, 0, 0, time.Time{}}},
		{"a trend that dissolved", []Event{trend, {Kind: Dissolution, At: ten}}, State{Behavior, Dissolved, 0, ten, 0, 0, time.Time{}}},
		{"a trend that dissolved has none either", []Event{trend, gone, {Kind: Reinforced, At: ten, Factor: 0.9}}, State{Behavior, Dissolved, 0, ten, 1, 0, time.Time{}}},
		{"a trend that was edited", []Event{trend, {Kind: Edited, At: ten, Sets: 0.9}}, State{Behavior, Core, 0.9, ten, 0, 0, time.Time{}}},
		{"revised does not bring back", []Event{created(0.4), gone, {Kind: Revised, At: ten, Sets: 0.7}}, State{Behavior, Dissolved, 0.7, ten, 0, 0, time.Time{}}},
		{"evidence does not bring back", []Event{trend, gone, {Kind: Promoted, At: ten, Sets: 0.7}}, State{Behavior, Dissolved, 0.7, ten, 0, 0, time.Time{}}},
		{"revived", []Event{created(0.4), {Kind: Reinforced, At: start}, gone, policies.Revive(ten)}, State{Behavior, Candidate, 0.2, ten, 1, 0, time.Time{}}},
		{"edited brings back", []Event{created(0.4), gone, {Kind: Edited, At: ten, Sets: 0.9}}, State{Behavior, Core, 0.9, ten, 0, 0, time.Time{}}},
		{"an earlier moment is the last one", []Event{created(0.4), {Kind: Decayed, At: ten}, {Kind: Contradicted, At: start, Factor: 0.2, Count: 1}},
			State{Behavior, Emerging, left * 0.8, ten, 0, 1, time.Time{}}},
		{"no trait, no effect", []Event{{Kind: Reinforced, At: start, Factor: 0.2}, {Kind: Dissolution, At: start}, {Kind: Decayed, At: ten}}, State{}},
		{"no trait, a confidence", []Event{{Kind: Edited, At: ten, Sets: 0.7}}, State{"", Established, 0.7, ten, 0, 0, time.Time{}}},
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
	s := policies.Replay([]Event{created(0.4), {Kind: Reinforced, At: after(100 * days), Factor: 0.2}})
	was := 0.4 * math.Exp(-0.5)
	require.InDelta(t, was+(1-was)*0.2, s.Confidence, 1e-15)
	require.InDelta(t, s.Confidence*math.Exp(-0.005/1.1*100), policies.ConfidenceAt(s, after(200*days)), 1e-15)
	// start has a fractional second.
	for _, d := range []time.Duration{time.Millisecond, 900 * time.Millisecond, 36*time.Hour + time.Microsecond} {
		require.InDelta(t, policies.Decay(s.Confidence, Behavior, 1, d), policies.ConfidenceAt(s, s.At.Add(d)), 1e-15)
	}
}

// Confidence stays in (0,1) whatever the factor is, and NaN changes nothing.
func TestApplyBadNumbers(t *testing.T) {
	t.Parallel()
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		kind Kind
		f    float64
		want float64
	}{
		{Reinforced, nan, 0.4}, {Reinforced, -0.5, 0.4}, {Reinforced, -inf, 0.4}, {Reinforced, 1, 1 - 1e-9}, {Reinforced, inf, 1 - margin},
		{Used, nan, 0.4}, {Used, 2, 1 - margin},
		{Contradicted, nan, 0.4}, {Contradicted, -1, 0.4}, {Contradicted, 1, 1e-9}, {Contradicted, inf, margin},
	} {
		s := policies.Replay([]Event{created(0.4), {Kind: c.kind, At: start, Factor: c.f}})
		require.InDelta(t, c.want, s.Confidence, 1e-15, "%s %v", c.kind, c.f)
	}
	for sets, want := range map[float64]float64{1: 1 - margin, 7: 1 - margin, inf: 1 - margin, 1e-300: 1e-9, -1: 0.4, -inf: 0.4, 0: 0.4} {
		s := policies.Replay([]Event{created(0.4), {Kind: Edited, At: start, Sets: sets}})
		require.InDelta(t, want, s.Confidence, 1e-15, "%v", sets)
	}
	require.InDelta(t, 0.4, policies.Replay([]Event{created(0.4), {Kind: Edited, At: start, Sets: nan}}).Confidence, 1e-15)
	require.Equal(t, Trend, policies.Replay([]Event{created(nan)}).Stage)
}

// Some confidence is left after any time, however often it is read.
func TestApplyAfterAges(t *testing.T) {
	t.Parallel()
	s := policies.Apply(State{}, Event{Kind: Created, Subtype: Behavior, Sets: 0.4})
	for year := 1000; year <= 9000; year += 1000 {
		s = policies.Apply(s, Event{Kind: Decayed, At: time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)})
		require.Equal(t, margin, s.Confidence)
	}
}

func TestStageAt(t *testing.T) {
	t.Parallel()
	s := policies.Replay([]Event{created(0.4)})
	require.Equal(t, Emerging, policies.StageAt(s, start))
	require.Equal(t, Emerging, policies.StageAt(s, after(-500*days)))
	require.Equal(t, Candidate, policies.StageAt(s, after(58*days)))
	require.Equal(t, Dissolved, policies.StageAt(s, after(416*days)))
	trend := State{Stage: Trend, At: start, WindowEnd: after(30 * days)}
	require.Equal(t, Trend, policies.StageAt(trend, after(30*days-1)))
	require.Equal(t, Dissolved, policies.StageAt(trend, after(30*days)))
	require.Equal(t, Trend, policies.StageAt(State{Stage: Trend}, start))
	require.Equal(t, Dissolved, policies.StageAt(State{Stage: Dissolved, Confidence: 0.9, At: start}, start))
	require.Equal(t, Stage(""), policies.StageAt(State{}, start))
}

func TestFollow(t *testing.T) {
	t.Parallel()
	window := after(30 * days)
	trend := func(n int) State { return State{Stage: Trend, At: start, WindowEnd: window, Reinforcements: n} }
	emerging := State{Stage: Emerging, Subtype: Behavior, Confidence: 0.4, At: start}
	for _, c := range []struct {
		name string
		s    State
		now  time.Time
		want Event // without At; zero: none
	}{
		{"trend, once", trend(1), after(days), Event{}},
		{"trend, twice", trend(2), after(days), Event{Kind: Promoted, Sets: 0.30}},
		{"trend, more often", trend(5), window.Add(-1), Event{Kind: Promoted, Sets: 0.30}},
		{"trend, its window over", trend(1), window, Event{Kind: Dissolution}},
		{"trend, too late", trend(2), window, Event{Kind: Dissolution}},
		{"trend without an end, twice", State{Stage: Trend, Reinforcements: 2}, after(days), Event{Kind: Promoted, Sets: 0.30}},
		{"no change", emerging, after(57 * days), Event{}},
		{"over a boundary", emerging, after(58 * days), Event{Kind: Decayed}},
		{"too weak", emerging, after(416 * days), Event{Kind: Dissolution}},
		{"contradicted below 0.05", policies.Replay([]Event{created(0.06), {Kind: Contradicted, At: start, Factor: 0.4, Count: 3}}), start, Event{Kind: Dissolution}},
		{"dissolved", State{Stage: Dissolved, Confidence: 0.01, At: start}, after(9000 * days), Event{}},
		{"nothing", State{}, start, Event{}},
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
	s := policies.Apply(policies.Apply(State{}, e), Event{Kind: Reinforced, At: after(5 * days), Factor: 0.15})
	_, ok = policies.Follow(s, after(5*days))
	require.False(t, ok)
	s = policies.Apply(s, Event{Kind: Reinforced, At: after(29 * days), Factor: 0.15})
	e, ok = policies.Follow(s, after(29*days))
	require.True(t, ok)
	s = policies.Apply(s, e)
	require.Equal(t, State{Subtype: Behavior, Stage: Candidate, Confidence: 0.30, At: after(29 * days), Reinforcements: 2}, s)
	require.InDelta(t, 0.30*math.Exp(-0.005/1.2*10), policies.ConfidenceAt(s, after(39*days)), 1e-15)
}

func TestTrendIsDissolvedAndRevived(t *testing.T) {
	t.Parallel()
	e, ok := policies.NewPattern(start, 2, 2, 3*days, true)
	require.True(t, ok)
	s := policies.Apply(policies.Apply(State{}, e), Event{Kind: Reinforced, At: after(5 * days), Factor: 0.15})
	require.Equal(t, after(14*days), policies.NextTransition(s))
	e, ok = policies.Follow(s, policies.NextTransition(s))
	require.True(t, ok)
	s = policies.Apply(s, e)
	require.Equal(t, State{Subtype: Behavior, Stage: Dissolved, At: after(14 * days), Reinforcements: 1}, s)
	s = policies.Apply(s, policies.Revive(after(100*days)))
	require.Equal(t, State{Subtype: Behavior, Stage: Candidate, Confidence: 0.20, At: after(100 * days), Reinforcements: 1}, s)
}
