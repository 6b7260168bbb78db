package chaos

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// drainTime limits how long a system without faults may take to finish all work. River rescues the jobs of killed
// workers 45 seconds after the limit of a provider's call, and looks every 30 seconds.
const drainTime = 10 * time.Minute

// long matches jobs of a killed worker that may run for up to 10 minutes, and for which nothing waits.
const long = `(kind in ('consistency_check', 'vector_index', 'pattern') and state = 'running'
	and attempted_at > now() - interval '12 minutes')`

// heal ends all faults, starts two workers, ends the sessions, and waits until nothing is left to do.
func (r *run) heal(ctx context.Context) error {
	r.say("the faults end")
	r.provider.healAll()
	r.proxy.resume()
	for i := range r.crew.slots {
		r.crew.stop(i, syscall.SIGTERM)
	}
	if stuck := r.crew.end(30 * time.Second); len(stuck) > 0 {
		r.violate(Violation{Check: "workers stop", Where: fmt.Sprintf("slots %v", stuck),
			Expected: "a worker ends within its --stop-timeout of 5 s", Found: "it runs after 30 s"})
	}
	if err := r.oxbow(ctx, "migrate", "up"); err != nil {
		return err
	}
	r.servers.set(ctx, servers) // one that met a migration that was killed could not start before
	r.requireServers(ctx)
	if err := r.endHostile(ctx); err != nil {
		return err
	}
	r.endServers()
	conn, err := pgx.Connect(ctx, r.postgres.dsn())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	// No worker runs, so running jobs are those of killed ones. A worker would rescue them after 45 seconds, and molt, of
	// which only one runs, after 10 minutes.
	if _, err := conn.Exec(ctx, `update oxbow.river_job set state = 'available' where state = 'running'
		and (kind = 'molt' or $1)`, r.options.Hurry); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, `select oxbow.set_policy('molt_mode', 2)`); err != nil {
		return err
	}
	if r.options.Hurry {
		if _, err := conn.Exec(ctx, `delete from oxbow.river_leader`); err != nil {
			return err
		}
	}
	r.crew.set(ctx, 2)
	if err := pastDeadlocks(ctx, conn, `select oxbow.end_session(user_id, id) from oxbow.sessions
		where ended_at is null`); err != nil {
		return err
	}
	begun, limit, told := time.Now(), drainTime, time.Now()
	var left string
	for idle := 0; ; {
		if left, err = remaining(ctx, conn); err != nil {
			return err
		}
		if left == "" {
			if idle++; idle == 5 {
				break
			}
		} else {
			idle = 0
			if time.Since(told) > 30*time.Second {
				told = time.Now()
				r.say("still to do: %s", left)
			}
		}
		if time.Since(begun) > limit {
			r.violate(Violation{Check: "nothing stuck", Expected: fmt.Sprintf("nothing left to do %s after the faults",
				limit), Found: left})
			break
		}
		// Jobs that wait for another attempt get it now, as an operator may do.
		if err := pastDeadlocks(ctx, conn, `update oxbow.river_job set state = 'available', scheduled_at = now()
			where (state = 'retryable' or state = 'scheduled' and kind <> 'expire_trend') and scheduled_at > now()
			and created_at < now() - interval '3 seconds'`); err != nil {
			return err
		}
		if !sleep(ctx, 300*time.Millisecond) {
			return ctx.Err()
		}
	}
	r.say("drained in %.1f s", time.Since(begun).Seconds())
	if stuck := r.crew.end(30 * time.Second); len(stuck) > 0 {
		r.violate(Violation{Check: "workers stop", Where: fmt.Sprintf("slots %v", stuck),
			Expected: "an idle worker ends after SIGTERM", Found: "it runs after 30 s"})
	}
	// Nothing older is open, so the next sweep would end every erasure.
	return pastDeadlocks(ctx, conn, `select oxbow.finish_erasures(u) from oxbow.erasing_users(1000) u`)
}

// pastDeadlocks runs a statement, and repeats it after a deadlock with the workers, which lock rows in another order.
func pastDeadlocks(ctx context.Context, conn *pgx.Conn, sql string) error {
	_, err := conn.Exec(ctx, sql)
	for store.IsDeadlock(err) {
		_, err = conn.Exec(ctx, sql)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

// remaining describes the work that is left, or returns "".
func remaining(ctx context.Context, conn *pgx.Conn) (string, error) {
	rows, err := conn.Query(ctx, `
		select format('%s jobs %s: %s, the oldest of %s', count(*), kind, state, min(created_at)) from oxbow.river_job
		 where state not in ('completed', 'cancelled', 'discarded') and not (state = 'scheduled'
		 and kind = 'expire_trend')
		   and not (kind = any($1)
		   and created_at > now() - interval '15 seconds' and state <> 'running')
		   and not `+long+`
		 group by kind, state
		union all
		select format('%s messages are not extracted', count(*))
		  from oxbow.messages where extracted_at is null having count(*) > 0
		union all
		select format('%s users are due for reflection', count(*))
		  from (select distinct user_id from oxbow.reflection_inbox) i
		 where (oxbow.reflection_due(i.user_id)).trigger_type is not null having count(*) > 0
		union all
		select format('%s signals are not counted', count(*)) from oxbow.feedback_signals
		 where dispatched_at is null having count(*) > 0
		union all
		select format('%s intentions are not due', count(*)) from oxbow.intentions
		 where state = 'open' and remind_at < now() having count(*) > 0
		union all
		select format('%s strategies are in trial', count(*)) from oxbow.strategies where `+inTrial+` having count(*) > 0
		union all
		select format('%s uses are not counted', count(*)) from oxbow.activity having count(*) > 0`, periodic)
	if err != nil {
		return "", err
	}
	left, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return strings.Join(left, "; "), err
}
