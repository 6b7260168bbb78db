package jobs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reflection"
	"github.com/oxbow-memory/oxbow/store"
)

// ReviewArgs identifies a user with facts that are due for review.
type ReviewArgs struct {
	UserID string `json:"user_id" river:"unique"`
}

// Kind returns "review".
func (ReviewArgs) Kind() string { return "review" }

// InsertOpts returns the insert options of the kind.
func (a ReviewArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:     "promotes, keeps or forgets facts that use made strong or that nobody used for long",
	Queue:    QueueReflect,
	Unique:   true,
	Reasoner: true,
	Timeout:  func(c Config) time.Duration { return reviewRounds*c.ReasonerCallTime + Timeout },
}, func(c Config) worker[ReviewArgs] { return &reviewWorker{c} })

const (
	reviewedFacts = 20 // per job; halved with each unusable answer
	reviewRelated = 5  // shown with each
	reviewRounds  = 3  // calls to the reviewer, which may search between them
	maxSearch     = 200
)

// reviewWorker decides about the facts of a user that are due for review. While more are due, sweep enqueues the next
// job.
type reviewWorker struct{ Config }

// Work reviews the facts that have been due for longest.
func (w *reviewWorker) Work(ctx context.Context, job *river.Job[ReviewArgs]) error {
	return w.postpone(ctx, w.review(ctx, job))
}

func (w *reviewWorker) review(ctx context.Context, job *river.Job[ReviewArgs]) error {
	userID := job.Args.UserID
	facts, err := store.FactsToReview(ctx, w.DB, userID, time.Now(), max(reviewedFacts>>invalidAnswers(job.JobRow), 1))
	if err != nil {
		return err
	}
	if !w.Offline {
		facts, err = HideSecrets(ctx, w.DB, facts, func(f store.FactToReview) (store.MemoryRef, string) {
			return store.MemoryRef{UserID: userID, ID: f.ID}, f.Content
		})
		if err != nil {
			return err
		}
	}
	reviewed, err := w.decide(ctx, userID, job.ID, facts)
	if useless, ok := errors.AsType[*reasoner.AnswerError](err); ok && invalidAnswers(job.JobRow)+1 >= maxInvalidAnswers {
		reviewed, err = w.verdicts(ctx, facts, nil, useless.Error()), nil
	}
	if err != nil {
		return err
	}
	failpoint.Reach(failpoint.ReviewDecided)
	err = retried(deadlockTries, store.IsDeadlock, func() error {
		return completing(ctx, w.DB, job, func(tx pgx.Tx) error {
			if len(reviewed) == 0 {
				return nil
			}
			did, err := store.WriteReviews(ctx, tx, userID, "review "+w.Reviewer.Name(), reviewed)
			failpoint.Reach(failpoint.ReviewWritten)
			w.Logger.DebugContext(ctx, "reviewed", "facts", len(reviewed), "did", did)
			return err
		})
	})
	failpoint.Reach(failpoint.ReviewCommitted)
	return err
}

// decide asks the reviewer about facts. The reviewer may ask for a search for related facts; decide then asks it again.
func (w *reviewWorker) decide(ctx context.Context, userID string, job int64, facts []store.FactToReview) (
	[]store.Reviewed, error,
) {
	person, err := store.ReadPerson(ctx, w.DB, userID)
	if err != nil {
		return nil, err
	}
	cases, err := w.cases(ctx, userID, person, facts)
	if err != nil {
		return nil, err
	}
	judged := map[uuid.UUID]reasoner.Judgement{}
	for round := 1; len(cases) > 0; round++ {
		for i := range cases {
			cases[i].Last = round == reviewRounds
		}
		var answers []reasoner.Judgement
		err := w.call(ctx, userID, uuid.Nil, job, func(ctx context.Context) (err error) {
			answers, err = w.Reviewer.Judge(ctx, w.Now().In(person.Zone), cases)
			return err
		})
		if err != nil {
			return nil, err
		}
		var open []reasoner.ReviewCase
		for i, c := range cases[:min(len(cases), len(answers))] {
			if answers[i].Verdict != reasoner.ReviewSearch || c.Last {
				judged[c.Fact.ID] = answers[i]
				continue
			}
			if err := w.search(ctx, userID, answers[i].Search, person, &c); err != nil {
				return nil, err
			}
			open = append(open, c)
		}
		cases = open
	}
	return w.verdicts(ctx, facts, judged, "the reviewer did not decide"), nil
}

