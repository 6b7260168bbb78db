// Package gauges reads the state of a database and its workers at a bounded cost.
package gauges

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/consistency"
	"github.com/oxbow-memory/oxbow/store"
)

// Limit is the maximum number of rows that a gauge counts. Reading them costs about as much as a
// large recall, however long the queue is.
const Limit = 100_000

// QueueGauge describes the jobs of one kind in one state.
type QueueGauge struct {
	Kind  string `json:"kind"`
	State string `json:"state"`
	Jobs  int64  `json:"jobs"`
	// DueSeconds is how long the oldest job has been due, 0 if none is due.
	DueSeconds float64 `json:"due_seconds"`
	// AgeSeconds is the time since the oldest job was enqueued.
	AgeSeconds float64 `json:"age_seconds"`
	// PutOff is the number of jobs that were snoozed because a provider was down, another model is
	// in use, or a token limit was reached.
	PutOff int64 `json:"put_off"`
}

// TableGauge contains PostgreSQL's statistics about a table and its partitions.
type TableGauge struct {
	Table    string `json:"table"`
	Live     int64  `json:"live"`
	Dead     int64  `json:"dead"`
	Inserted int64  `json:"inserted"` // since the statistics were last reset
}

// Gauges is the state of a database. The cost of reading it is bounded by Limit and by the dead
// rows that vacuum has not removed yet.
type Gauges struct {
	// Queue lists unfinished and discarded jobs by kind and state. At most Limit jobs of each
	// state are counted.
	Queue []QueueGauge `json:"queue"`
	// Inbox is the number of memories waiting for reflection, at most Limit. InboxSeconds is how
	// long the oldest has waited.
	Inbox        int64   `json:"inbox"`
	InboxSeconds float64 `json:"inbox_seconds"`
	// Messages is the number of messages not yet extracted, at most Limit. FailingMessages is how
	// many of them have failed.
	Messages        int64 `json:"messages"`
	FailingMessages int64 `json:"failing_messages"`
	// Tables lists the tables of schema oxbow, including the queue.
	Tables []TableGauge `json:"tables"`
	// Levels and Weights estimate how many facts and episodes have a level, or weigh less than a bound.
	Levels  []Share `json:"levels"`
	Weights []Share `json:"weights"`
	// Schedules lists the schedules and runs of periodic kinds of jobs.
	Schedules map[string]store.Schedule `json:"schedules"`
	// Led reports whether a worker is the leader, which enqueues periodic jobs.
	Led bool `json:"led"`
	// Inconsistencies is the number of problems that consistency_check found in its current or
	// last round.
	Inconsistencies int64 `json:"inconsistencies"`
	// TransactionSeconds is the age of this database's oldest transaction visible to this login.
	// It holds back vacuum.
	TransactionSeconds float64 `json:"transaction_seconds"`
}

// Timeout is the time limit of each statement that reads gauges.
const Timeout = 5 * time.Second

