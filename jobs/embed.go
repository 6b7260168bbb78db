package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/store"
)

// EmbedArgs name memories of one user. The trigger on oxbow.memories writes them in this form.
type EmbedArgs struct {
	UserID string `json:"user_id"`
	IDs    string `json:"ids"` // at most 128, separated by commas
}

const embedIDs = 128

// Kind is "embed".
func (EmbedArgs) Kind() string { return "embed" }

// InsertOpts gives embed a queue of its own.
func (EmbedArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: QueueEmbed, MaxAttempts: 25}
}

// EmbedMemories are the arguments for up to 128 memories of a user.
func EmbedMemories(userID string, ids []uuid.UUID) EmbedArgs {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = id.String()
	}
	return EmbedArgs{UserID: userID, IDs: strings.Join(names, ",")}
}

// memories reads the ids.
func (a EmbedArgs) memories() ([]uuid.UUID, error) {
	if a.UserID == "" || a.IDs == "" {
		return nil, fmt.Errorf("the arguments name no user or no memory: user_id %q, ids %q", a.UserID, a.IDs)
	}
	parts := strings.Split(a.IDs, ",")
	ids := make([]uuid.UUID, len(parts))
	for i, part := range parts {
		id, err := uuid.Parse(part)
		if err != nil {
			return nil, fmt.Errorf("the arguments have %q among the ids, which is no UUID", part)
		}
		ids[i] = id
	}
	return ids, nil
}

const (
	callBytes = 1 << 20
	// otherModelPause is how long a job waits whose worker has the wrong model: until somebody restarts it.
	otherModelPause = time.Minute
	// dbTime is what a job may take besides its calls.
	dbTime = 20 * time.Second
)

// embedWorker gives memories their vectors and their search terms.
type embedWorker struct {
	river.WorkerDefaults[EmbedArgs]
	db        store.DB
	embedder  Embedder
	provider  *Provider
	callTime  time.Duration // limit of one call
	callTexts int           // texts in one call, at most
	log       *slog.Logger
	observer  Observer
}

// limit is what a job takes at most: no call begins after callTime, and the last one takes callTime.
func (w *embedWorker) limit() time.Duration { return 2*w.callTime + dbTime }

// Timeout is a little more than the job allows itself, because a job that exceeds it may be given to another worker.
func (w *embedWorker) Timeout(*river.Job[EmbedArgs]) time.Duration { return w.limit() + 10*time.Second }

func (w *embedWorker) model() store.EmbeddingModel {
	return store.EmbeddingModel{Model: w.embedder.Model(), Dimension: w.embedder.Dimension()}
}

// Work embeds the memories of a job that have no vector, and indexes those that have no terms. Whatever keeps the vectors
// away, the words are indexed at once: a memory can be found by them while its provider is down.
func (w *embedWorker) Work(ctx context.Context, job *river.Job[EmbedArgs]) error {
	ctx, cancel := context.WithTimeout(ctx, w.limit())
	defer cancel()
	ids, err := job.Args.memories()
	if err != nil {
		return river.JobCancel(err)
	}
	memories, err := store.Embeddables(ctx, w.db, job.Args.UserID, ids, w.model().Model)
	if err != nil {
		return err
	}
	made, err := w.embed(ctx, job.Args.UserID, memories)
	if err == nil {
		failpoint.Reach(failpoint.EmbedComputed)
		err = pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) error {
			if err := w.save(ctx, tx, job.Args.UserID, made); err != nil {
				return err
			}
			if err := w.index(ctx, tx, job.Args.UserID, memories); err != nil {
				return err
			}
			failpoint.Reach(failpoint.EmbedWritten)
			return complete(ctx, tx, job)
		})
	}
	if err == nil {
		failpoint.Reach(failpoint.EmbedCommitted)
		w.observer.Embedded(len(made.ids), len(made.refused))
	}
	switch {
	case err == nil || ctx.Err() != nil || errors.Is(err, rivertype.ErrNotFound):
		return err
	case len(ids) > 1 && store.IsDataError(err):
		return w.split(ctx, job, ids)
	}
	if err := pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) error { return w.index(ctx, tx, job.Args.UserID, memories) }); err != nil {
		return err
	}
	return w.postpone(ctx, err)
}

// split makes two jobs of one, because PostgreSQL does not accept something about one of its memories. The others are not
// to suffer from it: after some rounds it is alone.
func (w *embedWorker) split(ctx context.Context, job *river.Job[EmbedArgs], ids []uuid.UUID) error {
	return pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) error {
		for _, half := range [][]uuid.UUID{ids[:len(ids)/2], ids[len(ids)/2:]} {
			if err := enqueue(ctx, tx, EmbedMemories(job.Args.UserID, half)); err != nil {
				return err
			}
		}
		return complete(ctx, tx, job)
	})
}

// vectors is what one call of the provider brought.
type vectors struct {
	ids     []uuid.UUID
	vectors [][]float32
	refused []uuid.UUID
	reason  string // of the refusal
}

