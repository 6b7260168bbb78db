package jobs

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/store"
)

// SummarizeArgs identifies a conversation that has grown long.
type SummarizeArgs struct {
	UserID    string `json:"user_id" river:"unique"`
	SessionID string `json:"session_id" river:"unique"`
}

// Kind returns "summarize".
func (SummarizeArgs) Kind() string { return "summarize" }

// InsertOpts returns the insert options of the kind.
func (a SummarizeArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:     "summarizes long conversations",
	Queue:    QueueReflect,
	Unique:   true,
	Reasoner: true,
	Timeout:  reasonerTimeout,
}, func(c Config) worker[SummarizeArgs] { return &summarizeWorker{c.Extraction()} })

const (
	summarizedMessages = 200 // per run, and at most extractedBytes
	// summaryImportance is low because the memories of the conversation state the same more
	// precisely.
	summaryImportance = 0.3
	// lastAttempt is the attempt from which messages with unusable answers are skipped.
	lastAttempt = 9
)

// summarizeWorker maintains the summaries of long conversations.
type summarizeWorker struct{ *Extraction }

// Work replaces a summary. No message is missed: the job completes itself before it checks whether
// messages remain. An extraction with new messages either finds the job live and locks its row
// until it commits, or finds it completed and enqueues another.
func (w *summarizeWorker) Work(ctx context.Context, job *river.Job[SummarizeArgs]) error {
	return w.work(ctx, job.JobRow, job.Args.UserID, job.Args.SessionID, func() error { return w.summarize(ctx, job) })
}

func (w *summarizeWorker) summarize(ctx context.Context, job *river.Job[SummarizeArgs]) error {
	summary, err := store.ReadSummary(ctx, w.DB, job.Args.UserID, job.Args.SessionID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	person, err := store.ReadPerson(ctx, w.DB, job.Args.UserID)
	if err != nil {
		return err
	}
	if person.OptedOut || !summary.Due {
		return w.finish(ctx, job, nil)
	}
	next, err := w.grow(ctx, job, summary, person)
	if err != nil {
		return err
	}
	failpoint.Reach(failpoint.SummaryMade)
	if err = w.finish(ctx, job, next); err == nil {
		failpoint.Reach(failpoint.SummaryCommitted)
	}
	return err
}

// grow makes the next summary from the current one and the messages since.
func (w *summarizeWorker) grow(ctx context.Context, job *river.Job[SummarizeArgs], summary store.Summary,
	person reasoner.Person) (*store.NewSummary, error) {
	messages, places, err := store.UnsummarizedMessages(ctx, w.DB, summary, person, summarizedMessages)
	for again := true; err == nil && again; {
		if again, err = markMessages(ctx, w.DB, job.Args.UserID, messages); again && err == nil {
			messages, places, err = store.UnsummarizedMessages(ctx, w.DB, summary, person, summarizedMessages)
		}
	}
	if err != nil {
		return nil, err
	}
	if messages = within(messages, extractedBytes); len(messages) == 0 {
		return nil, nil
	}
	next := &store.NewSummary{Of: summary, Actor: w.Summarizer.Name(), Importance: summaryImportance,
		Messages: messages, Until: places[len(messages)-1]}
	told := reasoner.Told{Now: w.Now().In(person.Zone), Language: person.Language, Before: summary.Content,
		Messages: messages}
	err = w.call(ctx, job.Args.UserID, uuid.Nil, job.ID, func(ctx context.Context) (err error) {
		next.Content, err = w.Summarizer.Summarize(ctx, told)
		return err
	})
	if useless, ok := errors.AsType[*reasoner.AnswerError](err); ok && job.Attempt >= lastAttempt {
		w.Logger.ErrorContext(ctx, "the summarizer gave too many invalid answers; skipping the messages", "messages",
			len(messages), "error", useless)
		err = nil
	}
	if next.Content = oneline.Shorten(next.Content, reasoner.MaxSummary-1); next.Content == summary.Content {
		next.Content = "" // nothing new
	}
	return next, err
}

// finish writes the summary, completes the job, and enqueues another if enough messages remain.
func (w *summarizeWorker) finish(ctx context.Context, job *river.Job[SummarizeArgs], next *store.NewSummary) error {
	return pgx.BeginFunc(ctx, w.DB, func(tx pgx.Tx) error {
		out, err := store.OptedOut(ctx, tx, job.Args.UserID)
		switch {
		case err != nil:
		case out:
			err = store.PassOverSummary(ctx, tx, job.Args.UserID, job.Args.SessionID)
		case next != nil:
			err = store.WriteSummary(ctx, tx, *next)
		}
		if err != nil {
			return err
		}
		failpoint.Reach(failpoint.SummaryWritten)
		if err := complete(ctx, tx, job); err != nil {
			return err
		}
		due, err := store.SummaryDue(ctx, tx, job.Args.UserID, job.Args.SessionID)
		if err != nil || !due {
			return err
		}
		return enqueue(ctx, tx, job.Args)
	})
}
