package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// Reflection draws conclusions from the memories in a user's inbox. The jobs reflect and contradiction_review use it, and
// whoever reflects at once. All fields are required unless they say otherwise.
type Reflection struct {
	DB       store.DB
	Reasoner reasoner.Reasoner
	// Provider records how Reasoner fares.
	Provider *Provider
	// CallTime limits one call of Reasoner.
	CallTime time.Duration
	// Batch is how many memories are reflected on at once.
	Batch int
	// DailyTokens is how many tokens the reflections of a user may take in 24 hours; what exceeds it waits. 0: any number.
	DailyTokens int64
	// Now is the clock.
	Now      func() time.Time
	Logger   *slog.Logger
	Observer Observer
}

const (
	// shownTraits is how many of a user's traits are worked with at once, the surest ones.
	shownTraits = 400
	// rejectedTraits is how many of those that the person dissolved are shown, so that they are not proposed in other words.
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
	Changes                     store.Changes
	Dropped                     []reasoner.Dropped
}

// begin opens a cycle.
func (r *Reflection) begin(ctx context.Context, db store.DB, userID string) (*snapshot, error) {
	s := &snapshot{user: userID, now: r.Now().Truncate(time.Microsecond), cycle: uuid.New(), begun: time.Now(), reasoner: r.Reasoner.Name()}
	var err error
	if s.person, err = store.ReadPerson(ctx, db, userID); err != nil {
		return nil, err
	}
	s.policies, err = store.TraitPolicies(ctx, db, s.now)
	return s, err
}

// load reads the first memories of the inbox, and what is held of the user.
func (r *Reflection) load(ctx context.Context, db store.DB, s *snapshot, limit int) error {
	memories, batch, err := store.InboxMemories(ctx, db, s.user, s.person, s.now, limit)
	if s.batch = batch; err != nil || len(batch) == 0 {
		return err
	}
	s.memories = slices.DeleteFunc(memories, func(m reasoner.Memory) bool {
		_, hit := sensitive.Category(m.Content)
		return hit // nothing is inferred from it
	})
	for i := range s.memories {
		s.memories[i].Context = knownContext(s.memories[i].Context)
	}
	keys := r.Reasoner.Keys(s.memories)
	if keys == nil {
		s.clues, err = store.LatestClues(ctx, db, s.user, latestClues)
	} else {
		for i, key := range keys {
			keys[i] = patternKey(key, "")
		}
		s.clues, err = store.CluesByKey(ctx, db, s.user, keys)
	}
	if err != nil {
		return err
	}
	return r.loadTraits(ctx, db, s, keys)
}

func (r *Reflection) loadTraits(ctx context.Context, db store.DB, s *snapshot, keys []string) error {
	live, err := store.LiveTraits(ctx, db, s.user, shownTraits)
	if err != nil {
		return err
	}
	byKey, err := store.TraitsByKey(ctx, db, s.user, keys)
	if err != nil {
		return err
	}
	rejected, err := store.RejectedTraits(ctx, db, s.user, rejectedTraits)
	if err != nil {
		return err
	}
	if err := store.DecayTraits(ctx, db, s.now, live, byKey, rejected); err != nil {
		return err
	}
	s.add(live)
	s.add(byKey)
	s.add(rejected)
	if s.held, err = store.CountTraits(ctx, db, s.user); err != nil || keys == nil {
		return err
	}
	var unsure []uuid.UUID
	for _, t := range byKey {
		if s.watched(t) {
			unsure = append(unsure, t.ID)
		}
	}
	s.seen, err = store.TraitSightings(ctx, db, s.user, unsure, s.person)
	return err
}

// watched reports whether a trait is not visible yet: a trend, one whose window ended, or a candidate.
func (s *snapshot) watched(t store.ReflectedTrait) bool {
	stage := s.policies.StageAt(t.State, s.now)
	return stage == lifecycle.Trend || stage == lifecycle.Candidate || stage == lifecycle.Dissolved && t.State.Confidence == 0
}

// add takes in traits, each once.
func (s *snapshot) add(traits []store.ReflectedTrait) {
	there := make(map[uuid.UUID]bool, len(s.traits))
	for _, t := range s.traits {
		there[t.ID] = true
	}
	for _, t := range traits {
		if !there[t.ID] {
			there[t.ID] = true
			s.traits = append(s.traits, t)
		}
	}
}

// ask lets the reasoner propose, and records what its calls took whatever comes of it.
func (r *Reflection) ask(ctx context.Context, s *snapshot, job int64) (proposals reasoner.Proposals, err error) {
	if len(s.memories) == 0 {
		return proposals, nil
	}
	err = r.call(ctx, s, job, func(ctx context.Context) (err error) {
		proposals, err = r.Reasoner.Reflect(ctx, s.question())
		return err
	})
	return proposals, err
}

