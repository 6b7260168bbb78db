package gauges

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// ExactCounts is the number of memories of a type up to which they are counted. A larger number is
// estimated from PostgreSQL's statistics, so that the cost is bounded.
const ExactCounts = 250_000

// TypeCount counts the memories of a type. Current, Superseded and Forgotten are disjoint. A
// memory whose validity ended without a newer version is current.
type TypeCount struct {
	Type       store.MemoryType `json:"memory_type"`
	Current    int64            `json:"current"`
	Superseded int64            `json:"superseded"`
	Forgotten  int64            `json:"forgotten"`
	Embedded   int64            `json:"embedded"` // with a vector
	Waiting    int64            `json:"waiting"`  // not forgotten and not yet processed by a worker
	Estimated  bool             `json:"estimated"`
}

// JobCount describes the jobs of one kind in one state. Finished jobs are not counted, discarded
// ones are.
type JobCount struct {
	Kind          string  `json:"kind"`
	State         string  `json:"state"`
	Jobs          int64   `json:"jobs"`
	OldestSeconds float64 `json:"oldest_seconds"`      // age of the oldest
	LastError     string  `json:"last_error,omitzero"` // of the one enqueued last
}

// Overview describes the contents of a database and the waiting work.
type Overview struct {
	Embedding store.EmbeddingModel `json:"embedding"`
	// Indexed lists the users who have a vector index for a type.
	Indexed  []store.IndexedUser `json:"indexed"`
	Memories []TypeCount         `json:"memories"`
	Jobs     []JobCount          `json:"jobs"`
	// Messages counts the messages waiting for extraction.
	Messages MessageCount `json:"messages"`
	// Reasoner describes the language model used for reflection; nil if it has never been called.
	Reasoner *ReasonerState `json:"reasoner"`
	// OldestWaiting is the due job that has waited longest; nil if none is due.
	OldestWaiting *WaitingJob `json:"oldest_waiting"`
	// EmbeddingLagSeconds is the age of the oldest unfinished embed job, 0 if there is none.
	EmbeddingLagSeconds float64 `json:"embedding_lag_seconds"`
}

// MessageCount counts the messages waiting for extraction.
type MessageCount struct {
	Waiting   int64  `json:"waiting"`             // at most the exact argument of ReadOverview
	Failing   int64  `json:"failing"`             // those that failed; they are retried
	Failures  int    `json:"failures"`            // highest number of failures of one message
	LastError string `json:"last_error,omitzero"` // of that message
}

// ReasonerState is what the recorded calls show about a language model.
type ReasonerState struct {
	Model    string     `json:"model"`     // of the last call
	WorkedAt *time.Time `json:"worked_at"` // when the last successful call started; nil: never
	// DownSince is when the first failed call after WorkedAt started; nil: the last call
	// succeeded.
	DownSince *time.Time `json:"down_since"`
	Failures  int64      `json:"failures"`            // calls since WorkedAt, at most 1,000
	LastError string     `json:"last_error,omitzero"` // of the last call
	// Waiting counts the jobs that were snoozed: reflections, reviews, extractions and summaries.
	Waiting int64 `json:"waiting"`
}

// WaitingJob is a job that is due and waiting.
type WaitingJob struct {
	ID             int64   `json:"id"`
	Kind           string  `json:"kind"`
	Attempt        int     `json:"attempt"`
	WaitingSeconds float64 `json:"waiting_seconds"`
}

// ReadOverview reads the overview. Types with more than exact memories (ExactCounts) are
// estimated. It requires the rights of the schema's owner or the worker; other roles see no queue
// and at most one user.
func ReadOverview(ctx context.Context, db store.DB, exact int) (Overview, error) {
	var o Overview
	var err error
	if o.Embedding, err = store.CurrentModel(ctx, db); err != nil {
		return o, err
	}
	if o.Indexed, err = store.IndexedUsers(ctx, db); err != nil {
		return o, fmt.Errorf("read the vector indexes: %w", store.Explain(err))
	}
	for _, memoryType := range store.MemoryTypes() {
		c, err := countType(ctx, db, memoryType, exact)
		if err != nil {
			return o, fmt.Errorf("count the memories of type %s: %w", memoryType, store.Explain(err))
		}
		o.Memories = append(o.Memories, c)
	}
	if o.Jobs, err = countJobs(ctx, db); err != nil {
		return o, fmt.Errorf("count the jobs: %w", store.Explain(err))
	}
	for _, j := range o.Jobs {
		if j.Kind == "embed" && j.State != "discarded" {
			o.EmbeddingLagSeconds = max(o.EmbeddingLagSeconds, j.OldestSeconds)
		}
	}
	if o.Messages, err = countMessages(ctx, db, exact); err != nil {
		return o, fmt.Errorf("count the messages: %w", store.Explain(err))
	}
	if o.OldestWaiting, err = oldestWaiting(ctx, db); err != nil {
		return o, fmt.Errorf("find the oldest job: %w", store.Explain(err))
	}
	if o.Reasoner, err = reasonerState(ctx, db); err != nil {
		return o, fmt.Errorf("read the reasoner's calls: %w", store.Explain(err))
	}
	return o, nil
}

