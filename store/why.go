package store

import (
	"context"

	"github.com/google/uuid"
)

// Sentence is a sentence of an explanation.
type Sentence struct {
	Aspect   string      `json:"aspect"` // origin, basis, kept, used, fades
	Sentence string      `json:"sentence"`
	Refs     []uuid.UUID `json:"refs,omitempty"` // the ids behind it
}

// Why explains a memory, a trait, an adjustment, an instruction, a skill or an intention, in a language or, if that is
// empty, in the user's.
func Why(ctx context.Context, db DB, userID string, id uuid.UUID, language string) ([]Sentence, error) {
	return list[Sentence](ctx, db, "explain", `
		select aspect, sentence, array(select r::uuid from jsonb_array_elements_text(refs) r) as refs
		  from oxbow.why($1, $2, $3)`, userID, id, pointer(language))
}
