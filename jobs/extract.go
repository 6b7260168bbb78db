package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/store"
)

// ExtractArgs identifies a conversation with new messages. The trigger on oxbow.messages and
// oxbow.end_session write the same form, once per session and statement.
type ExtractArgs struct {
	UserID    string `json:"user_id"`
	SessionID string `json:"session_id"`
	Retry     bool   `json:"retry,omitempty"` // retries messages that failed before
}

// Kind returns "extract".
func (ExtractArgs) Kind() string { return "extract" }

// InsertOpts returns the insert options of the kind.
func (a ExtractArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:      "turns messages into memories",
	Queue:     QueueExtract,
	Embedder:  true,
	Reasoner:  true,
	Retention: busyRetention,
	// The timeout allows for two calls to the extractor, one to the embedder, and the work in the
	// database.
	Timeout: func(c Config) time.Duration { return 2*c.ReasonerCallTime + c.CallTime + Timeout },
}, func(c Config) worker[ExtractArgs] { return &extractWorker{c.Extraction()} })

// maxExtractPause is the longest pause between two attempts at messages for which the extractor
// returns an unusable answer. Retries never end.
const maxExtractPause = 6 * time.Hour

// extractWorker extracts memories from messages.
type extractWorker struct{ *Extraction }

// Work extracts from the next messages of a session. Each statement that inserts messages enqueues
// a job, so a session may have several:
//
//   - If others are due later and few messages wait, this job leaves the messages to them. A burst is
//     thus extracted at once when it is over.
//   - If an older job is working on the session, this job leaves the messages to it.
//   - A job that has extracted deletes the waiting jobs that existed before it read the messages.
//
// No message is missed, because each job completes itself before it checks for remaining messages.
// A job that leaves messages to another either locks the other's row meanwhile or finds it
// completed.
func (w *extractWorker) Work(ctx context.Context, job *river.Job[ExtractArgs]) error {
	return w.work(ctx, job.JobRow, job.Args.UserID, job.Args.SessionID, func() error { return w.extract(ctx, job) })
}

func (w *extractWorker) extract(ctx context.Context, job *river.Job[ExtractArgs]) error {
	if yielded, err := w.yield(ctx, job); err != nil || yielded {
		return err
	}
	session, err := store.ReadSession(ctx, w.DB, job.Args.UserID, job.Args.SessionID, job.ID)
	if err != nil {
		return err
	}
	person, err := store.ReadPerson(ctx, w.DB, session.UserID)
	if err != nil {
		return err
	}
	if person.OptedOut {
		return completing(ctx, w.DB, job, func(tx pgx.Tx) error { return store.PassOverMessages(ctx, tx, session) })
	}
	if !session.Due && !job.Args.Retry {
		return completing(ctx, w.DB, job, func(tx pgx.Tx) error { return w.succeed(ctx, tx, job) })
	}
	e, err := w.decide(ctx, session, person, job.Args.Retry, job.ID)
	if useless, ok := errors.AsType[*reasoner.AnswerError](err); ok {
		return w.failed(ctx, job, e, useless)
	}
	if err != nil {
		return err
	}
	failpoint.Reach(failpoint.ExtractDecided)
	var did store.ExtractionCounts
	var events store.WeightEvents
	err = pgx.BeginFunc(ctx, w.DB, func(tx pgx.Tx) (err error) {
		if did, err = w.finish(ctx, tx, job, e); err == nil {
			events, err = store.CountWeightEvents(ctx, tx)
		}
		failpoint.Reach(failpoint.ExtractDone)
		return err
	})
	failpoint.Reach(failpoint.ExtractCommitted)
	if err == nil {
		w.Observer.Weighed(events)
	}
	if err == nil && len(e.Messages) > 0 {
		w.Observer.Extracted(len(e.Messages), did.Added+did.Updated)
	}
	return err
}

