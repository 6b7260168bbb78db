package jobs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/secrets"
	"github.com/oxbow-memory/oxbow/store"
)

// MergeArgs identifies new memories of one user, at most 128. Of imported ones the job only stores the gists, by which
// later repetitions find them.
type MergeArgs EmbedArgs

// Kind returns "merge".
func (MergeArgs) Kind() string { return "merge" }

// InsertOpts returns the insert options of the kind.
func (a MergeArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:      "makes one memory of those that say the same, and of repetitions of an event",
	Queue:     QueueExtract,
	Reasoner:  true,
	Retention: busyRetention,
	Timeout:   reasonerTimeout,
}, func(c Config) worker[MergeArgs] { return &mergeWorker{c} })

// nearMemories is the number of similar memories, including itself, that a new memory is compared with.
const nearMemories = 40

// merges returns the jobs for new memories, in the order of users.
func merges(fresh []store.UserMemories) (all []MergeArgs) {
	for _, u := range fresh {
		for ids := range slices.Chunk(u.IDs, embedIDs) {
			all = append(all, MergeArgs(EmbedMemories(u.UserID, ids)))
		}
	}
	return all
}

// mergeWorker compares new memories with those most like them. Similarity nominates, the merger decides.
type mergeWorker struct{ Config }

// Work merges the memories of a job that are still current. It gives way to embedding and extraction, as reflection
// does.
func (w *mergeWorker) Work(ctx context.Context, job *river.Job[MergeArgs]) error {
	if busy, err := givesWay(ctx, w.DB, job.JobRow, job.Args.UserID); err != nil || busy {
		return cmp.Or(err, river.JobSnooze(busyPause))
	}
	ids, err := EmbedArgs(job.Args).memories()
	if err != nil {
		return river.JobCancel(err)
	}
	err = retried(rereadings, stale, func() error { return w.merge(ctx, job, ids) })
	if stale(err) {
		return overtaken(job.JobRow, err)
	}
	return w.postpone(ctx, err)
}

func (w *mergeWorker) merge(ctx context.Context, job *river.Job[MergeArgs], ids []uuid.UUID) error {
	userID := job.Args.UserID
	person, err := store.ReadPerson(ctx, w.DB, userID)
	if err != nil {
		return err
	}
	near, err := w.near(ctx, job.Args, ids, person.Zone)
	if err != nil {
		return err
	}
	if !w.Offline { // some may not have been looked at since the list of secrets grew
		near, err = HideSecrets(ctx, w.DB, near, func(n store.Near) (store.MemoryRef, string) {
			return store.MemoryRef{UserID: userID, ID: n.ID}, n.Content
		})
		if err != nil {
			return err
		}
	}
	nominated := nominations(near)
	var same []reasoner.Same
	if len(nominated) > 0 {
		err = w.call(ctx, userID, uuid.Nil, job.ID, func(ctx context.Context) (err error) {
			same, err = w.Merger.Merge(ctx, held(nominated))
			return err
		})
		if bad, unusable := errors.AsType[*reasoner.AnswerError](err); unusable { // the next repetition asks again
			w.Logger.WarnContext(ctx, "left memories unmerged", "error", bad)
		} else if err != nil {
			return err
		}
	}
	same, refused := admitted(same, nominated)
	for _, reason := range refused {
		w.logDropped(ctx, "merge", reason)
	}
	failpoint.Reach(failpoint.MergeDecided)
	var events store.WeightEvents
	err = completing(ctx, w.DB, job, func(tx pgx.Tx) error {
		if len(same) == 0 {
			return nil
		}
		if err := store.LockMerges(ctx, tx, userID); err != nil {
			return err
		}
		for _, s := range same {
			if err := store.MergeMemories(ctx, tx, userID, "merge", s.Memories, s.Content); err != nil {
				return err
			}
		}
		failpoint.Reach(failpoint.MergeWritten)
		w.Logger.DebugContext(ctx, "merged", "memories", len(ids), "merges", len(same))
		events, err = store.CountWeightEvents(ctx, tx)
		events.Merged = len(same)
		return err
	})
	failpoint.Reach(failpoint.MergeCommitted)
	if err == nil {
		w.Observer.Weighed(events)
	}
	return err
}

