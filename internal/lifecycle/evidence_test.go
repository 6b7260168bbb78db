package lifecycle_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
)

func TestFactor(t *testing.T) {
	t.Parallel()
	for q, want := range map[lifecycle.Quality]float64{lifecycle.QualityA: 0.25, lifecycle.QualityB: 0.20,
		lifecycle.QualityC: 0.15, lifecycle.QualityD: 0.05, "": 0.05, "E": 0.05} {
		require.Equal(t, want, policies.Factor(q), q)
	}
}

func TestGrade(t *testing.T) {
	t.Parallel()
	var seen lifecycle.Seen
	require.Zero(t, seen.Sessions())
	require.Equal(t, lifecycle.QualityC, seen.Grade("monday", "work", false, false), "a first context is no second one")
	require.Equal(t, lifecycle.QualityB, seen.Grade("monday", "work", true, false))
	seen.Add("monday", "work")
	seen.Add("tuesday", "")
	require.Equal(t, 2, seen.Sessions())
	for _, c := range []struct {
		name, session, context string
		stated, inferred       bool
		want                   lifecycle.Quality
	}{
		{"second context", "wednesday", "personal", false, false, lifecycle.QualityA},
		{"second context, same session", "monday", "personal", false, false, lifecycle.QualityA},
		{"second context and said outright", "wednesday", "personal", true, false, lifecycle.QualityA},
		{"said outright", "wednesday", "work", true, false, lifecycle.QualityB},
		{"said outright, same session", "monday", "work", true, false, lifecycle.QualityB},
		{"another session", "wednesday", "work", false, false, lifecycle.QualityC},
		{"another session, context unknown", "wednesday", "", false, false, lifecycle.QualityC},
		{"another session, general", "wednesday", "general", false, false, lifecycle.QualityC},
		{"another session, contextual", "wednesday", "contextual", false, false, lifecycle.QualityC},
		{"same session", "monday", "work", false, false, lifecycle.QualityD},
		{"inferred", "wednesday", "personal", true, true, lifecycle.QualityD},
	} {
		require.Equal(t, c.want, seen.Grade(c.session, c.context, c.stated, c.inferred), c.name)
	}
	seen.Add("wednesday", "personal")
	require.Equal(t, lifecycle.QualityC, seen.Grade("friday", "personal", false, false),
		"the second context is known now")
	require.Equal(t, lifecycle.QualityA, seen.Grade("friday", "social", false, false), "a third counts as well")

	for _, vague := range []string{"", "general", "contextual"} {
		seen = lifecycle.Seen{}
		seen.Add("monday", vague)
		require.Equal(t, lifecycle.QualityC, seen.Grade("tuesday", "work", false, false), "%q is no first context",
			vague)
	}
}

func TestReinforcement(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sessions map[string]lifecycle.Quality
		want     float64
	}{
		{nil, 0},
		{map[string]lifecycle.Quality{"1": lifecycle.QualityA}, 0.25},
		{map[string]lifecycle.Quality{"1": lifecycle.QualityB}, 0.20},
		{map[string]lifecycle.Quality{"1": lifecycle.QualityC}, 0.15},
		{map[string]lifecycle.Quality{"1": lifecycle.QualityD}, 0.05},
		{map[string]lifecycle.Quality{"1": "?"}, 0.05},
		{map[string]lifecycle.Quality{"1": lifecycle.QualityC, "2": lifecycle.QualityC}, 1 - 0.85*0.85},
		{map[string]lifecycle.Quality{"1": lifecycle.QualityA, "2": lifecycle.QualityB, "3": lifecycle.QualityC,
			"4": lifecycle.QualityD}, 1 - 0.75*0.80*0.85*0.95},
	} {
		require.InDelta(t, c.want, policies.Reinforcement(c.sessions), 1e-15, "%v", c.sessions)
	}
}

// The factor is below 1 even where 1 − 0.75ⁿ rounds to 1, as the database's constraint requires.
func TestReinforcementOfManySessions(t *testing.T) {
	t.Parallel()
	sessions := map[string]lifecycle.Quality{}
	for last := 0.0; len(sessions) < 400; {
		sessions[string(rune('a'+len(sessions)))] = lifecycle.QualityA
		f := policies.Reinforcement(sessions)
		require.GreaterOrEqual(t, f, last)
		require.Less(t, f, 1.0)
		last = f
	}
}

func TestContradiction(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]float64{-1: 0, 0: 0, 1: 0.2, 2: 0.3, 3: 0.4, 4: 0.4, 1000: 0.4} {
		require.InDelta(t, want, policies.Contradiction(n), 1e-15, "%d", n)
	}
}

func TestReviewDue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		supporting, contradicting, fresh int
		want                             bool
	}{
		{7, 3, 1, false}, // 0.3 is not above 0.3
		{70, 30, 2, false}, {700_000, 300_000, 1, false}, {700_000, 300_001, 1, true},
		{2, 1, 1, true}, {6, 3, 1, true}, {6, 3, 0, false}, {0, 1, 1, true}, {0, 0, 0, false}, {5, 0, 0, false}, {5, 2,
			1, false},
	} {
		require.Equal(t, c.want, policies.ReviewDue(c.supporting, c.contradicting, c.fresh), "%+v", c)
	}
}

func TestReviewed(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 0.4, lifecycle.Reviewed(0.6, 4, 2), 1e-15)
	require.InDelta(t, 0.6, lifecycle.Reviewed(0.6, 4, 0), 1e-15)
	require.Equal(t, margin, lifecycle.Reviewed(0.6, 0, 4))
	require.Equal(t, margin, lifecycle.Reviewed(0.6, 0, 0))
}

