package lifecycle_test

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
)

const rounds = 2000

// random returns a generator with a new seed for each run, and logs the seed if the test fails.
// LIFECYCLE_SEED repeats a run.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if given := os.Getenv("LIFECYCLE_SEED"); given != "" {
		var err error
		seed, err = strconv.ParseUint(given, 10, 64)
		require.NoError(t, err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("LIFECYCLE_SEED=%d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 1))
}

var (
	kinds = []lifecycle.Kind{lifecycle.Created, lifecycle.Reinforced, lifecycle.Contradicted, lifecycle.Promoted,
		lifecycle.Revised, lifecycle.Split, lifecycle.Edited, lifecycle.Decayed, lifecycle.Dissolution,
		lifecycle.Revived, lifecycle.Used}
	subtypes  = []lifecycle.Subtype{lifecycle.Behavior, lifecycle.Preference, lifecycle.CoreTrait}
	qualities = []lifecycle.Quality{lifecycle.QualityA, lifecycle.QualityB, lifecycle.QualityC, lifecycle.QualityD}
)

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// randomConfidence returns a number in (0,1), often on a boundary or next to one.
func randomConfidence(r *rand.Rand) float64 {
	if r.IntN(3) > 0 {
		return clamp(r.Float64())
	}
	c := pick(r, []float64{policies.CoreAbove, policies.EstablishedMin, policies.CandidateMax, policies.DissolveBelow,
		0.5, 0.40, 0.20, margin, 1 - margin})
	return clamp(math.Nextafter(c, float64(r.IntN(3)-1)+c)) // up, down or unchanged
}

// randomState returns a reachable state with a confidence.
func randomState(r *rand.Rand) lifecycle.State {
	c := randomConfidence(r)
	s := lifecycle.State{Subtype: pick(r, subtypes), Confidence: c, Stage: policies.StageOf(c),
		Reinforcements: r.IntN(60), At: start.Add(time.Duration(r.Int64N(int64(10000 * days))))}
	return s
}

// randomEvents returns events that begin with Created. One in ten is earlier than its predecessor.
func randomEvents(r *rand.Rand) []lifecycle.Event {
	now := start
	events := make([]lifecycle.Event, 1+r.IntN(30))
	for i := range events {
		e := lifecycle.Event{Kind: pick(r, kinds), At: now, Factor: r.Float64(), Count: r.IntN(5),
			Subtype: pick(r, subtypes)}
		if i == 0 {
			e.Kind = lifecycle.Created
		}
		switch e.Kind {
		case lifecycle.Created:
			if e.WindowEnd = now.Add(30 * days); r.IntN(2) == 0 {
				e.Sets, e.WindowEnd = randomConfidence(r), time.Time{}
			}
		case lifecycle.Edited, lifecycle.Revived:
			e.Sets = randomConfidence(r)
		case lifecycle.Promoted, lifecycle.Revised, lifecycle.Split:
			if r.IntN(2) == 0 {
				e.Sets = randomConfidence(r)
			}
		}
		if events[i] = e; r.IntN(10) == 0 {
			now = now.Add(-time.Duration(r.Int64N(int64(5 * days))))
		} else {
			now = now.Add(time.Duration(r.Int64N(int64(300 * days))))
		}
	}
	return events
}

// requireSound checks the invariants of every reachable state.
func requireSound(t *testing.T, s lifecycle.State) {
	t.Helper()
	switch s.Stage {
	case lifecycle.Trend:
		require.Zero(t, s.Confidence)
		require.Equal(t, s.WindowEnd, policies.NextTransition(s))
		return
	case lifecycle.Dissolved:
		require.GreaterOrEqual(t, s.Confidence, 0.0) // 0 for a trend
		require.Less(t, s.Confidence, 1.0)
		require.Zero(t, policies.NextTransition(s))
	default:
		require.Equal(t, policies.StageOf(s.Confidence), s.Stage)
		require.Greater(t, s.Confidence, 0.0)
		require.Less(t, s.Confidence, 1.0)
		require.True(t, policies.NextTransition(s).After(s.At))
	}
	require.Zero(t, s.WindowEnd)
}

func TestConfidenceStaysInside(t *testing.T) {
	t.Parallel()
	r := random(t)
	for range rounds {
		var s lifecycle.State
		for _, e := range randomEvents(r) {
			s = policies.Apply(s, e)
			requireSound(t, s)
		}
	}
}

// The state kept event by event equals that of a replay, and of a replay that continues from a
// stored row.
func TestReplayEqualsTheKeptState(t *testing.T) {
	t.Parallel()
	r := random(t)
	for range rounds {
		events := randomEvents(r)
		var kept lifecycle.State
		for i, e := range events {
			kept = policies.Apply(kept, e)
			require.Equal(t, kept, policies.Replay(events[:i+1]))
		}
		cut := r.IntN(len(events))
		s := policies.Replay(events[:cut])
		for _, e := range events[cut:] {
			s = policies.Apply(s, e)
		}
		require.Equal(t, kept, s)
	}
}

func TestDecayIsMonotone(t *testing.T) {
	t.Parallel()
	r := random(t)
	for range rounds {
		s := randomState(r)
		before := s.Confidence
		require.Equal(t, before, policies.ConfidenceAt(s, s.At))
		// steps of up to 292 years
		for at := s.At; at.Year() < 9999; at = at.Add(time.Duration(r.Int64N(math.MaxInt64))) {
			c := policies.ConfidenceAt(s, at)
			require.LessOrEqual(t, c, before)
			require.Positive(t, c)
			before = c
		}
		// A trait that is more often reinforced or more abstract decays no faster.
		d := time.Duration(r.Int64N(int64(5000 * days)))
		c := policies.Decay(s.Confidence, s.Subtype, s.Reinforcements, d)
		require.GreaterOrEqual(t, policies.Decay(s.Confidence, s.Subtype, s.Reinforcements+1, d), c)
		require.GreaterOrEqual(t, policies.Decay(s.Confidence, lifecycle.CoreTrait, s.Reinforcements, d), c)
	}
}

// Decaying twice equals decaying once for the total time.
func TestDecayComposes(t *testing.T) {
	t.Parallel()
	r := random(t)
	for range rounds {
		s := randomState(r)
		t1 := time.Duration(r.Int64N(int64(20_000 * days)))
		t2 := time.Duration(r.Int64N(int64(20_000 * days)))
		once := policies.Decay(s.Confidence, s.Subtype, s.Reinforcements, t1+t2)
		twice := policies.Decay(policies.Decay(s.Confidence, s.Subtype, s.Reinforcements, t1), s.Subtype,
			s.Reinforcements, t2)
		require.InEpsilon(t, once, twice, 1e-12)

		noted := policies.Apply(s, lifecycle.Event{Kind: lifecycle.Decayed, At: s.At.Add(t1)})
		if noted.Confidence > margin { // unless nothing is left
			require.InEpsilon(t, policies.ConfidenceAt(s, s.At.Add(t1+t2)),
				policies.ConfidenceAt(noted, s.At.Add(t1+t2)), 1e-12)
		}
	}
}

// The evidence of a cycle has no order: the sum is equal to the last bit, whatever the order of
// Go's maps.
func TestOrderWithinACycle(t *testing.T) {
	t.Parallel()
	r := random(t)
	for range rounds {
		qs := make([]lifecycle.Quality, 2+r.IntN(30))
		for i := range qs {
			qs[i] = pick(r, qualities)
		}
		sum := func() float64 {
			sessions := map[string]lifecycle.Quality{}
			for i, q := range qs {
				sessions[strconv.Itoa(i)] = q
			}
			return policies.Reinforcement(sessions)
		}
		want := sum()
		r.Shuffle(len(qs), func(i, j int) { qs[i], qs[j] = qs[j], qs[i] })
		require.Equal(t, math.Float64bits(want), math.Float64bits(sum()), "%v", qs)

		// More evidence never lowers the confidence.
		qs = append(qs, pick(r, qualities))
		require.GreaterOrEqual(t, sum(), want)
	}
}

// Two cycles at the same time give the same result in either order, and the same as one cycle with
// both.
func TestCyclesCommute(t *testing.T) {
	t.Parallel()
	r := random(t)
	for range rounds {
		s := randomState(r)
		now := s.At.Add(time.Duration(r.Int64N(int64(1000 * days))))
		q, p := pick(r, qualities), pick(r, qualities)
		first := lifecycle.Event{Kind: lifecycle.Reinforced, At: now,
			Factor: policies.Reinforcement(map[string]lifecycle.Quality{"1": q})}
		second := lifecycle.Event{Kind: lifecycle.Reinforced, At: now,
			Factor: policies.Reinforcement(map[string]lifecycle.Quality{"2": p})}
		there, back := policies.Apply(policies.Apply(s, first), second),
			policies.Apply(policies.Apply(s, second), first)
		require.InDelta(t, there.Confidence, back.Confidence, 1e-15)
		require.Equal(t, there.Reinforcements, back.Reinforcements)
		both := policies.Apply(s, lifecycle.Event{Kind: lifecycle.Reinforced, At: now,
			Factor: policies.Reinforcement(map[string]lifecycle.Quality{"1": q, "2": p})})
		require.InDelta(t, both.Confidence, there.Confidence, 1e-15)
	}
}

// If the clock goes backwards, no trait becomes younger or more confident.
func TestClockGoingBackwards(t *testing.T) {
	t.Parallel()
	r := random(t)
	for range rounds {
		s := randomState(r)
		before := s.At.Add(-time.Duration(r.Int64N(math.MaxInt64)))
		require.Equal(t, s.Confidence, policies.ConfidenceAt(s, before))
		if s.Confidence >= policies.DissolveBelow {
			require.Equal(t, s.Stage, policies.StageAt(s, before))
		}
		for _, k := range []lifecycle.Kind{lifecycle.Decayed, lifecycle.Promoted, lifecycle.Revised, lifecycle.Split,
			lifecycle.Contradicted, lifecycle.Dissolution, lifecycle.Reinforced, lifecycle.Used} {
			e := lifecycle.Event{Kind: k, At: before, Factor: r.Float64()}
			got := policies.Apply(s, e)
			require.Equal(t, s.At, got.At, k)
			if k != lifecycle.Reinforced && k != lifecycle.Used {
				require.LessOrEqual(t, got.Confidence, s.Confidence, k)
			}
			e.At = s.At
			require.Equal(t, policies.Apply(s, e), got, k)
		}
	}
}

func TestReinforcingAndContradicting(t *testing.T) {
	t.Parallel()
	r := random(t)
	for range rounds {
		s := randomState(r)
		f := r.Float64() * 0.99
		up := policies.Apply(s, lifecycle.Event{Kind: lifecycle.Reinforced, At: s.At, Factor: f})
		require.GreaterOrEqual(t, up.Confidence, s.Confidence)
		down := policies.Apply(s, lifecycle.Event{Kind: lifecycle.Contradicted, At: s.At, Factor: f, Count: 1})
		require.LessOrEqual(t, down.Confidence, s.Confidence)
	}
}

// For a grid of states: the stage changes at the transition and not before.
func TestTransitionIsTheBoundary(t *testing.T) {
	t.Parallel()
	r := random(t)
	for range 10 * rounds {
		s := randomState(r)
		if s.Confidence < policies.DissolveBelow {
			require.Equal(t, ceilSecond(s.At), policies.NextTransition(s))
			continue
		}
		next := policies.NextTransition(s)
		require.NotEqual(t, s.Stage, policies.StageAt(s, next), "%+v: %v", s, next)
		if before := next.Add(-2 * time.Second); before.After(s.At) {
			require.Equal(t, s.Stage, policies.StageAt(s, before), "%+v: %v", s, next)
		}
		require.Zero(t, next.Nanosecond())
	}
}

// Following transition after transition, each brings an event, each is later than its predecessor,
// and the last one dissolves the trait.
func TestTransitionsEnd(t *testing.T) {
	t.Parallel()
	r := random(t)
	for range rounds {
		s := randomState(r)
		if r.IntN(5) == 0 {
			s = lifecycle.State{Subtype: lifecycle.Behavior, Stage: lifecycle.Trend, At: start,
				WindowEnd: start.Add(30 * days), Reinforcements: r.IntN(2)}
		}
		visited := []lifecycle.Stage{s.Stage}
		for next := policies.NextTransition(s); !next.IsZero(); next = policies.NextTransition(s) {
			require.True(t, next.After(s.At), "%+v", s)
			e, ok := policies.Follow(s, next)
			require.True(t, ok, "%+v: %v", s, next)
			require.Equal(t, next, e.At)
			s = policies.Apply(s, e)
			visited = append(visited, s.Stage)
			require.LessOrEqual(t, len(visited), 5, "%v", visited) // core, established, emerging, candidate, dissolved
		}
		require.Equal(t, lifecycle.Dissolved, s.Stage)
		_, again := policies.Follow(s, s.At)
		require.False(t, again)
	}
}
