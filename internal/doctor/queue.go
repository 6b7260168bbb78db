package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/consistency"
	"github.com/oxbow-memory/oxbow/internal/gauges"
	"github.com/oxbow-memory/oxbow/store"
)

func (e *examination) model(ctx context.Context, tx pgx.Tx) error {
	recorded, err := store.CurrentModel(ctx, tx)
	if err != nil {
		return err
	}
	if e.want.Model.Model != "" && e.want.Model != recorded {
		e.add(LevelWarning, fmt.Sprintf("the vectors are of %s, and %s is configured here", recorded, e.want.Model),
			"A worker with this configuration refuses to start; a client's queries cannot be compared.",
			"Configure the database's model, or change the database's with oxbow reembed.")
	}
	var reembed store.Reembedding
	if err := store.ReadSetting(ctx, tx, store.ReembedKey, &reembed); err != nil {
		return err
	}
	if reembed.Model != "" {
		e.add(LevelAdvice, fmt.Sprintf("a change to %s was begun", reembed.EmbeddingModel),
			"Until it is finished the second table of vectors takes space, and the old model serves.",
			"Run the same oxbow reembed again: it goes on where it was.")
	}
	e.fine = "the vectors are of " + recorded.String()
	return e.vectorIndex(ctx, tx)
}

// slowIndex is how long building a vector index may take.
const slowIndex = 6 * time.Hour

// vectorIndex examines the vector indexes of the largest users.
func (e *examination) vectorIndex(ctx context.Context, tx pgx.Tx) error {
	users, err := store.IndexedUsers(ctx, tx)
	if err != nil {
		return err
	}
	for _, u := range users {
		switch {
		case u.State != "ready" && u.State != "ending" && time.Since(u.Since) > slowIndex:
			e.add(LevelAdvice, fmt.Sprintf("the index of %s's vectors (%s) is not ready after %s", u.UserID, u.Type,
				inWords(time.Since(u.Since).Seconds())),
				"They are scanned meanwhile. It begins when transactions that are older are over, and goes on while a worker runs.",
				"See the findings on transactions, and jobs of the kind vector_index.")
		case u.State == "ready" && u.Waiting > u.Vectors/5:
			e.add(LevelAdvice, fmt.Sprintf("%d of %d vectors of %s (%s) wait for their index", u.Waiting, u.Vectors, u.UserID,
				u.Type),
				"Those that wait are scanned by every recall.",
				"Nothing after an import: the job vector_index moves them. See that a worker runs.")
		}
	}
	return nil
}

// sweepPause is how many seconds may pass without a run of sweep, which runs every minute.
const sweepPause = 10 * 60

func (e *examination) workers(ctx context.Context, tx pgx.Tx) error {
	var led, standby bool
	if err := tx.QueryRow(ctx, `select pg_is_in_recovery()`).Scan(&standby); err != nil {
		return err
	}
	if standby { // river_leader is unlogged and cannot be read on a standby
		e.fine = "workers are connected to the primary, if any are running"
		return nil
	}
	var processes, listening, hidden, due int64
	var swept float64
	err := tx.QueryRow(ctx, `
		select exists (select from oxbow.river_leader where expires_at > now()),
		       (select count(distinct (application_name, client_addr)) from pg_stat_activity
		         where datname = current_database() and application_name like 'oxbow worker%'),
		       (select count(*) from pg_stat_activity where datname = current_database()
		         and application_name like 'oxbow worker%'
		           and (query ilike 'listen %' or query = '-- ping')), -- River's listener pings
		       (select count(*) from pg_stat_activity where datname = current_database() and backend_type is null),
		       (select count(*) from (select from oxbow.river_job where state = 'available' and scheduled_at <= now()
		         limit 1000) j),
		       coalesce((select extract(epoch from now() - finalized_at) from oxbow.river_job
		                  where kind = 'sweep' and state = 'completed' order by id desc limit 1), -1)::float8`).
		Scan(&led, &processes, &listening, &hidden, &due, &swept)
	if err != nil {
		return err
	}
	switch {
	case processes == 0 && !led && due > 0:
		e.add(LevelError, "no worker is running, and jobs are due", "What was stored cannot be recalled until one comes.",
			"Run oxbow work.")
		return nil
	case processes == 0 && !led:
		e.add(LevelWarning, "no worker is running", "What is stored is not embedded, and nothing is reflected on.",
			"Run oxbow work.")
		return nil
	case !led:
		e.add(LevelWarning, "no worker leads",
			"What is periodic (sweep, settle, days of the sensory stream) is not started. An election takes seconds; where "+
				"it lasts, workers cannot write to oxbow.river_leader.",
			"Look again in a minute; then see the worker's log.")
	}
	if swept < 0 || swept > sweepPause {
		what := "sweep has not run lately"
		if swept >= 0 {
			what = "sweep last ran " + inWords(swept) + " ago"
		}
		e.add(LevelAdvice, what,
			"It runs every minute and repairs what was lost. A worker that has just started is about to run it; finished "+
				"jobs are kept for an hour.", "Look again in a minute; then at jobs of the kind sweep in oxbow.river_job.")
	}
	if listening == 0 && hidden == 0 && processes > 0 {
		e.add(LevelAdvice, "no worker listens for notifications",
			"Jobs are found by polling: embedding begins within 100 ms, what follows within a second.",
			"Fine behind a pooler; else run oxbow work without --poll-only.")
	}
	e.fine = numberOf(max(processes, 1), "worker is", "workers are") + " running, one leads"
	return nil
}

