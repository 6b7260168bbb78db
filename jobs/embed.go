package jobs

import (
	"context"
	"encoding/json"
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

// embedJob is one of the jobs that are worked together.
type embedJob struct {
	row      *rivertype.JobRow
	memories []store.MemoryRef
	metadata []byte // of the jobs that it causes
	end      func(error)
}

func newEmbedJob(row *rivertype.JobRow, args EmbedArgs) (*embedJob, error) {
	ids, err := args.memories()
	return &embedJob{row: row, memories: store.Refs(args.UserID, ids), end: func(error) {}}, err
}

// embedBatch is the jobs that are worked together, until each has ended.
type embedBatch struct{ jobs []*embedJob }

// end takes jobs out of the batch that ended with err.
func (b *embedBatch) end(jobs []*embedJob, err error) (ids []int64) {
	for _, job := range jobs {
		job.end(err)
		ids = append(ids, job.row.ID)
	}
	b.jobs = slices.DeleteFunc(slices.Clone(b.jobs), func(job *embedJob) bool { return slices.Contains(jobs, job) })
	return ids
}

// memories are those of the batch, with the job that each is of.
func (b *embedBatch) memories() (refs []store.MemoryRef, jobs map[store.MemoryRef]*embedJob) {
	jobs = map[store.MemoryRef]*embedJob{}
	for _, job := range b.jobs {
		refs = append(refs, job.memories...)
		for _, m := range job.memories {
			jobs[m] = job
		}
	}
	return refs, jobs
}

// errAlone ends a job that was worked together with others and runs alone from now on.
var errAlone = errors.New("failed together with other jobs and runs alone next")

// Work embeds the memories of a job, and of others that wait, that have no vector, and indexes those that have no terms. Whatever
// keeps the vectors away, the words are indexed at once: a memory can be found by them while its provider is down.
func (w *embedWorker) Work(ctx context.Context, job *river.Job[EmbedArgs]) (err error) {
	ctx, cancel := context.WithTimeout(ctx, w.limit())
	defer cancel()
	own, err := newEmbedJob(job.JobRow, job.Args)
	if err != nil {
		return river.JobCancel(err)
	}
	batch := &embedBatch{append([]*embedJob{own}, w.gather(ctx, own)...)}
	if len(batch.jobs) == 1 {
		return w.embedAll(ctx, batch)
	}
	outcome, pause, alone := river.JobSnooze(0), time.Duration(0), true
	others := func() []*embedJob {
		return slices.DeleteFunc(slices.Clone(batch.jobs), func(job *embedJob) bool { return job == own })
	}
	defer func() { w.release(ctx, batch, others(), outcome, pause, alone) }() // also if it panics
	err = w.embedAll(ctx, batch)
	snoozed, isSnooze := errors.AsType[*rivertype.JobSnoozeError](err)
	switch {
	case err == nil || errors.Is(err, rivertype.ErrNotFound):
		return err
	case isSnooze:
		outcome, pause, alone = err, snoozed.Duration, false
		return err
	case errors.Is(ctx.Err(), context.Canceled): // the worker stops
		alone = false
		return err
	}
	w.log.WarnContext(ctx, "jobs that were embedded together are tried one by one", "jobs", len(batch.jobs), "error", err)
	w.release(ctx, batch, others(), outcome, pause, alone)
	if ctx.Err() != nil {
		return errAlone // err may be about the memories of others
	}
	return w.embedAll(ctx, batch)
}

// gather takes jobs that wait, as many as fit into one call together with a job. Where that fails the job runs by itself.
func (w *embedWorker) gather(ctx context.Context, own *embedJob) []*embedJob {
	room := w.callTexts - len(own.memories)
	if room <= 0 || !coalesces(own.row) {
		return nil
	}
	rows, err := take(ctx, w.db, own.row, embedWeight, room)
	if err != nil {
		w.log.WarnContext(ctx, "an embed job runs without others", "error", err)
		return nil
	}
	var others []*embedJob
	var unreadable []int64
	for _, row := range rows {
		var args EmbedArgs
		if err = json.Unmarshal(row.EncodedArgs, &args); err == nil {
			var job *embedJob
			if job, err = newEmbedJob(row, args); err == nil {
				job.metadata, job.end = w.observer.Joined(ctx, row)
				others = append(others, job)
				continue
			}
		}
		unreadable = append(unreadable, row.ID) // it is cancelled when it runs alone
	}
	w.putBack(ctx, unreadable, 0, true)
	return others
}

// embedWeight is how many memories a job has.
const embedWeight = `coalesce(cardinality(string_to_array(args ->> 'ids', ',')), 1)`

// release puts jobs of the batch back, which ended with err.
func (w *embedWorker) release(ctx context.Context, batch *embedBatch, jobs []*embedJob, err error, pause time.Duration, alone bool) {
	w.putBack(ctx, batch.end(jobs, err), pause, alone)
}

func (w *embedWorker) putBack(ctx context.Context, ids []int64, pause time.Duration, alone bool) {
	if err := putBack(ctx, w.db, ids, pause, alone); err != nil {
		w.log.WarnContext(ctx, "embed jobs wait until they are rescued", "jobs", len(ids), "error", err)
	}
}

// embedAll embeds the memories of a batch and completes its jobs. An error is that of all jobs that are left in it.
func (w *embedWorker) embedAll(ctx context.Context, batch *embedBatch) error {
	refs, _ := batch.memories()
	memories, err := store.Embeddables(ctx, w.db, refs, w.model().Model)
	if err != nil {
		return err
	}
	memories = w.cut(ctx, batch, memories)
	made, err := w.embed(ctx, memories)
	if err == nil {
		failpoint.Reach(failpoint.EmbedComputed)
		err = w.write(ctx, batch, memories, made)
	}
	switch {
	case err == nil || ctx.Err() != nil || errors.Is(err, rivertype.ErrNotFound):
		return err
	case store.IsDataError(err) && len(batch.jobs) > 1:
		return err
	case store.IsDataError(err) && len(batch.jobs[0].memories) > 1:
		return w.split(ctx, batch.jobs[0])
	}
	_, indexErr := pastDeadlocks(func() (int, error) {
		return 0, pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) error { return w.index(ctx, tx, batch, memories) })
	})
	if indexErr != nil {
		return indexErr
	}
	return w.postpone(ctx, err)
}

