package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reflection"
	"github.com/oxbow-memory/oxbow/internal/secrets"
	"github.com/oxbow-memory/oxbow/internal/sensitive"
	"github.com/oxbow-memory/oxbow/internal/traits"
	"github.com/oxbow-memory/oxbow/store"
)

// Reflection derives traits from the memories in a user's inbox. The jobs reflect and
// contradiction_review use it, and so does the command line.
type Reflection struct{ Config }

// Reflection returns the Reflection that the jobs use.
func (c Config) Reflection() *Reflection { return &Reflection{c} }

const (
	// shownTraits is the maximum number of a user's traits that are loaded, most confident first.
	shownTraits = 400
	// rejectedTraits is how many traits that the user dissolved are shown to the reasoner, so that
	// it does not propose them in other words.
	rejectedTraits = 50
	// latestClues is how many clues are shown to a reasoner that does not name the keys it needs.
	latestClues = 100
	// rereadings is how many times a decision is tried when concurrent changes make it stale.
	rereadings = 5
)

// Outcome is the result of one cycle.
type Outcome struct {
	Cycle                       uuid.UUID
	Scanned                     int
	Created, Updated, Dissolved int
	Reviews                     int  // contradiction reviews that are now due
	Review                      bool // the cycle was a contradiction review
	Changes                     traits.Changes
	Dropped                     []reasoner.Dropped
}

// begin starts a cycle.
func (r *Reflection) begin(ctx context.Context, db store.DB, userID string) (*reflection.Snapshot, error) {
	s := &reflection.Snapshot{User: userID, Now: r.Now().Truncate(time.Microsecond), Cycle: uuid.New(),
		Begun: time.Now(), Reasoner: r.Reasoner.Name()}
	var err error
	if s.Person, err = store.ReadPerson(ctx, db, userID); err != nil {
		return nil, err
	}
	s.Policies, err = store.TraitPolicies(ctx, db, s.Now)
	return s, err
}

// load reads the oldest memories of the inbox, and the user's traits and clues.
func (r *Reflection) load(ctx context.Context, db store.DB, s *reflection.Snapshot, limit int) error {
	memories, batch, err := store.InboxMemories(ctx, db, s.User, s.Person, s.Now, limit)
	if s.Batch = batch; err != nil || len(batch) == 0 {
		return err
	}
	return r.loadKnown(ctx, db, s, memories, "")
}

// loadKnown adds memories to the snapshot, and what is known about their patterns and about the pattern of a question.
func (r *Reflection) loadKnown(ctx context.Context, db store.DB, s *reflection.Snapshot, memories []reasoner.Memory,
	question string) (err error) {
	s.Memories = slices.DeleteFunc(memories, func(m reasoner.Memory) bool {
		_, hit := sensitive.Category(m.Content)
		return hit // sensitive content is excluded from reflection
	})
	for i := range s.Memories {
		s.Memories[i].Context = reasoner.KnownContext(s.Memories[i].Context)
	}
	var keys []string
	keys, s.Found = r.Reasoner.Keys(s.Memories)
	switch {
	case keys == nil && question != "":
		s.Clues, err = store.CluesByKey(ctx, db, s.User, []string{question})
	case keys == nil:
		s.Clues, err = store.LatestClues(ctx, db, s.User, latestClues)
	default:
		for i, key := range keys {
			keys[i] = reflection.PatternKey(key, "")
		}
		s.Clues, err = store.CluesByKey(ctx, db, s.User, keys)
	}
	if err != nil {
		return err
	}
	return r.loadTraits(ctx, db, s, keys)
}

func (r *Reflection) loadTraits(ctx context.Context, db store.DB, s *reflection.Snapshot, keys []string) error {
	live, err := store.LiveTraits(ctx, db, s.User, shownTraits)
	if err != nil {
		return err
	}
	byKey, err := store.TraitsByKey(ctx, db, s.User, keys)
	if err != nil {
		return err
	}
	rejected, err := store.RejectedTraits(ctx, db, s.User, rejectedTraits)
	if err != nil {
		return err
	}
	if err := store.DecayTraits(ctx, db, s.Now, live, byKey, rejected); err != nil {
		return err
	}
	s.Add(live)
	s.Add(byKey)
	s.Add(rejected)
	if s.Held, err = store.CountTraits(ctx, db, s.User); err != nil || keys == nil {
		return err
	}
	var unsure []uuid.UUID
	for _, t := range byKey {
		if s.Watched(t) {
			unsure = append(unsure, t.ID)
		}
	}
	s.Seen, err = store.TraitSightings(ctx, db, s.User, unsure, s.Person)
	return err
}

