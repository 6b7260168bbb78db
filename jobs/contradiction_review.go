package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/sensitive"
	"github.com/oxbow-memory/oxbow/store"
)

// ContradictionReviewArgs name a user of whom evidence contradicts a trait, and the reflection that goes on afterwards.
type ContradictionReviewArgs struct {
	UserID       string  `json:"user_id" river:"unique"`
	TriggerType  string  `json:"trigger_type,omitempty"`
	TriggerValue float64 `json:"trigger_value,omitempty"`
}

// Kind is "contradiction_review".
func (ContradictionReviewArgs) Kind() string { return "contradiction_review" }

// InsertOpts allows one live review a user. It and the reflection take turns, so that what is concluded does not depend on
// which of them comes first.
func (ContradictionReviewArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: QueueReflect, UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: live()}}
}

func reviewAfter(a ReflectArgs) ContradictionReviewArgs {
	return ContradictionReviewArgs(a)
}

// reviewedEvidence is how many memories of each direction a review gets to see, the latest.
const reviewedEvidence = 30

// contradictionReviewWorker decides what becomes of traits that evidence contradicts, one after the other.
type contradictionReviewWorker struct {
	river.WorkerDefaults[ContradictionReviewArgs]
	*Reflection
}

// Timeout is what a call may take, and what the database may.
func (w *contradictionReviewWorker) Timeout(*river.Job[ContradictionReviewArgs]) time.Duration {
	return w.CallTime + Timeout
}

// Work reviews the trait that waits longest.
func (w *contradictionReviewWorker) Work(ctx context.Context, job *river.Job[ContradictionReviewArgs]) error {
	for try := 1; ; try++ {
		err := w.review(ctx, job)
		if stale(err) && try < rereadings {
			continue
		}
		return w.postpone(ctx, err)
	}
}

func (w *contradictionReviewWorker) review(ctx context.Context, job *river.Job[ContradictionReviewArgs]) error {
	s, err := w.begin(ctx, w.DB, job.Args.UserID)
	if err != nil {
		return err
	}
	if s.person.OptedOut {
		return pgx.BeginFunc(ctx, w.DB, func(tx pgx.Tx) error { return w.leave(ctx, tx, job) })
	}
	c, err := w.loadCase(ctx, w.DB, s)
	if err != nil {
		return err
	}
	if c == nil {
		return pgx.BeginFunc(ctx, w.DB, func(tx pgx.Tx) error { return w.leave(ctx, tx, job) })
	}
	verdict, err := w.judge(ctx, s, c, job.ID)
	var useless *reasoner.AnswerError
	if errors.As(err, &useless) && nonsense(job.JobRow)+1 >= maxNonsense {
		// the next contradiction asks again
		verdict, err = reasoner.Verdict{Action: reasoner.Keep, Reason: useless.Error()}, nil
	}
	if err != nil {
		return err
	}
	p := s.conclude(verdict, c)
	changes := p.changes()
	var outcome *Outcome
	err = pgx.BeginFunc(ctx, w.DB, func(tx pgx.Tx) error {
		if err := store.LockChanges(ctx, tx, changes); err != nil {
			return err
		}
		if err := complete(ctx, tx, job); err != nil {
			return err
		}
		if out, err := store.OptedOut(ctx, tx, s.user); err != nil || out {
			return err // while the reasoner was thinking
		}
		did, err := w.writeReview(ctx, tx, p, changes, c)
		if err != nil {
			return err
		}
		outcome = &did
		failpoint.Reach(failpoint.ReviewWritten)
		return follow(ctx, tx, job.Args) // perhaps another one waits
	})
	if err == nil && outcome != nil {
		w.Observer.Reflected(*outcome)
	}
	return err
}

// leave ends the job when nothing is left to review: the reflection goes on.
func (w *contradictionReviewWorker) leave(ctx context.Context, tx pgx.Tx, job *river.Job[ContradictionReviewArgs]) error {
	if err := complete(ctx, tx, job); err != nil {
		return err
	}
	more, err := store.InboxHasMore(ctx, tx, job.Args.UserID)
	if err != nil || !more {
		return err
	}
	if job.Args.TriggerType == "" { // sweep found the review, and no reflection waits for it
		return enqueue(ctx, tx, CheckTriggerArgs{UserID: job.Args.UserID})
	}
	return follow(ctx, tx, ReflectArgs(job.Args))
}

// loadCase returns the trait that waits longest for a review, with the evidence; none: nil.
func (r *Reflection) loadCase(ctx context.Context, db store.DB, s *snapshot) (*reasoner.Case, error) {
	due, err := store.TraitsToReview(ctx, db, s.user)
	if err != nil || len(due) == 0 {
		return nil, err
	}
	s.traits = due[:1]
	if err := store.DecayTraits(ctx, db, s.now, s.traits); err != nil {
		return nil, err
	}
	t := s.traits[0]
	c := &reasoner.Case{Now: s.now.In(s.person.Zone), ZoneKnown: s.person.ZoneKnown, Language: s.person.Language, Trait: s.shown(t)}
	if s.weighed, err = store.SeenEvidence(ctx, db, s.user, nil, map[uuid.UUID]int{t.ID: enough(s.policies, t.State.Contradictions)}); err != nil {
		return nil, err
	}
	for direction, into := range map[string]*[]reasoner.Evidence{store.Supporting: &c.Supporting, store.Contradicting: &c.Contradicting} {
		found, err := store.ReviewEvidence(ctx, db, s.user, t.ID, direction, s.person, reviewedEvidence)
		if err != nil {
			return nil, err
		}
		*into = slices.DeleteFunc(found, func(e reasoner.Evidence) bool {
			_, hit := sensitive.Category(e.Content)
			return hit
		})
	}
	return c, nil
}

