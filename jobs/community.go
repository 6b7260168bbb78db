package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/store"
)

// CommunityArgs are the arguments of the job. They are empty because the job covers all users.
type CommunityArgs struct{}

// Kind returns "community".
func (CommunityArgs) Kind() string { return "community" }

// InsertOpts returns the insert options of the kind.
func (a CommunityArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:  "moves entities whose relations changed to the community that they belong to",
	Every: time.Minute,
}, func(c Config) worker[CommunityArgs] { return &communityWorker{c} })

// communityBatch is the maximum number of entities, or communities, that one transaction looks at.
const communityBatch = 100

type communityWorker struct{ Config }

// Work looks at entities in batches until none is due, and then at the communities that changed. Each batch is a
// transaction, so a run that ended anywhere is continued by the next. It stops early to leave time for the last batch.
func (w *communityWorker) Work(ctx context.Context, _ *river.Job[CommunityArgs]) error {
	until := time.Now().Add(Timeout / 2)
	for _, step := range []func(context.Context, store.DB, int) (int, error){store.Propagate, store.SummarizeCommunities} {
		for n := communityBatch; n == communityBatch && time.Now().Before(until); {
			err := retried(deadlockTries, store.IsDeadlock, func() (err error) {
				n, err = step(ctx, w.DB, communityBatch)
				return err
			})
			if err != nil {
				return err
			}
			failpoint.Reach(failpoint.CommunityBatch)
		}
	}
	return nil
}
