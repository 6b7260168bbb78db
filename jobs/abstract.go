package jobs

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/abstraction"
	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/secrets"
	"github.com/oxbow-memory/oxbow/internal/sensitive"
	"github.com/oxbow-memory/oxbow/store"
)

// AbstractArgs identifies a user with topics of which enough is new.
type AbstractArgs struct {
	UserID string `json:"user_id" river:"unique"`
}

// Kind returns "abstract".
func (AbstractArgs) Kind() string { return "abstract" }

// InsertOpts returns the insert options of the kind.
func (a AbstractArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:      "draws conclusions from facts and episodes of one topic",
	Queue:     QueueReflect,
	Unique:    true,
	Reasoner:  true,
	Retention: busyRetention,
	Timeout:   reasonerTimeout,
}, func(c Config) worker[AbstractArgs] { return &abstractWorker{c} })

const (
	abstractedTopics   = 20 // in one run; with a model one, because each is a call
	abstractedFragment = 64 // the latest of a topic
)

// abstractWorker draws conclusions (U §3). What is read is bounded by the topics that changed.
type abstractWorker struct{ Config }

// topicChanges is what becomes of the conclusions about a topic.
type topicChanges struct {
	topic   string
	dense   bool // enough fragments were near each other
	changes []abstraction.Change
}

// Work looks at the next due topics of a user.
func (w *abstractWorker) Work(ctx context.Context, job *river.Job[AbstractArgs]) error {
	if busy, err := givesWay(ctx, w.DB, job.JobRow, job.Args.UserID); err != nil || busy {
		return cmp.Or(err, river.JobSnooze(busyPause))
	}
	err := retried(rereadings, stale, func() error { return w.abstract(ctx, job) })
	if stale(err) {
		return overtaken(job.JobRow, err)
	}
	return w.postpone(ctx, err)
}

func (w *abstractWorker) abstract(ctx context.Context, job *river.Job[AbstractArgs]) error {
	userID := job.Args.UserID
	person, err := store.ReadPerson(ctx, w.DB, userID)
	if err != nil {
		return err
	}
	policies, err := store.AbstractPolicies(ctx, w.DB)
	if err != nil {
		return err
	}
	var decided []topicChanges
	if !person.OptedOut {
		limit := abstractedTopics
		if !w.Offline {
			limit = 1
		}
		topics, err := store.DueTopics(ctx, w.DB, userID, limit)
		if err != nil {
			return err
		}
		for _, topic := range topics {
			changes, err := w.conclude(ctx, job, person, policies, topic)
			if err != nil {
				return err
			}
			decided = append(decided, changes)
		}
	}
	failpoint.Reach(failpoint.AbstractDecided)
	// The topics are locked before the job, as in reflect, which notes fragments and then enqueues this job.
	err = pgx.BeginFunc(ctx, w.DB, func(tx pgx.Tx) error {
		if out, err := store.OptedOut(ctx, tx, userID); err != nil {
			return err
		} else if out {
			decided, err = nil, store.ClearTopics(ctx, tx, userID)
			if err != nil {
				return err
			}
		}
		for _, d := range decided {
			if err := store.WriteConclusions(ctx, tx, userID, d.topic, w.Abstracter.Name(), d.dense, d.changes); err != nil {
				return err
			}
		}
		failpoint.Reach(failpoint.AbstractWritten)
		if err := complete(ctx, tx, job); err != nil {
			return err
		}
		more, err := store.TopicsDue(ctx, tx, userID)
		if err != nil || !more {
			return err
		}
		return follow(ctx, tx, AbstractArgs{UserID: userID})
	})
	if err == nil {
		failpoint.Reach(failpoint.AbstractCommitted)
	}
	return err
}

// conclude decides what becomes of the conclusions about a topic.
func (w *abstractWorker) conclude(ctx context.Context, job *river.Job[AbstractArgs], person reasoner.Person,
	policies *abstraction.Policies, topic string) (result topicChanges, err error) {
	userID := job.Args.UserID
	result.topic = topic
	found, err := store.FragmentsOf(ctx, w.DB, userID, topic, abstractedFragment)
	if err != nil {
		return result, err
	}
	if found, err = HideSecrets(ctx, w.DB, found, func(f store.TopicFragment) (store.MemoryRef, string) {
		return store.MemoryRef{UserID: userID, ID: f.ID}, f.Content
	}); err != nil {
		return result, err
	}
	held, err := store.CurrentConclusions(ctx, w.DB, userID, topic)
	if err != nil {
		return result, err
	}
	groups := policies.Groups(w.fragments(found, person, topic), w.Topics.IsPattern(topic))
	result.dense = len(groups) > 0
	var worded []abstraction.Worded
	for _, g := range groups {
		one, err := w.word(ctx, job, person, policies, topic, g, held)
		if err != nil {
			return result, err
		}
		if one.Content != "" {
			worded = append(worded, one)
		}
	}
	if len(held) == 0 { // that something is so no longer is news only if something else is said as well
		said := slices.ContainsFunc(worded, func(x abstraction.Worded) bool { return !x.Denies })
		worded = slices.DeleteFunc(worded, func(x abstraction.Worded) bool {
			if x.Denies && !said {
				w.logDropped(ctx, "abstract", "it denies what was never concluded")
			}
			return x.Denies && !said
		})
	}
	result.changes = policies.Changes(worded, held, uuid.New)
	return result, nil
}

