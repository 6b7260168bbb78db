package reasoner

import (
	"context"

	"github.com/google/uuid"
)

// Merger decides which memories say the same or are repetitions of one event. It is safe for concurrent use. Its errors
// are those of a Reasoner.
type Merger interface {
	// Name identifies the merger in the records.
	Name() string
	// Merge returns the memories of each group that belong together. The memories of a group have the same type and
	// speaker, and each is similar to another one.
	Merge(ctx context.Context, groups [][]Held) ([]Same, error)
}

// Same are memories of one group that say the same, or repetitions of one event.
type Same struct {
	Memories []uuid.UUID // at least two
	Content  string      // their common text, without dates and number
}
