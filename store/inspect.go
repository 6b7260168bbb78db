package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Zone is a time zone: its PostgreSQL name and its current offset in seconds east of UTC.
type Zone struct {
	Name   string
	Offset int
}

// UserZone returns the user's time zone, or UTC if it is unknown.
func UserZone(ctx context.Context, db DB, userID string) (Zone, error) {
	return CollectOne[Zone](ctx, db, `
		select name, extract(epoch from (now() at time zone name) - (now() at time zone 'UTC'))::integer as "offset"
		from (select coalesce((select timezone from oxbow.users where user_id = $1), 'UTC') as name) z`, userID)
}

// waitingLimit is the highest count of waiting memories that UserPresence returns.
const waitingLimit = 10_000

// Presence reports whether recall can find anything of a user.
type Presence struct {
	Any     bool  // the user has or had memories; forgotten and superseded ones count
	Waiting int64 // memories not yet embedded, at most 10,000
}

// UserPresence returns the figures that explain why a recall found nothing.
func UserPresence(ctx context.Context, db DB, userID string) (Presence, error) {
	return CollectOne[Presence](ctx, db, `
		select exists (select from oxbow.memories where user_id = $1) as "any",
		       (select count(*) from (
		          select from oxbow.memories m
		           where m.user_id = $1 and m.forgotten_at is null and m.memory_type <> 'trait' and m.sensitivity < 2
		             and m.level <> 'archive'
		             and not exists (select from oxbow.memory_terms t
		                              where t.user_id = m.user_id and t.memory_type = m.memory_type
		                                and t.memory_id = m.id)
		           limit $2) w) as waiting`, userID, waitingLimit)
}

// OwnerOf returns the id of the user who owns a memory, or ErrNotFound. Ids are unique only within
// a user. If an application gave several users the same id, the error names up to ten of them. The
// lookup scans all memories.
func OwnerOf(ctx context.Context, db DB, id uuid.UUID) (string, error) {
	users, err := Collect[string](ctx, db,
		`select distinct user_id from oxbow.memories where id = $1 order by user_id limit 10`, id)
	switch {
	case err != nil:
		return "", err
	case len(users) == 0:
		return "", fmt.Errorf("%w: %s", ErrNotFound, id)
	case len(users) > 1:
		return "", fmt.Errorf("several users have a memory %s: %s: name the user (--user)", id, strings.Join(users, ", "))
	}
	return users[0], nil
}

// SeesEveryone reports whether row-level security lets the login see all users. This is true for
// the owner of the schema and for the worker.
func SeesEveryone(ctx context.Context, db DB) (bool, error) {
	return CollectOne[bool](ctx, db, `select oxbow.is_trusted(current_user)`)
}

// MemoryWork describes the completed and remaining work of workers for a memory.
type MemoryWork struct {
	Searchable bool   `json:"searchable"`       // has terms, so recall finds it by its words
	Embedded   bool   `json:"embedded"`         // has a vector
	Refused    string `json:"refused,omitzero"` // why the provider refused to embed it
	// Jobs holds the jobs that name the memory, the oldest first. Finished jobs are kept for a while.
	Jobs []Job `json:"jobs"`
}

// Job is a job in the queue.
type Job struct {
	ID          int64     `json:"id"`
	Kind        string    `json:"kind"`
	State       string    `json:"state"` // available, running, retryable, scheduled, completed, cancelled, discarded
	Attempt     int       `json:"attempt"`
	MaxAttempts int       `json:"max_attempts"`
	CreatedAt   time.Time `json:"created_at"`
	ScheduledAt time.Time `json:"scheduled_at"` // when it is due
	FinalizedAt time.Time `json:"finalized_at,omitzero"`
	LastError   string    `json:"last_error,omitzero"`
}

// WorkOf returns the work done for a memory. A login of oxbow_app cannot read the queue and gets no
// jobs.
func WorkOf(ctx context.Context, db DB, m Memory) (MemoryWork, error) {
	type work struct {
		MemoryWork
		Readable bool
	}
	w, err := CollectOne[work](ctx, db, `
		select exists (select from oxbow.memory_terms
		                where user_id = $1 and memory_type = $2 and memory_id = $3) as searchable,
		       exists (select from oxbow.memory_vectors
		                where user_id = $1 and memory_type = $2 and memory_id = $3) as embedded,
		       (select r.reason from oxbow.embedding_refusals r, oxbow.settings s
		         where r.user_id = $1 and r.memory_type = $2 and r.memory_id = $3
		           and s.key = 'embedding' and r.model = s.value ->> 'model' limit 1) as refused,
		       has_table_privilege('oxbow.river_job', 'select') as readable`, m.UserID, m.Type, m.ID)
	if w.Jobs = []Job{}; err != nil || !w.Readable {
		return w.MemoryWork, err
	}
	w.Jobs, err = Collect[Job](ctx, db, `
		select id, kind, state::text, attempt, max_attempts, created_at, scheduled_at, finalized_at,
		       errors[cardinality(errors)] ->> 'error' as last_error
		from oxbow.river_job
		where args ->> 'user_id' = $1 and strpos(args::text, $2::text) > 0
		order by id`, m.UserID, m.ID.String())
	return w.MemoryWork, err
}
