package lifecycle_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
)

const days = 24 * time.Hour

var start = time.Date(2025, 3, 1, 8, 30, 15, 250_000_000, time.UTC)

func TestStageOf(t *testing.T) {
	t.Parallel()
	above := func(c float64) float64 { return math.Nextafter(c, 1) }
	below := func(c float64) float64 { return math.Nextafter(c, 0) }
	for _, c := range []struct {
		confidence float64
		stage      lifecycle.Stage
	}{
		{1e-9, lifecycle.Candidate}, {0.05, lifecycle.Candidate}, {0.20, lifecycle.Candidate}, {0.30,
			lifecycle.Candidate},
		{above(0.30), lifecycle.Emerging}, {0.40, lifecycle.Emerging}, {below(0.60), lifecycle.Emerging},
		{0.60, lifecycle.Established}, {0.72, lifecycle.Established}, {0.85, lifecycle.Established},
		{above(0.85), lifecycle.Core}, {1 - 1e-9, lifecycle.Core},
	} {
		require.Equal(t, c.stage, policies.StageOf(c.confidence), "%v", c.confidence)
	}
}

func TestStagesInRecall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stage   lifecycle.Stage
		visible bool
	}{
		{lifecycle.Trend, false}, {lifecycle.Candidate, false}, {lifecycle.Emerging, true}, {lifecycle.Established,
			true}, {lifecycle.Core, true}, {lifecycle.Dissolved, false}, {"", false},
	} {
		require.Equal(t, c.visible, c.stage.Visible(), c.stage)
	}
}

// The worked examples of C §4.2 and the limits.
func TestRate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		subtype lifecycle.Subtype
		n       int
		want    float64
	}{
		{lifecycle.Behavior, 0, 0.005}, {lifecycle.Behavior, 1, 0.004545}, {lifecycle.Behavior, 5, 0.003333},
		{lifecycle.Behavior, 10, 0.0025},
		{lifecycle.Preference, 0, 0.002}, {lifecycle.Preference, 10, 0.001}, {lifecycle.CoreTrait, 0, 0.001},
		{lifecycle.CoreTrait, 10, 0.0005},
		{lifecycle.Behavior, -3, 0.005}, {"?", 0, 0.005}, {"", 5, 0.003333}, {lifecycle.CoreTrait, 1_000_000_000,
			1e-11},
	} {
		require.InDelta(t, c.want, policies.Rate(c.subtype, c.n), 5e-7, "%s, n = %d", c.subtype, c.n)
	}
	require.Equal(t, 0.0025, policies.Rate(lifecycle.Behavior, 10))
	require.Positive(t, policies.Rate(lifecycle.Behavior, math.MaxInt))
}

func TestDecay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		confidence float64
		subtype    lifecycle.Subtype
		n          int
		elapsed    time.Duration
		want       float64
	}{
		{0.8, lifecycle.Behavior, 0, 100 * days, 0.8 * math.Exp(-0.5)},
		{0.8, lifecycle.Behavior, 10, 100 * days, 0.8 * math.Exp(-0.25)},
		{0.8, lifecycle.Preference, 0, 100 * days, 0.8 * math.Exp(-0.2)},
		{0.8, lifecycle.CoreTrait, 0, 100 * days, 0.8 * math.Exp(-0.1)},
		{0.8, lifecycle.Behavior, 0, 12 * time.Hour, 0.8 * math.Exp(-0.0025)},
		{0.8, lifecycle.Behavior, 0, 0, 0.8},
		{0.8, lifecycle.Behavior, 0, -100 * days, 0.8},
		{0.8, lifecycle.Behavior, 0, math.MaxInt64, 0.8 * math.Exp(-0.005*math.MaxInt64/1e9/86400)},
		{0.8, lifecycle.Behavior, 0, math.MinInt64, 0.8},
	} {
		require.InEpsilon(t, c.want, policies.Decay(c.confidence, c.subtype, c.n, c.elapsed), 1e-12)
	}
}

// Confidence keeps falling beyond the range of a time.Duration and never reaches 0.
func TestDecayOverCenturies(t *testing.T) {
	t.Parallel()
	s := lifecycle.State{Subtype: lifecycle.CoreTrait, Stage: lifecycle.Core, Confidence: 0.9,
		At: time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), Reinforcements: 100_000}
	last := s.Confidence
	for year := 100; year <= 9900; year += 100 {
		c := policies.ConfidenceAt(s, time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC))
		require.Less(t, c, last, "year %d", year)
		last = c
	}
	elapsed := 9899 * 365.2425 // days of the Gregorian calendar
	require.InEpsilon(t, 0.9*math.Exp(-0.001/10_001*elapsed), last, 1e-6)

	s = lifecycle.State{Subtype: lifecycle.Behavior, Stage: lifecycle.Emerging, Confidence: 0.4, At: time.Time{}}
	require.Positive(t, policies.ConfidenceAt(s, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)))
}

