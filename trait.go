package oxbow

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// Trait is a trait as it stands at a moment.
type Trait = store.TraitSummary

// Tendency is what a trait that depends on the context says in one context.
type Tendency = store.Tendency

// TraitDetails is a trait with its events, evidence, relatives and earlier wordings.
type TraitDetails = store.TraitDetails

// TraitEvent is an event in the life of a trait.
type TraitEvent = store.RecordedEvent

// TraitEvidence is a memory that supports or contradicts a trait.
type TraitEvidence = store.RecordedEvidence

// TraitWording is an earlier wording of a trait.
type TraitWording = store.TraitWording

// TraitEdit is a person's correction of a trait.
type TraitEdit = store.TraitEdit

// TraitsOptions selects traits. The zero value selects those that recall returns, as of now.
type TraitsOptions struct {
	// Stages are the stages to return: trend, candidate, emerging, established, core, dissolved. Default: emerging,
	// established and core.
	Stages []string
	// IncludeHidden returns traits of every stage. It excludes Stages.
	IncludeHidden bool
	// AsOf returns the traits as they stood at a moment, in the wordings of that time.
	AsOf time.Time
	// Now is the moment to which confidence decays, for data of the past. Default: the database's
	// clock. It excludes AsOf.
	Now time.Time
}

// Traits returns the traits of a user with their confidence and stage: the most abstract first (core, then preference,
// then behavior), and of each the surest first. ParentID makes a tree of them. An unknown user has none. A wrong
// value is an *InvalidError.
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
		return &InvalidError{Index: -1, Field: "stages", Rule: "must not be given together with IncludeHidden"}
	}
	if !o.Now.IsZero() && !o.AsOf.IsZero() {
		return &InvalidError{Index: -1, Field: "now", Rule: "must not be given together with AsOf"}
	}
	for _, s := range o.Stages {
		if !slices.Contains([]string{"trend", "candidate", "emerging", "established", "core", "dissolved"}, s) {
			return &InvalidError{Index: -1, Field: "stages", Value: strconv.Quote(s),
				Rule: "must be trend, candidate, emerging, established, core or dissolved"}
		}
	}
	return nil
}

// Trait returns a trait with its events, the memories that support and contradict it, its parent and children, and its
// earlier wordings. ErrNotFound, ErrNotTrait, ErrForgotten, or ErrSuperseded if it has a newer wording, which the error
// names.
func (c *Client) Trait(ctx context.Context, userID string, id uuid.UUID) (TraitDetails, error) {
	return c.TraitAt(ctx, userID, id, time.Time{})
}

// TraitAt is Trait with confidence and stage decayed to another moment, for data of the past.
func (c *Client) TraitAt(ctx context.Context, userID string, id uuid.UUID, now time.Time) (t TraitDetails, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		t, err = store.GetTrait(ctx, tx, userID, id, now)
		return err
	})
	return t, err
}

// EditTrait corrects a trait on behalf of its user, and returns its id: a new one if it was reworded. Evidence and
// events move to the new wording; the old one stays for questions about the past. A dissolved trait is revived.
// Reflection keeps weighing evidence, but no longer changes the wording.
//
// ErrNotFound, ErrNotTrait, ErrForgotten, ErrSuperseded (the error names the newer wording), or an *InvalidError.
func (c *Client) EditTrait(ctx context.Context, userID string, id uuid.UUID, e TraitEdit) (
	edited uuid.UUID, err error,
) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		edited, err = store.EditTrait(ctx, tx, userID, id, e)
		return err
	})
	return edited, err
}

// DissolveTrait archives a trait on behalf of its user, so that it is no longer recalled. Reflection does not revive
// it; EditTrait does. The reason, which may be empty, is written into its events. A second call does nothing. Errors
// are those of EditTrait.
func (c *Client) DissolveTrait(ctx context.Context, userID string, id uuid.UUID, reason string) error {
	return c.on(ctx, userID, func(tx pgx.Tx) error { return store.DissolveTrait(ctx, tx, userID, id, reason, "user") })
}

// DeleteTrait erases a trait with all its wordings, evidence and events, and returns how many rows it deleted. The
// memories that were evidence stay. A hash of the wording is kept, so that reflection does not make the trait again.
// It cannot be undone. Errors are those of EditTrait.
func (c *Client) DeleteTrait(ctx context.Context, userID string, id uuid.UUID) (rows int64, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		rows, err = store.DeleteTrait(ctx, tx, userID, id)
		return err
	})
	return rows, err
}
