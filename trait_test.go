package oxbow_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// early is a trait that was created, reinforced and contradicted.
func early() traittest.Trait {
	return traittest.Trait{Key: "early", Context: "personal", Events: []traittest.Event{
		traittest.Created(traittest.Day(1, 10), 0.4,
			traittest.Evidence{Content: "Up at five, and out on the lake.", At: traittest.Day(1, 3), Session: "s1"},
			traittest.Evidence{Content: "Baked bread before sunrise.", At: traittest.Day(1, 8), Session: "s2"}),
		traittest.Reinforced(traittest.Day(2, 10), 0.2, traittest.Evidence{Content: "I am a morning person.",
			At: traittest.Day(2, 9), Session: "s3",
			Quality: lifecycle.QualityB, Context: "personal"}),
		traittest.Contradicted(traittest.Day(3, 10), 0.2, traittest.Evidence{Content: "Slept until noon.",
			At: traittest.Day(3, 9), Against: true}),
	}}
}

func traitContents(traits []oxbow.Trait) []string {
	contents := []string{}
	for _, t := range traits {
		contents = append(contents, t.Content)
	}
	return contents
}

func TestTraits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	core := traittest.Trait{Content: "Ann is disciplined.", Subtype: lifecycle.CoreTrait,
		Events: []traittest.Event{traittest.Created(traittest.Day(4, 1), 0.65)}}.Insert(t, b.pool)
	child := early()
	child.Parent = core
	id := child.Insert(t, b.pool)
	traittest.Trait{Content: "Ann swims.", Events: []traittest.Event{traittest.Created(traittest.Day(3, 1),
		0.9)}}.Insert(t, b.pool)
	traittest.Trait{Content: "Ann paints.", Events: []traittest.Event{traittest.Watched(traittest.Day(3, 1),
		traittest.Day(4, 10))}}.Insert(t, b.pool)
	traittest.Trait{Content: "Bob sings.", UserID: "bob"}.Insert(t, b.pool)

	april := oxbow.TraitsOptions{Now: traittest.Day(4, 1)}
	traits, err := b.client.Traits(ctx, "ann", april)
	require.NoError(t, err)
	require.Equal(t, []string{"Ann is disciplined.", "Ann swims.", "Ann gets up early."}, traitContents(traits))
	require.Equal(t, core, traits[2].ParentID)
	made := traittest.Policies.Decay(0.4, lifecycle.Behavior, 0, 31*24*time.Hour)
	stored := traittest.Policies.Decay(made+(1-made)*0.2, lifecycle.Behavior, 1, 28*24*time.Hour) * 0.8
	require.InDelta(t, stored, traits[2].StoredConfidence, 1e-12)
	require.InDelta(t, traittest.Policies.Decay(stored, lifecycle.Behavior, 1, 22*24*time.Hour), traits[2].Confidence,
		1e-12)
	for i := range traits {
		traits[i].CreatedAt = time.Time{}
	}
	got := traits[2]
	require.True(t, got.LastReinforced.Equal(traittest.Day(2, 9)))
	require.True(t, got.FirstObserved.Equal(traittest.Day(1, 3)))
	require.Equal(t, []any{id, "behavior", "emerging", "emerging", "candidate", "personal", 3, 1, 1, 1},
		[]any{got.ID, got.Subtype, got.Stage, got.StoredStage, got.NextStage, got.Context, got.Supporting,
			got.Contradicting,
			got.ReinforcementCount, got.ContradictionCount})

	april.IncludeHidden = true
	traits, err = b.client.Traits(ctx, "ann", april)
	require.NoError(t, err)
	require.Equal(t, []string{"Ann is disciplined.", "Ann swims.", "Ann gets up early.", "Ann paints."},
		traitContents(traits))
	require.Zero(t, traits[3].Confidence)
	require.True(t, traits[3].WindowEnd.Equal(traittest.Day(4, 10)) &&
		traits[3].NextTransition.Equal(traittest.Day(4, 10)))
	require.Equal(t, "dissolved", traits[3].NextStage)

	traits, err = b.client.Traits(ctx, "ann", oxbow.TraitsOptions{Stages: []string{"dissolved", "trend"},
		Now: traittest.Day(4, 11)})
	require.NoError(t, err)
	require.Equal(t, []string{"Ann paints."}, traitContents(traits), "its window is over")
	traits, err = b.client.Traits(ctx, "nobody", oxbow.TraitsOptions{})
	require.NoError(t, err)
	require.Empty(t, traits)
}

