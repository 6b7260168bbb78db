package reasoner

import (
	"context"
	"time"
)

// Reviewer decides what becomes of facts that use made strong or that nobody used for long (L). It is safe for
// concurrent use. Its errors are those of a Reasoner.
type Reviewer interface {
	// Name identifies the reviewer in the records.
	Name() string
	// Judge decides about each case, in order.
	Judge(ctx context.Context, now time.Time, cases []ReviewCase) ([]Judgement, error)
}

// ReviewCase is a fact to review.
type ReviewCase struct {
	Fact      Held
	Promotion bool // it became strong; otherwise nobody used it for long
	Topic     string
	Verified  bool      // a person confirmed it
	Ends      time.Time // when it ceases to be true; zero: not known
	Related   []Held    // the most related facts
	Last      bool      // the last time that it is asked about: no more searches
}

// ReviewVerdict is a decision about a fact.
type ReviewVerdict string

// The verdicts (L).
const (
	ReviewPromote ReviewVerdict = "PROMOTE" // it is a lasting fact; only of a promotion
	ReviewKeep    ReviewVerdict = "KEEP"
	ReviewDelete  ReviewVerdict = "DELETE" // nothing of value is lost with it
	ReviewSearch  ReviewVerdict = "SEARCH" // Judgement.Search may find facts that matter for the decision
)

// Judgement is the decision of a Reviewer about a case.
type Judgement struct {
	Verdict ReviewVerdict
	Search  string // of ReviewSearch: the words
	Reason  string
}
