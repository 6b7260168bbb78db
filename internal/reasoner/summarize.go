package reasoner

import (
	"context"
	"time"
)

// Summarizer summarizes conversations. It is safe for concurrent use. Its errors are those of a
// Reasoner.
type Summarizer interface {
	// Name identifies the summarizer in the records.
	Name() string
	// Summarize returns a summary of the conversation so far, in its language, of at most MaxSummary characters. It is
	// "" if nothing is worth a summary. Statements of an assistant are not about the user.
	Summarize(ctx context.Context, t Told) (string, error)
}

// MaxSummary is the maximum number of characters of a summary.
const MaxSummary = 1200

// Told is a conversation whose first part is already summarized.
type Told struct {
	Now      time.Time // in the user's time zone
	Language string    // of the user, such as zh-CN; empty: not known
	Before   string    // the summary so far; empty: none
	Messages []Message // messages that the summary does not cover yet
}
