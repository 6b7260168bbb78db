package jobs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reflection"
	"github.com/oxbow-memory/oxbow/internal/sensitive"
	"github.com/oxbow-memory/oxbow/store"
)

// SleepArgs identifies a user whose night is due.
type SleepArgs struct {
	UserID string `json:"user_id" river:"unique"`
}

// Kind returns "sleep".
func (SleepArgs) Kind() string { return "sleep" }

// InsertOpts returns the insert options of the kind.
func (a SleepArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:     "looks for evidence about open questions in a user's older memories, at night",
	Queue:    QueueReflect,
	Unique:   true,
	Reasoner: true,
	Timeout:  reasonerTimeout,
}, func(c Config) worker[SleepArgs] { return &sleepWorker{c.Reflection()} })

// awakePause is how long a deep reflection waits for a conversation to end, or for the inbox to be reflected on.
const awakePause = 5 * time.Minute

const (
	// recentMemories is how many of the latest memories a language model sees when it asks questions.
	recentMemories = 40
	// recentQuestions is the key by which nights record the questions about recent memories.
	recentQuestions = "questions about recent memories"
)

// sleepWorker reflects in two phases: it takes a question, recalls memories about it, and concludes from these alone.
// With a language model, the first questions of a night are those that recent memories raise; the others are open
// patterns. Each job answers one question and enqueues the next, so that other users' reflections run in between.
type sleepWorker struct{ *Reflection }

// Work answers one question.
func (w *sleepWorker) Work(ctx context.Context, job *river.Job[SleepArgs]) error {
	if busy, err := givesWay(ctx, w.DB, job.JobRow, job.Args.UserID); err != nil || busy {
		return cmp.Or(err, river.JobSnooze(busyPause))
	}
	err := retried(rereadings, stale, func() error { return w.sleep(ctx, job) })
	if stale(err) {
		return overtaken(job.JobRow, err)
	}
	return w.postpone(ctx, err)
}

func (w *sleepWorker) sleep(ctx context.Context, job *river.Job[SleepArgs]) error {
	s, err := w.begin(ctx, w.DB, job.Args.UserID)
	if err != nil {
		return err
	}
	night, err := store.ReadNight(ctx, w.DB, s.User, s.Now)
	if err != nil {
		return err
	}
	unread, err := store.InboxHasMore(ctx, w.DB, s.User)
	if err != nil {
		return err
	}
	switch {
	case s.Person.OptedOut:
		return w.end(ctx, job, false)
	case night.Over || night.Spent:
		return w.end(ctx, job, true)
	case night.Awake || unread:
		return completing(ctx, w.DB, job, func(tx pgx.Tx) error {
			if err := store.DelayNight(ctx, tx, s.User, s.Now.Add(awakePause)); err != nil || night.Awake {
				return err
			}
			return follow(ctx, tx, ReflectArgs{UserID: s.User}) // what is new comes first
		})
	}
	if w.Questioner != nil && night.Fresh {
		return w.explore(ctx, job, s, night.Recalls)
	}
	q, err := store.NextQuestion(ctx, w.DB, s.User)
	if err != nil {
		return err
	}
	if q == nil {
		return completing(ctx, w.DB, job, func(tx pgx.Tx) error { return w.rest(ctx, tx, s) })
	}
	memories, err := store.MemoriesAbout(ctx, w.DB, s.User, s.Person, s.Now, q.Content, night.Recalls)
	if err != nil {
		return err
	}
	return w.answer(ctx, job, s, q.Key, memories)
}