func TestTraitsAsOf(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	id := early().Insert(t, b.pool)
	newer, err := b.client.EditTrait(ctx, "ann", id, oxbow.TraitEdit{Content: "Ann is a morning person."})
	require.NoError(t, err)

	held := func(at time.Time) []oxbow.Trait {
		traits, err := b.client.Traits(ctx, "ann", oxbow.TraitsOptions{AsOf: at, IncludeHidden: true})
		require.NoError(t, err)
		return traits
	}
	require.Empty(t, held(traittest.Day(1, 9)))
	february := held(traittest.Day(2, 1))[0]
	require.Equal(t, []any{newer, "Ann gets up early.", "emerging", 2, 0},
		[]any{february.ID, february.Content, february.Stage, february.Supporting, february.Contradicting})
	require.True(t, february.LastReinforced.Equal(traittest.Day(1, 8)))
	require.InDelta(t, traittest.Policies.Decay(0.4, lifecycle.Behavior, 0, 22*24*time.Hour), february.Confidence,
		1e-12)
	march := held(traittest.Day(3, 15))[0]
	require.Equal(t, []int{3, 1, 1, 1}, []int{march.Supporting, march.Contradicting, march.ReinforcementCount,
		march.ContradictionCount})
	today := held(time.Now().Add(time.Minute))[0]
	require.Equal(t, []string{"Ann is a morning person.", "core"}, []string{today.Content, today.Stage})

	traits, err := b.client.Traits(ctx, "ann", oxbow.TraitsOptions{AsOf: traittest.Day(9, 1)})
	require.NoError(t, err)
	require.Empty(t, traits, "a candidate by then")

	traittest.Trait{UserID: "eve", Events: []traittest.Event{traittest.Watched(traittest.Day(3, 1),
		traittest.Day(4, 10))}}.Insert(t, b.pool)
	traits, err = b.client.Traits(ctx, "eve", oxbow.TraitsOptions{AsOf: traittest.Day(4, 9), IncludeHidden: true})
	require.NoError(t, err)
	require.Equal(t, "trend", traits[0].Stage)
	require.True(t, traits[0].WindowEnd.Equal(traittest.Day(4, 10)))
}

func TestTrait(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	parent := traittest.Trait{Content: "Ann is disciplined.", Subtype: lifecycle.Preference}.Insert(t, b.pool)
	trait := early()
	trait.Parent = parent
	trait.Tendencies = `{"work": {"tendency": "early", "confidence": 0.7}, "personal": {"tendency": "late", ` +
		`"confidence": 0.4}}`
	trait.Events[1].Cycle, trait.Events[1].Reason = uuid.New(), "she said so"
	id := trait.Insert(t, b.pool)
	child := traittest.Trait{Content: "Ann swims at six.", Parent: id}.Insert(t, b.pool)

	got, err := b.client.TraitAt(ctx, "ann", id, traittest.Day(3, 10))
	require.NoError(t, err)
	require.Equal(t, "Ann is disciplined.", got.Parent.Content)
	require.Equal(t, child, got.Children[0].ID)
	require.Equal(t, map[string]oxbow.Tendency{"work": {Tendency: "early", Confidence: 0.7},
		"personal": {Tendency: "late", Confidence: 0.4}}, got.Tendencies)
	require.Empty(t, got.Wordings)

	require.Len(t, got.Events, 3)
	require.Zero(t, got.Events[0].Before)
	for i, e := range got.Events[1:] {
		elapsed := e.At.Sub(got.Events[i].At)
		require.InDelta(t, traittest.Policies.Decay(got.Events[i].Confidence, lifecycle.Behavior, i, elapsed), e.Before,
			1e-12)
	}
	second := got.Events[1]
	require.InDelta(t, second.Before+(1-second.Before)*0.2, second.Confidence, 1e-12)
	require.Equal(t, []any{2, "reinforced", "emerging", 0.2, 0.0, 1, trait.Events[1].Cycle, "reflection",
		"she said so"},
		[]any{second.Seq, second.Event, second.Stage, second.Factor, second.Sets, second.Memories, second.CycleID,
			second.Actor, second.Reason})
	require.InDelta(t, got.Events[2].Before*0.8, got.Events[2].Confidence, 1e-12)
	require.InDelta(t, got.Events[2].Confidence, got.Confidence, 1e-12)

	require.Len(t, got.Evidence, 4)
	said := got.Evidence[2]
	require.Equal(t, []any{2, "supporting", "B", oxbow.TypeEpisodic, "I am a morning person.", "s3", "personal"},
		[]any{said.EventSeq, said.Direction, said.Quality, said.MemoryType, said.Content, said.Session, said.Context})
	require.Equal(t, []any{3, "contradicting", "day 2025-03-09"}, []any{got.Evidence[3].EventSeq,
		got.Evidence[3].Direction, got.Evidence[3].Session})

	require.NoError(t, b.client.Forget(ctx, "ann", said.MemoryID, ""))
	newer, err := b.client.EditTrait(ctx, "ann", id, oxbow.TraitEdit{Content: "Ann is a morning person.",
		Context: "work"})
	require.NoError(t, err)
	got, err = b.client.Trait(ctx, "ann", newer)
	require.NoError(t, err)
	require.Empty(t, got.Evidence[2].Content, "what is forgotten is not told")
	require.NotZero(t, got.Evidence[2].ForgottenAt)
	require.Equal(t, []uuid.UUID{id}, []uuid.UUID{got.Wordings[0].ID})
	require.Equal(t, "Ann gets up early.", got.Wordings[0].Content)
	require.Equal(t, map[string]any{"version": newer.String(), "context": "work"}, got.Events[3].Details)
	require.Equal(t, newer, got.Children[0].ParentID)
	require.NotZero(t, got.EditedAt)

	for wanted, id := range map[error]uuid.UUID{
		oxbow.ErrNotFound: uuid.New(), oxbow.ErrSuperseded: id, oxbow.ErrNotTrait: said.MemoryID,
		oxbow.ErrForgotten: func() uuid.UUID {
			require.NoError(t, b.client.Forget(ctx, "ann", child, ""))
			return child
		}(),
	} {
		_, err := b.client.Trait(ctx, "ann", id)
		require.ErrorIs(t, err, wanted)
		_, err = b.client.EditTrait(ctx, "ann", id, oxbow.TraitEdit{Confidence: new(0.5)})
		require.ErrorIs(t, err, wanted)
		require.ErrorIs(t, b.client.DissolveTrait(ctx, "ann", id, ""), wanted)
		_, err = b.client.DeleteTrait(ctx, "ann", id)
		require.ErrorIs(t, err, wanted)
		if errors.Is(wanted, oxbow.ErrSuperseded) {
			require.ErrorContains(t, err, newer.String())
		}
	}
}

