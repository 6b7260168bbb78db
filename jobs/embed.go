package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
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

// embedWeight is how many memories a job has.
const embedWeight = `coalesce(cardinality(string_to_array(args ->> 'ids', ',')), 1)`

func (a EmbedArgs) valid() error {
	_, err := a.memories()
	return err
}

// Kind is "embed".
func (EmbedArgs) Kind() string { return "embed" }

// InsertOpts are those of the kind.
func (a EmbedArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:     "makes vectors and search terms of memories, folds repeated facts",
	Queue:    QueueEmbed,
	Embedder: true,
	// A little more than the job allows itself, because a job that exceeds it may be given to another worker.
	Timeout: func(c Config) time.Duration { return newEmbedWorker(c).limit() + 10*time.Second },
}, func(c Config) river.Worker[EmbedArgs] {
	return newEmbedWorker(c)
})

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
	together  *coalescer[EmbedArgs]
}

// limit is what a job takes at most: no call begins after callTime, and the last one takes callTime.
func (w *embedWorker) limit() time.Duration { return 2*w.callTime + dbTime }

func (w *embedWorker) model() store.EmbeddingModel {
	return store.EmbeddingModel{Model: w.embedder.Model(), Dimension: w.embedder.Dimension()}
}

// memoriesOf returns the memories of a batch, and the job that each is of.
func memoriesOf(b *batch[EmbedArgs]) (refs []store.MemoryRef, jobs map[store.MemoryRef]*member[EmbedArgs]) {
	jobs = map[store.MemoryRef]*member[EmbedArgs]{}
	for _, job := range b.jobs {
		ids, _ := job.args.memories() // valid
		for _, m := range store.Refs(job.args.UserID, ids) {
			refs = append(refs, m)
			jobs[m] = job
		}
	}
	return refs, jobs
}

// Work embeds the memories of a job, and of others that wait, that have no vector, and indexes
// those that have no terms. Whatever keeps the vectors away, the words are indexed at once: a
// memory can be found by them while its provider is down.
func (w *embedWorker) Work(ctx context.Context, job *river.Job[EmbedArgs]) error {
	ctx, cancel := context.WithTimeout(ctx, w.limit())
	defer cancel()
	ids, err := job.Args.memories()
	if err != nil {
		return river.JobCancel(err)
	}
	return w.together.work(ctx, job, len(ids), w.embedAll)
}

// embedAll embeds the memories of a batch and completes its jobs.
func (w *embedWorker) embedAll(ctx context.Context, b *batch[EmbedArgs]) error {
	refs, _ := memoriesOf(b)
	memories, err := store.Embeddables(ctx, w.db, refs, w.model().Model)
	if err != nil {
		return err
	}
	memories = w.cut(ctx, b, memories)
	made, err := w.embed(ctx, memories)
	if err == nil {
		failpoint.Reach(failpoint.EmbedComputed)
		err = w.write(ctx, b, memories, made)
	}
	switch {
	case err == nil || ctx.Err() != nil || errors.Is(err, rivertype.ErrNotFound):
		return err
	case store.IsDataError(err) && len(b.jobs) > 1:
		return err
	case store.IsDataError(err) && len(refs) > 1:
		return w.split(ctx, b.jobs[0])
	}
	_, indexErr := pastDeadlocks(func() (int, error) {
		return 0, pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) error { return w.index(ctx, tx, b, memories) })
	})
	if indexErr != nil {
		return indexErr
	}
	return w.postpone(ctx, err)
}

// cut puts back the jobs whose texts do not fit into the call.
func (w *embedWorker) cut(ctx context.Context, b *batch[EmbedArgs], memories []store.Embeddable) []store.Embeddable {
	_, jobs := memoriesOf(b)
	size := map[*member[EmbedArgs]]int{}
	for _, m := range memories {
		size[jobs[m.MemoryRef]] += len(m.Text)
	}
	sum := 0
	for i, job := range b.jobs {
		if sum += size[job]; i > 0 && sum > callBytes {
			w.together.release(ctx, b, b.jobs[i:], river.JobSnooze(0), 0, false)
			return batchMemories(b, memories)
		}
	}
	return memories
}

// batchMemories returns those of the memories that are the batch's.
func batchMemories(b *batch[EmbedArgs], memories []store.Embeddable) []store.Embeddable {
	_, jobs := memoriesOf(b)
	return slices.DeleteFunc(slices.Clone(memories), func(m store.Embeddable) bool { return jobs[m.MemoryRef] == nil })
}

// errErased rolls back what was written for jobs that were erased meanwhile.
var errErased = errors.New("jobs were erased while they ran")

