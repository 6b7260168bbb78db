package oxbow

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// Trait is a trait as of a given time.
type Trait = store.TraitSummary

// Tendency is the form that a context-dependent trait takes in one context.
type Tendency = store.Tendency

// TraitDetails is a trait with its events, evidence, parent and children, and earlier wordings.
type TraitDetails = store.TraitDetails

// TraitEvent is an event in the life of a trait.
type TraitEvent = store.RecordedEvent

// TraitEvidence is a memory that supports or contradicts a trait.
type TraitEvidence = store.RecordedEvidence

// TraitWording is an earlier wording of a trait.
type TraitWording = store.TraitWording

// TraitEdit is a person's correction of a trait.
type TraitEdit = store.TraitEdit

// TraitsOptions selects traits. The zero value selects the traits that recall returns, as of now.
type TraitsOptions struct {
	// Stages are the stages to return: trend, candidate, emerging, established, core, dissolved. Default: emerging,
	// established and core.
	Stages []string
	// IncludeHidden returns traits of every stage. It excludes Stages.
	IncludeHidden bool
	// AsOf returns the traits and their wordings as of that time.
	AsOf time.Time
	// Now is the time to which confidence decays, for historical data. Default: the database's clock.
	// It excludes AsOf.
	Now time.Time
}

// Traits returns the traits of a user with their confidence and stage. The most abstract come first (core,
// then preference, then behavior), and within each kind those with the highest confidence. ParentID makes
// them a tree. An unknown user has no traits. An invalid value is an *InvalidError.
func (c *Client) Traits(ctx context.Context, userID string, options TraitsOptions) (traits []Trait, err error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		if !options.AsOf.IsZero() {
			traits, err = store.TraitsAsOf(ctx, tx, userID, options.AsOf)
		} else {
			traits, err = store.HeldTraits(ctx, tx, userID, options.Now)
		}
		return err
	})
	if err != nil || options.IncludeHidden {
		return traits, err
	}
	stages := options.Stages
	if len(stages) == 0 {
		stages = []string{"emerging", "established", "core"}
	}
	return slices.DeleteFunc(traits, func(t Trait) bool { return !slices.Contains(stages, t.Stage) }), nil
}

func (o *TraitsOptions) validate() error {
	if len(o.Stages) > 0 && o.IncludeHidden {
		return store.Invalid("stages", nil, "must not be given together with IncludeHidden")
	}
	if !o.Now.IsZero() && !o.AsOf.IsZero() {
		return store.Invalid("now", nil, "must not be given together with AsOf")
	}
	for _, s := range o.Stages {
		if !slices.Contains([]string{"trend", "candidate", "emerging", "established", "core", "dissolved"}, s) {
			return store.Invalid("stages", s, "must be trend, candidate, emerging, established, core or dissolved")
		}
	}
	return nil
}

// Trait returns a trait with its events, the memories that support and contradict it, its parent and
// children, and its earlier wordings. ErrNotFound, ErrNotTrait, ErrForgotten, or ErrSuperseded if it has a
// newer wording, which the error names.
func (c *Client) Trait(ctx context.Context, userID string, id uuid.UUID) (TraitDetails, error) {
	return c.TraitAt(ctx, userID, id, time.Time{})
}

// TraitAt is Trait with confidence and stage decayed to the given time, for historical data.
func (c *Client) TraitAt(ctx context.Context, userID string, id uuid.UUID, now time.Time) (TraitDetails, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) (TraitDetails, error) {
		return store.GetTrait(ctx, tx, userID, id, now)
	})
}

// EditTrait corrects a trait on behalf of its user. It returns the id of the trait, which is new if the
// wording changed. Evidence and events move to the new wording; the old one stays for queries about the
// past. A dissolved trait is revived. Reflection still weighs evidence, but no longer changes the wording.
//
// Errors: ErrNotFound, ErrNotTrait, ErrForgotten, ErrSuperseded (the error names the newer wording), or an
// *InvalidError.
func (c *Client) EditTrait(ctx context.Context, userID string, id uuid.UUID, e TraitEdit) (uuid.UUID, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) (uuid.UUID, error) { return store.EditTrait(ctx, tx, userID, id, e) })
}

// DissolveTrait archives a trait on behalf of its user, so that it is no longer recalled. Reflection does not
// revive it; EditTrait does. The reason may be empty, and is stored in the trait's events. A second call
// does nothing. It returns the errors of EditTrait.
func (c *Client) DissolveTrait(ctx context.Context, userID string, id uuid.UUID, reason string) error {
	return c.on(ctx, userID, func(tx pgx.Tx) error { return store.DissolveTrait(ctx, tx, userID, id, reason, "user") })
}

// DeleteTrait erases a trait with all its wordings, evidence and events, and returns how many rows it deleted.
// The memories that were its evidence stay. A hash of the wording is kept, so that reflection does not make
// the trait again. It cannot be undone. It returns the errors of EditTrait.
func (c *Client) DeleteTrait(ctx context.Context, userID string, id uuid.UUID) (int64, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) (int64, error) { return store.DeleteTrait(ctx, tx, userID, id) })
}