func TestCorrectTrait(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	id := early().Insert(t, b.pool)

	edited, err := b.client.EditTrait(ctx, "ann", id, oxbow.TraitEdit{Confidence: new(0.5), Context: "work",
		Reason: "less so", Actor: "support"})
	require.NoError(t, err)
	require.Equal(t, id, edited)
	require.NoError(t, b.client.DissolveTrait(ctx, "ann", id, "not me"))
	require.NoError(t, b.client.DissolveTrait(ctx, "ann", id, "again"))
	got, err := b.client.Trait(ctx, "ann", id)
	require.NoError(t, err)
	require.Equal(t, "dissolved", got.Stage)
	var log []string
	for _, e := range got.Events[3:] {
		log = append(log, e.Event+" by "+e.Actor+", "+e.Reason)
	}
	require.Equal(t, []string{"edited by support, less so", "dissolved by user, not me"}, log)

	// on the caller's transaction
	tx := begin(t, b.pool)
	within := b.client.WithTx(tx)
	_, err = within.EditTrait(ctx, "ann", id, oxbow.TraitEdit{Confidence: new(0.7)})
	require.NoError(t, err)
	traits, err := within.Traits(ctx, "ann", oxbow.TraitsOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"Ann gets up early."}, traitContents(traits), "an edit brings it back")
	rows, err := within.DeleteTrait(ctx, "ann", id)
	require.NoError(t, err)
	require.GreaterOrEqual(t, rows, int64(1+4+6), "the trait, its evidence, its events")
	require.NoError(t, tx.Rollback(ctx))
	got, err = b.client.Trait(ctx, "ann", id)
	require.NoError(t, err)
	require.Equal(t, "dissolved", got.Stage)

	_, err = b.client.DeleteTrait(ctx, "ann", id)
	require.NoError(t, err)
	require.Equal(t, 2, b.count(t, `select count(*) from oxbow.trait_refusals`), "its key and its wording")
	require.Equal(t, 4, b.count(t, `select count(*) from oxbow.memories`))
}

