package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/store"
)

// SweepArgs are the arguments of the job. They are empty because the job covers all users.
type SweepArgs struct{}

// Kind returns "sweep".
func (SweepArgs) Kind() string { return "sweep" }

// InsertOpts returns the insert options of the kind.
func (a SweepArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:  "enqueues work that was lost or falls due without an INSERT",
	Every: time.Minute,
}, func(c Config) worker[SweepArgs] { return &sweepWorker{c} })

// Limits of one run, and the minimum age of what it repairs.
const (
	sweepJobs      = 100              // embed jobs that were given up
	sweepLost      = 2000             // new memories without a job; memories checked in the walk over all memories
	sweepUsers     = 500              // users with an inbox
	sweepSessions  = 500              // sessions with waiting messages
	sweepForgotten = 200              // memories to erase
	sweepErasing   = 500              // users with an open erasure
	sweepCounted   = 10               // users whose terms are counted
	sweepNamed     = 20               // users whose old memories are scanned for entities
	sweepCompleted = 10000            // completed jobs deleted in a transaction, at most 20 of them
	sweepLong      = 1000             // with more waiting embed jobs, the workers are behind and nothing is lost
	sweepAge       = 10 * time.Minute // younger memories are still being processed
)

// stepTime limits a step, so that a slow one leaves time to the others.
const stepTime = Timeout / 2

// sweepWorker repairs what lost, given-up or missing jobs left undone, and enqueues what becomes
// due with time. Each step is bounded, runs in short transactions and stores its position in the
// settings.
type sweepWorker struct{ Config }

// Work runs all steps, even if some of them fail.
func (w *sweepWorker) Work(ctx context.Context, _ *river.Job[SweepArgs]) error {
	steps := []struct {
		did string
		do  func(ctx context.Context) (int, error)
	}{
		{"enqueued the memories of discarded embed jobs", w.inTx(w.reviveGivenUp)},
		{"enqueued new memories without a job", w.inTx(w.embedLost(store.LostRecently))},
		{"enqueued memories without a job", w.inTx(w.embedLost(store.LostAnywhere))},
		{"enqueued extractions of messages without a job", w.inTx(w.extractLost)},
		{"enqueued reflections that became due", w.inTx(w.askTriggers)},
		{"enqueued reviews without a job", w.inTx(w.reviveReviews)},
		{"enqueued reviews of facts", w.inTx(w.reviewFacts)},
		{"enqueued abstractions without a job", w.inTx(w.abstractLost)},
		{"enqueued deep reflections", w.inTx(w.sleepers)},
		{"erased memories forgotten 30 days ago", w.eraseForgotten},
		{"finished erasures", w.finishErasures},
		{"corrected term statistics", w.recountTerms},
		{"recorded entities of old memories", w.inTx(w.noteEntities)},
		{"deleted completed jobs", w.deleteCompleted},
	}
	var failed error
	for _, step := range steps {
		within, cancel := context.WithTimeout(ctx, stepTime)
		n, err := step.do(within)
		cancel()
		failpoint.Reach(failpoint.SweepStep)
		switch {
		case err != nil:
			failed = errors.Join(failed, err)
		case n > 0:
			w.Logger.InfoContext(ctx, "sweep "+step.did, "number", n)
		}
	}
	return failed
}

// inTx runs a step in a transaction and retries it after a deadlock with workers that complete
// jobs: both lock several rows, in different orders.
func (w *sweepWorker) inTx(step func(context.Context, pgx.Tx) (int, error)) func(context.Context) (int, error) {
	return func(ctx context.Context) (n int, err error) {
		err = pastDeadlocks(ctx, w.DB, func(tx pgx.Tx) error {
			n, err = step(ctx, tx)
			return err
		})
		return n, err
	}
}

const deadlockTries = 3

// pastDeadlocks runs a transaction, up to deadlockTries times while it fails with a deadlock.
func pastDeadlocks(ctx context.Context, db store.DB, work func(tx pgx.Tx) error) error {
	return retried(deadlockTries, store.IsDeadlock, func() error { return pgx.BeginFunc(ctx, db, work) })
}

// retried calls do up to tries times, until its error no longer satisfies again.
func retried(tries int, again func(error) bool, do func() error) (err error) {
	for range tries {
		if err = do(); !again(err) {
			break
		}
	}
	return err
}

