package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// The trait values computed in Go must equal those of the view.
func TestHeldTraitsAreTheView(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	now := time.Now().UTC().Truncate(time.Microsecond)
	user := "ann in " + t.Name()
	for _, subtype := range []lifecycle.Subtype{lifecycle.Behavior, lifecycle.Preference, lifecycle.CoreTrait} {
		for _, age := range []int{0, 10, 100, 1000} {
			at := now.AddDate(0, 0, -age)
			traittest.Trait{UserID: user, Subtype: subtype, Events: []traittest.Event{traittest.Created(at.AddDate(0, 0,
				-20), 0.6), traittest.Reinforced(at, 0.8)}}.Insert(t, tx)
		}
	}
	traittest.Trait{UserID: user, Events: []traittest.Event{traittest.Watched(now, now.Add(time.Hour))}}.Insert(t, tx)
	traittest.Trait{UserID: user, Events: []traittest.Event{traittest.Watched(now.AddDate(0, -2, 0),
		now.AddDate(0, -1, 0))}}.Insert(t, tx)

	held, err := HeldTraits(t.Context(), tx, user, time.Time{})
	require.NoError(t, err)
	require.Len(t, held, 14)
	stages := map[string]int{}
	for _, h := range held {
		var stage string
		var confidence float64
		var next time.Time
		var due bool
		require.NoError(t, tx.QueryRow(t.Context(), `
			select stage, coalesce(confidence, 0), next_transition_at, next_transition_at <= now() from oxbow.traits
			where user_id = $1 and id = $2`,
			user, h.ID).Scan(&stage, &confidence, &next, &due))
		require.Equal(t, stage, h.Stage)
		require.InDelta(t, confidence, h.Confidence, 1e-12)
		switch {
		case stage == "dissolved":
			require.Zero(t, h.NextTransition)
		case due:
			require.True(t, h.NextTransition.After(now), "nobody settled what was due: the one after it is told")
		default:
			require.True(t, next.Equal(h.NextTransition), "%v %v", next, h.NextTransition)
		}
		require.Equal(t, stage == "dissolved", h.NextStage == "")
		require.NotEqual(t, stage, h.NextStage)
		stages[stage]++
	}
	require.Equal(t, map[string]int{"core": 6, "established": 2, "emerging": 2, "candidate": 1, "dissolved": 2,
		"trend": 1}, stages)
}

// A stage must change within one second of the time at which decay crosses its boundary.
func TestNextTransition(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	at := traittest.Day(1, 1)
	for _, test := range []struct {
		confidence float64
		now        time.Time
		next       string
	}{
		{0.9, at, "established"},
		{0.9, at.AddDate(0, 0, 40), "emerging"}, // not settled since
		{0.5, at, "candidate"},
		{0.2, at, "dissolved"},
		{0.9, at.AddDate(10, 0, 0), ""},
	} {
		user := fmt.Sprintf("%s, %v at %s", t.Name(), test.confidence, test.now)
		id := traittest.Trait{UserID: user, Events: []traittest.Event{traittest.Created(at, test.confidence)}}.Insert(t,
			tx)
		held, err := heldTraits(t.Context(), tx, user, test.now, id)
		require.NoError(t, err)
		require.Equal(t, test.next, held[0].NextStage)
		if test.next != "" {
			require.True(t, held[0].NextTransition.After(test.now))
			before, err := heldTraits(t.Context(), tx, user, held[0].NextTransition.Add(-2*time.Second), id)
			require.NoError(t, err)
			require.Equal(t, held[0].Stage, before[0].Stage)
		}
	}
}

func TestTraitsBeginning(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := "ann in " + t.Name()
	id := traittest.Trait{UserID: user}.Insert(t, tx)
	traittest.Trait{UserID: user}.Insert(t, tx)
	traittest.Trait{UserID: "bob in " + t.Name()}.Insert(t, tx)
	ids, err := TraitsBeginning(t.Context(), tx, user, id, id)
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{id}, ids)
	ids, err = TraitsBeginning(t.Context(), tx, user, uuid.UUID{}, uuid.Max)
	require.NoError(t, err)
	require.Len(t, ids, 2)
}

func TestUserTraitsPresence(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := "ann in " + t.Name()
	presence := func() TraitsPresence {
		p, err := UserTraitsPresence(t.Context(), tx, user)
		require.NoError(t, err)
		return p
	}
	require.Equal(t, TraitsPresence{}, zeroed(presence()))
	for _, sql := range []string{
		`insert into oxbow.users (user_id, opted_out) values ($1, true)`,
		`insert into oxbow.memories (user_id, content) select $1, 'memory ' || n from generate_series(1, 3) n`,
		`insert into oxbow.reflection_inbox (user_id, memory_type, memory_id, importance, valid_at)
		 select user_id, memory_type, id, importance, created_at from oxbow.memories where user_id = $1`,
		`insert into oxbow.reflection_cycles (user_id, trigger_type, status, completed_at)
			values ($1, 'manual', 'completed', '2025-01-01')`,
	} {
		_, err := tx.Exec(t.Context(), sql, user)
		require.NoError(t, err)
	}
	p := presence()
	require.True(t, p.ReflectedAt.Equal(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)), p.ReflectedAt)
	require.Equal(t, TraitsPresence{AnyMemory: true, OptedOut: true, InInbox: 3},
		TraitsPresence{p.AnyMemory, p.OptedOut, p.InInbox, time.Time{}})
}

// zeroed converts the database's zero time to Go's.
func zeroed(p TraitsPresence) TraitsPresence {
	if p.ReflectedAt.IsZero() {
		p.ReflectedAt = time.Time{}
	}
	return p
}

func TestTrendWindow(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	start := time.Now().UTC().Truncate(time.Second)
	trend := traittest.Trait{UserID: "wanda", Events: []traittest.Event{traittest.Watched(start,
		start.Add(time.Hour))}}.Insert(t, tx)
	behavior := traittest.Trait{UserID: "wanda", Events: []traittest.Event{traittest.Created(start, 0.4)}}.Insert(t, tx)

	end, err := TrendWindow(t.Context(), tx, "wanda", trend)
	require.NoError(t, err)
	require.True(t, end.Equal(start.Add(time.Hour)), end)
	for _, id := range []uuid.UUID{behavior, uuid.New()} {
		end, err = TrendWindow(t.Context(), tx, "wanda", id)
		require.NoError(t, err)
		require.Zero(t, end)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = TrendWindow(ctx, tx, "wanda", trend)
	require.ErrorIs(t, err, context.Canceled)
}
