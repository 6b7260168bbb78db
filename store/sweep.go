package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
)

// MemoryRef identifies a memory.
type MemoryRef struct {
	UserID string
	ID     uuid.UUID
}

// GivenUpJob is an embed job that is no longer retried.
type GivenUpJob struct {
	ID     int64
	UserID string
	IDs    string // as in the job's arguments
}

// GivenUpEmbeds locks and returns embed jobs that were discarded or cancelled before the given time
// and that MarkGivenUp has not marked.
func GivenUpEmbeds(ctx context.Context, tx DB, before time.Time, limit int) ([]GivenUpJob, error) {
	return list[GivenUpJob](ctx, tx, "look for discarded jobs", `
		select id, args ->> 'user_id' as user_id, args ->> 'ids' as ids from oxbow.river_job
		 where kind = 'embed' and state in ('cancelled', 'discarded') and finalized_at < $1::timestamptz
		   and not metadata ? 'swept'
		 order by id
		 limit $2::integer
		 for update skip locked`, before, limit)
}

// MarkGivenUp excludes jobs from GivenUpEmbeds.
func MarkGivenUp(ctx context.Context, tx DB, jobs []GivenUpJob) error {
	ids := make([]int64, len(jobs))
	for i, j := range jobs {
		ids[i] = j.ID
	}
	_, err := run(ctx, tx, "mark discarded jobs",
		`update oxbow.river_job set metadata = metadata || '{"swept": true}' where id = any($1::bigint[])`, ids)
	return err
}

const notEmbedded = "look for memories that are not embedded"

// Unembedded returns those of a user's memories that lack terms or a vector of the model.
func Unembedded(ctx context.Context, db DB, userID string, ids []uuid.UUID, model string) ([]MemoryRef, error) {
	return list[MemoryRef](ctx, db, notEmbedded, `
		select m.user_id, m.id from oxbow.memories m
		 where m.user_id = $1::text and m.id = any($2::uuid[]) and m.forgotten_at is null
		   and oxbow.is_unembedded(m.user_id, m.memory_type, m.id, $3::text)
		 order by m.id`, userID, ids, model)
}

// EmbedQueueIsLong reports whether at least limit embed jobs wait.
func EmbedQueueIsLong(ctx context.Context, db DB, limit int) (bool, error) {
	return one[bool](ctx, db, "count embed jobs", `
		select count(*) = $1::integer
		  from (select id from oxbow.river_job
		         where queue = 'embed' and state in ('available', 'retryable', 'scheduled')
		         limit $1::integer) j`, limit)
}

// Settings that store the progress of the sweep.
const (
	sweepRecentKey   = "sweep.new"
	sweepWalkKey     = "sweep.walk"
	sweepInboxKey    = "sweep.inbox"
	sweepReviewKey   = "sweep.reviews"
	sweepStatsKey    = "sweep.stats"
	sweepMessagesKey = "sweep.messages"
	sweepEntitiesKey = "sweep.entities" // exists until all are done
)

// recentPage is how many recent memories LostRecently looks at.
const recentPage = 20_000

// recentKey is a position in the order in which memories were created.
type recentKey struct {
	At     time.Time `json:"at"`
	UserID string    `json:"user_id"`
	ID     uuid.UUID `json:"id"`
}