// reviveGivenUp enqueues what discarded or cancelled embed jobs left undone. A job is given up
// after about three weeks of growing pauses, and each is revived only once, so this is not a tight
// loop. Texts refused by the provider count as done.
func (w *sweepWorker) reviveGivenUp(ctx context.Context, tx pgx.Tx) (int, error) {
	given, err := store.GivenUpEmbeds(ctx, tx, time.Now().Add(-sweepAge), sweepJobs)
	if err != nil || len(given) == 0 {
		return 0, err
	}
	var left []store.MemoryRef
	for _, job := range given {
		ids, err := EmbedArgs{UserID: job.UserID, IDs: job.IDs}.memories()
		if err != nil {
			w.Logger.WarnContext(ctx, "sweep cannot read the arguments of a discarded job", "job", job.ID, "error", err)
			continue
		}
		lacking, err := store.Unembedded(ctx, tx, job.UserID, ids, w.Embedder.Model())
		if err != nil {
			return 0, err
		}
		left = append(left, lacking...)
	}
	if err := store.MarkGivenUp(ctx, tx, given); err != nil {
		return 0, err
	}
	return w.embed(ctx, tx, left)
}

// embedLost returns a step that enqueues the memories that find returns.
func (w *sweepWorker) embedLost(find func(ctx context.Context, tx store.DB, before time.Time, limit int,
	model string) ([]store.MemoryRef, error)) func(context.Context, pgx.Tx) (int, error) {
	return func(ctx context.Context, tx pgx.Tx) (int, error) {
		if long, err := store.EmbedQueueIsLong(ctx, tx, sweepLong); err != nil || long {
			return 0, err
		}
		lost, err := find(ctx, tx, time.Now().Add(-sweepAge), sweepLost, w.Embedder.Model())
		if err != nil {
			return 0, err
		}
		return w.embed(ctx, tx, lost)
	}
}

// embed enqueues embed jobs and returns the number of memories.
func (w *sweepWorker) embed(ctx context.Context, tx pgx.Tx, memories []store.MemoryRef) (int, error) {
	byUser := map[string][]uuid.UUID{}
	for _, m := range memories {
		byUser[m.UserID] = append(byUser[m.UserID], m.ID)
	}
	var jobs []river.InsertManyParams
	for user, ids := range byUser {
		for chunk := range slices.Chunk(ids, embedIDs) {
			jobs = append(jobs, river.InsertManyParams{Args: EmbedMemories(user, chunk)})
		}
	}
	_, err := enqueueMany(ctx, tx, jobs)
	return len(memories), err
}

func (w *sweepWorker) askTriggers(ctx context.Context, tx pgx.Tx) (int, error) {
	due, err := store.DueTriggers(ctx, tx, sweepUsers, time.Now())
	if err != nil {
		return 0, err
	}
	jobs := make([]river.InsertManyParams, len(due))
	for i, user := range due {
		jobs[i] = river.InsertManyParams{Args: reflectOn(user.UserID, user.Trigger)}
	}
	_, err = enqueueMany(ctx, tx, jobs)
	return len(due), err
}

// reviveReviews enqueues a review for each user with a contradicted trait. If a review or its
// reflection is already running, the new job is skipped as a duplicate or finds nothing to do.
func (w *sweepWorker) reviveReviews(ctx context.Context, tx pgx.Tx) (int, error) {
	users, err := store.DueReviews(ctx, tx, sweepUsers)
	if err != nil {
		return 0, err
	}
	jobs := make([]river.InsertManyParams, len(users))
	for i, user := range users {
		jobs[i] = river.InsertManyParams{Args: ContradictionReviewArgs{UserID: user}}
	}
	return enqueueMany(ctx, tx, jobs)
}

// reviewFacts enqueues a review for each user with facts that are due. Each reviews some of them.
func (w *sweepWorker) reviewFacts(ctx context.Context, tx pgx.Tx) (int, error) {
	users, err := store.UsersToReview(ctx, tx, time.Now())
	if err != nil {
		return 0, err
	}
	jobs := make([]river.InsertManyParams, len(users))
	for i, user := range users {
		jobs[i] = river.InsertManyParams{Args: ReviewArgs{UserID: user}}
	}
	return enqueueMany(ctx, tx, jobs)
}

