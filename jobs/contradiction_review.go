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
		if errors.Is(err, store.ErrStale) && try < rereadings {
			continue
		}
		return w.postpone(ctx, err)
	}
}

func (w *contradictionReviewWorker) review(ctx context.Context, job *river.Job[ContradictionReviewArgs]) error {
	begun := w.Now()
	s, c, err := w.loadCase(ctx, w.DB, job.Args.UserID)
	if err != nil {
		return err
	}
	var verdict reasoner.Verdict
	if c != nil {
		verdict, err = w.judge(ctx, s, c, job.ID)
		var useless *reasoner.AnswerError
		if errors.As(err, &useless) && nonsense(job.JobRow)+1 >= maxNonsense {
			// the next contradiction asks again
			verdict, err = reasoner.Verdict{Action: reasoner.Keep, Reason: useless.Error()}, nil
		}
		if err != nil {
			return err
		}
	}
	return pgx.BeginFunc(ctx, w.DB, func(tx pgx.Tx) error {
		if err := complete(ctx, tx, job); err != nil {
			return err
		}
		if c != nil {
			if _, err := w.conclude(ctx, tx, s, verdict, c, begun); err != nil {
				return err
			}
			return enqueue(ctx, tx, job.Args) // perhaps another one waits
		}
		more, err := store.InboxHasMore(ctx, tx, job.Args.UserID)
		if err != nil || !more {
			return err
		}
		return enqueue(ctx, tx, ReflectArgs(job.Args))
	})
}

// loadCase returns the trait that waits longest for a review, with the evidence; none: nil.
func (r *Reflection) loadCase(ctx context.Context, db store.DB, userID string) (*snapshot, *reasoner.Case, error) {
	s := &snapshot{user: userID, now: r.Now().Truncate(time.Microsecond), cycle: uuid.New(), reasoner: r.Reasoner.Name()}
	var err error
	if s.person, err = store.ReadPerson(ctx, db, userID); err != nil || s.person.OptedOut {
		return s, nil, err
	}
	due, err := store.TraitsToReview(ctx, db, userID)
	if err != nil || len(due) == 0 {
		return s, nil, err
	}
	s.traits = due[:1]
	c := &reasoner.Case{Now: s.now.In(s.person.Zone), Language: s.person.Language, Trait: s.shown(due[0])}
	for direction, into := range map[string]*[]reasoner.Evidence{store.Supporting: &c.Supporting, store.Contradicting: &c.Contradicting} {
		found, err := store.ReviewEvidence(ctx, db, userID, due[0].ID, direction, s.person, reviewedEvidence)
		if err != nil {
			return s, nil, err
		}
		*into = slices.DeleteFunc(found, func(e reasoner.Evidence) bool {
			_, hit := sensitive.Category(e.Content)
			return hit
		})
	}
	return s, c, nil
}

func (r *Reflection) judge(ctx context.Context, s *snapshot, c *reasoner.Case, job int64) (verdict reasoner.Verdict, err error) {
	err = r.call(ctx, s, job, func(ctx context.Context) (err error) {
		verdict, err = r.Reasoner.Review(ctx, *c)
		return err
	})
	return verdict, err
}

// conclude applies a verdict. Its numbers come from the evidence: a revised trait keeps the share of its confidence that
// the evidence for it has, and each tendency of a split one has the share of its context.
func (r *Reflection) conclude(ctx context.Context, tx pgx.Tx, s *snapshot, v reasoner.Verdict, c *reasoner.Case, begun time.Time) (*plan, error) {
	p := newPlan(s)
	t := p.byID[c.Trait.ID]
	t.ReviewDueAt = time.Time{}
	p.verdict(t, v, c)
	changes := p.changes()
	if err := store.WriteChanges(ctx, tx, changes); err != nil {
		return p, err
	}
	cycle := store.Cycle{ID: s.cycle, UserID: s.user, Trigger: store.Trigger{Type: "contradiction_review", Value: float64(len(c.Contradicting))},
		StartedAt: begun, Now: s.now, Reasoner: s.reasoner, Updated: 1, Dropped: p.dropped}
	if t.State.Stage == lifecycle.Dissolved {
		cycle.Dissolved = 1
	}
	return p, store.RecordCycle(ctx, tx, cycle)
}

func (p *plan) verdict(t *change, v reasoner.Verdict, c *reasoner.Case) {
	if t.State.StageAt(p.now) == lifecycle.Dissolved || !t.EditedAt.IsZero() {
		p.event(t, lifecycle.Event{Kind: lifecycle.Revised, At: p.now}, 0, "nothing is left to review", nil)
		return
	}
	share := float64(len(c.Supporting)) / float64(max(len(c.Supporting)+len(c.Contradicting), 1))
	now := t.State.ConfidenceAt(p.now)
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
		p.event(t, lifecycle.Event{Kind: lifecycle.Revised, At: p.now, Sets: now * share}, 0, reason, map[string]any{"action": v.Action})
	case reasoner.Split:
		content, tendencies, err := p.tendencies(v, c, now)
		if err != nil {
			p.drop(v, "%s", err)
			keep("its tendencies were refused: " + err.Error())
			return
		}
		t.Reworded, t.Reason, t.Context = content, reason, "contextual"
		t.Tendencies, _ = json.Marshal(tendencies)
		var sum float64
		for _, context := range slices.Sorted(maps.Keys(tendencies)) { // one order: the sum is the same to the last bit
			sum += tendencies[context].Confidence
		}
		p.event(t, lifecycle.Event{Kind: lifecycle.Split, At: p.now, Sets: sum / float64(len(tendencies))}, 0, reason, map[string]any{"contexts": tendencies})
	default:
		keep(reason)
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
func (p *plan) tendencies(v reasoner.Verdict, c *reasoner.Case, now float64) (string, map[string]tendency, error) {
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
