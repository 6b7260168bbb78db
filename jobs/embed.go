package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/internal/secrets"
	"github.com/oxbow-memory/oxbow/store"
)

// EmbedArgs identifies memories of one user. The trigger on oxbow.memories writes the same form.
type EmbedArgs struct {
	UserID string `json:"user_id"`
	IDs    string `json:"ids"` // at most 128, comma-separated
	// Imported memories are neither reconciled nor merged: what they replace or repeat is imported too.
	Imported bool `json:"imported,omitempty"`
	// Uploads reports whether a memory to reconcile is not text.
	Uploads bool `json:"uploads,omitempty"`
}

const embedIDs = 128

func (a EmbedArgs) valid() error {
	_, err := a.memories()
	return err
}

// Kind returns "embed".
func (EmbedArgs) Kind() string { return "embed" }

// InsertOpts returns the insert options of the kind.
func (a EmbedArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:      "computes vectors and search terms, merges repeated facts",
	Queue:     QueueEmbed,
	Embedder:  true,
	Retention: busyRetention,
	// The margin over the worker's own limit keeps River from giving a running job to another worker.
	Timeout: func(c Config) time.Duration { return newEmbedWorker(c).limit() + 10*time.Second },
}, func(c Config) worker[EmbedArgs] { return newEmbedWorker(c) })

// EmbedMemories returns the arguments for up to 128 memories of a user.
func EmbedMemories(userID string, ids []uuid.UUID) EmbedArgs {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = id.String()
	}
	return EmbedArgs{UserID: userID, IDs: strings.Join(names, ",")}
}

// memories parses the ids.
func (a EmbedArgs) memories() ([]uuid.UUID, error) {
	if a.UserID == "" || a.IDs == "" {
		return nil, fmt.Errorf("the arguments need a user and memories: user_id %q, ids %q", a.UserID, a.IDs)
	}
	parts := strings.Split(a.IDs, ",")
	ids := make([]uuid.UUID, len(parts))
	for i, part := range parts {
		id, err := uuid.Parse(part)
		if err != nil {
			return nil, fmt.Errorf("the id %q in the arguments is not a UUID", part)
		}
		ids[i] = id
	}
	return ids, nil
}

const (
	callBytes = 1 << 20
	// otherModelPause is how long a job waits if the worker is configured with another model.
	otherModelPause = time.Minute
	// maxAlonePause is the longest pause of a job at whose text the provider breaks.
	maxAlonePause = 10 * time.Minute
	// dbTime is the time allowed to a job besides its calls.
	dbTime = 20 * time.Second
)

// embedWorker computes the vectors and search terms of memories.
type embedWorker struct {
	Config
	together *coalescer[EmbedArgs]
}

func newEmbedWorker(c Config) *embedWorker {
	return &embedWorker{c, newCoalescer[EmbedArgs](c, c.CallTexts)}
}

// limit returns the time limit of a job: the last call begins within callTime and takes at most
// callTime.
func (w *embedWorker) limit() time.Duration { return 2*w.CallTime + dbTime }

func (w *embedWorker) model() store.EmbeddingModel { return store.ModelOf(w.Embedder) }

// memoriesOf returns the memories of a batch, and the job that each belongs to.
func memoriesOf(b *batch[EmbedArgs]) (refs []store.MemoryRef, jobs map[store.MemoryRef]*member[EmbedArgs]) {
	jobs = map[store.MemoryRef]*member[EmbedArgs]{}
	for _, job := range b.jobs {
		ids, _ := job.args.memories() // already validated
		for _, m := range store.Refs(job.args.UserID, ids) {
			refs = append(refs, m)
			jobs[m] = job
		}
	}
	return refs, jobs
}

// Work embeds the memories without a vector and indexes those without terms, for a job and for
// other waiting jobs. Terms are indexed even if the vectors fail, so that memories can be found by
// their words while the provider is down.
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
	memories, err := w.embeddables(ctx, refs)
	if err != nil {
		return err
	}
	memories = w.cut(ctx, b, memories)
	up := !w.Provider.Status().Down()
	made, err := w.embed(ctx, memories)
	if err == nil {
		failpoint.Reach(failpoint.EmbedComputed)
		err = w.write(ctx, b, memories, made)
	}
	if err == nil || ctx.Err() != nil || errors.Is(err, rivertype.ErrNotFound) {
		return err
	}
	memories = batchMemories(b, memories) // not those of jobs that were erased
	switch {
	case (store.IsDataError(err) || store.IsLockTimeout(err)) && len(b.jobs) > 1:
		return err
	case store.IsDataError(err) && len(memories) > 1:
		return w.split(ctx, b.jobs[0])
	}
	indexErr := w.together.inTx(ctx, b, func(tx pgx.Tx) error { return w.index(ctx, tx, b, memories) })
	if indexErr != nil {
		return indexErr
	}
	if down, ok := errors.AsType[*UnavailableError](err); ok && down.Broke {
		// One text may be the cause, and then the others must not meet it again. While the provider is down, only
		// this job runs alone next, so that few jobs do after a long time.
		b.alone = up
		if err := river.MetadataSet(ctx, aloneKey, true); err != nil {
			return err
		}
		if row := b.jobs[0].row; !coalesces(row) { // it ran alone, and should not meet every check of the provider
			down.RetryAfter = max(down.RetryAfter, min(minPause<<min(snoozes(row), 10), maxAlonePause))
		}
	}
	return w.postpone(ctx, err)
}

