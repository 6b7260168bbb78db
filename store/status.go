package store

import (
	"context"
	"time"
)

// Backlog counts unfinished jobs.
type Backlog struct {
	Now   int64 // running or due
	Soon  int64 // due soon
	Later int64
}

// ReadBacklog counts unfinished jobs. Soon counts those due within the duration soon, except for
// the kinds in waiting, which count as Later. It ignores jobs of the kinds in dated that are not due
// yet.
func ReadBacklog(ctx context.Context, db DB, soon time.Duration, waiting, dated []string) (Backlog, error) {
	return one[Backlog](ctx, db, "count the jobs", `
		select count(*) filter (where state = 'running' or scheduled_at <= now()) as now,
		       count(*) filter (where state <> 'running' and scheduled_at > now() and near) as soon,
		       count(*) filter (where state <> 'running' and scheduled_at > now() and not near) as later
		  from oxbow.river_job,
		       lateral (select scheduled_at <= now() + make_interval(secs => $1::double precision)
		                       and kind <> all($2::text[]) as near) n
		 where state in ('available', 'retryable', 'running', 'scheduled')
		   and not (kind = any($3::text[]) and state = 'scheduled' and scheduled_at > now())`,
		soon.Seconds(), waiting, dated)
}

// WakeJobs makes jobs of the given kinds due now that were put off because a provider was down, the
// model differed, or a conversation had not ended. It also makes overdue jobs available, because
// only a leading River worker does that. Available jobs with a later due time were snoozed for a
// few seconds.
func WakeJobs(ctx context.Context, db DB, kinds []string) error {
	_, err := run(ctx, db, "wake postponed jobs", `
		update oxbow.river_job set state = 'available', scheduled_at = least(scheduled_at, now())
		 where kind = any($1)
		   and (state = 'scheduled' or state = 'available' and scheduled_at > now())`, kinds)
	return err
}

// DeposeLeader deletes the leader's row if it is older than overdue and jobs that have been due for
// that long are still not available. All workers then stand for election. It reports whether it
// deposed a leader.
func DeposeLeader(ctx context.Context, db DB, overdue time.Duration) (deposed bool, err error) {
	n, err := run(ctx, db, "depose the leader", `
		delete from oxbow.river_leader
		 where elected_at < now() - make_interval(secs => $1::double precision)
		   and exists (select from oxbow.river_job
		                where state in ('scheduled', 'retryable')
		                  and scheduled_at < now() - make_interval(secs => $1::double precision))`, overdue.Seconds())
	return n > 0, err
}

// CountMemories returns the number of memories that are not forgotten.
func CountMemories(ctx context.Context, db DB) (int64, error) {
	return one[int64](ctx, db, "count the memories", `select count(*) from oxbow.memories where forgotten_at is null`)
}

// PendingMemoryJobs returns the number of due, available jobs that extract or embed memories of a user, or of all if
// userID is empty. It counts at most limit.
func PendingMemoryJobs(ctx context.Context, db DB, userID string, limit int) (int64, error) {
	return one[int64](ctx, db, "count jobs of new memories",
		`select oxbow.waiting_jobs($1::integer, nullif($2::text, ''))`, limit, userID)
}
