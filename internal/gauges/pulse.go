package gauges

import (
	"context"
	"fmt"
	"time"

	"github.com/oxbow-memory/oxbow/store"
)

// PulseSeconds is the period for which a Pulse counts completed jobs.
const PulseSeconds = 10

// RunningJob is a job that is running.
type RunningJob struct {
	ID      int64   `json:"id"`
	Kind    string  `json:"kind"`
	Attempt int     `json:"attempt"`
	Seconds float64 `json:"seconds"`
}

// FailedJob is a job whose last attempt failed.
type FailedJob struct {
	ID      int64   `json:"id"`
	Kind    string  `json:"kind"`
	State   string  `json:"state"`
	Attempt int     `json:"attempt"`
	Seconds float64 `json:"seconds"` // since the attempt
	Error   string  `json:"error"`
}

// DoneJobs counts the jobs of a kind completed in the last PulseSeconds.
type DoneJobs struct {
	Kind string `json:"kind"`
	Jobs int64  `json:"jobs"`
	// LagSeconds is the median time from the scheduled time to completion.
	LagSeconds float64 `json:"lag_seconds"`
}

// Pulse is the current state of a database and its workers. It is cheap to read, whatever the size
// of the database.
type Pulse struct {
	At time.Time `json:"at"`
	Gauges
	Done    []DoneJobs   `json:"done"`
	Running []RunningJob `json:"running"` // longest first, at most 5
	Failed  []FailedJob  `json:"failed"`  // unfinished jobs, latest failure first, at most 5
	// Reasoner describes the language model used for reflection; nil if it has never been called.
	Reasoner *ReasonerState       `json:"reasoner"`
	Model    store.EmbeddingModel `json:"model"`
	Workers  int64                `json:"workers"` // processes visible to this login
	// Users is an estimate of the number of users with memories; -1: unknown.
	Users int64 `json:"users"`
}

// ReadPulse reads the pulse. It requires the rights of the schema's owner or the worker.
func ReadPulse(ctx context.Context, db store.DB) (p Pulse, err error) {
	err = readAll(ctx, db, p.ReadQueue, p.ReadWaiting, p.readTables, p.readRest, p.readJobs, p.readFailed, p.readPeople)
	return p, err
}

func (p *Pulse) readJobs(ctx context.Context, db store.DB) (err error) {
	p.Done, err = store.Collect[DoneJobs](ctx, db, `
		select kind, count(*) as jobs, percentile_cont(0.5)
		         within group (order by extract(epoch from finalized_at - scheduled_at))::float8 as lag_seconds
		  from (select kind, finalized_at, scheduled_at from oxbow.river_job
		         where state = 'completed' and finalized_at > now() - make_interval(secs => $1) limit $2) j
		 group by kind order by kind`, PulseSeconds, Limit)
	if err != nil {
		return fmt.Errorf("count the completed jobs: %w", err)
	}
	p.Running, err = store.Collect[RunningJob](ctx, db, `
		select id, kind, attempt, greatest(extract(epoch from now() - attempted_at), 0)::float8 as seconds
		  from (select id, kind, attempt, attempted_at from oxbow.river_job where state = 'running' limit 10000) j
		 order by attempted_at, id limit 5`)
	return err
}

func (p *Pulse) readFailed(ctx context.Context, db store.DB) (err error) {
	p.Failed, err = store.Collect[FailedJob](ctx, db, `
		select id, kind, state::text, attempt, greatest(extract(epoch from now() - attempted_at), 0)::float8 as seconds,
		       errors[cardinality(errors)] ->> 'error' as error
		  from (select id, kind, state, attempt, attempted_at, errors from oxbow.river_job
		    where state in ('retryable', 'discarded') limit 10000) j
		 order by attempted_at desc nulls last, id desc limit 5`)
	return err
}

func (p *Pulse) readPeople(ctx context.Context, db store.DB) (err error) {
	if p.Model, err = store.CurrentModel(ctx, db); err != nil {
		return err
	}
	if p.Reasoner, err = reasonerState(ctx, db); err != nil {
		return fmt.Errorf("read the reasoner's calls: %w", err)
	}
	return db.QueryRow(ctx, `
		select clock_timestamp(),
		       (select count(distinct (application_name, client_addr)) from pg_stat_activity
		         where datname = current_database() and application_name like 'oxbow worker%'),
		       coalesce((select max(case when s.n_distinct >= 0 then s.n_distinct
		         else -s.n_distinct * c.reltuples end)::bigint
		                   from pg_stats s
		                   join pg_class c on c.oid = format('%I.%I', s.schemaname, s.tablename)::regclass
		                  where s.schemaname = 'oxbow' and s.tablename like 'memories\_%'
		                    and s.attname = 'user_id'), -1)`).
		Scan(&p.At, &p.Workers, &p.Users)
}