// embeddables returns the memories to embed, without those that contain a secret.
func (w *embedWorker) embeddables(ctx context.Context, refs []store.MemoryRef) ([]store.Embeddable, error) {
	memories, err := store.Embeddables(ctx, w.DB, refs, w.model().Model)
	if err != nil {
		return nil, err
	}
	return HideSecrets(ctx, w.DB, memories, func(m store.Embeddable) (store.MemoryRef, string) {
		return m.MemoryRef, m.Text + "\n" + m.Others
	})
}

// EmbedNow does for memories what their jobs would do, but completes and enqueues no job. The error is an
// *UnavailableError, a *store.ModelMismatchError or a database error.
func (c Config) EmbedNow(ctx context.Context, refs []store.MemoryRef) error {
	w := newEmbedWorker(c)
	memories, err := w.embeddables(ctx, refs)
	if err != nil {
		return err
	}
	made, err := w.embed(ctx, memories)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, c.DB, func(tx pgx.Tx) error {
		if err := w.save(ctx, tx, made); err != nil {
			return err
		}
		_, err := store.IndexMemories(ctx, tx, refs)
		return err
	})
}

// cut puts back the jobs whose texts do not fit into one call. The next batches are smaller, so that few long texts are
// read in vain.
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
			kept, _ := memoriesOf(b)
			w.together.room.Store(int64(len(kept)))
			return batchMemories(b, memories)
		}
	}
	w.together.room.Store(min(2*w.together.room.Load(), int64(w.together.most)))
	return memories
}

// batchMemories returns the memories that belong to the batch.
func batchMemories(b *batch[EmbedArgs], memories []store.Embeddable) []store.Embeddable {
	_, jobs := memoriesOf(b)
	return slices.DeleteFunc(slices.Clone(memories), func(m store.Embeddable) bool { return jobs[m.MemoryRef] == nil })
}

// errErased rolls back writes for jobs that were erased while they ran.
var errErased = errors.New("jobs were erased while they ran")

