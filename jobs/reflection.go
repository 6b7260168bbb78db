package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reflection"
	"github.com/oxbow-memory/oxbow/internal/sensitive"
	"github.com/oxbow-memory/oxbow/internal/traits"
	"github.com/oxbow-memory/oxbow/store"
)

// Reflection draws conclusions from the memories in a user's inbox. The jobs reflect and contradiction_review use
// it, and whoever reflects at once. All fields are required unless they say otherwise.
type Reflection struct {
	DB       store.DB
	Reasoner reasoner.Reasoner
	// Provider records how Reasoner fares.
	Provider *Provider
	// CallTime limits one call of Reasoner.
	CallTime time.Duration
	// Batch is how many memories are reflected on at once.
	Batch int
	// DailyTokens is how many tokens the reflections of a user may take in 24 hours; what exceeds it waits. 0: any
	// number.
	DailyTokens int64
	// Now is the clock.
	Now      func() time.Time
	Logger   *slog.Logger
	Observer Observer
}

const (
	// shownTraits is how many of a user's traits are worked with at once, the surest ones.
	shownTraits = 400
	// rejectedTraits is how many of those that the person dissolved are shown, so that they are not proposed in
	// other words.
	rejectedTraits = 50
	// latestClues is how many noted memories a reasoner is shown that does not say which it wants.
	latestClues = 100
	// rereadings is how often a decision is made anew because somebody else changed what it was made on.
	rereadings = 5
)

// Outcome is what one cycle came to.
type Outcome struct {
	Cycle                       uuid.UUID
	Scanned                     int
	Created, Updated, Dissolved int
	Reviews                     int  // contradiction reviews that are due now
	Review                      bool // it was one itself
	Changes                     traits.Changes
	Dropped                     []reasoner.Dropped
}

// begin opens a cycle.
func (r *Reflection) begin(ctx context.Context, db store.DB, userID string) (*reflection.Snapshot, error) {
	s := &reflection.Snapshot{User: userID, Now: r.Now().Truncate(time.Microsecond), Cycle: uuid.New(), Begun: time.Now(),
		Reasoner: r.Reasoner.Name()}
	var err error
	if s.Person, err = store.ReadPerson(ctx, db, userID); err != nil {
		return nil, err
	}
	s.Policies, err = store.TraitPolicies(ctx, db, s.Now)
	return s, err
}

