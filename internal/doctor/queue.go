package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/consistency"
	"github.com/oxbow-memory/oxbow/internal/gauges"
	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

func (e *examination) model(ctx context.Context, tx pgx.Tx) error {
	recorded, err := store.CurrentModel(ctx, tx)
	if err != nil {
		return err
	}
	var reembed store.Reembedding
	if err := store.ReadSetting(ctx, tx, store.ReembedKey, &reembed); err != nil {
		return err
	}
	e.check(e.want.Model.Model != "" && e.want.Model != recorded, LevelWarning,
		fmt.Sprintf("the vectors are of %s, but %s is configured here", recorded, e.want.Model),
		"A worker with this configuration does not start, and recall cannot compare its query with the vectors.",
		"Configure the database's model, or change the database's model with oxbow reembed.")
	e.check(reembed.Model != "", LevelAdvice, fmt.Sprintf("a change to %s is unfinished", reembed.EmbeddingModel),
		"Until it ends, the old model is in use and the new vectors take space.",
		"Run the same oxbow reembed again: it continues.")
	if err := e.pauses(ctx, tx); err != nil {
		return err
	}
	e.fine = "the vectors are of " + recorded.String()
	return e.vectorIndex(ctx, tx)
}

// pauses reports providers that workers do not call.
func (e *examination) pauses(ctx context.Context, tx pgx.Tx) error {
	pauses, err := store.Pauses(ctx, tx)
	for _, p := range pauses {
		e.add(LevelWarning, fmt.Sprintf("the %s provider has failed for %s and is not called for another %s: %s",
			p.Provider, inWords(time.Since(p.Since).Seconds()), inWords(time.Until(p.Until).Seconds()), p.Error),
			"Jobs that need it wait, at most 10 minutes from call to call.",
			"Remove the cause. A restarted worker calls it at once.")
	}
	return err
}

// slowIndex is how long building a vector index may take.
const slowIndex = 6 * time.Hour

// vectorIndex examines the vector indexes of the largest users.
func (e *examination) vectorIndex(ctx context.Context, tx pgx.Tx) error {
	users, err := store.IndexedUsers(ctx, tx)
	for _, u := range users {
		age := time.Since(u.Since)
		e.check(u.State != "ready" && u.State != "ending" && age > slowIndex, LevelAdvice,
			fmt.Sprintf("the index of %s's vectors (%s) is not ready after %s", u.UserID, u.Type,
				inWords(age.Seconds())),
			"Until then recall scans the vectors. The build starts when all older transactions have ended, "+
				"and needs a worker.",
			"See the findings on transactions, and the errors of vector_index jobs.")
		e.check(u.State == "ready" && u.Waiting > u.Vectors/5, LevelAdvice,
			fmt.Sprintf("%d of %d vectors of %s (%s) are not in the index yet", u.Waiting, u.Vectors, u.UserID, u.Type),
			"Every recall scans them.", "None is needed after an import if a worker runs: vector_index jobs move them.")
	}
	return err
}

func (e *examination) workers(ctx context.Context, tx pgx.Tx) error {
	led, err := gauges.Led(ctx, tx)
	if err != nil {
		return err
	}
	is, err := store.CollectOne[struct {
		Standby, Due               bool
		Workers, Listening, Hidden int64
	}](ctx, tx, `
		select pg_is_in_recovery() as standby,
		       count(distinct (application_name, client_addr)) filter (where worker) as workers,
		       -- River's listener pings
		       count(*) filter (where worker and (query ilike 'listen %' or query = '-- ping')) as listening,
		       count(*) filter (where backend_type is null) as hidden,
		       exists (select from oxbow.river_job where state = 'available' and scheduled_at <= now()) as due
		  from (select *, application_name like 'oxbow worker%' as worker from pg_stat_activity
		         where datname = current_database()) a`)
	if err != nil {
		return err
	}
	if is.Standby {
		e.fine = "workers connect to the primary"
		return nil
	}
	if is.Workers == 0 && !led {
		e.check(is.Due, LevelError, "no worker is running, and jobs are due",
			"New memories cannot be recalled.", "Run oxbow work.")
		e.check(!is.Due, LevelWarning, "no worker is running",
			"New memories will not be embedded or reflected on.", "Run oxbow work.")
		return nil
	}
	e.check(!led, LevelWarning, "no worker is the leader",
		"Periodic jobs do not start. An election takes seconds; if it fails, workers cannot write to "+
			"oxbow.river_leader.",
		"Repeat in a minute; then see the worker's log.")
	e.check(is.Listening == 0 && is.Hidden == 0 && is.Workers > 0, LevelAdvice, "no worker listens for notifications",
		"Workers poll instead: jobs start up to a second later.",
		"Nothing if a pooler is in use; otherwise run oxbow work without --poll-only.")
	e.fine = numberOf(max(is.Workers, 1), "worker is", "workers are") + " running, one is the leader"
	return nil
}

