package store

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// TraitEdit is a user's correction of a trait. At least one of Content, Context and Confidence is
// required.
type TraitEdit struct {
	// Content is the new wording, at most 1 MiB.
	Content string
	// Context is work, personal, social, learning or general.
	Context string
	// Confidence is between 0 and 1 exclusive. Default: at least 0.9, because the user's word
	// outranks reflection.
	Confidence *float64
	// Reason and Actor are recorded in the events of the trait. Default of Actor: "user".
	Reason, Actor string
}

// EditTrait corrects a trait and returns its id, which is new if Content rewords the trait.
func EditTrait(ctx context.Context, db DB, userID string, id uuid.UUID, e TraitEdit) (uuid.UUID, error) {
	if err := e.validate(); err != nil {
		return uuid.Nil, err
	}
	err := Admit(ctx, db, Field{"content", e.Content}, Field{"reason", e.Reason}, Field{"actor", e.Actor})
	if err != nil {
		return uuid.Nil, err
	}
	return CollectOne[uuid.UUID](ctx, db, `
		select oxbow.edit_trait(user_id => $1::text, id => $2::uuid, content => $3::text,
		       confidence => $4::double precision, context => $5::text, reason => $6::text, actor => $7::text)`,
		userID, id, pointer(e.Content), e.Confidence, pointer(e.Context), pointer(e.Reason), actorOr(e.Actor))
}

func (e *TraitEdit) validate() error {
	if e.Content == "" && e.Context == "" && e.Confidence == nil {
		return Invalid("content", nil, "or context or confidence must be given")
	}
	if e.Content != "" {
		m := NewMemory{UserID: "checked apart", Content: e.Content}
		if _, err := m.validate(); err != nil {
			return err
		}
	}
	if e.Context != "" && reasoner.KnownContext(e.Context) == "" {
		return Invalid("context", e.Context, "must be work, personal, social, learning or general")
	}
	if c := e.Confidence; c != nil && !(*c > 0 && *c < 1) { // also rejects NaN
		return Invalid("confidence", *c, "must be above 0 and below 1")
	}
	return nil
}

// DissolveTrait archives a trait so that it is no longer recalled.
func DissolveTrait(ctx context.Context, db DB, userID string, id uuid.UUID, reason, actor string) error {
	if err := Admit(ctx, db, Field{"reason", reason}, Field{"actor", actor}); err != nil {
		return err
	}
	_, err := Exec(ctx, db, `
		select oxbow.dissolve_trait(user_id => $1::text, id => $2::uuid, reason => $3::text, actor => $4::text)`,
		userID, id, pointer(strings.TrimSpace(reason)), actorOr(actor))
	return err
}

// DeleteTrait erases a trait permanently and returns the number of rows erased.
func DeleteTrait(ctx context.Context, db DB, userID string, id uuid.UUID) (int64, error) {
	return CollectOne[int64](ctx, db,
		`select oxbow.delete_trait(user_id => $1::text, id => $2::uuid)::bigint`, userID, id)
}

func actorOr(actor string) string {
	if actor == "" {
		return "user"
	}
	return actor
}