const (
	lateJob  = 5 * 60
	stuckJob = 15 * 60
)

func (e *examination) queue(ctx context.Context, tx pgx.Tx) error {
	var g gauges.Gauges
	if err := g.ReadQueue(ctx, tx); err != nil {
		return err
	}
	var waiting int64
	for _, q := range g.Queue {
		switch {
		case q.State == "discarded":
			if err := e.givenUp(ctx, tx, q.Kind); err != nil {
				return err
			}
		case q.State == "retryable":
			last, err := lastError(ctx, tx, q.Kind, q.State, false)
			if err != nil {
				return err
			}
			e.add(LevelAdvice, fmt.Sprintf("%s of kind %s failed and will be tried again: %s", numberOf(q.Jobs, "job", "jobs"),
				q.Kind, last), "Each time a job fails it waits longer.",
				"When the cause is gone they succeed; oxbow status shows them.")
		case q.State == "available" && q.DueSeconds > lateJob:
			e.add(LevelWarning, fmt.Sprintf("the oldest job of kind %s is due for %s, and %s", q.Kind, inWords(q.DueSeconds),
				numberOf(q.Jobs, "waits", "wait")),
				"The workers do not keep up, or none works that queue.",
				"Run more workers, or raise --concurrency; see the findings on workers.")
		}
		if q.State != "discarded" {
			waiting += q.Jobs
		}
	}
	var stuck int64
	var kind string
	var age float64
	err := tx.QueryRow(ctx, `
		select count(*), coalesce(min(kind), ''), coalesce(extract(epoch from now() - min(attempted_at)), 0)::float8
		  from (select kind, attempted_at from oxbow.river_job
		         where state = 'running' and attempted_at < now() - make_interval(secs => $1) limit 1000) j`, stuckJob).
		Scan(&stuck, &kind, &age)
	if err != nil {
		return err
	}
	if stuck > 0 {
		e.add(LevelWarning, fmt.Sprintf("%s said to be running for up to %s, such as one of kind %s",
			numberOf(stuck, "job is", "jobs are"), inWords(age), kind),
			"No job takes so long: its worker was killed, and nobody has taken it up, which the leading worker does after "+
				"the job's timeout.", "See the findings on workers.")
	}
	e.fine = numberOf(waiting, "job is", "jobs are") + " under way or waiting; none failed, none is stuck"
	return nil
}