// fragments completes what is known about the fragments of a topic. It leaves out what is sensitive.
func (w *abstractWorker) fragments(found []store.TopicFragment, person reasoner.Person,
	topic string) (all []abstraction.Fragment) {
	_, about, _ := strings.Cut(topic, ":")
	notItself := func(name string) bool {
		return !strings.HasSuffix(":"+about, ":"+strings.ToLower(name))
	}
	for _, f := range found {
		if _, hit := sensitive.Category(f.Content); hit {
			continue
		}
		m := reasoner.Memory{ID: f.ID, Type: f.Type, Content: f.Content, Speaker: f.Speaker, Time: f.At.In(person.Zone),
			Session: f.Session, Context: reasoner.KnownContext(f.Context)}
		one := abstraction.Fragment{Memory: m, Agent: f.Agent, Denies: f.Denies, Near: f.Near,
			Voice: abstraction.VoiceOf(f.Speaker, w.Topics.IsUser(f.Speaker), f.Agent), Hints: w.Topics.Hints(m)}
		one.Context = cmp.Or(one.Context, one.Hints.Context)
		if person.ZoneKnown {
			one.WithClock()
		}
		one.Hints.Where = slices.DeleteFunc(append(slices.Concat(one.Hints.Where, f.Places), f.Location),
			func(name string) bool { return name == "" || !notItself(name) })
		one.Hints.With = slices.DeleteFunc(slices.Concat(one.Hints.With, f.People),
			func(name string) bool { return !notItself(name) })
		all = append(all, one)
	}
	return all
}

// word asks for the text of a conclusion, and leaves out fragments on which it does not rest.
func (w *abstractWorker) word(ctx context.Context, job *river.Job[AbstractArgs], person reasoner.Person,
	policies *abstraction.Policies, topic string, g abstraction.Group, held []abstraction.Held) (abstraction.Worded, error) {
	result := abstraction.Worded{Group: g, Conditions: policies.Conditions(g)}
	d := reasoner.Dense{Now: w.Now().In(person.Zone), Language: person.Language, Topic: topic, Denies: g.Denies,
		Conditions: result.Conditions}
	if g.Disputed || slices.ContainsFunc(g.Voices, func(v string) bool { return v != "" }) {
		d.According = g.Voices
	}
	for _, h := range held {
		if h.Denies == g.Denies && slices.ContainsFunc(g.Fragments,
			func(f abstraction.Fragment) bool { return slices.Contains(h.Sources, f.ID) }) {
			d.Before = h.Content
		}
	}
	for _, f := range g.Fragments {
		d.Fragments = append(d.Fragments, f.Memory)
	}
	var c reasoner.Conclusion
	err := w.call(ctx, job.Args.UserID, uuid.Nil, job.ID, func(ctx context.Context) (err error) {
		c, err = w.Abstracter.Abstract(ctx, d)
		return err
	})
	if err != nil {
		return result, err
	}
	result.Fragments = slices.DeleteFunc(slices.Clone(g.Fragments),
		func(f abstraction.Fragment) bool { return !slices.Contains(c.Sources, f.ID) })
	text := oneline.Shorten(oneline.Of(c.Content), reasoner.MaxConclusion)
	if text == "" {
		return result, nil
	}
	if reason := objection(policies, result.Group, text); reason != "" {
		w.logDropped(ctx, "abstract", reason)
		return result, nil
	}
	result.Content = text
	return result, nil
}

// objection returns why a conclusion is not drawn, or "" if it is.
func objection(policies *abstraction.Policies, g abstraction.Group, text string) string {
	least := policies.Fragments
	if g.Denies {
		least = 1
	}
	switch _, isSensitive := sensitive.Category(text); {
	case float64(len(g.Fragments)) < least:
		return "it rests on too few memories"
	case !g.Denies && !policies.Enough(g.Fragments):
		return "it rests on too few conversations"
	case isSensitive:
		return "it is about a sensitive matter"
	case secrets.Any(text):
		return "it contains a secret"
	}
	return ""
}