// explore asks which questions recent memories raise, and answers them together from what it recalls for each. They
// share the memories of one question. No question is stored: it may quote memories.
func (w *sleepWorker) explore(ctx context.Context, job *river.Job[SleepArgs], s *reflection.Snapshot, recalls int) error {
	recent, err := store.RecentMemories(ctx, w.DB, s.User, s.Person, s.Now, recentMemories)
	if err != nil {
		return err
	}
	asking := *s
	if err := w.loadKnown(ctx, w.DB, &asking, recent, ""); err != nil {
		return err
	}
	questions, err := w.questions(ctx, &asking, job.ID)
	if err != nil {
		return err
	}
	var memories []reasoner.Memory
	for n, q := range questions {
		left := len(questions) - n // a question with few memories leaves more to the next
		found, err := store.MemoriesAbout(ctx, w.DB, s.User, s.Person, s.Now, q, (recalls-len(memories)+left-1)/left)
		if err != nil {
			return err
		}
		for _, m := range found {
			if !slices.ContainsFunc(memories, func(o reasoner.Memory) bool { return o.ID == m.ID }) {
				memories = append(memories, m)
			}
		}
	}
	slices.SortFunc(memories, func(a, b reasoner.Memory) int {
		return cmp.Or(a.Time.Compare(b.Time), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return w.answer(ctx, job, s, recentQuestions, memories)
}

func (w *sleepWorker) questions(ctx context.Context, s *reflection.Snapshot, job int64) (questions []string, err error) {
	if len(s.Memories) == 0 {
		return nil, nil
	}
	err = w.call(ctx, s.User, s.Cycle, job, func(ctx context.Context) (err error) {
		questions, err = w.Questioner.Questions(ctx, s.Question())
		return err
	})
	var useless *reasoner.AnswerError
	if errors.As(err, &useless) {
		w.Logger.WarnContext(ctx, "the reasoner asked no valid question", "error", useless)
		return nil, nil
	}
	return slices.DeleteFunc(questions, func(q string) bool {
		_, hit := sensitive.Category(q)
		return hit
	}), err
}

// answer asks the reasoner about the memories that were recalled for a question, and writes what follows.
func (w *sleepWorker) answer(ctx context.Context, job *river.Job[SleepArgs], s *reflection.Snapshot, key string,
	memories []reasoner.Memory) error {
	recalled, pattern := len(memories), key
	if key == recentQuestions {
		pattern = "" // any may answer
	}
	if err := w.loadKnown(ctx, w.DB, s, memories, pattern); err != nil {
		return err
	}
	proposals, err := w.ask(ctx, s, job.ID)
	var useless *reasoner.AnswerError
	if errors.As(err, &useless) {
		w.Logger.WarnContext(ctx, "the reasoner gave an invalid answer; skipping the question", "error", useless)
	} else if err != nil {
		return err
	}
	failpoint.Reach(failpoint.SleepAsked)
	p, err := w.weigh(ctx, w.DB, s, proposals)
	if err != nil {
		return err
	}
	next := func(ctx context.Context, tx pgx.Tx, o Outcome) error {
		if err := store.NoteQuestion(ctx, tx, s.User, key, recalled, s.Now); err != nil {
			return err
		}
		if o.Reviews > 0 {
			if err := follow(ctx, tx, ContradictionReviewArgs{UserID: s.User}); err != nil {
				return err
			}
		}
		err := follow(ctx, tx, SleepArgs{UserID: s.User})
		failpoint.Reach(failpoint.SleepWritten)
		return err
	}
	outcome, err := w.write(ctx, w.DB, &decision{plan: p, trigger: store.Trigger{Type: "sleep", Value: float64(recalled)}},
		during{
			locked:  func(ctx context.Context, tx pgx.Tx) error { return complete(ctx, tx, job) },
			written: next,
			enqueue: enqueueAt,
		})
	failpoint.Reach(failpoint.SleepCommitted)
	if outcome != nil {
		w.Observer.Reflected(*outcome)
	}
	return err
}

// rest ends a night that found no open question. A reflection may have raised one in the meantime, but planned no
// night, because this one had not ended. In that case rest plans the next night.
func (w *sleepWorker) rest(ctx context.Context, tx pgx.Tx, s *reflection.Snapshot) error {
	if err := store.EndNight(ctx, tx, s.User, s.Now, false); err != nil {
		return err
	}
	q, err := store.NextQuestion(ctx, tx, s.User)
	if err != nil || q == nil {
		return err
	}
	return store.PlanNight(ctx, tx, s.User, s.Now)
}

// end ends the night.
func (w *sleepWorker) end(ctx context.Context, job *river.Job[SleepArgs], again bool) error {
	return completing(ctx, w.DB, job, func(tx pgx.Tx) error {
		return store.EndNight(ctx, tx, job.Args.UserID, w.Now(), again)
	})
}
