package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow/store"
)

// Coalescing: a worker that River gave a job takes others of its kind that wait, works them in the same calls and transactions,
// and completes them with its own. While they are worked they are running jobs like any other, with their attempt and who makes
// it, so River's rescuer returns them if the worker dies. A job that was attempted before, or that a batch failed with, runs
// alone: what is wrong with it does not take others with it, and its errors say nothing of others.

// aloneKey marks, in the metadata of a job, that it runs alone from now on.
const aloneKey = "alone"

// coalesces reports whether a job may take others with it.
func coalesces(job *rivertype.JobRow) bool {
	var metadata map[string]json.RawMessage
	if err := json.Unmarshal(job.Metadata, &metadata); err != nil {
		return false
	}
	_, alone := metadata[aloneKey]
	return job.Attempt == 1 && !alone
}

// take marks other jobs of the same kind and queue as running, in the order in which River would take them. Their weights sum to
// room at most; weight is an SQL expression over the job's args.
func take(ctx context.Context, db store.DB, job *rivertype.JobRow, weight string, room int) ([]*rivertype.JobRow, error) {
	rows, err := db.Query(ctx, `
		with waiting as (
		  select id, priority, scheduled_at, `+weight+` as weight
		    from oxbow.river_job
		   where state = 'available' and queue = $1 and kind = $2 and scheduled_at <= now()
		     and attempt = 0 and not metadata ? '`+aloneKey+`'
		   order by priority, scheduled_at, id limit $3 for update skip locked
		), fitting as (
		  select id from (select id, sum(weight) over (order by priority, scheduled_at, id) as total from waiting) w where total <= $3
		)
		update oxbow.river_job j
		   set state = 'running', attempt = j.attempt + 1, attempted_at = now(),
		       attempted_by = array_append(j.attempted_by[greatest(cardinality(j.attempted_by) - 98, 1):], $4) -- River keeps 100
		  from fitting f where j.id = f.id
		returning j.id, j.kind, j.queue, j.args, j.metadata, j.attempt, j.max_attempts, j.created_at, j.scheduled_at`,
		job.Queue, job.Kind, room, river.ClientFromContext[pgx.Tx](ctx).ID())
	if err != nil {
		return nil, fmt.Errorf("take up other %s jobs: %w", job.Kind, err)
	}
	taken, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*rivertype.JobRow, error) {
		j := &rivertype.JobRow{State: rivertype.JobStateRunning}
		return j, row.Scan(&j.ID, &j.Kind, &j.Queue, &j.EncodedArgs, &j.Metadata, &j.Attempt, &j.MaxAttempts, &j.CreatedAt, &j.ScheduledAt)
	})
	if err != nil {
		return nil, fmt.Errorf("take up other %s jobs: %w", job.Kind, err)
	}
	return taken, nil
}

// completeAll completes running jobs in tx and returns those that it did: the others were erased, or another worker has them.
// Rows are locked in the order of their users, as embed locks the check_trigger jobs that it finds.
func completeAll(ctx context.Context, tx pgx.Tx, ids []int64) (map[int64]bool, error) {
	rows, err := tx.Query(ctx, `
		with mine as materialized (
		  select id from oxbow.river_job where id = any($1) and state = 'running' order by args ->> 'user_id' collate "C", id for update
		)
		update oxbow.river_job j set state = 'completed', finalized_at = clock_timestamp() from mine m where j.id = m.id
		returning j.id`, ids)
	if err != nil {
		return nil, fmt.Errorf("complete jobs: %w", err)
	}
	completed := make(map[int64]bool, len(ids))
	var id int64
	if _, err := pgx.ForEachRow(rows, []any{&id}, func() error { completed[id] = true; return nil }); err != nil {
		return nil, fmt.Errorf("complete jobs: %w", err)
	}
	return completed, nil
}

// putBackTime bounds putting jobs back. It does not depend on the job's own time, which may be over.
const putBackTime = 5 * time.Second

// putBack returns jobs that take took, due after a pause, as River snoozes a job: this was no attempt. A job that was to be
// cancelled meanwhile is. With alone they run alone from now on. Where it fails, the rescuer returns them later.
func putBack(ctx context.Context, db store.DB, ids []int64, pause time.Duration, alone bool) error {
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), putBackTime)
	defer cancel()
	_, err := db.Exec(ctx, `
		update oxbow.river_job
		   set state = (case when metadata ? 'cancel_attempted_at' then 'cancelled'
		                     when $2 < interval '5 seconds' then 'available' else 'scheduled' end)::oxbow.river_job_state,
		       finalized_at = case when metadata ? 'cancel_attempted_at' then now() end,
		       attempt = attempt - 1, scheduled_at = case when $2 > interval '0' then now() + $2 else scheduled_at end,
		       metadata = case when $3 then metadata || '{"`+aloneKey+`": true}' else metadata end
		 where id = any($1) and state = 'running'`, ids, pause, alone)
	if err != nil {
		return fmt.Errorf("put jobs back: %w", err)
	}
	return nil
}
