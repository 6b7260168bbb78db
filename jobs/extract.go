package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/store"
)

// ExtractArgs name the conversation in which something was said. The trigger on oxbow.messages and oxbow.end_session write
// them in this form, once a session and statement.
type ExtractArgs struct {
	UserID    string `json:"user_id"`
	SessionID string `json:"session_id"`
	Retry     bool   `json:"retry,omitempty"` // what failed before
}

// Kind is "extract".
func (ExtractArgs) Kind() string { return "extract" }

// InsertOpts gives extract a queue of its own.
func (ExtractArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: QueueExtract, MaxAttempts: 25}
}

const (
	extractedMessages = 40 // at once
	earlierMessages   = 6  // shown with them
	recalledMemories  = 50 // shown with them
	similarFacts      = 5  // of a candidate
	leastSimilar      = 0.5
	maxCandidates     = 200 // of a batch
	// maxExtractPause is the longest time between two attempts at messages that the extractor answers nonsense about. They
	// are never given up.
	maxExtractPause = 6 * time.Hour
)

// extractWorker makes memories of messages.
type extractWorker struct {
	river.WorkerDefaults[ExtractArgs]
	db        store.DB
	extractor reasoner.Extractor
	embed     *embedWorker
	calls     *Reflection // limits what a model may take, and accounts for it
	now       func() time.Time
	log       *slog.Logger
}

// Timeout is what two calls of the extractor and one of the embedder may take, and what the database may.
func (w *extractWorker) Timeout(*river.Job[ExtractArgs]) time.Duration {
	return 2*w.calls.CallTime + w.embed.callTime + Timeout
}

// Work extracts from the next messages of a session. A job is not alone: each statement that inserted messages enqueued one.
// While others are due later and little waits, this one leaves the messages to them, which is how a burst is extracted from
// at once when it is over; while another is at the session, it leaves them to that one; and whoever has extracted takes those
// away that were there before the messages were read. Nothing is missed, because each completes its own job before it looks
// whether messages are left: who leaves them to it holds its row meanwhile, or finds it completed.
func (w *extractWorker) Work(ctx context.Context, job *river.Job[ExtractArgs]) error {
	if job.Args.UserID == "" || job.Args.SessionID == "" {
		return river.JobCancel(fmt.Errorf("the arguments name no user or no session: user_id %q, session_id %q", job.Args.UserID, job.Args.SessionID))
	}
	for try := 1; ; try++ {
		err := w.extract(ctx, job)
		if errors.Is(err, store.ErrStale) || store.IsDeadlock(err) {
			if try < rereadings {
				continue
			}
			return river.JobSnooze(spread(time.Second)) // somebody else is at the same user
		}
		return w.postpone(ctx, err)
	}
}

func (w *extractWorker) extract(ctx context.Context, job *river.Job[ExtractArgs]) error {
	if yielded, err := w.yield(ctx, job); err != nil || yielded {
		return err
	}
	session, err := store.ReadSession(ctx, w.db, job.Args.UserID, job.Args.SessionID, job.ID)
	if err != nil {
		return err
	}
	person, err := store.ReadPerson(ctx, w.db, session.UserID)
	if err != nil {
		return err
	}
	if person.OptedOut {
		return pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) error {
			if err := complete(ctx, tx, job); err != nil {
				return err
			}
			return store.PassOverMessages(ctx, tx, session)
		})
	}
	if !session.Due && !job.Args.Retry {
		return pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) error {
			if err := complete(ctx, tx, job); err != nil {
				return err
			}
			return w.succeed(ctx, tx, job)
		})
	}
	messages, err := store.SessionMessages(ctx, w.db, session, person, job.Args.Retry, extractedMessages, earlierMessages)
	if err != nil {
		return err
	}
	b := &extraction{Extraction: store.Extraction{Session: session, Actor: w.extractor.Name(), Model: w.embed.model(), Messages: fresh(messages)}}
	if len(b.Messages) > 0 {
		err := w.decide(ctx, job, b, person, messages)
		if useless, ok := errors.AsType[*reasoner.AnswerError](err); ok {
			return w.failed(ctx, job, b, useless)
		}
		if err != nil {
			return err
		}
	}
	return pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) error { return w.finish(ctx, tx, job, b) })
}

