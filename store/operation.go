package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Operation describes the work on a memory since it was stored, and what came of it.
type Operation struct {
	State      string          `json:"state" enum:"pending,running,done,failed"`
	Searchable bool            `json:"searchable"`       // recall finds it by its words
	Embedded   bool            `json:"embedded"`         // it has a vector
	Refused    string          `json:"refused,omitzero"` // why the provider refused to embed it
	Jobs       []Job           `json:"jobs"`             // that name it, the oldest first; finished ones are kept for a while
	Links      []OperationLink `json:"links"`
}

// OperationLink is a relation between the memory and one that it replaced, contradicts or merged, or the reverse.
type OperationLink struct {
	Relation string    `json:"relation" enum:"supersedes,contradicts,merged_from"`
	FromID   uuid.UUID `json:"from_id"`
	ToID     uuid.UUID `json:"to_id"`
	At       time.Time `json:"at"`
}

// OperationOf returns the work on a memory, or ErrNotFound.
func OperationOf(ctx context.Context, db DB, userID string, id uuid.UUID) (Operation, error) {
	return CollectOne[Operation](ctx, db, `
		select state, searchable, embedded, refused, jobs, links from oxbow.operation(user_id => $1, id => $2)`, userID, id)
}

// RetryOperation makes the jobs of a memory due now that were given up or wait for another attempt, and returns their
// number.
func RetryOperation(ctx context.Context, db DB, userID string, id uuid.UUID) (int64, error) {
	return CollectOne[int64](ctx, db, `select oxbow.retry_operation(user_id => $1, id => $2)`, userID, id)
}

// QueuedJob is a job and the user whom it concerns.
type QueuedJob struct {
	Job
	UserID string `json:"user_id,omitzero"`
}

// FailedJobs returns jobs that were given up, or that wait for another attempt after an error, at most limit, the
// latest first, before the job with the given id unless it is 0.
func FailedJobs(ctx context.Context, db DB, before int64, limit int) ([]QueuedJob, error) {
	return Collect[QueuedJob](ctx, db, `
		select j.id, j.kind, j.state::text, j.attempt, j.max_attempts, j.created_at, j.scheduled_at, j.finalized_at,
		       j.errors[cardinality(j.errors)] ->> 'error' as last_error, j.args ->> 'user_id' as user_id
		  from (select f.* from oxbow.river_job f where f.state in ('discarded', 'retryable', 'cancelled')
		           and ($1::bigint = 0 or f.id < $1::bigint) order by f.id desc limit $2) j
		 order by j.id desc`, before, limit)
}

// RetryJob makes a job due now. It reports whether it did: not if it is running, completed, due or unknown.
func RetryJob(ctx context.Context, db DB, id int64) (bool, error) {
	return CollectOne[bool](ctx, db, `select oxbow.retry_job($1)`, id)
}

// RetryFailed makes the jobs of a kind due now that were given up, at most 1,000, the oldest first. It returns their
// number.
func RetryFailed(ctx context.Context, db DB, kind string) (int64, error) {
	return CollectOne[int64](ctx, db, `
		select count(*) filter (where oxbow.retry_job(j.id))
		  from (select f.id from oxbow.river_job f where f.kind = $1 and f.state = 'discarded' order by f.id limit 1000) j`,
		kind)
}