// judge asks the reasoner, where it is not decided already.
func (r *Reflection) judge(ctx context.Context, s *snapshot, c *reasoner.Case, job int64) (verdict reasoner.Verdict, err error) {
	if c.Trait.Stage == lifecycle.Dissolved || c.Trait.Edited || c.Trait.Content == "" {
		return reasoner.Verdict{Action: reasoner.Keep}, nil
	}
	if len(c.Contradicting) == 0 {
		return reasoner.Verdict{Action: reasoner.Keep, Reason: "what contradicted it is gone"}, nil
	}
	err = r.call(ctx, s, job, func(ctx context.Context) (err error) {
		verdict, err = r.Reasoner.Review(ctx, *c)
		return err
	})
	return verdict, err
}

// conclude applies a verdict.
func (s *snapshot) conclude(v reasoner.Verdict, c *reasoner.Case) *plan {
	p := newPlan(s)
	p.know(s.weighed)
	t := p.byID[c.Trait.ID]
	t.ReviewDueAt = time.Time{}
	p.verdict(t, v, c)
	p.tally()
	return p
}

// writeReview puts what was concluded into the database. The caller has locked p.changes.
func (r *Reflection) writeReview(ctx context.Context, tx pgx.Tx, p *plan, changes store.Changes, c *reasoner.Case) (Outcome, error) {
	o := Outcome{Cycle: p.cycle, Updated: p.updated, Dissolved: p.dissolved, Changes: changes, Dropped: p.dropped, Review: true}
	if err := store.WriteChanges(ctx, tx, changes); err != nil {
		return o, err
	}
	return o, store.RecordCycle(ctx, tx, p.record(store.Trigger{Type: "contradiction_review", Value: float64(len(c.Contradicting))}, o))
}

// verdict applies what a review decides. The numbers come from the evidence: a revised trait keeps the share of its
// confidence that speaks for it, of all that speaks at all; each tendency of a split one has the share of its context, by the
// latest memories.
func (p *plan) verdict(t *change, v reasoner.Verdict, c *reasoner.Case) {
	if c.Trait.Stage == lifecycle.Dissolved || c.Trait.Edited {
		p.event(t, lifecycle.Event{Kind: lifecycle.Revised, At: p.now}, 0, "nothing is left to review", nil)
		return
	}
	now := p.policies.ConfidenceAt(t.State, p.now)
	reason := shortened(v.Reason)
	keep := func(why string) {
		p.event(t, lifecycle.Event{Kind: lifecycle.Revised, At: p.now}, 0, why, map[string]any{"action": reasoner.Keep})
	}
	switch v.Action {
	case reasoner.Dissolve:
		p.event(t, lifecycle.Event{Kind: lifecycle.Dissolution, At: p.now}, 0, reason, nil)
	case reasoner.Revise:
		content, err := wording(v.Content)
		if err != nil {
			p.drop(v, "%s", err)
			keep("its new wording was refused: " + err.Error())
			return
		}
		t.Reworded, t.Reason = content, reason
		p.event(t, lifecycle.Event{Kind: lifecycle.Revised, At: p.now, Sets: lifecycle.Reviewed(now, t.supporting, t.State.Contradictions)}, 0, reason,
			map[string]any{"action": v.Action})
	case reasoner.Split:
		content, tendencies, err := tendencies(v, c, now)
		if err != nil {
			p.drop(v, "%s", err)
			keep("its tendencies were refused: " + err.Error())
			return
		}
		t.Reworded, t.Reason, t.Context = content, reason, "contextual"
		t.Tendencies, _ = json.Marshal(tendencies) // numbers and plain text always are JSON
		var sum float64
		for _, context := range slices.Sorted(maps.Keys(tendencies)) { // one order: the sum is the same to the last bit
			sum += tendencies[context].Confidence
		}
		p.event(t, lifecycle.Event{Kind: lifecycle.Split, At: p.now, Sets: sum / float64(len(tendencies))}, 0, reason, map[string]any{"contexts": tendencies})
	case reasoner.Keep:
		keep(reason)
	default:
		p.drop(v, "%q is no decision", v.Action)
		keep("what was decided makes no sense")
	}
	p.follow(t)
}

// tendency is what holds of a split trait in one context.
type tendency struct {
	Tendency   string  `json:"tendency"`
	Confidence float64 `json:"confidence"`
}

// tendencies checks what a split says, and gives each context the share of confidence that its evidence has: that for the
// trait where it speaks for it, that against it where it does not.
func tendencies(v reasoner.Verdict, c *reasoner.Case, now float64) (string, map[string]tendency, error) {
	content, err := wording(v.Content)
	if err != nil {
		return "", nil, err
	}
	found := map[string]tendency{}
	for context, says := range v.Tendencies {
		if knownContext(context) == "" {
			return "", nil, fmt.Errorf("%q is no context", context)
		}
		says, err := wording(says)
		if err != nil {
			return "", nil, err
		}
		found[context] = tendency{says, shareIn(context, c, now)}
	}
	if len(found) < 2 {
		return "", nil, errors.New("a split takes two contexts")
	}
	return content, found, nil
}

func shareIn(context string, c *reasoner.Case, now float64) float64 {
	count := func(evidence []reasoner.Evidence) (n int) {
		for _, e := range evidence {
			if e.Context == context {
				n++
			}
		}
		return n
	}
	in, against := count(c.Supporting), count(c.Contradicting)
	if in+against == 0 {
		return now / 2 // nothing tells
	}
	return now * float64(max(in, against)) / float64(in+against)
}