// lateStart is how much later than planned a periodic job may start.
const lateStart = 10 * time.Minute

// periodic reports kinds of periodic jobs that do not run or whose last run failed. Discarded jobs
// of these kinds are not reported one by one: the next run does the same work.
func (e *examination) periodic(ctx context.Context, tx pgx.Tx) error {
	led, err := gauges.Led(ctx, tx)
	if err != nil {
		return err
	}
	schedules, err := store.Schedules(ctx, tx)
	if err != nil {
		return err
	}
	for kind, s := range schedules {
		e.check(!jobs.KindOf(kind).Periodic() && s.Schedule != "", LevelAdvice,
			fmt.Sprintf("oxbow.job_schedules has a schedule for %s, which is not a periodic kind", kind),
			"It has no effect.", "Delete the row; oxbow jobs lists the kinds.")
	}
	for _, kind := range jobs.Names((*jobs.Kind).Periodic) {
		s := schedules[kind]
		if next := s.NextRunAt; next != nil {
			late := time.Since(*next)
			e.check(led && late > lateStart, LevelWarning,
				fmt.Sprintf("%s should have run %s ago", kind, inWords(late.Seconds())),
				"No worker has started it since, or the last run has not ended.",
				"See the log of the workers; oxbow top lists running jobs.")
		}
		if s.LastRunAt == nil || s.LastOutcome == "completed" || s.LastOutcome == "snoozed" {
			continue
		}
		last, err := lastError(ctx, tx, kind, "discarded")
		if err != nil {
			return err
		}
		e.add(LevelWarning, fmt.Sprintf("the last run of %s %s ago: %s: %s", kind,
			inWords(time.Since(*s.LastRunAt).Seconds()), s.LastOutcome, last),
			"It last succeeded "+inWords(time.Since(s.SucceededAt).Seconds())+" ago.",
			"Remove the cause; the next run does the work of those that failed.")
	}
	e.fine = "the last run of each kind succeeded, and none is late"
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
		if q.State != "discarded" {
			waiting += q.Jobs
		}
		number := numberOf(q.Jobs, "job", "jobs") + " of kind " + q.Kind
		switch {
		case q.State == "discarded" && !jobs.KindOf(q.Kind).Periodic():
			last, err := lastError(ctx, tx, q.Kind, q.State)
			if err != nil {
				return err
			}
			rescue := ""
			if q.Kind == "embed" {
				rescue = " Sweep embeds the memories."
			}
			e.addFailed(q.Kind, LevelWarning, number+" given up: "+last,
				"All attempts failed."+rescue,
				"Remove the cause; then retry them on the operator's page, or: update oxbow.river_job set "+
					"state = 'available', scheduled_at = now(), finalized_at = null where kind = '"+q.Kind+"' and state = 'discarded'.")
		case q.State == "retryable":
			last, err := lastError(ctx, tx, q.Kind, q.State)
			if err != nil {
				return err
			}
			e.addFailed(q.Kind, LevelAdvice, number+" failed and will be retried: "+last, "The pause grows with each attempt.",
				"Remove the cause; oxbow status shows the jobs.")
		case q.State == "available" && q.DueSeconds > lateJob:
			e.add(LevelWarning, fmt.Sprintf("the oldest job of kind %s has been due for %s; %s", q.Kind,
				inWords(q.DueSeconds), numberOf(q.Jobs, "job waits", "jobs wait")),
				"The workers do not keep up, or none serves the queue.",
				"Run more workers, or raise --concurrency; see the findings on workers.")
		}
	}
	stuck, err := store.CollectOne[struct {
		Jobs int64
		Kind string
		Age  float64
	}](ctx, tx, `
		select count(*) as jobs, min(kind) as kind, extract(epoch from now() - min(attempted_at))::float8 as age
		  from (select kind, attempted_at from oxbow.river_job
		         where state = 'running' and attempted_at < now() - make_interval(secs => $1) limit 1000) j`, stuckJob)
	e.check(stuck.Jobs > 0, LevelWarning, fmt.Sprintf("%s running for up to %s, such as one of kind %s",
		numberOf(stuck.Jobs, "job has been", "jobs have been"), inWords(stuck.Age), stuck.Kind),
		"No job takes so long: its worker was killed, and the leader has not rescued it.",
		"See the findings on workers.")
	e.fine = numberOf(waiting, "job is", "jobs are") + " running or waiting; none failed, none is stuck"
	return err
}