// abstractLost enqueues an abstraction for each user with a topic that is due, such as one that lost a memory.
func (w *sweepWorker) abstractLost(ctx context.Context, tx pgx.Tx) (int, error) {
	users, err := store.UsersWithTopicsDue(ctx, tx, sweepUsers)
	if err != nil {
		return 0, err
	}
	jobs := make([]river.InsertManyParams, len(users))
	for i, user := range users {
		jobs[i] = river.InsertManyParams{Args: AbstractArgs{UserID: user}}
	}
	return enqueueMany(ctx, tx, jobs)
}

// sleepers enqueues a deep reflection for each user whose night is due.
func (w *sweepWorker) sleepers(ctx context.Context, tx pgx.Tx) (int, error) {
	users, err := store.DueNights(ctx, tx, w.Now(), sweepUsers)
	if err != nil {
		return 0, err
	}
	jobs := make([]river.InsertManyParams, len(users))
	for i, user := range users {
		jobs[i] = river.InsertManyParams{Args: SleepArgs{UserID: user}}
	}
	return enqueueMany(ctx, tx, jobs)
}

// extractLost enqueues extractions of messages whose job was lost or given up.
func (w *sweepWorker) extractLost(ctx context.Context, tx pgx.Tx) (int, error) {
	sessions, err := store.LostMessages(ctx, tx, time.Now().Add(-sweepAge), sweepSessions)
	if err != nil {
		return 0, err
	}
	for _, s := range sessions {
		if err := enqueue(ctx, tx, ExtractArgs{UserID: s.UserID, SessionID: s.SessionID, Retry: s.Failed}); err != nil {
			return 0, err
		}
	}
	return len(sessions), nil
}

func (w *sweepWorker) eraseForgotten(ctx context.Context) (int, error) {
	return store.EraseForgotten(ctx, w.DB, time.Now().Add(-store.Restorable), sweepForgotten)
}

// finishErasures erases what transactions that began before an erasure have stored. It looks twice, because most of
// the transactions that are open at first are short.
func (w *sweepWorker) finishErasures(ctx context.Context) (finished int, err error) {
	users, err := store.ErasingUsers(ctx, w.DB, sweepErasing)
	for range 2 {
		var open []string
		for _, user := range users {
			left, failed := store.FinishErasures(ctx, w.DB, user)
			switch {
			case failed == nil && left.Open == 0:
				finished++
			case ctx.Err() != nil:
				return finished, failed
			default:
				open = append(open, user)
				err = errors.Join(err, failed)
			}
		}
		users = open
	}
	return finished, err
}

// recountTerms does nothing while the queue is long, because embedding blocks on the user whose
// terms are being counted.
func (w *sweepWorker) recountTerms(ctx context.Context) (int, error) {
	if long, err := store.EmbedQueueIsLong(ctx, w.DB, sweepLong); err != nil || long {
		return 0, err
	}
	return store.RecountTerms(ctx, w.DB, sweepCounted)
}

func (w *sweepWorker) noteEntities(ctx context.Context, tx pgx.Tx) (int, error) {
	return store.NoteOldEntities(ctx, tx, sweepNamed)
}

// deleteCompleted deletes the completed jobs of kinds that keep them shorter than River does.
func (w *sweepWorker) deleteCompleted(ctx context.Context) (deleted int, err error) {
	retentions := map[string]time.Duration{}
	for _, k := range Kinds() {
		if k.Retention < MaxRetention {
			retentions[k.Name] = k.Retention
		}
	}
	for range 20 {
		n, err := store.DeleteCompleted(ctx, w.DB, retentions, sweepCompleted)
		deleted += int(n)
		if err != nil || n < sweepCompleted {
			return deleted, err
		}
	}
	return deleted, nil
}

// enqueueMany inserts jobs in tx and returns the number of those that are not duplicates of live ones.
func enqueueMany(ctx context.Context, tx pgx.Tx, jobs []river.InsertManyParams) (added int, err error) {
	if len(jobs) == 0 {
		return 0, nil
	}
	results, err := river.ClientFromContext[pgx.Tx](ctx).InsertManyTx(ctx, tx, jobs)
	if err != nil {
		return 0, fmt.Errorf("enqueue jobs: %w", err)
	}
	for _, r := range results {
		if !r.UniqueSkippedAsDuplicate {
			added++
		}
	}
	return added, nil
}
