package jobs

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/store"
)

// ReconcileArgs identifies facts of one user that an application stored, and images, recordings and files, at most 128.
type ReconcileArgs EmbedArgs

// Kind returns "reconcile".
func (ReconcileArgs) Kind() string { return "reconcile" }

// InsertOpts returns the insert options of the kind.
func (a ReconcileArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does: "compares facts that an application stored with the current ones, which they may replace or repeat; " +
		"attaches images, recordings and files to the memories that they belong to",
	Queue:     QueueExtract,
	Reasoner:  true,
	Retention: busyRetention,
	Timeout:   reasonerTimeout,
}, func(c Config) worker[ReconcileArgs] { return &reconcileWorker{c.Extraction()} })

// reconcileWorker decides about facts that an application stored. The rules read what each fact is about, which
// nominates the facts that it may replace or repeat, as similar vectors do for a language model; the extractor decides.
type reconcileWorker struct{ *Extraction }

// Work reconciles the facts of a job that are still current. Other writes of the user do not disturb it: without the
// network it decides again under the lock, otherwise it starts again.
func (w *reconcileWorker) Work(ctx context.Context, job *river.Job[ReconcileArgs]) error {
	ids, err := EmbedArgs(job.Args).memories()
	if err != nil {
		return river.JobCancel(err)
	}
	err = retried(rereadings, stale, func() error { return w.reconcile(ctx, job, ids) })
	if stale(err) {
		return overtaken(job.JobRow, err)
	}
	if errors.As(err, new(*reasoner.AnswerError)) && len(ids) > 1 {
		return w.halve(ctx, job, ids)
	}
	return w.postpone(ctx, err)
}

func (w *reconcileWorker) reconcile(ctx context.Context, job *river.Job[ReconcileArgs], ids []uuid.UUID) error {
	userID := job.Args.UserID
	if job.Args.Uploads {
		if err := w.attach(ctx, userID, ids); err != nil {
			return err
		}
	}
	facts, err := store.FactsToReconcile(ctx, w.DB, userID, ids)
	if err != nil {
		return err
	}
	if len(facts) == 0 {
		return completing(ctx, w.DB, job, func(pgx.Tx) error { return nil })
	}
	person, err := store.ReadPerson(ctx, w.DB, userID)
	if err != nil {
		return err
	}
	e := w.read(facts, userID, w.Now().In(person.Zone))
	if !w.Offline { // a model also decides about facts in other words
		if e.vectors, err = store.FactVectors(ctx, w.DB, userID, e.ids); err != nil {
			return err
		}
	}
	err = w.resolve(ctx, w.DB, e, func(ask func(context.Context) error) error {
		return w.call(ctx, userID, uuid.Nil, job.ID, ask)
	})
	if err != nil {
		return err
	}
	failpoint.Reach(failpoint.ReconcileDecided)
	var events store.WeightEvents
	err = completing(ctx, w.DB, job, func(tx pgx.Tx) error {
		others, err := store.LockReconciliation(ctx, tx, userID, facts[0].Number)
		switch {
		case err != nil || !others:
		case w.Offline:
			err = w.resolve(ctx, tx, e, func(ask func(context.Context) error) error { return ask(ctx) })
		default:
			err = w.lookAgain(ctx, tx, e)
		}
		if err != nil {
			return err
		}
		did, err := store.WriteReconciliation(ctx, tx, userID, e.Actor, e.Memories)
		if err == nil {
			failpoint.Reach(failpoint.ReconcileWritten)
			w.Logger.DebugContext(ctx, "reconciled", "facts", len(facts), "did", did)
			events, err = store.CountWeightEvents(ctx, tx)
		}
		return err
	})
	failpoint.Reach(failpoint.ReconcileCommitted)
	if err == nil {
		w.Observer.Weighed(events)
	}
	return err
}

// halve replaces a job with two, because an answer about many facts may be unusable or take too long.
func (w *reconcileWorker) halve(ctx context.Context, job *river.Job[ReconcileArgs], ids []uuid.UUID) error {
	return completing(ctx, w.DB, job, func(tx pgx.Tx) error {
		for half := range slices.Chunk(ids, (len(ids)+1)/2) {
			args := job.Args
			args.IDs = EmbedMemories(args.UserID, half).IDs
			if err := enqueue(ctx, tx, args); err != nil {
				return err
			}
		}
		return nil
	})
}

// attach folds images, recordings and files into the memories that they belong to. They are then no longer current, so
// a repetition changes nothing.
func (w *reconcileWorker) attach(ctx context.Context, userID string, ids []uuid.UUID) error {
	var events store.WeightEvents
	err := pgx.BeginFunc(ctx, w.DB, func(tx pgx.Tx) error {
		attached, err := store.AttachUploads(ctx, tx, userID, ids, "system")
		if err == nil && attached > 0 {
			w.Logger.DebugContext(ctx, "attached uploads", "number", attached)
			events, err = store.CountWeightEvents(ctx, tx)
		}
		return err
	})
	if err == nil {
		w.Observer.Weighed(events)
	}
	return err
}

// read turns stored facts into candidates.
func (w *reconcileWorker) read(facts []store.StoredFact, userID string, now time.Time) *extraction {
	e := &extraction{now: now, stored: true}
	e.Session.UserID, e.Actor = userID, w.Extractor.Name()
	for _, f := range facts {
		c := w.Facts.Fact(f.Content, cmp.Or(f.Speaker, reasoner.NameOf(userID)))
		c.Speaker, c.Time = f.Speaker, f.At
		if f.Category != "" {
			c.Category = f.Category
		}
		e.candidates, e.ids = append(e.candidates, c), append(e.ids, f.ID)
	}
	e.vectors = make([][]float32, len(facts))
	return e
}

// reconciliations returns the jobs for the facts that applications stored, among newly indexed memories of embed jobs,
// in the order of users.
func reconciliations(refs []store.MemoryRef, fresh []store.Indexed,
	jobs map[store.MemoryRef]*member[EmbedArgs]) (params []river.InsertManyParams) {
	stored, uploads := map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	for _, m := range fresh {
		stored[m.ID], uploads[m.ID] = m.Stored, m.Upload
	}
	facts := map[string][]store.MemoryRef{}
	for _, m := range refs {
		if stored[m.ID] && !jobs[m].args.Imported {
			facts[m.UserID] = append(facts[m.UserID], m)
		}
	}
	for _, user := range slices.Sorted(maps.Keys(facts)) {
		for some := range slices.Chunk(facts[user], embedIDs) {
			ids := make([]uuid.UUID, len(some))
			upload := false
			for i, m := range some {
				ids[i] = m.ID
				upload = upload || uploads[m.ID]
			}
			args := ReconcileArgs(EmbedMemories(user, ids))
			args.Uploads = upload
			params = append(params, river.InsertManyParams{Args: args,
				InsertOpts: &river.InsertOpts{Metadata: jobs[some[0]].metadata}})
		}
	}
	return params
}