// Snapshot runs f in a read-only transaction with a limit on the time of each statement and a lock
// timeout of 500 ms. Sequential scans are disabled: otherwise the planner would read all finished
// jobs to find the waiting ones.
func Snapshot(ctx context.Context, db store.DB, timeout time.Duration, f func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			select set_config('transaction_read_only', 'on', true), set_config('statement_timeout', $1, true),
			       set_config('lock_timeout', '500ms', true), set_config('enable_seqscan', 'off', true),
			       set_config('jit', 'off', true)`,
			fmt.Sprintf("%dms", max(timeout.Milliseconds(), 1)))
		if err != nil {
			return err
		}
		return f(tx)
	})
}

// Read reads the gauges. It requires the rights of the schema's owner or the worker.
func Read(ctx context.Context, db store.DB) (g Gauges, err error) {
	err = readAll(ctx, db, g.ReadQueue, g.ReadWaiting, g.readTables, g.readLevels, g.readRest)
	return g, err
}

// readAll calls functions that read gauges, in one snapshot.
func readAll(ctx context.Context, db store.DB, reads ...func(context.Context, store.DB) error) error {
	return Snapshot(ctx, db, Timeout, func(tx pgx.Tx) error {
		for _, read := range reads {
			if err := read(ctx, tx); err != nil {
				return store.Explain(err)
			}
		}
		return nil
	})
}

// ReadQueue counts the jobs in each state except completed and cancelled, using the index on the
// state.
func (g *Gauges) ReadQueue(ctx context.Context, db store.DB) (err error) {
	g.Queue, err = store.Collect[QueueGauge](ctx, db, `
		select j.kind, s.state::text, count(*) as jobs,
		       greatest(extract(epoch from now() - min(j.scheduled_at)
		         filter (where s.state in ('available', 'retryable'))), 0)::float8 as due_seconds,
		       greatest(extract(epoch from now() - min(j.created_at)), 0)::float8 as age_seconds,
		       count(*) filter (where s.state in ('available', 'scheduled') and j.metadata ? 'snoozes') as put_off
		  from unnest('{available,pending,retryable,running,scheduled,discarded}'::oxbow.river_job_state[]) s(state)
		 cross join lateral (select kind, scheduled_at, created_at, metadata from oxbow.river_job
		   where state = s.state limit $1) j
		 group by j.kind, s.state
		 order by j.kind, s.state`, Limit)
	return err
}

// ReadWaiting counts the memories waiting for reflection and the messages waiting for extraction.
func (g *Gauges) ReadWaiting(ctx context.Context, db store.DB) error {
	return db.QueryRow(ctx, `
		select i.n, i.seconds, m.n, m.failing
		  from (select count(*) as n, greatest(extract(epoch from now() - min(added_at)), 0)::float8 as seconds
		          from (select added_at from oxbow.reflection_inbox limit $1) i) i,
		       (select count(*) as n, count(*) filter (where extract_failures > 0) as failing
		          from (select extract_failures from oxbow.messages where extracted_at is null limit $1) m) m`, Limit).
		Scan(&g.Inbox, &g.InboxSeconds, &g.Messages, &g.FailingMessages)
}

func (g *Gauges) readTables(ctx context.Context, db store.DB) (err error) {
	g.Tables, err = store.Collect[TableGauge](ctx, db, `
		select coalesce(p.relname, c.relname)::text as "table", sum(pg_stat_get_live_tuples(c.oid))::bigint as live,
		       sum(pg_stat_get_dead_tuples(c.oid))::bigint as dead,
		       sum(pg_stat_get_tuples_inserted(c.oid))::bigint as inserted
		  from pg_class c
		  left join pg_inherits i on i.inhrelid = c.oid and c.relispartition
		  left join pg_class p on p.oid = i.inhparent
		 where c.relnamespace = 'oxbow'::regnamespace and c.relkind = 'r'
		 group by 1 order by 1`)
	return err
}

func (g *Gauges) readRest(ctx context.Context, db store.DB) error {
	c, err := consistency.ReadState(ctx, db)
	if err != nil {
		return err
	}
	g.Inconsistencies = c.Problems
	if g.Schedules, err = store.Schedules(ctx, db); err != nil {
		return err
	}
	if g.Led, err = Led(ctx, db); err != nil {
		return err
	}
	g.TransactionSeconds, err = store.CollectOne[float64](ctx, db, `
		select greatest(extract(epoch from now() - min(xact_start)), 0)::float8 from pg_stat_activity
		 where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`)
	return err
}

// Led reports whether a worker is the leader. On a standby it returns false, because the table is unlogged and cannot
// be read there.
func Led(ctx context.Context, db store.DB) (bool, error) {
	standby, err := store.CollectOne[bool](ctx, db, `select pg_is_in_recovery()`)
	if err != nil || standby {
		return false, err
	}
	return store.CollectOne[bool](ctx, db, `select exists (select from oxbow.river_leader where expires_at > now())`)
}

// Of returns the statistics of a table, or the zero value if there are none.
func (g Gauges) Of(table string) TableGauge {
	for _, t := range g.Tables {
		if t.Table == table {
			return t
		}
	}
	return TableGauge{}
}

// EmbedSeconds returns the age of the oldest unfinished embed job in seconds, 0 if there is none.
func (g Gauges) EmbedSeconds() (seconds float64) {
	for _, q := range g.Queue {
		if q.Kind == "embed" && q.State != "discarded" {
			seconds = max(seconds, q.AgeSeconds)
		}
	}
	return seconds
}