// cut puts back the jobs whose texts do not fit into the call.
func (w *embedWorker) cut(ctx context.Context, batch *embedBatch, memories []store.Embeddable) []store.Embeddable {
	size := map[store.MemoryRef]int{}
	for _, m := range memories {
		size[m.MemoryRef] = len(m.Text)
	}
	sum := 0
	for i, job := range batch.jobs {
		for _, m := range job.memories {
			sum += size[m]
		}
		if i > 0 && sum > callBytes {
			w.release(ctx, batch, batch.jobs[i:], river.JobSnooze(0), 0, false)
			return batch.of(memories)
		}
	}
	return memories
}

// of returns those of the memories that are the batch's.
func (b *embedBatch) of(memories []store.Embeddable) []store.Embeddable {
	_, jobs := b.memories()
	return slices.DeleteFunc(slices.Clone(memories), func(m store.Embeddable) bool { return jobs[m.MemoryRef] == nil })
}

// errErased rolls back what was written for jobs that were erased meanwhile.
var errErased = errors.New("jobs were erased while they ran")

// write stores what was made and completes the batch, in one transaction. A job that was erased meanwhile leaves nothing behind:
// without it the others are written anew.
func (w *embedWorker) write(ctx context.Context, batch *embedBatch, memories []store.Embeddable, made vectors) error {
	for len(batch.jobs) > 0 {
		var completed map[int64]bool
		_, err := pastDeadlocks(func() (int, error) {
			return 0, pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) (err error) {
				if err := w.save(ctx, tx, made); err != nil {
					return err
				}
				if err := w.index(ctx, tx, batch, memories); err != nil {
					return err
				}
				failpoint.Reach(failpoint.EmbedWritten)
				if completed, err = completeAll(ctx, tx, batch.ids()); err == nil && len(completed) < len(batch.jobs) {
					err = errErased
				}
				return err
			})
		})
		if err == nil {
			failpoint.Reach(failpoint.EmbedCommitted)
			batch.end(batch.jobs, nil)
			w.observer.Embedded(len(made.memories), len(made.refused))
			return nil
		}
		if !errors.Is(err, errErased) {
			return err
		}
		batch.end(slices.DeleteFunc(slices.Clone(batch.jobs), func(job *embedJob) bool { return completed[job.row.ID] }), rivertype.ErrNotFound)
		memories, made = batch.of(memories), made.of(batch)
	}
	return rivertype.ErrNotFound
}

func (b *embedBatch) ids() []int64 {
	ids := make([]int64, len(b.jobs))
	for i, job := range b.jobs {
		ids[i] = job.row.ID
	}
	return ids
}

// split makes two jobs of one, because PostgreSQL does not accept something about one of its memories. The others are not
// to suffer from it: after some rounds it is alone.
func (w *embedWorker) split(ctx context.Context, job *embedJob) error {
	return pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) error {
		n := len(job.memories) / 2
		for _, half := range [][]store.MemoryRef{job.memories[:n], job.memories[n:]} {
			ids := make([]uuid.UUID, len(half))
			for i, m := range half {
				ids[i] = m.ID
			}
			if err := enqueue(ctx, tx, EmbedMemories(half[0].UserID, ids)); err != nil {
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

// of returns the vectors of a batch's memories.
func (v vectors) of(batch *embedBatch) vectors {
	_, jobs := batch.memories()
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

// embed makes the vectors that are missing, in calls of bounded size. It returns those of the last call; the earlier ones
// are stored already, so that a job which does not come to its end has come closer to it.
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
func (w *embedWorker) index(ctx context.Context, tx pgx.Tx, batch *embedBatch, memories []store.Embeddable) error {
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
	_, jobs := batch.memories()
	causes := map[string]*embedJob{} // by user
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