func TestTraitsRefuse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	id := early().Insert(t, b.pool)
	for _, bad := range []struct {
		field string
		edit  oxbow.TraitEdit
	}{
		{"content", oxbow.TraitEdit{}},
		{"content", oxbow.TraitEdit{Reason: "none"}},
		{"content", oxbow.TraitEdit{Content: " \n"}},
		{"content", oxbow.TraitEdit{Content: "a\x00"}},
		{"content", oxbow.TraitEdit{Content: "\xff"}},
		{"content", oxbow.TraitEdit{Content: strings.Repeat("x", 1<<20+1)}},
		{"confidence", oxbow.TraitEdit{Confidence: new(0.0)}},
		{"confidence", oxbow.TraitEdit{Confidence: new(1.0)}},
		{"confidence", oxbow.TraitEdit{Confidence: new(-0.5)}},
		{"confidence", oxbow.TraitEdit{Confidence: new(math.NaN())}},
		{"confidence", oxbow.TraitEdit{Confidence: new(math.Inf(1))}},
		{"context", oxbow.TraitEdit{Context: "home"}},
		{"context", oxbow.TraitEdit{Context: "contextual"}},
		{"reason", oxbow.TraitEdit{Context: "work", Reason: "\x00"}},
		{"actor", oxbow.TraitEdit{Context: "work", Actor: "\xff"}},
	} {
		_, err := b.client.EditTrait(ctx, "ann", id, bad.edit)
		invalid, ok := errors.AsType[*oxbow.InvalidError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, bad.field, invalid.Field)
	}
	for field, options := range map[string]oxbow.TraitsOptions{
		"now":    {Now: time.Now(), AsOf: time.Now()},
		"stages": {Stages: []string{"settled"}},
		"as_of":  {AsOf: time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		_, err := b.client.Traits(ctx, "ann", options)
		invalid, ok := errors.AsType[*oxbow.InvalidError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, field, invalid.Field)
	}
	_, err := b.client.Traits(ctx, "ann", oxbow.TraitsOptions{Stages: []string{"core"}, IncludeHidden: true})
	require.ErrorContains(t, err, "stages must not be given together with IncludeHidden")
	_, err = b.client.Traits(ctx, "", oxbow.TraitsOptions{})
	require.ErrorContains(t, err, "user_id must have 1 to 255 bytes")
	require.ErrorContains(t, b.client.DissolveTrait(ctx, "ann", id, "\x00"), "reason must not contain a NUL character")
	require.Equal(t, 3, b.count(t, `select count(*) from oxbow.trait_events`), "nothing happened")
}

// A user sees and corrects only their own traits.
func TestTraitsOfOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	id := early().Insert(t, b.pool)
	traittest.Trait{UserID: "bob", Content: "Bob sings."}.Insert(t, b.pool)

	app := b.app(t) // the client sets oxbow.user_id for each call
	traits, err := app.Traits(ctx, "bob", oxbow.TraitsOptions{IncludeHidden: true})
	require.NoError(t, err)
	require.Equal(t, []string{"Bob sings."}, traitContents(traits))
	got, err := app.Trait(ctx, "ann", id)
	require.NoError(t, err)
	require.Len(t, got.Evidence, 4)
	traits, err = app.Traits(ctx, "ann", oxbow.TraitsOptions{AsOf: traittest.Day(2, 1)})
	require.NoError(t, err)
	require.Len(t, traits, 1)
	newer, err := app.EditTrait(ctx, "ann", id, oxbow.TraitEdit{Content: "Ann is a morning person."})
	require.NoError(t, err)
	require.NoError(t, app.DissolveTrait(ctx, "ann", newer, ""))

	bob := newClient(t, pgtest.Open(t, b.dsn, "oxbow_app", "oxbow.user_id", "bob")) // its connections set oxbow.user_id to bob
	for user, wanted := range map[string]error{"ann": oxbow.ErrDenied, "bob": oxbow.ErrNotFound} {
		_, err := bob.Trait(ctx, user, newer)
		require.ErrorIs(t, err, oxbow.ErrNotFound)
		_, err = bob.EditTrait(ctx, user, newer, oxbow.TraitEdit{Confidence: new(0.5)})
		require.ErrorIs(t, err, wanted)
		require.ErrorIs(t, bob.DissolveTrait(ctx, user, newer, ""), wanted)
		_, err = bob.DeleteTrait(ctx, user, newer)
		require.ErrorIs(t, err, wanted)
	}
	_, err = bob.Traits(ctx, "ann", oxbow.TraitsOptions{})
	require.ErrorIs(t, err, oxbow.ErrDenied)
	_, err = bob.Traits(ctx, "ann", oxbow.TraitsOptions{AsOf: time.Now()})
	require.ErrorIs(t, err, oxbow.ErrDenied)
	_, err = app.DeleteTrait(ctx, "ann", newer)
	require.NoError(t, err)
}
