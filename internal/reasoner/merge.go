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
	// Merge returns those of each group that belong together. A group has memories of one type and speaker that are
	// similar, or of which each is similar to another.
	Merge(ctx context.Context, groups [][]Held) ([]Same, error)
}

// Same are memories of one group that say the same, or repetitions of one event.
type Same struct {
	Memories []uuid.UUID // at least two
	Content  string      // what they say, without dates and how often
}