// yield leaves the messages to an older job that is working on the session.
func (w *extractWorker) yield(ctx context.Context, job *river.Job[ExtractArgs]) (yielded bool, err error) {
	if job.Args.Retry {
		return false, nil
	}
	err = pgx.BeginFunc(ctx, w.DB, func(tx pgx.Tx) error {
		yielded, err = store.SessionIsWorked(ctx, tx, job.Args.UserID, job.Args.SessionID, job.ID)
		if err != nil || !yielded {
			return err
		}
		return complete(ctx, tx, job)
	})
	return yielded, err
}

// succeed enqueues another extraction if messages remain that no job waits for.
func (w *extractWorker) succeed(ctx context.Context, tx pgx.Tx, job *river.Job[ExtractArgs]) error {
	left, err := store.MessagesLeft(ctx, tx, job.Args.UserID, job.Args.SessionID, job.Args.Retry, job.ID)
	if err != nil || !left {
		return err
	}
	return enqueue(ctx, tx, job.Args)
}

// finish writes the results, completes the job and enqueues what follows.
func (w *extractWorker) finish(ctx context.Context, tx pgx.Tx, job *river.Job[ExtractArgs],
	e *extraction) (did store.ExtractionCounts, err error) {
	if len(e.Messages) > 0 {
		if did, err = w.write(ctx, tx, e); err != nil {
			return did, err
		}
		failpoint.Reach(failpoint.ExtractWritten)
	}
	if err := complete(ctx, tx, job); err != nil {
		return did, err
	}
	// The session may have ended during the extraction. The job enqueued at its end has then yielded to this one.
	ended, err := store.SessionEnded(ctx, tx, e.Session.UserID, e.Session.ID)
	if err != nil {
		return did, err
	}
	if ended || did.Indexed {
		if err := enqueue(ctx, tx, CheckTriggerArgs{UserID: e.Session.UserID}); err != nil {
			return did, err
		}
	}
	if e.answers || job.Args.Retry { // later messages may have been judged without these
		if err := enqueue(ctx, tx, JudgeArgs{UserID: e.Session.UserID, SessionID: e.Session.ID}); err != nil {
			return did, err
		}
	}
	if !job.Args.Retry {
		if err := store.ExtractionDone(ctx, tx, e.Session); err != nil {
			return did, err
		}
	}
	if err := w.growSummary(ctx, tx, e.Session); err != nil {
		return did, err
	}
	return did, w.succeed(ctx, tx, job)
}

// growSummary enqueues a summary if the conversation is long enough.
func (w *extractWorker) growSummary(ctx context.Context, tx pgx.Tx, s store.Session) error {
	due, err := store.SummaryDue(ctx, tx, s.UserID, s.ID)
	if err != nil || !due {
		return err
	}
	return enqueue(ctx, tx, SummarizeArgs{UserID: s.UserID, SessionID: s.ID})
}

// failed records with the messages why the extraction failed. They are retried one by one with
// growing pauses, without end. Other messages do not wait for them.
func (w *extractWorker) failed(ctx context.Context, job *river.Job[ExtractArgs], e *extraction,
	why *reasoner.AnswerError) error {
	w.Observer.ExtractionFailed(len(e.Messages))
	return pgx.BeginFunc(ctx, w.DB, func(tx pgx.Tx) error {
		times, err := store.ExtractionFailed(ctx, tx, e.Session.UserID, e.Messages, why.Error())
		if err != nil {
			return err
		}
		if err := complete(ctx, tx, job); err != nil {
			return err
		}
		if times == 0 { // another extraction took them, or they were erased
			return w.succeed(ctx, tx, job)
		}
		w.Logger.ErrorContext(ctx, "extraction failed; the messages will be retried", "messages", len(e.Messages),
			"times", times, "error", why)
		again := job.Args
		again.Retry = true
		pause := min(time.Minute<<min(times-1, 10), maxExtractPause)
		if err := enqueueAt(ctx, tx, again, time.Now().Add(spread(pause))); err != nil {
			return err
		}
		if job.Args.Retry {
			return nil
		}
		return w.succeed(ctx, tx, job)
	})
}
