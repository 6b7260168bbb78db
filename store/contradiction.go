package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Contradiction is a trait that much of its evidence contradicts, so that a review is due.
type Contradiction struct {
	UserID        string
	TraitID       uuid.UUID
	Content       string // empty if the trait is of sensitivity 2 or 3
	Stage         string
	Since         time.Time // when the review became due
	Supporting    int       // memories
	Contradicting int
	Against       []string  // the latest contradicting memories, at most three, without those of sensitivity 2 and 3
	OptedOut      bool      // the user's traits are not reviewed
	JobID         int64     // of the job contradiction_review of the user; 0: none waits
	JobState      string    // available, running, retryable, scheduled, discarded
	JobDue        time.Time // when it runs
	JobError      string    // of its last attempt
}

// Contradictions returns traits whose review is due, at most limit, those that have waited longest first. If there are
// more, it does not matter which: they are chosen by user.
func Contradictions(ctx context.Context, db DB, limit int) ([]Contradiction, error) {
	return Collect[Contradiction](ctx, db, `
		select m.user_id, m.id as trait_id, case when m.sensitivity < 2 then m.content end as content,
		       m.trait_stage as stage, m.trait_review_due_at as since, e.supporting, e.contradicting, e.against,
		       coalesce((select u.opted_out from oxbow.users u where u.user_id = m.user_id), false) as opted_out,
		       j.id as job_id, j.state::text as job_state, j.scheduled_at as job_due, j.error as job_error
		  from (select * from oxbow.memories_trait m
		         where m.trait_review_due_at is not null and m.expired_at is null and m.forgotten_at is null limit $1) m
		 cross join lateral (
		   select count(*) filter (where v.direction = 'supporting') as supporting,
		          count(*) filter (where v.direction = 'contradicting') as contradicting,
		          array(select o.content from (
		                  select a.memory_type, a.memory_id, a.observed_at from oxbow.trait_evidence a
		                   where a.user_id = m.user_id and a.trait_id = m.id and a.direction = 'contradicting'
		                   order by a.observed_at desc limit 3) a
		                  join oxbow.memories o on o.user_id = m.user_id and o.memory_type = a.memory_type
		                   and o.id = a.memory_id and o.sensitivity < 2 and o.forgotten_at is null
		                 order by a.observed_at desc) as against
		     from oxbow.trait_evidence v where v.user_id = m.user_id and v.trait_id = m.id) e
		  left join lateral (
		   select j.id, j.state, j.scheduled_at, j.errors[cardinality(j.errors)] ->> 'error' as error
		     from oxbow.river_job j
		    where j.args ->> 'user_id' = m.user_id and j.kind = 'contradiction_review'
		      and j.state not in ('completed', 'cancelled')
		    order by j.id desc limit 1) j on true
		 order by since, m.user_id, m.id`, limit)
}

// FactsDue returns how many facts are due for review (docs/review.md), at most 10,000.
func FactsDue(ctx context.Context, db DB) (int64, error) {
	return CollectOne[int64](ctx, db, `
		select count(*) from (select from oxbow.memories_fact m
		  where m.review_at <= now() and m.expired_at is null and m.forgotten_at is null limit 10000) n`)
}