func TestNextTransition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		s    lifecycle.State
		want time.Time // the boundary is passed by then, at most two seconds late; zero: never
		next lifecycle.Stage
	}{
		{"core", lifecycle.State{Stage: lifecycle.Core, Subtype: lifecycle.Behavior, Confidence: 0.9, At: start},
			at(math.Log(0.9/0.85) / 0.005), lifecycle.Established},
		{"established", lifecycle.State{Stage: lifecycle.Established, Subtype: lifecycle.Behavior, Confidence: 0.7,
			At: start}, at(math.Log(0.7/0.6) / 0.005), lifecycle.Emerging},
		{"first behavior", lifecycle.State{Stage: lifecycle.Emerging, Subtype: lifecycle.Behavior, Confidence: 0.4,
			At: start}, at(math.Log(0.4/0.3) / 0.005), lifecycle.Candidate},
		{"candidate", lifecycle.State{Stage: lifecycle.Candidate, Subtype: lifecycle.Behavior, Confidence: 0.2,
			At: start}, at(math.Log(4) / 0.005), lifecycle.Dissolved},
		{"reinforced preference", lifecycle.State{Stage: lifecycle.Core, Subtype: lifecycle.Preference, Confidence: 0.9,
			At: start, Reinforcements: 10}, at(math.Log(0.9/0.85) / 0.001), lifecycle.Established},
		{"0.85 is established", lifecycle.State{Stage: lifecycle.Established, Subtype: lifecycle.Behavior,
			Confidence: 0.85, At: start}, at(math.Log(0.85/0.6) / 0.005), lifecycle.Emerging},
		{"0.60 leaves at once", lifecycle.State{Stage: lifecycle.Established, Subtype: lifecycle.Behavior,
			Confidence: 0.60, At: start}, at(0), lifecycle.Emerging},
		{"0.30 is candidate", lifecycle.State{Stage: lifecycle.Candidate, Subtype: lifecycle.Behavior, Confidence: 0.30,
			At: start}, at(math.Log(6) / 0.005), lifecycle.Dissolved},
		{"0.05 leaves at once", lifecycle.State{Stage: lifecycle.Candidate, Subtype: lifecycle.Behavior,
			Confidence: 0.05, At: start}, at(0), lifecycle.Dissolved},
		{"too weak already", lifecycle.State{Stage: lifecycle.Candidate, Subtype: lifecycle.Behavior, Confidence: 0.04,
			At: start}, at(0), lifecycle.Dissolved},
		{"trend", lifecycle.State{Stage: lifecycle.Trend, At: start, WindowEnd: start.Add(30 * days)},
			start.Add(30 * days), lifecycle.Dissolved},
	} {
		got := policies.NextTransition(c.s)
		require.False(t, got.Before(c.want), "%s: %v", c.name, got)
		require.LessOrEqual(t, got.Sub(c.want), 2*time.Second, c.name)
		require.Equal(t, c.next, policies.StageAt(c.s, got), c.name)
	}
	for name, s := range map[string]lifecycle.State{
		"dissolved":            {Stage: lifecycle.Dissolved, Confidence: 0.4, At: start, WindowEnd: start},
		"trend without an end": {Stage: lifecycle.Trend, At: start},
		"nothing":              {},
	} {
		require.Zero(t, policies.NextTransition(s), name)
	}
}

func at(days float64) time.Time {
	return start.Add(time.Duration(days * 24 * float64(time.Hour)))
}

// A time.Duration is limited to 292 years, and transitions to the year 9999.
func TestNextTransitionFarAway(t *testing.T) {
	t.Parallel()
	s := lifecycle.State{Stage: lifecycle.Candidate, Subtype: lifecycle.CoreTrait, Confidence: 0.3, At: start,
		Reinforcements: 1000}
	want := start.AddDate(0, 0, int(math.Log(6)/(0.001/101)))
	require.Greater(t, want.Year(), start.Year()+400)
	require.WithinDuration(t, want, policies.NextTransition(s), 24*time.Hour)
	require.Equal(t, lifecycle.Candidate, policies.StageAt(s, policies.NextTransition(s).Add(-3*time.Second)))
	require.Equal(t, lifecycle.Dissolved, policies.StageAt(s, policies.NextTransition(s)))

	s.Reinforcements = 1_000_000
	require.Equal(t, farthest, policies.NextTransition(s))
	require.Equal(t, lifecycle.Candidate, policies.StageAt(s, farthest))
	s.At = time.Time{}
	require.Equal(t, farthest, policies.NextTransition(s))
	s.At = farthest.Add(time.Hour)
	require.Equal(t, farthest.Add(time.Hour+time.Second), policies.NextTransition(s))
}

// The boundary is passed even where the decay of a second is lost in rounding.
func TestNextTransitionSlowDecay(t *testing.T) {
	t.Parallel()
	for _, c := range []float64{policies.CoreAbove, policies.EstablishedMin, policies.CandidateMax,
		policies.DissolveBelow} {
		for range 3 {
			for n := 1; n <= 1_000_000_000; n *= 10 {
				s := lifecycle.State{Stage: policies.StageOf(c), Subtype: lifecycle.CoreTrait, Confidence: c, At: start,
					Reinforcements: n}
				next := policies.NextTransition(s)
				require.Truef(t, next.Equal(farthest) || policies.StageAt(s, next) != s.Stage, "%v, n = %d: %v", c, n,
					next)
			}
			c = math.Nextafter(c, 1)
		}
	}
}