// extraction is one batch of messages on its way.
type extraction struct {
	store.Extraction
	asked [][]float32 // the vectors for which similar facts were looked up
	shown [][]reasoner.Held
}

// yield leaves the messages to an older job that is at the session now.
func (w *extractWorker) yield(ctx context.Context, job *river.Job[ExtractArgs]) (yielded bool, err error) {
	if job.Args.Retry {
		return false, nil
	}
	err = pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) error {
		if yielded, err = store.SessionIsWorked(ctx, tx, job.Args.UserID, job.Args.SessionID, job.ID); err != nil || !yielded {
			return err
		}
		return complete(ctx, tx, job)
	})
	return yielded, err
}

// succeed enqueues another extraction if messages are left that no job waits for.
func (w *extractWorker) succeed(ctx context.Context, tx pgx.Tx, job *river.Job[ExtractArgs]) error {
	left, err := store.MessagesLeft(ctx, tx, job.Args.UserID, job.Args.SessionID, job.Args.Retry, job.ID)
	if err != nil || !left {
		return err
	}
	return enqueue(ctx, tx, job.Args)
}

func fresh(messages []reasoner.Message) (ids []uuid.UUID) {
	for _, m := range messages {
		if m.New {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// decide asks for candidates, makes their vectors, and decides what becomes of each.
func (w *extractWorker) decide(ctx context.Context, job *river.Job[ExtractArgs], e *extraction, person store.Person, messages []reasoner.Message) error {
	recalled, err := store.RecalledInto(ctx, w.db, e.Session.UserID, e.Messages, recalledMemories)
	if err != nil {
		return err
	}
	now := w.now().In(person.Zone)
	var found reasoner.Extraction
	err = w.ask(ctx, job, func(ctx context.Context) (err error) {
		found, err = w.extractor.Extract(ctx, reasoner.Conversation{Now: now, Language: person.Language, Messages: messages, Recalled: recalled})
		return err
	})
	if err != nil {
		return err
	}
	candidates := w.admit(ctx, found.Candidates, messages)
	e.Used = among(found.Used, recalled)
	for _, d := range found.Dropped {
		w.log.InfoContext(ctx, "a proposal of the extractor is not followed", "reason", d.Reason)
	}
	vectors, err := w.vectors(ctx, candidates)
	if err != nil {
		return err
	}
	e.Memories, err = w.resolve(ctx, job, e, now, candidates, vectors)
	return err
}

// ask calls the extractor within its limits, and accounts for what that took.
func (w *extractWorker) ask(ctx context.Context, job *river.Job[ExtractArgs], ask func(context.Context) error) error {
	return w.calls.call(ctx, &snapshot{user: job.Args.UserID}, job.ID, ask)
}

// admit checks what the extractor proposes: whatever it is, it rests on messages that are new.
func (w *extractWorker) admit(ctx context.Context, candidates []reasoner.Candidate, messages []reasoner.Message) []reasoner.Candidate {
	said := map[uuid.UUID]reasoner.Message{}
	for _, m := range messages {
		if m.New {
			said[m.ID] = m
		}
	}
	if len(candidates) > maxCandidates {
		w.log.WarnContext(ctx, "the extractor proposes more memories of a few messages than are kept", "number", len(candidates), "kept", maxCandidates)
		candidates = candidates[:maxCandidates]
	}
	var admitted []reasoner.Candidate
	for _, c := range candidates {
		c.Sources = slices.DeleteFunc(slices.Clone(c.Sources), func(id uuid.UUID) bool { return said[id].ID == uuid.Nil })
		if len(c.Sources) == 0 || line(c.Content) == "" || c.Type != string(store.Fact) && c.Type != string(store.Episodic) {
			w.log.WarnContext(ctx, "a memory that the extractor proposes is not kept: it rests on no new message, or is none")
			continue
		}
		c.Importance = min(max(c.Importance, 0), 1)
		c.Category = cmp.Or(c.Category, reasoner.Objective)
		if c.Context = knownContext(c.Context); c.Time.IsZero() {
			c.Time = said[c.Sources[0]].Time
		}
		admitted = append(admitted, c)
	}
	return admitted
}

// among returns the ids that are those of memories.
func among(ids []uuid.UUID, held []reasoner.Held) []uuid.UUID {
	return slices.DeleteFunc(slices.Clone(ids), func(id uuid.UUID) bool {
		return !slices.ContainsFunc(held, func(h reasoner.Held) bool { return h.ID == id })
	})
}

// vectors makes those of the candidates, nil for what the provider refuses.
func (w *extractWorker) vectors(ctx context.Context, candidates []reasoner.Candidate) ([][]float32, error) {
	if err := store.CheckModel(ctx, w.db, w.embed.model()); err != nil {
		return nil, err
	}
	texts := make([]store.Embeddable, len(candidates))
	for i, c := range candidates {
		texts[i] = store.Embeddable{ID: uuid.New(), Text: store.EmbeddedText(c.Speaker, c.Content)}
	}
	made := map[uuid.UUID][]float32{}
	for _, call := range Calls(texts, w.embed.callTexts, func(m store.Embeddable) int { return len(m.Text) }) {
		part, err := w.embed.call(ctx, call)
		if err != nil {
			return nil, err
		}
		for i, id := range part.ids {
			made[id] = part.vectors[i]
		}
	}
	all := make([][]float32, len(candidates))
	for i, t := range texts {
		all[i] = made[t.ID]
	}
	return all, nil
}

// resolve decides what becomes of the candidates. Similarity only nominates: the extractor says what it means. Episodes are
// what happened, and take nothing's place.
func (w *extractWorker) resolve(ctx context.Context, job *river.Job[ExtractArgs], e *extraction, now time.Time, candidates []reasoner.Candidate, vectors [][]float32) ([]store.Extracted, error) {
	all := make([]store.Extracted, len(candidates))
	var asked []int
	for i, c := range candidates {
		all[i] = store.Extracted{Candidate: c, Vector: vectors[i], Resolution: reasoner.Resolution{Operation: reasoner.Add}}
		if c.Type == string(store.Fact) && vectors[i] != nil {
			asked, e.asked = append(asked, i), append(e.asked, vectors[i])
		}
	}
	similar, err := store.SimilarFacts(ctx, w.db, e.Session.UserID, e.asked, similarFacts, leastSimilar)
	if err != nil {
		return nil, err
	}
	e.shown = similar
	var conflicts []reasoner.Conflict
	var at []int
	for k, i := range asked {
		if len(similar[k]) > 0 {
			conflicts, at = append(conflicts, reasoner.Conflict{Candidate: candidates[i], Similar: similar[k]}), append(at, i)
		}
	}
	if len(conflicts) == 0 {
		return all, nil
	}
	var decided []reasoner.Resolution
	err = w.ask(ctx, job, func(ctx context.Context) (err error) {
		decided, err = w.extractor.Resolve(ctx, now, conflicts)
		return err
	})
	if err != nil {
		return nil, err
	}
	taken := map[uuid.UUID]bool{} // by an operation that ends it
	for k, i := range at {
		if k >= len(decided) {
			break
		}
		all[i].Resolution = w.checked(ctx, decided[k], conflicts[k], taken)
	}
	return all, nil
}

// checked takes a resolution only as far as it is about what was shown; otherwise the candidate is a memory of its own.
func (w *extractWorker) checked(ctx context.Context, r reasoner.Resolution, c reasoner.Conflict, taken map[uuid.UUID]bool) reasoner.Resolution {
	r.Reason = shortened(r.Reason)
	shown := slices.ContainsFunc(c.Similar, func(h reasoner.Held) bool { return h.ID == r.Target })
	switch {
	case r.Operation == reasoner.Add:
		return reasoner.Resolution{Operation: reasoner.Add, Reason: r.Reason}
	case !shown || taken[r.Target]:
		w.log.WarnContext(ctx, "an operation on a memory that was not shown, or has just ended, is not followed", "operation", string(r.Operation))
		return reasoner.Resolution{Operation: reasoner.Add}
	case r.Operation == reasoner.Update, r.Operation == reasoner.Delete:
		taken[r.Target] = true
	case r.Operation != reasoner.Noop:
		w.log.WarnContext(ctx, "an operation that there is not is not followed", "operation", string(r.Operation))
		return reasoner.Resolution{Operation: reasoner.Add}
	}
	return r
}

// finish writes what was decided. Others of the same user wait for its lock. Where some came first and changed what there is
// to decide on, the error is store.ErrStale.
func (w *extractWorker) finish(ctx context.Context, tx pgx.Tx, job *river.Job[ExtractArgs], e *extraction) error {
	others, err := store.LockExtraction(ctx, tx, e.Extraction)
	if err == nil && others {
		err = w.lookAgain(ctx, tx, e)
	}
	if err != nil {
		return err
	}
	if out, err := store.OptedOut(ctx, tx, e.Session.UserID); err != nil {
		return err
	} else if out { // while the extractor was thinking
		e.Memories, e.Used = nil, nil
	}
	if len(e.Messages) > 0 {
		if _, err := store.WriteExtraction(ctx, tx, e.Extraction); err != nil {
			return err
		}
	}
	if err := complete(ctx, tx, job); err != nil {
		return err
	}
	if e.Session.Ended {
		if err := enqueue(ctx, tx, CheckTriggerArgs{UserID: e.Session.UserID}); err != nil {
			return err
		}
	}
	if !job.Args.Retry {
		if err := store.ExtractionDone(ctx, tx, e.Session); err != nil {
			return err
		}
	}
	return w.succeed(ctx, tx, job)
}

// lookAgain compares what is similar now with what was shown.
func (w *extractWorker) lookAgain(ctx context.Context, tx pgx.Tx, e *extraction) error {
	similar, err := store.SimilarFacts(ctx, tx, e.Session.UserID, e.asked, similarFacts, leastSimilar)
	if err != nil {
		return err
	}
	if !slices.EqualFunc(similar, e.shown, func(a, b []reasoner.Held) bool {
		return slices.EqualFunc(a, b, func(a, b reasoner.Held) bool { return a.ID == b.ID })
	}) {
		return fmt.Errorf("decide on memories: %w", store.ErrStale)
	}
	return nil
}

// failed notes with the messages why nothing came of them. They are tried again one by one, later each time, and never given
// up; others do not wait for them.
func (w *extractWorker) failed(ctx context.Context, job *river.Job[ExtractArgs], e *extraction, why *reasoner.AnswerError) error {
	return pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) error {
		times, err := store.ExtractionFailed(ctx, tx, e.Session.UserID, e.Messages, why.Error())
		if err != nil {
			return err
		}
		w.log.ErrorContext(ctx, "the extractor cannot cope with messages: they are tried again", "messages", len(e.Messages), "times", times, "error", why)
		if err := complete(ctx, tx, job); err != nil {
			return err
		}
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

// postpone decides when a job that could not ask is tried again. What is nobody's fault among the messages counts as no
// attempt.
func (w *extractWorker) postpone(ctx context.Context, err error) error {
	var spent overspentError
	switch {
	case errors.As(err, &spent):
		return river.JobSnooze(spread(time.Hour))
	case err == nil, ctx.Err() != nil:
		return err
	}
	return w.embed.postpone(ctx, err)
}