func (r *Reflection) call(ctx context.Context, s *snapshot, job int64, ask func(context.Context) error) error {
	if err := r.afford(ctx, s.user); err != nil {
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
	if recorded := store.RecordCalls(context.WithoutCancel(ctx), r.DB, s.user, job, s.cycle, calls); recorded != nil {
		r.Logger.ErrorContext(ctx, "the model's calls could not be recorded", "error", recorded)
	}
	return err
}

// overspentError says that a user's reflections took all that they may take in a day.
type overspentError struct{ tokens, limit int64 }

func (e overspentError) Error() string {
	return fmt.Sprintf("the reflections of this user took %d tokens in 24 hours, the limit is %d: what is left waits", e.tokens, e.limit)
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

// question is what the reasoner gets to see.
func (s *snapshot) question() reasoner.Batch {
	b := reasoner.Batch{Now: s.now.In(s.person.Zone), ZoneKnown: s.person.ZoneKnown, Language: s.person.Language, Memories: s.memories, Visible: s.held.Visible}
	for _, t := range s.traits {
		b.Traits = append(b.Traits, s.shown(t))
	}
	clues := map[string]*reasoner.Clue{}
	clue := func(key, content string) *reasoner.Clue {
		if clues[key] == nil {
			clues[key] = &reasoner.Clue{Key: key}
		}
		clues[key].Content = content // the latest wording
		return clues[key]
	}
	for _, t := range s.traits {
		if seen := s.seen[t.ID]; len(seen) > 0 {
			clue(t.Key, t.Content).Seen = seen
		}
	}
	for _, c := range s.clues {
		noted := clue(c.Key, c.Content)
		seen := reasoner.Sighting{Memory: c.Memory, Time: c.ObservedAt.In(s.person.Zone), Session: c.Session, Context: c.Context}
		if c.Against {
			noted.Against, noted.SkippedAgainst = append(noted.Against, seen), noted.SkippedAgainst+c.Skipped
		} else {
			noted.Seen, noted.Skipped = append(noted.Seen, seen), noted.Skipped+c.Skipped
		}
	}
	for _, key := range slices.Sorted(maps.Keys(clues)) {
		c := clues[key]
		slices.SortStableFunc(c.Seen, func(a, b reasoner.Sighting) int { return a.Time.Compare(b.Time) })
		b.Clues = append(b.Clues, *c)
	}
	return b
}

func (s *snapshot) shown(t store.ReflectedTrait) reasoner.Trait {
	shown := reasoner.Trait{ID: t.ID, Key: t.Key, Content: t.Content, Subtype: t.State.Subtype, Stage: s.policies.StageAt(t.State, s.now), Context: t.Context,
		Parent: t.Parent, Edited: !t.EditedAt.IsZero()}
	if shown.Stage == lifecycle.Dissolved {
		shown.Edited = t.Rejected
	}
	if _, hit := sensitive.Category(t.Content); hit {
		shown.Content = "" // a person worded it so: it is theirs, and nobody else's to read
	}
	if shown.Stage != lifecycle.Trend {
		shown.Confidence = s.policies.ConfidenceAt(t.State, s.now)
	}
	return shown
}

// weigh looks up what is known already of what the proposals name, and decides.
func (r *Reflection) weigh(ctx context.Context, db store.DB, s *snapshot, proposals reasoner.Proposals) (*plan, error) {
	var keys, contents []string
	for _, k := range proposals.Patterns {
		key, content := named(k.Key, k.Content)
		keys, contents = append(keys, key), append(contents, content)
	}
	for _, k := range proposals.Clusters {
		key, content := named(k.Key, k.Content)
		keys, contents = append(keys, key), append(contents, content)
	}
	if len(keys) > 0 {
		// a reasoner that names patterns only now did not get to see all that it repeats
		same, err := store.TraitsSaying(ctx, db, s.user, keys, contents)
		if err != nil {
			return nil, err
		}
		if err := store.DecayTraits(ctx, db, s.now, same); err != nil {
			return nil, err
		}
		s.add(same)
		if s.refused, err = store.Refused(ctx, db, s.user, append(keys, contents...)); err != nil {
			return nil, err
		}
	}
	p := newPlan(s)
	claims, weighed := p.claims(proposals)
	seen, err := store.SeenEvidence(ctx, db, s.user, claims, weighed)
	if err != nil {
		return nil, err
	}
	p.know(seen)
	p.decide(proposals)
	return p, nil
}

// write puts what was decided into the database and takes the batch out of the inbox. The caller has locked p.changes. The
// error is store.ErrStale where somebody else changed what it was decided on.
func (r *Reflection) write(ctx context.Context, tx pgx.Tx, p *plan, changes store.Changes, trigger store.Trigger) (Outcome, error) {
	o := Outcome{Cycle: p.cycle, Scanned: len(p.batch), Created: p.created, Updated: p.updated, Dissolved: p.dissolved, Reviews: p.reviews,
		Changes: changes, Dropped: p.dropped}
	removed, err := store.RemoveFromInbox(ctx, tx, p.user, p.batch)
	if err != nil {
		return o, err
	}
	if removed != int64(len(p.batch)) {
		return o, fmt.Errorf("take the batch out of the inbox: %w", store.ErrStale)
	}
	if err := store.WriteChanges(ctx, tx, changes); err != nil {
		return o, err
	}
	settled, err := store.SettleUser(ctx, tx, p.user, p.now, p.cycle)
	if err != nil {
		return o, err
	}
	o.Dissolved += int(settled)
	return o, store.RecordCycle(ctx, tx, p.record(trigger, o))
}

// record is the row of a cycle.
func (s *snapshot) record(trigger store.Trigger, o Outcome) store.Cycle {
	return store.Cycle{ID: s.cycle, UserID: s.user, Trigger: trigger, Scanned: int64(o.Scanned), StartedAt: s.begun, Now: s.now, Reasoner: s.reasoner,
		Created: o.Created, Updated: o.Updated, Dissolved: o.Dissolved, Dropped: o.Dropped}
}

// stale tells whether somebody else was at the same rows, so that it is to be read and decided again.
func stale(err error) bool { return errors.Is(err, store.ErrStale) || store.IsDeadlock(err) }

// trends are the traits of a plan that are watched until their window ends.
func (o Outcome) trends() []ExpireTrendArgs {
	var args []ExpireTrendArgs
	for _, t := range o.Changes.Traits {
		if t.New && t.State.Stage == lifecycle.Trend {
			args = append(args, ExpireTrendArgs{UserID: o.Changes.UserID, TraitID: t.ID})
		}
	}
	return args
}

// postpone decides when a job is tried again whose reasoner could not be asked. What is nobody's fault counts as no attempt.
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