// lastError returns the error of the latest job of a kind in a state.
func lastError(ctx context.Context, tx pgx.Tx, kind, state string) (string, error) {
	text, err := store.CollectOne[string](ctx, tx, `
		select coalesce((select errors[cardinality(errors)] ->> 'error' from oxbow.river_job
		                  where state = $2::oxbow.river_job_state and kind = $1
		                  order by coalesce(finalized_at, attempted_at) desc nulls last limit 1),
		         'no error is recorded')`,
		kind, state)
	return oneline.Shorten(text, 200), err
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
	e.check(g.EmbedSeconds() > lateEmbedding, LevelWarning,
		"memories have waited to be embedded for "+inWords(g.EmbedSeconds()),
		"Recall finds them only by their words, or not at all.", "oxbow status shows whether the provider responds.")
	e.check(g.FailingMessages > 0, LevelAdvice,
		numberOf(g.FailingMessages, "message", "messages")+" could not be extracted so far",
		"The extractor's answers about them were invalid; they are retried one by one.",
		"select session_id, extract_failures, extract_error from oxbow.messages where extracted_at is null and "+
			"extract_failures > 0")
	e.check(g.InboxSeconds > lateReflection, LevelAdvice,
		fmt.Sprintf("memories have waited to be reflected on for %s (%d in all)", inWords(g.InboxSeconds), g.Inbox),
		"Reflection is due after 24 hours at the latest: it does not keep up, its provider is down, or users have "+
			"reached their limit of tokens.",
		"oxbow status shows the state of the reasoner; see --reasoner-daily-tokens.")
	e.fine = fmt.Sprintf("%s to be reflected on, %s to be extracted",
		numberOf(g.Inbox, "memory waits", "memories wait"), numberOf(g.Messages, "message waits", "messages wait"))
	return nil
}

func (e *examination) traits(ctx context.Context, tx pgx.Tx) error {
	c, err := consistency.ReadState(ctx, tx)
	e.check(c.Problems > 0, LevelError, "the last check found "+
		numberOf(c.Problems, "contradiction in traits or memories", "contradictions in traits or memories"),
		"Rows were changed by hand, or restored without triggers.", "Run oxbow check, then oxbow check --repair.")
	e.fine = "traits agree with their events"
	if c.At.IsZero() {
		e.fine = "traits have not been checked yet: consistency_check runs daily"
	}
	return err
}

// countedSecrets is the maximum number of memories, and of messages, that the check counts.
const countedSecrets = 10_000

// secrets counts the memories and messages that are kept from recall and models, by kind of secret.
func (e *examination) secrets(ctx context.Context, tx pgx.Tx) error {
	is, err := store.CollectOne[struct {
		Marked, Messages int64
		Kinds            string
		Policy           string
	}](ctx, tx, `
		with marked as (select m.user_id, m.memory_type, m.id from oxbow.memories m where m.sensitivity = 2 limit $1),
		kind as (
		  select k.name, count(*) as n
		    from marked m
		    join lateral (select h.reason from oxbow.memory_history h
		                   where h.user_id = m.user_id and h.memory_type = m.memory_type and h.memory_id = m.id
		                     and h.event = 'MARK' limit 1) h on true
		   cross join string_to_table(split_part(h.reason, ': ', 2), ', ') k(name)
		   group by k.name
		)
		select (select count(*) from marked) as marked,
		       (select count(*) from (select from oxbow.messages g where g.sensitivity = 2 limit $1) g) as messages,
		       (select coalesce(string_agg(format('%s %s', k.name, k.n), ', ' order by k.name), '') from kind k) as kinds,
		       oxbow.secrets_policy() as policy`, countedSecrets)
	if err != nil {
		return err
	}
	e.check(is.Policy == "store", LevelAdvice, "secrets in texts are not looked for",
		"Passwords, card numbers and keys are embedded, recalled and shown to models.",
		`delete from oxbow.settings where key = 'secrets'`)
	most := func(n int64) string {
		if n == countedSecrets {
			return "at least "
		}
		return ""
	}
	kinds := ""
	if is.Kinds != "" {
		kinds = " (" + is.Kinds + ")"
	}
	e.fine = most(is.Marked) + numberOf(is.Marked, "memory", "memories") + kinds + " and " + most(is.Messages) +
		numberOf(is.Messages, "message", "messages") + " of level 2: recall, context and models do not see them"
	return nil
}