// givenUp reports discarded jobs of a kind. A periodic job may fail once, because the next one
// does the same work, so only the latest counts.
func (e *examination) givenUp(ctx context.Context, tx pgx.Tx, kind string) error {
	var jobs int64
	var failing bool
	err := tx.QueryRow(ctx, `
		select count(*) filter (where not j.metadata ? 'periodic'),
		       coalesce(max(j.finalized_at) filter (where j.metadata ? 'periodic') > greatest(now() - interval '25 hours', -- the rarest come once a day
		         (select max(c.finalized_at) from oxbow.river_job c where c.kind = $1 and c.state = 'completed'
		           and c.metadata ? 'periodic')), false)
		  from (select metadata, finalized_at from oxbow.river_job where kind = $1 and state = 'discarded' limit $2) j`,
		kind, gauges.Limit).Scan(&jobs, &failing)
	if err != nil {
		return err
	}
	if jobs > 0 {
		last, err := lastError(ctx, tx, kind, "discarded", false)
		if err != nil {
			return err
		}
		e.add(LevelWarning, fmt.Sprintf("%s of kind %s given up: %s", numberOf(jobs, "job", "jobs"), kind, last),
			"It failed as often as it may. What embed gave up, sweep takes up again.",
			"When the cause is gone: update oxbow.river_job set state = 'available', scheduled_at = now(), finalized_at = "+
				"null where kind = '"+kind+"' and state = 'discarded' and not metadata ? 'periodic'.")
	}
	if failing {
		last, err := lastError(ctx, tx, kind, "discarded", true)
		if err != nil {
			return err
		}
		e.add(LevelWarning, fmt.Sprintf("%s failed when it ran last: %s", kind, last),
			"It comes back with the clock, and has not succeeded since.",
			"When the cause is gone, nothing: the next one does what this one was to do.")
	}
	return nil
}

// lastError returns the error of the latest job of a kind in a state, periodic or not.
func lastError(ctx context.Context, tx pgx.Tx, kind, state string, periodic bool) (text string, err error) {
	err = tx.QueryRow(ctx, `
		select coalesce((select errors[cardinality(errors)] ->> 'error' from oxbow.river_job
		                  where state = $2::oxbow.river_job_state and kind = $1 and metadata ? 'periodic' = $3
		                  order by coalesce(finalized_at, attempted_at) desc nulls last limit 1), 'no error is recorded')`,
		kind, state, periodic).Scan(&text)
	return store.Shorten(text, 200), err
}

const (
	lateEmbedding  = 10 * 60
	lateReflection = 3 * 24 * 3600
)

func (e *examination) backlog(ctx context.Context, tx pgx.Tx) error {
	var g gauges.Gauges
	if err := g.ReadQueue(ctx, tx); err != nil {
		return err
	}
	if err := g.ReadWaiting(ctx, tx); err != nil {
		return err
	}
	if s := g.EmbedSeconds(); s > lateEmbedding {
		e.add(LevelWarning, "memories wait for their vectors for "+inWords(s),
			"Those without any search terms cannot be recalled; the others by their words alone.",
			"oxbow status tells whether the provider answers.")
	}
	if g.FailingMessages > 0 {
		e.add(LevelAdvice, numberOf(g.FailingMessages, "message", "messages")+" could not be extracted so far",
			"The extractor's answers about them made no sense; they are tried again one by one.",
			"select session_id, extract_failures, extract_error from oxbow.messages where extracted_at is null and "+
				"extract_failures > 0")
	}
	if g.InboxSeconds > lateReflection {
		e.add(LevelAdvice, fmt.Sprintf("memories wait for reflection for %s (%d in all)", inWords(g.InboxSeconds), g.Inbox),
			"Reflection is due after 24 hours at the latest: it does not keep up, or its provider or a limit of tokens "+
				"holds it.",
			"oxbow status tells how the reasoner fares; see --reasoner-daily-tokens.")
	}
	e.fine = fmt.Sprintf("%s to be reflected on, %s to be extracted", numberOf(g.Inbox, "memory waits", "memories wait"),
		numberOf(g.Messages, "message waits", "messages wait"))
	return nil
}

func (e *examination) traits(ctx context.Context, tx pgx.Tx) error {
	c, err := consistency.ReadState(ctx, tx)
	if err != nil {
		return err
	}
	if c.Problems > 0 {
		e.add(LevelError, fmt.Sprintf("the last check found %s", numberOf(c.Problems, "trait that contradicts its events",
			"problems with traits and their events")),
			"Somebody changed rows by hand, or restored without triggers.",
			"Look at them with oxbow check, then run oxbow check --repair.")
	}
	e.fine = "traits agree with their events"
	if c.At.IsZero() {
		e.fine = "traits were not checked yet: consistency_check does it once a day"
	}
	return nil
}