// write stores what was made and completes the batch, in one transaction. A job that was erased
// meanwhile leaves nothing behind: without it the others are written anew.
func (w *embedWorker) write(ctx context.Context, b *batch[EmbedArgs], memories []store.Embeddable, made vectors) error {
	for len(b.jobs) > 0 {
		var completed map[int64]bool
		_, err := pastDeadlocks(func() (int, error) {
			return 0, pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) (err error) {
				if err := w.save(ctx, tx, made); err != nil {
					return err
				}
				if err := w.index(ctx, tx, b, memories); err != nil {
					return err
				}
				failpoint.Reach(failpoint.EmbedWritten)
				if completed, err = completeAll(ctx, tx, b.ids()); err == nil && len(completed) < len(b.jobs) {
					err = errErased
				}
				return err
			})
		})
		if err == nil {
			failpoint.Reach(failpoint.EmbedCommitted)
			b.end(b.jobs, nil)
			w.observer.Embedded(len(made.memories), len(made.refused))
			return nil
		}
		if !errors.Is(err, errErased) {
			return err
		}
		b.endErased(completed)
		memories, made = batchMemories(b, memories), made.within(b)
	}
	return rivertype.ErrNotFound
}

// split makes two jobs of one, because PostgreSQL does not accept something about one of its
// memories. The others are not to suffer from it: after some rounds it is alone.
func (w *embedWorker) split(ctx context.Context, job *member[EmbedArgs]) error {
	return pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) error {
		ids, err := job.args.memories()
		if err != nil {
			return err
		}
		for _, half := range [][]uuid.UUID{ids[:len(ids)/2], ids[len(ids)/2:]} {
			if err := enqueue(ctx, tx, EmbedMemories(job.args.UserID, half)); err != nil {
				return err
			}
		}
		completed, err := completeAll(ctx, tx, []int64{job.row.ID})
		if err == nil && len(completed) == 0 {
			err = rivertype.ErrNotFound
		}
		return err
	})
}

// vectors is what one call of the provider brought.
type vectors struct {
	memories []store.MemoryRef
	vectors  [][]float32
	refused  []store.MemoryRef
	reason   string // of the refusal
}

// within returns the vectors of the batch's memories.
func (v vectors) within(b *batch[EmbedArgs]) vectors {
	_, jobs := memoriesOf(b)
	kept := vectors{reason: v.reason}
	for i, m := range v.memories {
		if jobs[m] != nil {
			kept.memories, kept.vectors = append(kept.memories, m), append(kept.vectors, v.vectors[i])
		}
	}
	for _, m := range v.refused {
		if jobs[m] != nil {
			kept.refused = append(kept.refused, m)
		}
	}
	return kept
}

// embed makes the vectors that are missing, in calls of bounded size. It returns those of the last
// call; the earlier ones are stored already, so that a job which does not come to its end has come
// closer to it.
func (w *embedWorker) embed(ctx context.Context, memories []store.Embeddable) (vectors, error) {
	if err := store.CheckModel(ctx, w.db, w.model()); err != nil {
		return vectors{}, err
	}
	begun := time.Now()
	var last vectors
	for _, call := range w.calls(memories) {
		if err := w.save(ctx, w.db, last); err != nil {
			return vectors{}, err
		}
		w.observer.Embedded(len(last.memories), len(last.refused))
		if len(last.memories) > 0 {
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

// Calls divides texts, or what has one, into calls of a provider: at most so many texts in one, and
// no more than 1 MiB, so that it stays within its time; a longer text goes alone. bytes is the
// length of a text.
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
			result.refused = append(result.refused, m.MemoryRef)
			continue
		}
		result.memories, result.vectors = append(result.memories, m.MemoryRef), append(result.vectors, made[i])
	}
	return result, nil
}

// save stores what a call brought.
func (w *embedWorker) save(ctx context.Context, db store.DB, made vectors) error {
	if len(made.memories) > 0 {
		if _, err := store.WriteVectors(ctx, db, w.model(), made.memories, made.vectors); err != nil {
			return err
		}
	}
	if len(made.refused) > 0 {
		w.log.WarnContext(ctx, "the provider refuses texts; their memories can be found by their words only",
			"memories", len(made.refused), "reason", made.reason)
		return store.RefuseVectors(ctx, db, w.model().Model, made.refused, made.reason)
	}
	return nil
}

// index makes memories of the batch searchable by their words, and asks for each user of a new one whether to reflect.
func (w *embedWorker) index(ctx context.Context, tx pgx.Tx, b *batch[EmbedArgs], memories []store.Embeddable) error {
	var refs []store.MemoryRef
	for _, m := range memories {
		if !m.HasTerms {
			refs = append(refs, m.MemoryRef)
		}
	}
	if len(refs) == 0 {
		return nil
	}
	fresh, err := store.IndexMemories(ctx, tx, refs)
	if err != nil || len(fresh) == 0 {
		return err
	}
	isFresh := map[uuid.UUID]bool{}
	for _, id := range fresh {
		isFresh[id] = true
	}
	_, jobs := memoriesOf(b)
	causes := map[string]*member[EmbedArgs]{} // by user
	for _, m := range refs {
		if isFresh[m.ID] && causes[m.UserID] == nil {
			causes[m.UserID] = jobs[m]
		}
	}
	var checks []river.InsertManyParams
	for _, user := range slices.Sorted(maps.Keys(causes)) { // the order in which check_trigger jobs are locked
		checks = append(checks, river.InsertManyParams{
			Args: CheckTriggerArgs{UserID: user}, InsertOpts: &river.InsertOpts{Metadata: causes[user].metadata}})
	}
	_, err = river.ClientFromContext[pgx.Tx](ctx).InsertManyTx(ctx, tx, checks)
	return err
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