// LostRecently returns memories created since the last call (at first, within a day) and before the
// given time that are neither embedded nor named by a job. The next call continues where this one
// ends, or starts at the same place if limit memories are found.
func LostRecently(ctx context.Context, tx DB, before time.Time, limit int, model string) ([]MemoryRef, error) {
	from := recentKey{At: before.Add(-24 * time.Hour)}
	if err := ReadSetting(ctx, tx, sweepRecentKey, &from); err != nil {
		return nil, err
	}
	type found struct {
		Looked     int
		LastAt     time.Time
		LastUserID string
		LastID     uuid.UUID // with the two above: the key of the last memory looked at
		MemoryRef
	}
	rows, err := list[found](ctx, tx, notEmbedded, `
		with page as materialized (
		  select p.user_id, p.memory_type, p.id, p.created_at, p.forgotten_at from oxbow.memories p
		   where p.created_at between $1::timestamptz and $4::timestamptz -- for the planner
		     and (p.created_at, p.user_id, p.id) > ($1::timestamptz, $2::text, $3::uuid)
		   order by p.created_at, p.user_id, p.id
		   limit $5::integer
		), lost as (
		  select m.user_id, m.id from page m
		   where m.forgotten_at is null
		     and oxbow.is_unembedded(m.user_id, m.memory_type, m.id, $6::text)
		     and not exists (select from oxbow.memories_in_queue() q where q.user_id = m.user_id and q.id = m.id::text)
		   order by m.user_id, m.id
		   limit $7::integer
		)
		select (select count(*) from page) as looked, e.created_at as last_at, e.user_id as last_user_id,
		       e.id as last_id, lost.user_id, lost.id
		  from (select * from page order by created_at desc, user_id desc, id desc limit 1) e
		  left join lost on true
		 order by lost.user_id, lost.id`, from.At, from.UserID, from.ID, before, recentPage, model, limit)
	if err != nil {
		return nil, err
	}
	next := recentKey{At: before}
	var refs []MemoryRef
	for _, r := range rows {
		if r.Looked == recentPage {
			next = recentKey{r.LastAt, r.LastUserID, r.LastID}
		}
		if r.ID != uuid.Nil {
			refs = append(refs, r.MemoryRef)
		}
	}
	if len(refs) == limit || before.Before(from.At) {
		return refs, nil
	}
	return refs, WriteSetting(ctx, tx, sweepRecentKey, next)
}

// IsTimeout reports whether err is PostgreSQL's query_canceled.
func IsTimeout(err error) bool {
	return code(err) == "57014"
}

// IsLockTimeout reports whether err is PostgreSQL's lock_not_available.
func IsLockTimeout(err error) bool {
	return code(err) == "55P03"
}

// walkKey is a position in the order of all memories.
type walkKey struct {
	UserID string     `json:"user_id"`
	Type   MemoryType `json:"memory_type"`
	ID     uuid.UUID  `json:"id"`
}

// LostAnywhere checks the next memories in key order, at most limit. It returns those created
// before the given time that are neither embedded nor named by a job. The next call continues there
// and starts over at the end.
func LostAnywhere(ctx context.Context, tx DB, before time.Time, limit int, model string) ([]MemoryRef, error) {
	var from walkKey
	if err := ReadSetting(ctx, tx, sweepWalkKey, &from); err != nil {
		return nil, err
	}
	type found struct {
		LastUserID     string
		LastMemoryType MemoryType
		LastID         uuid.UUID // with the two above: the key of the last memory checked
		MemoryRef
	}
	rows, err := list[found](ctx, tx, notEmbedded, `
		with page as materialized (
		  select p.user_id, p.memory_type, p.id, p.created_at, p.forgotten_at from oxbow.memories p
		   where (p.user_id, p.id, p.memory_type) > ($1::text, $3::uuid, $2::text)
		   order by p.user_id, p.id, p.memory_type
		   limit $4::integer
		), lost as (
		  select m.user_id, m.id from page m
		   where m.forgotten_at is null and m.created_at <= $5::timestamptz
		     and oxbow.is_unembedded(m.user_id, m.memory_type, m.id, $6::text)
		     and not exists (select from oxbow.memories_in_queue() q where q.user_id = m.user_id and q.id = m.id::text)
		)
		select e.user_id as last_user_id, e.memory_type as last_memory_type, e.id as last_id, lost.user_id, lost.id
		  from (select user_id, memory_type, id from page order by user_id desc, id desc, memory_type desc limit 1) e
		  left join lost on true
		 order by lost.user_id, lost.id`, from.UserID, from.Type, from.ID, limit, before, model)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 { // the end of the walk
		if from == (walkKey{}) {
			return nil, nil // no memories exist
		}
		return nil, WriteSetting(ctx, tx, sweepWalkKey, walkKey{})
	}
	var refs []MemoryRef
	for _, r := range rows {
		if r.ID != uuid.Nil {
			refs = append(refs, r.MemoryRef)
		}
	}
	end := walkKey{rows[0].LastUserID, rows[0].LastMemoryType, rows[0].LastID}
	return refs, WriteSetting(ctx, tx, sweepWalkKey, end)
}

// DueTriggers checks the next users with a nonempty inbox, at most limit, and returns those for
// whom reflection is due. The next call continues there and starts over at the end.
func DueTriggers(ctx context.Context, tx DB, limit int, now time.Time) ([]UserTrigger, error) {
	users, err := nextPage(ctx, tx, sweepInboxKey, limit, func(t UserTrigger) string { return t.UserID },
		func(after string) ([]UserTrigger, error) { return InboxTriggers(ctx, tx, after, limit, now) })
	return slices.DeleteFunc(users, func(t UserTrigger) bool { return !t.Due() }), err
}

