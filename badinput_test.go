package oxbow_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
)

// Bad input returns an error that names the field and the value, or the memory, and does not end any memory.
func TestBadInput(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, c := t.Context(), b.app(t)
	fact := b.remember(t, oxbow.NewMemory{Content: "Ann sails."})
	other := b.remember(t, oxbow.NewMemory{Content: "Ann rows."})
	episode := b.remember(t, oxbow.NewMemory{Content: "Ann sailed.", Type: oxbow.TypeEpisodic})
	bobs := b.remember(t, oxbow.NewMemory{UserID: "bob", Content: "Bob sails."})
	erased, err := b.client.Merge(ctx, "ann", []uuid.UUID{b.remember(t, oxbow.NewMemory{Content: "A boat."}),
		b.remember(t, oxbow.NewMemory{Content: "One boat."})}, "")
	require.NoError(t, err)
	_, err = b.client.EraseMemory(ctx, "ann", erased)
	require.NoError(t, err)
	merge := func(ids ...uuid.UUID) func() error {
		return func() error {
			_, err := c.Merge(ctx, "ann", ids, "")
			return err
		}
	}
	unmerge := func(id uuid.UUID) func() error {
		return func() error {
			_, err := c.Unmerge(ctx, "ann", id)
			return err
		}
	}
	store := func(m oxbow.NewMemory) func() error {
		return func() error {
			m.UserID, m.Content = "ann", "Ann dives."
			_, err := c.Remember(ctx, m)
			return err
		}
	}
	recall := func(q oxbow.Query) func() error {
		return func() error {
			q.UserID, q.Text = "ann", "boat"
			_, err := c.Recall(ctx, q)
			return err
		}
	}
	for name, bad := range map[string]struct {
		run         func() error
		field, says string // without a field, the memory is unknown
	}{
		"merge one":         {merge(fact, fact), "ids", fact.String()},
		"merge types":       {merge(fact, episode), "ids", "of type"},
		"merge users":       {merge(fact, bobs), "", bobs.String()},
		"merge erased":      {merge(fact, erased), "", erased.String()},
		"unmerge erased":    {unmerge(erased), "", erased.String()},
		"unmerge another's": {unmerge(bobs), "", bobs.String()},
		"unmerge a fact":    {unmerge(fact), "id", fact.String()},
		"tier":              {func() error { return c.SetTier(ctx, "ann", fact, "royal", "") }, "tier", "royal"},
		"category":          {store(oxbow.NewMemory{Category: "mood"}), "category", "mood"},
		"modality":          {store(oxbow.NewMemory{Modality: "smell"}), "modality", "smell"},
		"importance":        {store(oxbow.NewMemory{Importance: new(1.5)}), "importance", "1.5"},
		"no importance":     {store(oxbow.NewMemory{Importance: new(math.NaN())}), "importance", "NaN"},
		"expired":           {store(oxbow.NewMemory{ExpiresAt: time.Unix(1e9, 0)}), "expires_at", "2001-09-09"},
		"mode":              {recall(oxbow.Query{Mode: "deep"}), "mode", "deep"},
		"score":             {recall(oxbow.Query{MinScore: -1}), "min_score", "-1"},
		"no score":          {recall(oxbow.Query{MinScore: math.NaN()}), "min_score", "NaN"},
		"endless score":     {recall(oxbow.Query{MinScore: math.Inf(1)}), "min_score", "+Inf"},
	} {
		err := bad.run()
		require.ErrorContains(t, err, bad.says, name)
		if bad.field == "" {
			require.ErrorIs(t, err, oxbow.ErrNotFound, name)
			continue
		}
		invalid := new(oxbow.InvalidError)
		require.ErrorAs(t, err, &invalid, name)
		require.Equal(t, bad.field, invalid.Field, name)
	}
	for _, id := range []uuid.UUID{fact, other, episode} {
		m, err := c.Get(ctx, "ann", id)
		require.NoError(t, err)
		require.Zero(t, m.ExpiredAt)
	}
	require.Equal(t, 4, b.count(t, `select count(*) from oxbow.memories`))
}