// ask asks the reasoner for proposals.
func (r *Reflection) ask(ctx context.Context, s *reflection.Snapshot,
	job int64) (proposals reasoner.Proposals, err error) {
	if len(s.Memories) == 0 {
		return proposals, nil
	}
	err = r.call(ctx, s.User, s.Cycle, job, func(ctx context.Context) (err error) {
		proposals, err = r.Reasoner.Reflect(ctx, s.Question())
		return err
	})
	return proposals, err
}

// call calls the reasoner within its limits and records the usage, even if the call fails.
func (c Config) call(ctx context.Context, userID string, cycle uuid.UUID, job int64,
	ask func(context.Context) error) error {
	if err := c.afford(ctx, userID); err != nil {
		return err
	}
	var calls []reasoner.Usage
	err := c.ReasonerProvider.call(ctx, c.ReasonerCallTime, func(within context.Context) error {
		err := ask(reasoner.WithRecorder(within, func(u reasoner.Usage) { calls = append(calls, u) }))
		var down *reasoner.UnavailableError
		switch {
		case errors.As(err, &down):
			return &UnavailableError{RetryAfter: down.RetryAfter, Err: down.Err}
		case err != nil && within.Err() != nil && ctx.Err() == nil && len(calls) > 1:
			// The model answered, but a question in many requests takes longer than the job may. Asking for less helps.
			return &reasoner.AnswerError{Problem: fmt.Sprintf("it took more than %s in all", c.ReasonerCallTime)}
		}
		return err
	})
	for _, u := range calls {
		for _, d := range u.Refused {
			c.logDropped(ctx, u.Purpose, d.Reason)
		}
	}
	if recorded := store.RecordCalls(context.WithoutCancel(ctx), c.DB, userID, job, cycle, calls); recorded != nil {
		c.Logger.ErrorContext(ctx, "cannot record the calls of the model", "error", recorded)
	}
	return err
}

// logDropped logs why a part of a model's answer is not used. It does not log the text of that part.
func (c Config) logDropped(ctx context.Context, purpose, reason string) {
	if !c.Offline {
		c.Logger.InfoContext(ctx, "dropped a part of a model's answer", "purpose", purpose, "reason", secrets.Mask(reason))
	}
}

// overspentError reports that a user's daily token limit is reached.
type overspentError struct{ tokens, limit int64 }

func (e overspentError) Error() string {
	return fmt.Sprintf("the user's reflections used %d tokens in 24 hours; the limit is %d",
		e.tokens, e.limit)
}

func (c Config) afford(ctx context.Context, userID string) error {
	if c.DailyTokens <= 0 {
		return nil
	}
	spent, err := store.TokensSince(ctx, c.DB, userID, time.Now().Add(-24*time.Hour))
	if err == nil && spent >= c.DailyTokens {
		err = overspentError{spent, c.DailyTokens}
	}
	return err
}

// weigh loads what is known about the proposals and decides on them.
func (r *Reflection) weigh(ctx context.Context, db store.DB, s *reflection.Snapshot,
	proposals reasoner.Proposals) (*reflection.Plan, error) {
	var keys, contents []string
	for _, k := range proposals.Patterns {
		key, content := reflection.Named(k.Key, k.Content)
		keys, contents = append(keys, key), append(contents, content)
	}
	for _, k := range proposals.Clusters {
		key, content := reflection.Named(k.Key, k.Content)
		keys, contents = append(keys, key), append(contents, content)
	}
	if len(keys) > 0 {
		// A reasoner that does not name keys in advance has not seen every trait that it may
		// repeat.
		same, err := store.TraitsByWording(ctx, db, s.User, keys, contents)
		if err != nil {
			return nil, err
		}
		s.Add(same)
		if s.Refused, err = store.Refused(ctx, db, s.User, append(keys, contents...)); err != nil {
			return nil, err
		}
	}
	p := reflection.NewPlan(s)
	claims, weighed := p.Claims(proposals)
	seen, err := store.SeenEvidence(ctx, db, s.User, claims, weighed)
	if err != nil {
		return nil, err
	}
	p.Know(seen)
	p.Decide(proposals)
	return p, nil
}

// decision is the result of a reflection or a review, to be written.
type decision struct {
	plan    *reflection.Plan
	trigger store.Trigger
	review  bool
}

// nextBatch decides on the next memories of the inbox, at most limit. It returns nil if the inbox
// is empty.
func (r *Reflection) nextBatch(ctx context.Context, db store.DB, s *reflection.Snapshot, limit int,
	job int64) (*decision, error) {
	if err := r.load(ctx, db, s, limit); err != nil || len(s.Batch) == 0 {
		return nil, err
	}
	proposals, err := r.ask(ctx, s, job)
	if err != nil {
		return nil, err
	}
	p, err := r.weigh(ctx, db, s, proposals)
	return &decision{plan: p, trigger: store.Trigger{Type: "manual", Value: float64(len(s.Batch))}}, err
}

