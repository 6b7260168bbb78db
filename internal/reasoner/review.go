package reasoner

import (
	"context"
	"time"
)

// Reviewer decides about facts that are often used, or that have not been used for long (L). It is safe for concurrent
// use. Its errors are those of a Reasoner.
type Reviewer interface {
	// Name identifies the reviewer in the records.
	Name() string
	// Judge decides about each case, in order.
	Judge(ctx context.Context, now time.Time, cases []ReviewCase) ([]Judgement, error)
}

// ReviewCase is a fact to review.
type ReviewCase struct {
	Fact      Held
	Promotion bool // its strength rose; otherwise it fell for lack of use
	Topic     string
	Verified  bool      // a person confirmed it
	Ends      time.Time // when it stops being true; zero: unknown
	Related   []Held    // the most related facts
	Last      bool      // the last round: ReviewSearch is not allowed
}

// ReviewVerdict is a decision about a fact.
type ReviewVerdict string

// The verdicts (L).
const (
	ReviewPromote ReviewVerdict = "PROMOTE" // it is a lasting fact; only if ReviewCase.Promotion
	ReviewKeep    ReviewVerdict = "KEEP"
	ReviewDelete  ReviewVerdict = "DELETE" // it has no value any more
	ReviewSearch  ReviewVerdict = "SEARCH" // Judgement.Search may find facts that matter for the decision
)

// Judgement is the decision of a Reviewer about a case.
type Judgement struct {
	Verdict ReviewVerdict
	Search  string // the words, for ReviewSearch
	Reason  string
}