// embed makes the vectors that are missing, in calls of bounded size. It returns those of the last call; the earlier ones
// are stored already, so that a job which does not come to its end has come closer to it.
func (w *embedWorker) embed(ctx context.Context, userID string, memories []store.Embeddable) (vectors, error) {
	if err := store.CheckModel(ctx, w.db, w.model()); err != nil {
		return vectors{}, err
	}
	begun := time.Now()
	var last vectors
	for _, call := range w.calls(memories) {
		if err := w.save(ctx, w.db, userID, last); err != nil {
			return vectors{}, err
		}
		w.observer.Embedded(len(last.ids), len(last.refused))
		if len(last.ids) > 0 {
			failpoint.Reach(failpoint.EmbedSaved)
		}
		if time.Since(begun) > w.callTime {
			return vectors{}, errOutOfTime
		}
		var err error
		if last, err = w.call(ctx, call); err != nil {
			return vectors{}, err
		}
	}
	return last, nil
}

// errOutOfTime: the rest is for the job's next run.
var errOutOfTime = errors.New("the provider is slow")

// calls divides the memories without a vector.
func (w *embedWorker) calls(memories []store.Embeddable) [][]store.Embeddable {
	var missing []store.Embeddable
	for _, m := range memories {
		if !m.HasVector {
			missing = append(missing, m)
		}
	}
	return Calls(missing, w.callTexts, func(m store.Embeddable) int { return len(m.Text) })
}

// Calls divides texts, or what has one, into calls of a provider: at most so many texts in one, and no more than 1 MiB, so
// that it stays within its time; a longer text goes alone. bytes is the length of a text.
func Calls[T any](texts []T, most int, bytes func(T) int) [][]T {
	var calls [][]T
	var call []T
	sum := 0
	for _, text := range texts {
		size := bytes(text)
		if len(call) == most || (len(call) > 0 && sum+size > callBytes) {
			calls, call, sum = append(calls, call), nil, 0
		}
		call, sum = append(call, text), sum+size
	}
	if len(call) > 0 {
		calls = append(calls, call)
	}
	return calls
}

func (w *embedWorker) call(ctx context.Context, memories []store.Embeddable) (vectors, error) {
	texts := make([]string, len(memories))
	for i, m := range memories {
		texts[i] = m.Text
	}
	var made [][]float32
	err := w.provider.call(ctx, w.callTime, func(ctx context.Context) (err error) {
		made, err = w.embedder.Embed(ctx, texts)
		return err
	})
	var result vectors
	refused := map[int]bool{}
	var refusal *RefusedError
	if errors.As(err, &refusal) {
		result.reason = refusal.Error()
		for _, i := range refusal.Texts {
			refused[i] = true
		}
		err = nil
	}
	if err != nil {
		return vectors{}, err
	}
	if len(made) != len(texts) {
		return vectors{}, fmt.Errorf("%s made %d vectors of %d texts", w.embedder.Model(), len(made), len(texts))
	}
	for i, m := range memories {
		if refused[i] {
			result.refused = append(result.refused, m.ID)
			continue
		}
		result.ids, result.vectors = append(result.ids, m.ID), append(result.vectors, made[i])
	}
	return result, nil
}

// save stores what a call brought.
func (w *embedWorker) save(ctx context.Context, db store.DB, userID string, made vectors) error {
	if len(made.ids) > 0 {
		if _, err := store.WriteVectors(ctx, db, userID, w.model(), made.ids, made.vectors); err != nil {
			return err
		}
	}
	if len(made.refused) > 0 {
		w.log.WarnContext(ctx, "the provider refuses texts; their memories can be found by their words only",
			"memories", len(made.refused), "reason", made.reason)
		return store.RefuseVectors(ctx, db, userID, w.model().Model, made.refused, made.reason)
	}
	return nil
}

// index makes memories searchable by their words, and asks what follows from those that are new.
func (w *embedWorker) index(ctx context.Context, tx pgx.Tx, userID string, memories []store.Embeddable) error {
	var ids []uuid.UUID
	for _, m := range memories {
		if !m.HasTerms {
			ids = append(ids, m.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	fresh, err := store.IndexMemories(ctx, tx, userID, ids)
	if err != nil || fresh == 0 {
		return err
	}
	return enqueue(ctx, tx, CheckTriggerArgs{UserID: userID})
}

// postpone decides when a job that could not make its vectors is tried again. What is nobody's fault among the memories
// counts as no attempt.
func (w *embedWorker) postpone(ctx context.Context, err error) error {
	var down *UnavailableError
	var mismatch *store.ModelMismatchError
	switch {
	case errors.Is(err, errOutOfTime):
		return river.JobSnooze(0)
	case errors.As(err, &down):
		if !errors.As(err, new(pausedError)) { // those that did not even ask have nothing to tell
			w.log.WarnContext(ctx, "the embedding provider is not available", "error", down.Err, "pause", down.RetryAfter.String())
		}
		return river.JobSnooze(spread(down.RetryAfter))
	case errors.As(err, &mismatch):
		w.log.ErrorContext(ctx, "embedding stands still", "error", mismatch)
		return river.JobSnooze(spread(otherModelPause))
	}
	return err
}

// spread adds up to a tenth, so that what waited together does not come back all at once.
func spread(d time.Duration) time.Duration {
	return d + rand.N(d/10+time.Millisecond)
}