// during contains the callbacks of a job within the transaction that writes its results.
type during struct {
	locked  func(ctx context.Context, tx pgx.Tx) error            // after all rows are locked
	written func(ctx context.Context, tx pgx.Tx, o Outcome) error // last
	enqueue Enqueue
}

// write writes a decision in one transaction. It returns nil if the user has opted out meanwhile,
// and store.ErrStale if a concurrent change invalidates the decision.
//
// Rows are locked first, in the same order as everywhere else. Then the job completes itself,
// because its successor is a job of the same user and must not exist while this one is live.
// Everything that entered the inbox by then is seen (see checkTriggerWorker).
func (r *Reflection) write(ctx context.Context, db store.DB, d *decision, job during) (outcome *Outcome, err error) {
	changes := d.plan.Changes()
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if err := store.LockChanges(ctx, tx, changes); err != nil {
			return err
		}
		if err := job.locked(ctx, tx); err != nil {
			return err
		}
		if out, err := store.OptedOut(ctx, tx, changes.UserID); err != nil {
			return err
		} else if out { // while the reasoner was running
			return store.EmptyInbox(ctx, tx, changes.UserID)
		}
		o, fresh, err := r.writeChanges(ctx, tx, d, changes)
		if err != nil {
			return err
		}
		for _, args := range merges([]store.UserMemories{{UserID: changes.UserID, IDs: fresh}}) {
			if err := job.enqueue(ctx, tx, args, time.Now()); err != nil {
				return err
			}
		}
		if err := r.noteFragments(ctx, tx, d.plan.Snapshot, job.enqueue); err != nil {
			return err
		}
		for _, t := range changes.Traits {
			if t.New && t.State.Stage == lifecycle.Trend {
				args := ExpireTrendArgs{UserID: changes.UserID, TraitID: t.ID}
				if err := job.enqueue(ctx, tx, args, realTime(t.State.WindowEnd, r.Now())); err != nil {
					return err
				}
			}
		}
		outcome = &o
		return job.written(ctx, tx, o)
	})
	if err != nil {
		return nil, err
	}
	return outcome, nil
}

// noteFragments records the topics of the memories that were reflected on, and enqueues abstract if one is due.
func (r *Reflection) noteFragments(ctx context.Context, tx pgx.Tx, s *reflection.Snapshot, enqueue Enqueue) error {
	if len(s.Memories) == 0 {
		return nil
	}
	ids := make([]uuid.UUID, len(s.Memories))
	for i, m := range s.Memories {
		ids[i] = m.ID
	}
	due, err := store.NoteFragments(ctx, tx, s.User, r.Topics.Topics(s.Memories), ids)
	if err != nil || !due {
		return err
	}
	return enqueue(ctx, tx, AbstractArgs{UserID: s.User}, time.Now())
}

// realTime converts a time of the worker's clock, which may differ from the actual time, to the
// database's clock, which schedules jobs.
func realTime(at, now time.Time) time.Time { return time.Now().Add(at.Sub(now)) }

// writeChanges writes a decision. It returns the memories of the batch that merge has not seen.
func (r *Reflection) writeChanges(ctx context.Context, tx pgx.Tx, d *decision,
	changes traits.Changes) (Outcome, []uuid.UUID, error) {
	p := d.plan
	o := Outcome{Cycle: p.Cycle, Scanned: len(p.Batch), Created: p.Created, Updated: p.Updated, Dissolved: p.Dissolved,
		Reviews: p.Reviews, Review: d.review, Changes: changes, Dropped: p.Dropped}
	removed, fresh, err := store.RemoveFromInbox(ctx, tx, p.User, p.Batch)
	if err != nil {
		return o, nil, err
	}
	if removed != int64(len(p.Batch)) {
		return o, nil, fmt.Errorf("remove the batch from the inbox: %w", store.ErrStale)
	}
	if err := store.WriteChanges(ctx, tx, changes); err != nil {
		return o, nil, err
	}
	if !d.review {
		settled, err := store.SettleUser(ctx, tx, p.User, p.Now, p.Cycle)
		if err != nil {
			return o, nil, err
		}
		o.Dissolved += int(settled)
	}
	return o, fresh, store.RecordCycle(ctx, tx, cycle(p.Snapshot, d.trigger, o))
}

// cycle returns the row of a cycle.
func cycle(s *reflection.Snapshot, trigger store.Trigger, o Outcome) store.Cycle {
	return store.Cycle{ID: s.Cycle, UserID: s.User, Trigger: trigger, Scanned: int64(o.Scanned), StartedAt: s.Begun,
		Now:      s.Now,
		Reasoner: s.Reasoner, Created: o.Created, Updated: o.Updated, Dissolved: o.Dissolved, Dropped: o.Dropped}
}

// stale reports whether concurrent changes require a decision to be made again.
func stale(err error) bool { return errors.Is(err, store.ErrStale) || store.IsDeadlock(err) }