// DueReviews returns the next users with a trait due for review, at most limit. The next call
// continues there and starts over at the end.
func DueReviews(ctx context.Context, tx DB, limit int) ([]string, error) {
	return nextPage(ctx, tx, sweepReviewKey, limit, func(user string) string { return user },
		func(after string) ([]string, error) {
			return list[string](ctx, tx, "look for traits to review", `
				select distinct m.user_id from oxbow.memories_trait m
				 where m.trait_review_due_at is not null and m.user_id > $1::text and m.expired_at is null
				   and m.forgotten_at is null
				   and not exists (select from oxbow.users u where u.user_id = m.user_id and u.opted_out)
				 order by m.user_id
				 limit $2::integer`, after, limit)
		})
}

// nextPage finds the next rows, at most limit, after the one whose key the setting stores. It stores the key of the
// last of them, or the zero key if they are fewer than limit.
func nextPage[K comparable, T any](ctx context.Context, tx DB, setting string, limit int, key func(T) K,
	find func(after K) ([]T, error)) ([]T, error) {
	var after, next K
	if err := ReadSetting(ctx, tx, setting, &after); err != nil {
		return nil, err
	}
	found, err := find(after)
	if len(found) == limit {
		next = key(found[limit-1])
	}
	if err != nil || next == after {
		return found, err
	}
	return found, WriteSetting(ctx, tx, setting, next)
}

// EraseForgotten erases at most limit memories forgotten before the given time, one per statement,
// and returns their number. If some cannot be erased, it erases the others and returns the first error.
func EraseForgotten(ctx context.Context, db DB, before time.Time, limit int) (erased int, err error) {
	const what = "erase forgotten memories"
	old, err := list[MemoryRef](ctx, db, what, `
		select user_id, id from oxbow.memories
		 where forgotten_at < $1::timestamptz order by forgotten_at limit $2::integer`,
		before, limit)
	if err != nil {
		return 0, err
	}
	var failed error
	for _, m := range old {
		n, err := run(ctx, db, what, `
			with due as ( -- unless it was restored meanwhile
			  select m.user_id, m.id from oxbow.memories m
			   where m.user_id = $1::text and m.id = $2::uuid and m.forgotten_at < $3::timestamptz
			     for update
			), refused as ( -- a trait that its user wanted forgotten is not made again
			  insert into oxbow.trait_refusals (user_id, hash)
			  select m.user_id, oxbow.trait_hash(said)
			    from due join oxbow.memories_trait m using (user_id, id), unnest(array[m.content, m.trait_key]) said
			   where said is not null
			  on conflict do nothing
			)
			select oxbow.erase_memory(user_id, id) from due`, m.UserID, m.ID, before)
		if ctx.Err() != nil {
			return erased, err
		}
		failed = cmp.Or(failed, err)
		erased += int(n)
	}
	return erased, failed
}

// recountTime is the duration after which RecountTerms leaves the remaining users to the next call.
// It is a third of the job's timeout.
const recountTime = 10 * time.Second

// RecountTerms corrects the term statistics of the next users, at most limit, with one statement
// per user. It returns the number of wrong statistics. The next call continues there and starts
// over at the end. If counting a user fails or times out, the next call starts after that user, so
// that the others are not blocked.
func RecountTerms(ctx context.Context, db DB, limit int) (wrong int, err error) {
	begun := time.Now()
	var after string
	if err := ReadSetting(ctx, db, sweepStatsKey, &after); err != nil {
		return 0, err
	}
	const what = "recount terms"
	users, err := list[string](ctx, db, what, `
		select distinct user_id from oxbow.memory_term_stats
		 where user_id > $1::text order by user_id limit $2::integer`,
		after, limit)
	if err != nil {
		return 0, err
	}
	next := ""
	for i, user := range users {
		var n int
		n, err = one[int](ctx, db, what, `select oxbow.recount_terms($1)`, user)
		wrong += n
		late := err != nil || time.Since(begun) > recountTime
		if late || i == limit-1 {
			next = user
		}
		if late {
			break
		}
	}
	if next == after {
		return wrong, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second) // the job's context may have expired
	defer cancel()
	return wrong, errors.Join(err, WriteSetting(ctx, db, sweepStatsKey, next))
}
