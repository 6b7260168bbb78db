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

// TraitSummary is a trait as it stands at a moment.
type TraitSummary = store.TraitSummary

// Tendency is what a trait that depends on the context says in one.
type Tendency = store.Tendency

// TraitDetails is a trait with all that led to it.
type TraitDetails = store.TraitDetails

// TraitEvent is something that happened to a trait.
type TraitEvent = store.RecordedEvent

// TraitEvidence is a memory that speaks for or against a trait.
type TraitEvidence = store.RecordedEvidence

// TraitWording is what a trait said for a time.
type TraitWording = store.TraitWording

// TraitEdit is a person's correction of a trait.
type TraitEdit = store.TraitEdit

// TraitsOptions says which traits to return. The zero value asks for those that recall tells of, as of now.
type TraitsOptions struct {
	// Stages are those to return: trend, candidate, emerging, established, core, dissolved. Default: emerging,
	// established and core.
	Stages []string
	// IncludeHidden asks for traits of every stage. It excludes Stages.
	IncludeHidden bool
	// AsOf asks what was held then: the wordings of then, with what had happened until then.
	AsOf time.Time
	// Now is the moment to which confidence decays, for data that lies in the past. Default: the database's clock. It
	// excludes AsOf.
	Now time.Time
}

// Traits returns what is held of a user, with confidence and stage at the moment: the most abstract ones first (core,
// then preference, then behavior), of each the surest first. ParentID makes a tree of them. A user of whom nothing is
// held, or nothing is known, has none.
func (c *Client) Traits(ctx context.Context, userID string, options TraitsOptions) (traits []TraitSummary, err error) {
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
	return slices.DeleteFunc(traits, func(t TraitSummary) bool { return !slices.Contains(stages, t.Stage) }), nil
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

// Trait returns a trait with all that led to it: its events, the memories that speak for and against it, its parent and
// children, its earlier wordings. ErrNotFound, ErrNotTrait, ErrForgotten, and ErrSuperseded, if it has a newer wording,
// which the error names, say why there is none.
func (c *Client) Trait(ctx context.Context, userID string, id uuid.UUID) (TraitDetails, error) {
	return c.TraitAt(ctx, userID, id, time.Time{})
}

// TraitAt is Trait with confidence and stage decayed to another moment, for data that lies in the past.
func (c *Client) TraitAt(ctx context.Context, userID string, id uuid.UUID, now time.Time) (t TraitDetails, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		t, err = store.GetTrait(ctx, tx, userID, id, now)
		return err
	})
	return t, err
}

// EditTrait corrects a trait in the name of the person whom it is about, and returns its id: a new one if it was reworded.
// Evidence and events go over to that; the old wording stays, as that of its time. A dissolved trait comes back.
// Reflection goes on to weigh evidence, but leaves the wording alone from then on.
//
// ErrNotFound, ErrNotTrait, ErrSuperseded (the error names the newer wording), ErrForgotten and *InvalidError say why
// nothing was corrected.
func (c *Client) EditTrait(ctx context.Context, userID string, id uuid.UUID, e TraitEdit) (edited uuid.UUID, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		edited, err = store.EditTrait(ctx, tx, userID, id, e)
		return err
	})
	return edited, err
}

// DissolveTrait archives a trait in the name of the person whom it is about: it is not recalled any more, and reflection
// does not bring it back; EditTrait does. The reason, which may be empty, is written into its events. Another call does
// nothing. Errors are those of EditTrait.
func (c *Client) DissolveTrait(ctx context.Context, userID string, id uuid.UUID, reason string) error {
	return c.on(ctx, userID, func(tx pgx.Tx) error { return store.DissolveTrait(ctx, tx, userID, id, reason, "user") })
}

// DeleteTrait erases a trait with all its wordings, evidence and events; the memories that were evidence stay. What is left
// is a hash of what it said, so that reflection does not make it again. It cannot be taken back. It returns how many rows
// that were. Errors are those of EditTrait.
func (c *Client) DeleteTrait(ctx context.Context, userID string, id uuid.UUID) (rows int64, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		rows, err = store.DeleteTrait(ctx, tx, userID, id)
		return err
	})
	return rows, err
}
