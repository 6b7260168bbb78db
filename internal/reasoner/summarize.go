package reasoner

import (
	"context"
	"time"
)

// Summarizer tells in short what a conversation was about. It may be used by several goroutines at
// once. Its errors are those of a Reasoner.
type Summarizer interface {
	// Name tells summarizers apart in the records.
	Name() string
	// Summarize returns a summary of all that was told so far, in the language in which it was said; "" if there is
	// nothing to tell. What an assistant said is nothing about the user. It has at most MaxSummary characters.
	Summarize(ctx context.Context, t Told) (string, error)
}

// MaxSummary is how many characters a summary has at most.
const MaxSummary = 1200

// Told is a conversation of which the first part was summarised before.
type Told struct {
	Now      time.Time // in the user's time zone
	Language string    // of the user, such as zh-CN; empty: not known
	Before   string    // the summary so far; empty: there is none
	Messages []Message // those that are not in it yet, all of them new
}