// write stores the results and completes the batch in one transaction. If jobs were erased
// meanwhile, it rolls back and writes the others again, so that an erased job leaves nothing
// behind.
func (w *embedWorker) write(ctx context.Context, b *batch[EmbedArgs], memories []store.Embeddable, made vectors) error {
	for len(b.jobs) > 0 {
		var completed map[int64]bool
		var events store.WeightEvents
		err := w.together.inTx(ctx, b, func(tx pgx.Tx) (err error) {
			if err := w.save(ctx, tx, made); err != nil {
				return err
			}
			if err := w.index(ctx, tx, b, memories); err != nil {
				return err
			}
			if events, err = store.CountWeightEvents(ctx, tx); err != nil {
				return err
			}
			failpoint.Reach(failpoint.EmbedWritten)
			if completed, err = completeAll(ctx, tx, b.ids()); err == nil && len(completed) < len(b.jobs) {
				err = errErased
			}
			return err
		})
		if err == nil {
			failpoint.Reach(failpoint.EmbedCommitted)
			b.end(b.jobs, nil)
			w.Observer.Embedded(len(made.memories), len(made.refused))
			w.Observer.Weighed(events)
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

// split replaces a job by two with half of its memories each, because PostgreSQL rejects data of
// one of them. Repeated splits isolate that memory, so that the others are embedded.
func (w *embedWorker) split(ctx context.Context, job *member[EmbedArgs]) error {
	return pgx.BeginFunc(ctx, w.DB, func(tx pgx.Tx) error {
		ids, err := job.args.memories()
		if err != nil {
			return err
		}
		for _, half := range [][]uuid.UUID{ids[:len(ids)/2], ids[len(ids)/2:]} {
			args := EmbedMemories(job.args.UserID, half)
			args.Imported = job.args.Imported
			if err := enqueue(ctx, tx, args); err != nil {
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

// vectors is the result of one call to the provider.
type vectors struct {
	memories []store.MemoryRef
	vectors  [][]float32
	refused  []refusal
}

// refusal is a memory whose text the provider refuses.
type refusal struct {
	store.MemoryRef
	reason string
}

// within returns the vectors and refusals of the batch's memories.
func (v vectors) within(b *batch[EmbedArgs]) vectors {
	_, jobs := memoriesOf(b)
	var kept vectors
	for i, m := range v.memories {
		if jobs[m] != nil {
			kept.memories, kept.vectors = append(kept.memories, m), append(kept.vectors, v.vectors[i])
		}
	}
	for _, m := range v.refused {
		if jobs[m.MemoryRef] != nil {
			kept.refused = append(kept.refused, m)
		}
	}
	return kept
}

// embed computes the missing vectors in calls of bounded size. It returns those of the last call.
// Earlier ones are already stored, so that a job that is interrupted makes progress.
func (w *embedWorker) embed(ctx context.Context, memories []store.Embeddable) (vectors, error) {
	if err := store.CheckModel(ctx, w.DB, w.model()); err != nil {
		return vectors{}, err
	}
	begun := time.Now()
	var last vectors
	for _, call := range w.calls(memories) {
		if err := w.keep(ctx, last); err != nil {
			return vectors{}, err
		}
		if time.Since(begun) > w.CallTime {
			return vectors{}, errOutOfTime
		}
		var err error
		if last, err = w.call(ctx, call); err != nil {
			return vectors{}, err
		}
	}
	return last, nil
}

// errOutOfTime ends a run that has no time left. The next run continues.
var errOutOfTime = errors.New("no time is left for calls to the provider")

// calls groups the memories without a vector into calls.
func (w *embedWorker) calls(memories []store.Embeddable) [][]store.Embeddable {
	var missing []store.Embeddable
	for _, m := range memories {
		if !m.HasVector {
			missing = append(missing, m)
		}
	}
	return Calls(missing, w.CallTexts, func(m store.Embeddable) int { return len(m.Text) })
}

// Calls groups texts into calls to a provider, each with at most most texts and at most 1 MiB. A
// longer text gets a separate call. bytes returns the length of a text.
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
	made, reasons, err := w.ask(ctx, texts)
	var result vectors
	for i, vector := range made {
		switch m := memories[i].MemoryRef; {
		case vector != nil:
			result.memories, result.vectors = append(result.memories, m), append(result.vectors, vector)
		case reasons[i] != "":
			result.refused = append(result.refused, refusal{m, reasons[i]})
		}
	}
	if err == nil && len(result.memories)+len(result.refused) < len(memories) {
		return vectors{}, cmp.Or(w.keep(ctx, result), errOutOfTime)
	}
	return result, err
}

// ask is vectorsInTime unless calls of the provider are paused.
func (w *embedWorker) ask(ctx context.Context, texts []string) (made [][]float32, reasons []string, err error) {
	err = w.Provider.call(ctx, w.CallTime, func(ctx context.Context) (err error) {
		made, reasons, err = vectorsInTime(ctx, w.Embedder, w.Embedder.Embed, texts)
		return err
	})
	return made, reasons, err
}

// keep saves the result of a call that is not the last.
func (w *embedWorker) keep(ctx context.Context, made vectors) error {
	if err := w.save(ctx, w.DB, made); err != nil {
		return err
	}
	w.Observer.Embedded(len(made.memories), len(made.refused))
	if len(made.memories) > 0 {
		failpoint.Reach(failpoint.EmbedSaved)
	}
	return nil
}

// save stores the vectors and refusals of a call.
func (w *embedWorker) save(ctx context.Context, db store.DB, made vectors) error {
	if len(made.memories) > 0 {
		if _, err := store.WriteVectors(ctx, db, w.model(), made.memories, made.vectors); err != nil {
			return err
		}
	}
	if len(made.refused) > 0 {
		w.Logger.WarnContext(ctx, "the provider refused texts; their memories can be found by their words only",
			"memories", len(made.refused), "reason", secrets.Mask(made.refused[0].reason))
	}
	for _, m := range made.refused {
		if err := store.RefuseVector(ctx, db, w.model().Model, m.MemoryRef, m.reason); err != nil {
			return err
		}
	}
	return nil
}

// index makes memories of the batch searchable by their words, and enqueues check_trigger for each user with a new one,
// reconcile for the facts that applications stored, and merge for imported memories.
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
	_, jobs := memoriesOf(b)
	var imported []uuid.UUID
	for _, m := range refs {
		if jobs[m].args.Imported {
			imported = append(imported, m.ID)
		}
	}
	fresh, err := store.IndexMemories(ctx, tx, refs, imported...)
	if err != nil || len(fresh) == 0 {
		return err
	}
	isFresh := map[uuid.UUID]bool{}
	for _, m := range fresh {
		isFresh[m.ID] = true
	}
	causes := map[string]*member[EmbedArgs]{} // by user
	for _, m := range refs {
		if isFresh[m.ID] && causes[m.UserID] == nil {
			causes[m.UserID] = jobs[m]
		}
	}
	var checks []river.InsertManyParams
	merging := map[*member[EmbedArgs]]bool{}
	for _, m := range refs {
		if job := jobs[m]; isFresh[m.ID] && job.args.Imported && !merging[job] {
			merging[job] = true
			checks = append(checks, river.InsertManyParams{
				Args: MergeArgs(job.args), InsertOpts: &river.InsertOpts{Metadata: job.metadata}})
		}
	}
	for _, user := range slices.Sorted(maps.Keys(causes)) { // the order in which check_trigger jobs are locked
		checks = append(checks, river.InsertManyParams{
			Args: CheckTriggerArgs{UserID: user}, InsertOpts: &river.InsertOpts{Metadata: causes[user].metadata}})
	}
	checks = append(checks, reconciliations(refs, fresh, jobs)...)
	_, err = enqueueMany(ctx, tx, checks)
	return err
}