func TestNewPattern(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name               string
		memories, sessions int
		span               time.Duration
		emotional, ok      bool
		sets               float64
		window             time.Duration
		stage              lifecycle.Stage
	}{
		{"one conversation", 9, 1, 0, false, false, 0, 0, ""},
		{"nothing", 0, 0, 0, false, false, 0, 0, ""},
		{"three memories", 3, 2, 2 * days, false, true, 0.40, 0, lifecycle.Emerging},
		{"three memories of a mood", 3, 3, 20 * days, true, true, 0.40, 0, lifecycle.Emerging},
		{"few, long apart", 2, 2, 14 * days, false, true, 0.20, 0, lifecycle.Candidate},
		{"few, not quite long apart", 2, 2, 14*days - 1, false, true, 0, 30 * days, lifecycle.Trend},
		{"few", 2, 2, 0, false, true, 0, 30 * days, lifecycle.Trend},
		{"a mood", 2, 2, 3 * days, true, true, 0, 14 * days, lifecycle.Trend},
	} {
		e, ok := policies.NewPattern(start, c.memories, c.sessions, c.span, c.emotional)
		require.Equal(t, c.ok, ok, c.name)
		if !ok {
			require.Zero(t, e, c.name)
			continue
		}
		s := policies.Apply(lifecycle.State{}, e)
		want := lifecycle.State{Subtype: lifecycle.Behavior, Stage: c.stage, Confidence: c.sets, At: start}
		if c.window > 0 {
			want.WindowEnd = start.Add(c.window)
		}
		require.Equal(t, want, s, c.name)
	}
}

func TestPromote(t *testing.T) {
	t.Parallel()
	behavior := func(c float64, context string) lifecycle.Member {
		return lifecycle.Member{lifecycle.Behavior, policies.StageOf(c), c, context}
	}
	preference := func(c float64, context string) lifecycle.Member {
		return lifecycle.Member{lifecycle.Preference, policies.StageOf(c), c, context}
	}
	for _, c := range []struct {
		name    string
		to      lifecycle.Subtype
		members []lifecycle.Member
		sets    float64 // 0: rejected
		context string
	}{
		{"two behaviors", lifecycle.Preference, []lifecycle.Member{behavior(0.5, "work"), behavior(0.7, "work")}, 0.6,
			"work"},
		{"two contexts", lifecycle.Preference, []lifecycle.Member{behavior(0.5, "work"), behavior(0.7, "personal")},
			0.65, "general"},
		{"three contexts, one bonus", lifecycle.Preference, []lifecycle.Member{behavior(0.5, "work"),
			behavior(0.6, "personal"), behavior(0.7, "social")}, 0.65, "general"},
		{"an unknown context is not a second one", lifecycle.Preference,
			[]lifecycle.Member{behavior(0.5, "work"), behavior(0.7, "general")}, 0.6, "general"},
		{"contextual ones", lifecycle.Preference, []lifecycle.Member{behavior(0.5, "contextual"),
			behavior(0.5, "contextual")}, 0.5, "general"},
		{"two preferences", lifecycle.CoreTrait, []lifecycle.Member{preference(0.6, "work"), preference(0.8, "work")},
			0.7, "work"},
		{"never above 1", lifecycle.CoreTrait, []lifecycle.Member{preference(0.999, "work"),
			preference(0.999, "social")}, 1 - margin, "general"},
		{"one", lifecycle.Preference, []lifecycle.Member{behavior(0.9, "work")}, 0, ""},
		{"none", lifecycle.Preference, nil, 0, ""},
		{"a weak behavior", lifecycle.Preference, []lifecycle.Member{behavior(math.Nextafter(0.5, 0), "work"),
			behavior(0.9, "work")}, 0, ""},
		{"a weak preference", lifecycle.CoreTrait, []lifecycle.Member{preference(0.9, "work"),
			preference(math.Nextafter(0.6, 0), "work")}, 0, ""},
		{"no number", lifecycle.Preference, []lifecycle.Member{{lifecycle.Behavior, lifecycle.Established, math.NaN(),
			"work"}, behavior(0.9, "work")}, 0, ""},
		{"another subtype", lifecycle.CoreTrait, []lifecycle.Member{behavior(0.9, "work"), behavior(0.9, "work")}, 0,
			""},
		{"mixed subtypes", lifecycle.CoreTrait, []lifecycle.Member{preference(0.9, "work"), behavior(0.9, "work")}, 0,
			""},
		{"a dissolved one", lifecycle.Preference, []lifecycle.Member{{lifecycle.Behavior, lifecycle.Dissolved, 0.9,
			"work"}, behavior(0.9, "work")}, 0, ""},
		{"to a behavior", lifecycle.Behavior, []lifecycle.Member{behavior(0.9, "work"), behavior(0.9, "work")}, 0, ""},
	} {
		e, context, ok := policies.Promote(start, c.to, c.members)
		require.Equal(t, c.sets > 0, ok, c.name)
		require.Equal(t, c.context, context, c.name)
		if !ok {
			require.Zero(t, e, c.name)
			continue
		}
		require.InDelta(t, c.sets, e.Sets, 1e-15, c.name)
		require.Equal(t, lifecycle.Event{Kind: lifecycle.Created, At: start, Subtype: c.to, Sets: e.Sets}, e, c.name)
	}
}