// verdicts returns the verdicts about facts. A verdict that is not allowed becomes KEEP.
func (w *reviewWorker) verdicts(ctx context.Context, facts []store.FactToReview,
	judged map[uuid.UUID]reasoner.Judgement, otherwise string) []store.Reviewed {
	all := make([]store.Reviewed, len(facts))
	for i, f := range facts {
		all[i] = store.Reviewed{ID: f.ID, Review: f.Review}
		if f.Review == "" {
			continue
		}
		j := judged[f.ID]
		refused := ""
		switch {
		case j.Verdict == reasoner.ReviewKeep, j.Verdict == reasoner.ReviewPromote && f.Review == "promotion":
		case j.Verdict != reasoner.ReviewDelete:
			refused = otherwise
		case f.Verified || f.Source == "user":
			refused = "a person confirmed it"
		case f.Category == reasoner.Identity:
			refused = "it says who somebody is"
		}
		if refused != "" {
			w.Logger.InfoContext(ctx, "kept a fact against the reviewer", "verdict", string(j.Verdict), "reason", refused)
			j = reasoner.Judgement{Verdict: reasoner.ReviewKeep, Reason: refused}
		}
		all[i].Verdict, all[i].Reason = string(j.Verdict), reflection.Reason(j.Reason)
	}
	return all
}

// cases returns the facts that are still due for a review, with the most related ones: those about the same subjects
// and, for a reviewer that reads more than the rules do, the most similar.
func (w *reviewWorker) cases(ctx context.Context, userID string, person reasoner.Person, facts []store.FactToReview) (
	[]reasoner.ReviewCase, error,
) {
	var cases []reasoner.ReviewCase
	var about []string
	var ids []uuid.UUID
	for _, f := range facts {
		if f.Review == "" {
			continue
		}
		c := w.Facts.Fact(f.Content, cmp.Or(f.Speaker, reasoner.NameOf(userID)))
		cases = append(cases, reasoner.ReviewCase{Promotion: f.Review == "promotion", Topic: f.Topic, Verified: f.Verified,
			Ends: f.Ends, Fact: reasoner.Held{ID: f.ID, Type: string(store.Fact), Content: f.Content, Speaker: f.Speaker,
				Category: f.Category, Time: f.At.In(person.Zone), About: c.About}})
		about, ids = append(about, c.About...), append(ids, f.ID)
	}
	slices.Sort(about)
	same, err := store.FactsAbout(ctx, w.DB, userID, slices.Compact(about), reviewRelated+1)
	if err != nil || len(cases) == 0 {
		return nil, err
	}
	similar := make([][]reasoner.Held, len(cases))
	if !w.Offline {
		if similar, err = store.SimilarToFacts(ctx, w.DB, userID, ids, reviewRelated+1, leastSimilar); err != nil {
			return nil, err
		}
	}
	for i := range cases {
		for _, h := range same {
			if slices.ContainsFunc(cases[i].Fact.About, func(a string) bool { return slices.Contains(h.About, a) }) {
				cases[i].Related = related(cases[i], h, person)
			}
		}
		for _, h := range similar[i] {
			cases[i].Related = related(cases[i], h, person)
		}
		if cases[i].Related = cases[i].Related[:min(len(cases[i].Related), reviewRelated)]; !w.Offline {
			if cases[i].Related, err = hideHeld(ctx, w.DB, userID, cases[i].Related); err != nil {
				return nil, err
			}
		}
	}
	return cases, nil
}

// related adds a fact to the related facts of a case, unless they contain it already.
func related(c reasoner.ReviewCase, h reasoner.Held, person reasoner.Person) []reasoner.Held {
	if h.ID == c.Fact.ID || slices.ContainsFunc(c.Related, func(r reasoner.Held) bool { return r.ID == h.ID }) {
		return c.Related
	}
	h.Time = h.Time.In(person.Zone)
	return append(c.Related, h)
}

// search adds the facts that recall finds for some words to those related to a case.
func (w *reviewWorker) search(ctx context.Context, userID, words string, person reasoner.Person,
	c *reasoner.ReviewCase) error {
	if words = oneline.Shorten(oneline.Of(words), maxSearch); words == "" {
		return nil
	}
	found, _, err := store.Recall(ctx, w.DB, store.RecallParams{UserID: userID, Query: words,
		Types: []store.MemoryType{store.Fact}, Limit: new(reviewRelated)})
	if err != nil {
		return err
	}
	held := make([]reasoner.Held, len(found))
	for i, f := range found {
		at := f.ValidAt
		if at.IsZero() {
			at = f.CreatedAt
		}
		held[i] = reasoner.Held{ID: f.ID, Type: string(f.Type), Content: oneline.Shorten(f.Content, 6000),
			Speaker: f.Speaker, Category: cmp.Or(f.Category, reasoner.Objective), Time: at}
	}
	if held, err = hideHeld(ctx, w.DB, userID, held); err != nil {
		return err
	}
	for _, h := range held {
		c.Related = related(*c, h, person)
	}
	return nil
}