// near returns the memories that may be merged with those of a job. The rules merge only memories of the same gist; a
// model gets all with similar vectors.
func (w *mergeWorker) near(ctx context.Context, args MergeArgs, ids []uuid.UUID,
	zone *time.Location) ([]store.Near, error) {
	userID := args.UserID
	all, err := store.MemoriesToMerge(ctx, w.DB, userID, ids, zone)
	if err != nil {
		return nil, err
	}
	ids = nil
	var noted []uuid.UUID
	var gists []string
	for _, m := range all {
		ids = append(ids, m.ID)
		if gist := w.Facts.Gist(m.Content, m.Time); gist != "" {
			noted, gists = append(noted, m.ID), append(gists, gist)
		}
	}
	if len(noted) > 0 {
		if err := store.NoteGists(ctx, w.DB, userID, noted, gists); err != nil {
			return nil, err
		}
	}
	if w.Offline {
		ids = noted
	}
	if len(ids) == 0 || args.Imported {
		return nil, nil
	}
	return store.NearMemories(ctx, w.DB, userID, ids, nearMemories, w.Offline, zone)
}

// nominations puts memories that are near each other into groups. It leaves out groups that are too small for a merge.
func nominations(near []store.Near) (groups [][]store.Near) {
	of := map[uuid.UUID]int{} // memory to its group
	for _, n := range near {
		g, known := of[n.Of]
		if !known {
			g = len(groups)
			of[n.Of], groups = g, append(groups, nil)
		}
		switch other, known := of[n.ID]; {
		case known && other != g:
			for _, m := range groups[other] {
				of[m.ID] = g
			}
			groups[g], groups[other] = append(groups[g], groups[other]...), nil
			of[n.ID] = g
		case !slices.ContainsFunc(groups[g], func(m store.Near) bool { return m.ID == n.ID }):
			of[n.ID], groups[g] = g, append(groups[g], n)
		}
	}
	return slices.DeleteFunc(groups, func(g []store.Near) bool { return !enough(g) })
}

// enough reports whether memories suffice for a merge: as many as are needed, or one that joins a merged memory.
func enough(group []store.Near) bool {
	if len(group) < 2 {
		return false
	}
	isMerged := func(n store.Near) bool { return n.Merged > 0 }
	return len(group) >= group[0].Needed || slices.ContainsFunc(group, isMerged)
}

func held(groups [][]store.Near) [][]reasoner.Held {
	all := make([][]reasoner.Held, len(groups))
	for i, g := range groups {
		for _, n := range g {
			all[i] = append(all[i], n.Held)
		}
	}
	return all
}

// admitted returns the valid decisions, and the reasons for refusing other decisions or single memories. A valid
// decision has enough memories, all of one group and in no other decision, and at most one of them is a merged memory.
func admitted(same []reasoner.Same, groups [][]store.Near) (all []reasoner.Same, refused []string) {
	in := map[uuid.UUID]int{}
	nominated := map[uuid.UUID]store.Near{}
	for i, g := range groups {
		for _, n := range g {
			in[n.ID], nominated[n.ID] = i, n
		}
	}
	for _, s := range same {
		var members []store.Near
		var ids []uuid.UUID
		merged := false
		for _, id := range s.Memories {
			n, known := nominated[id]
			if !known || len(members) > 0 && (in[id] != in[members[0].ID] || n.Kin != members[0].Kin) ||
				n.Merged > 0 && merged {
				refused = append(refused, "a memory cannot be merged with the others")
				continue
			}
			delete(nominated, id)
			merged = merged || n.Merged > 0
			members, ids = append(members, n), append(ids, id)
		}
		switch text := oneline.Of(s.Content); {
		case !enough(members):
			refused = append(refused, "it has too few memories")
		case text == "" || secrets.Any(text):
			refused = append(refused, "it contains a secret or is empty")
		default:
			all = append(all, reasoner.Same{Memories: ids, Content: text})
		}
	}
	return all, refused
}
