package store

import (
	"context"
	"fmt"
	"time"

	"github.com/oxbow-memory/oxbow/store/internal/dbsqlc"
)

// Backlog is how many jobs are not finished.
type Backlog struct {
	Now   int64 // running or due
	Soon  int64 // due in a moment
	Later int64
}

// ReadBacklog counts the jobs that are not finished; soon is how long a moment is. Jobs of the kinds in waiting wait for
// something else and are not due in a moment.
func ReadBacklog(ctx context.Context, db DB, soon time.Duration, waiting []string) (Backlog, error) {
	row, err := dbsqlc.New().QueueToWork(ctx, db, &dbsqlc.QueueToWorkParams{SoonSeconds: soon.Seconds(), Waiting: waiting})
	if err != nil {
		return Backlog{}, fmt.Errorf("count the jobs: %w", err)
	}
	return Backlog{Now: row.Now, Soon: row.Soon, Later: row.Later}, nil
}

// WakeJobs makes the jobs due that were put off, because a provider was down or the model another one.
func WakeJobs(ctx context.Context, db DB) error {
	if err := dbsqlc.New().JobsWake(ctx, db); err != nil {
		return fmt.Errorf("wake the jobs that were put off: %w", err)
	}
	return nil
}

// DeposeLeader has another worker lead, or the same one begin anew, where jobs were due so long ago and are still put off. It
// tells whether there was a leader of that age.
func DeposeLeader(ctx context.Context, db DB, overdue time.Duration) (deposed bool, err error) {
	n, err := dbsqlc.New().LeaderDepose(ctx, db, overdue.Seconds())
	if err != nil {
		return false, fmt.Errorf("depose the leader: %w", err)
	}
	return n > 0, nil
}

// CountMemories returns how many memories there are that are not forgotten.
func CountMemories(ctx context.Context, db DB) (int64, error) {
	n, err := dbsqlc.New().MemoriesCount(ctx, db)
	if err != nil {
		return 0, fmt.Errorf("count the memories: %w", err)
	}
	return n, nil
}

// MemoriesOnTheWay returns how many jobs that embed or extract are due and not taken up, at most most.
func MemoriesOnTheWay(ctx context.Context, db DB, most int) (int64, error) {
	n, err := dbsqlc.New().MemoriesOnTheWay(ctx, db, int32(most))
	if err != nil {
		return 0, fmt.Errorf("count the memories that wait to be embedded: %w", err)
	}
	return n, nil
}