// load reads the first memories of the inbox, and what is held of the user.
func (r *Reflection) load(ctx context.Context, db store.DB, s *reflection.Snapshot, limit int) error {
	memories, batch, err := store.InboxMemories(ctx, db, s.User, s.Person, s.Now, limit)
	if s.Batch = batch; err != nil || len(batch) == 0 {
		return err
	}
	s.Memories = slices.DeleteFunc(memories, func(m reasoner.Memory) bool {
		_, hit := sensitive.Category(m.Content)
		return hit // nothing is inferred from it
	})
	for i := range s.Memories {
		s.Memories[i].Context = reflection.KnownContext(s.Memories[i].Context)
	}
	keys := r.Reasoner.Keys(s.Memories)
	if keys == nil {
		s.Clues, err = store.LatestClues(ctx, db, s.User, latestClues)
	} else {
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

// ask lets the reasoner propose, and records what its calls took whatever comes of it.
func (r *Reflection) ask(ctx context.Context, s *reflection.Snapshot, job int64) (proposals reasoner.Proposals, err error) {
	if len(s.Memories) == 0 {
		return proposals, nil
	}
	err = r.call(ctx, s.User, s.Cycle, job, func(ctx context.Context) (err error) {
		proposals, err = r.Reasoner.Reflect(ctx, s.Question())
		return err
	})
	return proposals, err
}

// call asks the reasoner within its limits, and records what that took.
func (r *Reflection) call(ctx context.Context, userID string, cycle uuid.UUID, job int64,
	ask func(context.Context) error) error {
	if err := r.afford(ctx, userID); err != nil {
		return err
	}
	var calls []reasoner.Usage
	err := r.Provider.call(ctx, r.CallTime, func(ctx context.Context) error {
		err := ask(reasoner.WithRecorder(ctx, func(u reasoner.Usage) { calls = append(calls, u) }))
		var down *reasoner.UnavailableError
		if errors.As(err, &down) {
			return &UnavailableError{RetryAfter: down.RetryAfter, Err: down.Err}
		}
		return err
	})
	for _, u := range calls {
		for _, d := range u.Refused {
			r.Logger.InfoContext(ctx, "what a model answered is not followed", "purpose", u.Purpose, "reason", d.Reason)
		}
	}
	if recorded := store.RecordCalls(context.WithoutCancel(ctx), r.DB, userID, job, cycle, calls); recorded != nil {
		r.Logger.ErrorContext(ctx, "the model's calls could not be recorded", "error", recorded)
	}
	return err
}

// overspentError says that a user's reflections took all that they may take in a day.
type overspentError struct{ tokens, limit int64 }

func (e overspentError) Error() string {
	return fmt.Sprintf("the reflections of this user took %d tokens in 24 hours, the limit is %d: what is left waits",
		e.tokens, e.limit)
}

func (r *Reflection) afford(ctx context.Context, userID string) error {
	if r.DailyTokens <= 0 {
		return nil
	}
	spent, err := store.TokensSince(ctx, r.DB, userID, time.Now().Add(-24*time.Hour))
	if err == nil && spent >= r.DailyTokens {
		err = overspentError{spent, r.DailyTokens}
	}
	return err
}

// weigh looks up what is known already of what the proposals name, and decides.
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
		// a reasoner that names patterns only now did not get to see all that it repeats
		same, err := store.TraitsSaying(ctx, db, s.User, keys, contents)
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

// decision is what one reflection or one review writes.
type decision struct {
	plan    *reflection.Plan
	trigger store.Trigger
	review  bool
}

// nextBatch decides on the next memories of the inbox, at most limit. It returns nil if there are none.
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

// during is what a job does in the transaction of its results.
type during struct {
	locked  func(ctx context.Context, tx pgx.Tx) error            // once all rows are locked
	written func(ctx context.Context, tx pgx.Tx, o Outcome) error // in the end
	enqueue Enqueue
}

// write writes what was decided, in one transaction. The rows are locked first, as by all who lock them; then a job
// completes itself: its successor is another job of the same user, which must not exist while it is live, and what
// came into the inbox up to then is seen (see checkTriggerWorker). It returns nil where the user opted out
// meanwhile. The error is store.ErrStale where somebody else changed what it was decided on.
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
		} else if out { // while the reasoner was thinking
			return store.EmptyInbox(ctx, tx, changes.UserID)
		}
		o, err := r.writeChanges(ctx, tx, d, changes)
		if err != nil {
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

// realTime is a moment of the worker's clock, which may be set to another time, by the database's, which decides
// when jobs run.
func realTime(at, now time.Time) time.Time { return time.Now().Add(at.Sub(now)) }

func (r *Reflection) writeChanges(ctx context.Context, tx pgx.Tx, d *decision, changes traits.Changes) (Outcome, error) {
	p := d.plan
	o := Outcome{Cycle: p.Cycle, Scanned: len(p.Batch), Created: p.Created, Updated: p.Updated, Dissolved: p.Dissolved,
		Reviews: p.Reviews, Review: d.review, Changes: changes, Dropped: p.Dropped}
	removed, err := store.RemoveFromInbox(ctx, tx, p.User, p.Batch)
	if err != nil {
		return o, err
	}
	if removed != int64(len(p.Batch)) {
		return o, fmt.Errorf("take the batch out of the inbox: %w", store.ErrStale)
	}
	if err := store.WriteChanges(ctx, tx, changes); err != nil {
		return o, err
	}
	if !d.review {
		settled, err := store.SettleUser(ctx, tx, p.User, p.Now, p.Cycle)
		if err != nil {
			return o, err
		}
		o.Dissolved += int(settled)
	}
	return o, store.RecordCycle(ctx, tx, cycle(p.Snapshot, d.trigger, o))
}

// cycle is the row of a cycle.
func cycle(s *reflection.Snapshot, trigger store.Trigger, o Outcome) store.Cycle {
	return store.Cycle{ID: s.Cycle, UserID: s.User, Trigger: trigger, Scanned: int64(o.Scanned), StartedAt: s.Begun, Now: s.Now,
		Reasoner: s.Reasoner, Created: o.Created, Updated: o.Updated, Dissolved: o.Dissolved, Dropped: o.Dropped}
}

// stale reports whether somebody else was at the same rows, so that it is to be read and decided again.
func stale(err error) bool { return errors.Is(err, store.ErrStale) || store.IsDeadlock(err) }

// postpone decides when a job is tried again whose reasoner could not be asked. What is nobody's fault counts as no
// attempt.
func (r *Reflection) postpone(ctx context.Context, err error) error {
	var down *UnavailableError
	var spent overspentError
	switch {
	case errors.As(err, &spent):
		r.Observer.Overspent()
		r.Logger.WarnContext(ctx, "a reflection waits", "reason", spent)
		return river.JobSnooze(spread(time.Hour))
	case errors.As(err, &down):
		if !errors.As(err, new(pausedError)) {
			r.Logger.WarnContext(ctx, "the reasoner is not available", "error", down.Err, "pause", down.RetryAfter.String())
		}
		return river.JobSnooze(spread(down.RetryAfter))
	}
	return err
}
