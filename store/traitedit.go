package store

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/store/internal/dbsqlc"
)

// TraitEdit is a person's correction of a trait. A zero value means "not given"; one of the first three must be.
type TraitEdit struct {
	// Content is the new wording, at most 1 MiB.
	Content string
	// Context is work, personal, social, learning or general.
	Context string
	// Confidence is above 0 and below 1. By default the trait is at least as sure as 0.9: a person's word outranks
	// reflection.
	Confidence *float64
	// Reason and Actor are written into the trait's events. Actor is by default "user".
	Reason, Actor string
}

// EditTrait corrects a trait, and returns its id: a new one if it was reworded.
func EditTrait(ctx context.Context, db DB, userID string, id uuid.UUID, e TraitEdit) (uuid.UUID, error) {
	if err := e.validate(); err != nil {
		return uuid.Nil, err
	}
	edited, err := queries.TraitEdit(ctx, db, &dbsqlc.TraitEditParams{UserID: userID, ID: id, Content: pointer(e.Content), Confidence: e.Confidence,
		Context: pointer(e.Context), Reason: pointer(e.Reason), Actor: actorOr(e.Actor)})
	return edited, Explain(err)
}

func (e *TraitEdit) validate() error {
	if e.Content == "" && e.Context == "" && e.Confidence == nil {
		return &InvalidError{Index: -1, Field: "content", Rule: "or context or confidence must be given"}
	}
	if e.Content != "" {
		m := NewMemory{UserID: "checked apart", Content: e.Content}
		if _, err := m.validate(); err != nil {
			return err
		}
	}
	contexts := []string{"work", "personal", "social", "learning", "general"}
	if e.Context != "" && !slices.Contains(contexts, e.Context) {
		return Invalid("context", e.Context, "must be work, personal, social, learning or general")
	}
	if c := e.Confidence; c != nil && !(*c > 0 && *c < 1) { // NaN is neither
		return &InvalidError{Index: -1, Field: "confidence", Value: strconv.FormatFloat(*c, 'g', -1, 64), Rule: "must be above 0 and below 1"}
	}
	return reasonAndActor(e.Reason, e.Actor)
}

// DissolveTrait archives a trait.
func DissolveTrait(ctx context.Context, db DB, userID string, id uuid.UUID, reason, actor string) error {
	if err := reasonAndActor(reason, actor); err != nil {
		return err
	}
	return Explain(queries.TraitDissolve(ctx, db, &dbsqlc.TraitDissolveParams{UserID: userID, ID: id,
		Reason: pointer(strings.TrimSpace(reason)), Actor: actorOr(actor)}))
}

// DeleteTrait erases a trait for good, and returns how many rows that were.
func DeleteTrait(ctx context.Context, db DB, userID string, id uuid.UUID) (int64, error) {
	rows, err := queries.TraitDelete(ctx, db, &dbsqlc.TraitDeleteParams{UserID: userID, ID: id})
	return rows, Explain(err)
}

func reasonAndActor(reason, actor string) error {
	if err := text("reason", reason); err != nil {
		return err
	}
	return text("actor", actor)
}

func actorOr(actor string) string {
	if actor == "" {
		return "user"
	}
	return actor
}
