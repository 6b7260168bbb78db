package store_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/internal/traittest"
	"github.com/oxbow-memory/oxbow/store"
)

// A curve agrees with the model of decay at each of its points.
func TestTraitCurves(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	ago := func(days int) time.Time { return time.Now().AddDate(0, 0, -days).Truncate(time.Second) }
	events := []traittest.Event{traittest.Created(ago(200), 0.5), traittest.Reinforced(ago(120), 0.2),
		traittest.Contradicted(ago(50), 0.2)}
	id := traittest.Trait{Events: events}.Insert(t, pool)
	trend := traittest.Trait{Content: "Watched.", Events: []traittest.Event{
		traittest.Watched(ago(5), ago(-20))}}.Insert(t, pool)
	gone := traittest.Trait{Content: "Gone.", Events: []traittest.Event{traittest.Created(ago(90), 0.4),
		{Event: lifecycle.Event{Kind: lifecycle.Dissolution, At: ago(30)}}}}.Insert(t, pool)
	curves, err := store.TraitCurves(t.Context(), pool, "ann", uuid.Nil)
	require.NoError(t, err)

	c := curves[id]
	require.Len(t, c.Past, 3)
	var s lifecycle.State
	for i, e := range events {
		before := traittest.Policies.ConfidenceAt(s, e.At)
		s = traittest.Policies.Apply(s, e.Event)
		require.WithinDuration(t, e.At, c.Past[i][0].At, 0)
		for _, p := range c.Past[i] {
			require.InDelta(t, traittest.Policies.ConfidenceAt(s, p.At), p.Confidence, 1e-9)
		}
		if i > 0 {
			last := c.Past[i-1][len(c.Past[i-1])-1]
			require.WithinDuration(t, e.At, last.At, time.Millisecond)
			require.InDelta(t, before, last.Confidence, 1e-9)
		}
	}
	for _, p := range c.Ahead {
		require.InDelta(t, traittest.Policies.ConfidenceAt(s, p.At), p.Confidence, 1e-9)
	}
	require.Equal(t, traittest.Policies.CandidateMax, c.Told)
	require.Equal(t, "dissolved", c.Stages[len(c.Stages)-1].Stage)
	days := math.Log(s.Confidence/traittest.Policies.DissolveBelow) / traittest.Policies.Rate(s.Subtype, s.Reinforcements)
	require.WithinDuration(t, s.At.Add(time.Duration(days*24*float64(time.Hour))), c.Stages[len(c.Stages)-1].At, time.Minute)

	require.Empty(t, curves[trend].Past)
	require.Equal(t, []store.CurveStage{{At: curves[trend].Stages[0].At, Stage: "dissolved"}}, curves[trend].Stages)
	require.WithinDuration(t, ago(-20), curves[trend].Stages[0].At, time.Second)
	require.Len(t, curves[gone].Past, 1)
	require.Empty(t, curves[gone].Ahead)
	require.Empty(t, curves[gone].Stages)

	one, err := store.TraitCurves(t.Context(), pool, "ann", id)
	require.NoError(t, err)
	require.Len(t, one, 1)
	other, err := store.TraitCurves(t.Context(), pool, "bob", id)
	require.NoError(t, err)
	require.Empty(t, other)
}
