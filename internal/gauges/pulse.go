package gauges

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/oxbow-memory/oxbow/store"
)

// PulsePeriod is the usual period for which a Pulse counts completed jobs. Completed jobs are kept for at least ten
// minutes.
const PulsePeriod = 10 * time.Second

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

// DoneJobs counts the jobs of a kind completed in the period of a Pulse.
type DoneJobs struct {
	Kind string `json:"kind"`
	Jobs int64  `json:"jobs"`
	// LagSeconds is the median time from the scheduled time to completion.
	LagSeconds float64 `json:"lag_seconds"`
}

// Pulse is the current state of a database and its workers. It is cheap to read, whatever the size
// of the database.
type Pulse struct {
	At     time.Time     `json:"at"`
	Period time.Duration `json:"period"` // for which completed jobs are counted
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

// ReadPulse reads the pulse, with the jobs completed in the period before it. It requires the rights of the schema's
// owner, the worker or an operator.
func ReadPulse(ctx context.Context, db store.DB, period time.Duration) (p Pulse, err error) {
	p.Period = period
	err = readAll(ctx, db, p.ReadQueue, p.ReadWaiting, p.readTables, p.readRest, p.readJobs, p.readFailed, p.readPeople)
	return p, err
}

func (p *Pulse) readJobs(ctx context.Context, db store.DB) (err error) {
	p.Done, err = store.Collect[DoneJobs](ctx, db, `
		select kind, count(*) as jobs, percentile_cont(0.5)
		         within group (order by extract(epoch from finalized_at - scheduled_at))::float8 as lag_seconds
		  from (select kind, finalized_at, scheduled_at from oxbow.river_job
		         where state = 'completed' and finalized_at > now() - make_interval(secs => $1) limit $2) j
		 group by kind order by kind`, p.Period.Seconds(), Limit)
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

// KindPulse describes the jobs of a kind.
type KindPulse struct {
	Kind       string
	Jobs       map[string]int64 // by state, each at most Limit
	DueSeconds float64          // how long the oldest job has been due, 0 if none is
	AgeSeconds float64          // since the oldest job was enqueued
	PerSecond  float64          // completed
	LagSeconds float64          // of the completed ones; see DoneJobs
}

// Kinds returns the kinds that have jobs, sorted by name.
func (p Pulse) Kinds() []KindPulse {
	kinds := map[string]*KindPulse{}
	of := func(name string) *KindPulse {
		if kinds[name] == nil {
			kinds[name] = &KindPulse{Kind: name, Jobs: map[string]int64{}}
		}
		return kinds[name]
	}
	for _, q := range p.Queue {
		k := of(q.Kind)
		k.Jobs[q.State] = q.Jobs
		k.DueSeconds, k.AgeSeconds = max(k.DueSeconds, q.DueSeconds), max(k.AgeSeconds, q.AgeSeconds)
	}
	for _, d := range p.Done {
		k := of(d.Kind)
		k.PerSecond, k.LagSeconds = float64(d.Jobs)/p.Period.Seconds(), d.LagSeconds
	}
	var sorted []KindPulse
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		sorted = append(sorted, *kinds[name])
	}
	return sorted
}

// ReadThroughput returns how many jobs were completed in each of the last minutes, the latest last. It counts at most
// Limit, the latest. Completed jobs are kept for at least ten minutes.
func ReadThroughput(ctx context.Context, db store.DB, minutes int) (done []float64, err error) {
	err = readAll(ctx, db, func(ctx context.Context, db store.DB) error {
		done, err = store.Collect[float64](ctx, db, `
			with j as materialized (
			  select floor(extract(epoch from now() - finalized_at) / 60) as ago from oxbow.river_job
			   where state = 'completed' and finalized_at > now() - make_interval(mins => $1)
			   order by finalized_at desc limit $2)
			select (select count(*) from j where j.ago = m.ago)::float8
			  from generate_series($1 - 1, 0, -1) m(ago) order by m.ago desc`, minutes, Limit)
		return err
	})
	return done, err
}