// reasonerState reads the calls from the latest back to the last successful one.
func reasonerState(ctx context.Context, db store.DB) (*ReasonerState, error) {
	found, err := store.Collect[ReasonerState](ctx, db, `
		select l.model, w.started_at as worked_at, f.since as down_since, f.failures, l.error as last_error,
		       (select count(*) from oxbow.river_job
		         where kind = any($1) and state in ('available', 'scheduled') and metadata ? 'snoozes') as waiting
		from (select model, error from oxbow.llm_calls order by started_at desc limit 1) l
		left join lateral (select started_at from oxbow.llm_calls
		                   where error is null order by started_at desc limit 1) w
		  on true
		cross join lateral (
		  select min(started_at) as since, count(*) as failures
		    from (select started_at from oxbow.llm_calls
		           where started_at > coalesce(w.started_at, '-infinity') order by started_at limit 1000) c) f`,
		jobs.Names(func(k *jobs.Kind) bool { return k.Reasoner }))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// countType counts one partition. The estimate uses the partial index to count memories that have
// ended.
func countType(ctx context.Context, db store.DB, memoryType store.MemoryType, exact int) (TypeCount, error) {
	name := func(table string) string { return pgx.Identifier{"oxbow", table + "_" + string(memoryType)}.Sanitize() }
	estimated, err := store.CollectOne[bool](ctx, db, fmt.Sprintf(
		`select count(*) > %[2]d from (select from %[1]s limit %[2]d + 1) m`, name("memories"), exact))
	if err != nil {
		return TypeCount{}, err
	}
	if !estimated {
		return store.CollectOne[TypeCount](ctx, db, fmt.Sprintf(`
			select $1::text as type, count(*) filter (where expired_at is null and forgotten_at is null) as current,
			       count(*) filter (where expired_at is not null and forgotten_at is null) as superseded,
			       count(*) filter (where forgotten_at is not null) as forgotten,
			       (select count(*) from %s) as embedded,
			       count(*) filter (where forgotten_at is null and sensitivity < 2 and level <> 'archive' and t.memory_id is null)
			         as waiting
			from %s m left join %s t on t.user_id = m.user_id and t.memory_id = m.id`,
			name("memory_vectors"), name("memories"), name("memory_terms")), memoryType)
	}
	return store.CollectOne[TypeCount](ctx, db, fmt.Sprintf(`
		select $4::text as type, true as estimated,
		       greatest(m.reltuples, %[2]d)::bigint - e.superseded - e.forgotten as current, e.superseded, e.forgotten,
		       greatest(v.reltuples, 0)::bigint as embedded,
		       least(greatest(m.reltuples - e.forgotten - greatest(t.reltuples, 0), 0), q.queued)::bigint as waiting
		from pg_class m, pg_class v, pg_class t,
		     (select count(*) filter (where forgotten_at is null and expired_at is not null) as superseded,
		             count(*) filter (where forgotten_at is not null) as forgotten
		        from (select forgotten_at, expired_at from %[1]s
		               where expired_at is not null or forgotten_at is not null or invalid_at is not null
		               limit %[2]d) e) e,
		     (select coalesce(sum((length(j.args ->> 'ids') + 1) / 37), 0) as queued
		        from (select args from oxbow.river_job
		               where kind = 'embed' and state in ('available', 'pending', 'retryable', 'running', 'scheduled')
		                 limit %[2]d) j) q
		where m.oid = $1::regclass and v.oid = $2::regclass and t.oid = $3::regclass`, name("memories"), exact),
		name("memories"), name("memory_vectors"), name("memory_terms"), memoryType)
}

func countJobs(ctx context.Context, db store.DB) ([]JobCount, error) {
	return store.Collect[JobCount](ctx, db, `
		select kind, state::text, count(*) as jobs,
		       extract(epoch from now() - min(created_at))::double precision as oldest_seconds,
		       (array_agg(errors[cardinality(errors)] ->> 'error' order by id desc)
		         filter (where errors is not null))[1] as last_error
		from oxbow.river_job
		where state in ('available', 'pending', 'retryable', 'running', 'scheduled', 'discarded')
		group by kind, state
		order by kind, state`)
}

// countMessages counts waiting and failing messages, each through a partial index.
func countMessages(ctx context.Context, db store.DB, exact int) (MessageCount, error) {
	return store.CollectOne[MessageCount](ctx, db, `
		select (select count(*) from (select from oxbow.messages where extracted_at is null limit $1) m) as waiting,
		       (select count(*) from (select from oxbow.messages where extracted_at is null and extract_failures > 0
		         limit $1) m) as failing,
		       f.extract_failures as failures, f.extract_error as last_error
		  from (values (1)) one
		  left join lateral (select m.extract_failures, m.extract_error from oxbow.messages m
		                      where m.extracted_at is null and m.extract_failures > 0
		                      order by m.extract_failures desc limit 1) f on true`, exact)
}

func oldestWaiting(ctx context.Context, db store.DB) (*WaitingJob, error) {
	found, err := store.Collect[WaitingJob](ctx, db, `
		select id, kind, attempt, extract(epoch from now() - scheduled_at)::double precision as waiting_seconds
		from oxbow.river_job
		where state in ('available', 'retryable') and scheduled_at <= now()
		order by scheduled_at, id
		limit 1`)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}
