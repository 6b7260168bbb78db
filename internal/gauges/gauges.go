// Package gauges reads the state of a database and its workers, at a bounded cost.
package gauges

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/consistency"
	"github.com/oxbow-memory/oxbow/store"
)

// Limit is how many rows a gauge counts at most: reading them costs about as much as a large recall, however long the
// queue is.
const Limit = 100_000

// QueueGauge is how many jobs of a kind are in a state.
type QueueGauge struct {
	Kind  string `json:"kind"`
	State string `json:"state"`
	Jobs  int64  `json:"jobs"`
	// DueSeconds is how long the oldest of them is due, 0 if none is.
	DueSeconds float64 `json:"due_seconds"`
	// AgeSeconds is how long ago the oldest of them was enqueued.
	AgeSeconds float64 `json:"age_seconds"`
	// PutOff is how many of them wait because a provider was down, another model is used, or a limit of tokens was
	// reached.
	PutOff int64 `json:"put_off"`
}

// TableGauge is what PostgreSQL's statistics say of a table and its partitions.
type TableGauge struct {
	Table    string `json:"table"`
	Live     int64  `json:"live"`
	Dead     int64  `json:"dead"`
	Inserted int64  `json:"inserted"` // since the statistics were reset
}

// Gauges is what a database has to tell at a moment, at a cost that is bounded: by Limit, and by what vacuum has yet
// to clear away.
type Gauges struct {
	// Queue has the jobs that are not finished, and those that were given up, by kind and state. No state is counted
	// beyond Limit.
	Queue []QueueGauge `json:"queue"`
	// Inbox is how many memories wait for reflection, at most Limit; InboxSeconds how long the oldest of them does.
	Inbox        int64   `json:"inbox"`
	InboxSeconds float64 `json:"inbox_seconds"`
	// Messages is how many messages are not extracted, at most Limit; FailingMessages of them were tried in vain.
	Messages        int64 `json:"messages"`
	FailingMessages int64 `json:"failing_messages"`
	// Tables are those of users' data, and the queue.
	Tables []TableGauge `json:"tables"`
	// Led tells whether a worker leads, which starts what is periodic.
	Led bool `json:"led"`
	// Inconsistencies is how many problems the job consistency_check found in its last round.
	Inconsistencies int64 `json:"inconsistencies"`
	// TransactionSeconds is the age of the oldest transaction of this database that this login may see: it holds back
	// vacuum.
	TransactionSeconds float64 `json:"transaction_seconds"`
}

// Timeout is how long a statement that reads gauges may take.
const Timeout = 5 * time.Second

// Snapshot gives read-only statements a transaction that uses indexes, waits for nobody, and ends each after a time.
// The planner would read a queue of finished jobs whole, to find none that waits.
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

// Read reads them. It is for the owner of the schema and the worker.
func Read(ctx context.Context, db store.DB) (g Gauges, err error) {
	err = Snapshot(ctx, db, Timeout, func(tx pgx.Tx) error {
		for _, read := range []func(context.Context, store.DB) error{g.ReadQueue, g.ReadWaiting, g.readTables, g.readRest} {
			if err := read(ctx, tx); err != nil {
				return store.Explain(err)
			}
		}
		return nil
	})
	return g, err
}

// ReadQueue reads the jobs of each state that is not the end of a job, through the index of the states.
func (g *Gauges) ReadQueue(ctx context.Context, db store.DB) (err error) {
	g.Queue, err = store.Collect(ctx, db, pgx.RowToStructByPos[QueueGauge], `
		select j.kind, s.state::text, count(*),
		       greatest(extract(epoch from now() - min(j.scheduled_at) filter (where s.state in ('available',
		         'retryable'))), 0)::float8,
		       greatest(extract(epoch from now() - min(j.created_at)), 0)::float8,
		       count(*) filter (where s.state in ('available', 'scheduled') and j.metadata ? 'snoozes')
		  from unnest('{available,pending,retryable,running,scheduled,discarded}'::oxbow.river_job_state[]) s(state)
		 cross join lateral (select kind, scheduled_at, created_at, metadata from oxbow.river_job
		   where state = s.state limit $1) j
		 group by j.kind, s.state
		 order by j.kind, s.state`, Limit)
	return err
}

// ReadWaiting counts the memories that wait for reflection, and the messages that wait for extraction.
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
	g.Tables, err = store.Collect(ctx, db, pgx.RowToStructByPos[TableGauge], `
		select coalesce(p.relname, c.relname)::text, sum(pg_stat_get_live_tuples(c.oid))::bigint,
		  sum(pg_stat_get_dead_tuples(c.oid))::bigint,
		       sum(pg_stat_get_tuples_inserted(c.oid))::bigint
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
	var standby bool
	err = db.QueryRow(ctx, `
		select pg_is_in_recovery(),
		       (select greatest(extract(epoch from now() - min(xact_start)), 0)::float8 from pg_stat_activity
		         where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend')`).
		Scan(&standby, &g.TransactionSeconds)
	if err != nil || standby { // the table of the leader is unlogged, and cannot be read on a standby
		return err
	}
	return db.QueryRow(ctx, `select exists (select from oxbow.river_leader where expires_at > now())`).Scan(&g.Led)
}

// Of returns the statistics of a table, zero if there is none of the name.
func (g Gauges) Of(table string) TableGauge {
	for _, t := range g.Tables {
		if t.Table == table {
			return t
		}
	}
	return TableGauge{}
}

// EmbedSeconds is how long ago the memories were stored that wait longest to be embedded, 0 if none do.
func (g Gauges) EmbedSeconds() (seconds float64) {
	for _, q := range g.Queue {
		if q.Kind == "embed" && q.State != "discarded" {
			seconds = max(seconds, q.AgeSeconds)
		}
	}
	return seconds
}
