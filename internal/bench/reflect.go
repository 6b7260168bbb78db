package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/worker"
)

const (
	newcomerHistory = 1_000
	further         = 1_000 // memories whose reflection is timed as a history grows

	reflectGoal = 500 // memories a second
)

// reflections measures the reasoner of rules at work: how many memories a second the worker reflects on for many users, and
// what a further thousand of one user's take as the user's history grows. All is embedded before.
func (b *bench) reflections(ctx context.Context) error {
	dsn, err := b.database(ctx, "bench_reflect")
	if err != nil {
		return err
	}
	pool, err := openPool(ctx, dsn, 2)
	if err != nil {
		return err
	}
	defer pool.Close()
	r := &reflecting{bench: b, dsn: dsn, pool: pool}
	if err := r.many(ctx); err != nil {
		return err
	}
	if err := r.grow(ctx); err != nil {
		return err
	}
	pool.Close()
	return b.drop(ctx, "bench_reflect")
}

// reflecting is a database whose users are reflected on.
type reflecting struct {
	*bench
	dsn       string
	pool      *pgxpool.Pool
	newcomers []*life
}

// many measures the reflection on users who all have something to reflect on.
func (r *reflecting) many(ctx context.Context) error {
	for i := range r.People {
		r.newcomers = append(r.newcomers, r.newLife(fmt.Sprintf("newcomer-%d", i), i, []float64{0.95, 0.05}[i%2]))
	}
	if err := r.tell(ctx, newcomerHistory, r.newcomers...); err != nil {
		return err
	}
	took, _, err := r.reflect(ctx)
	if err != nil {
		return err
	}
	c, err := r.count(ctx, "")
	if err != nil {
		return err
	}
	rate := float64(c.scanned) / took.Seconds()
	out := Table{Title: fmt.Sprintf("Reflection by rules, %d users at once, embedded before", r.People)}
	out.add("memories", "seconds", "a second", "cycles", "reviews", "traits", "visible", "evidence", "against", "events", "clues", "promised")
	out.add(append([]string{fmt.Sprint(c.scanned), fmt.Sprintf("%.1f", took.Seconds()), fmt.Sprintf("%.0f", rate)},
		append(c.cells(), fmt.Sprintf("≥ %d %s", reflectGoal, verdict(rate >= reflectGoal)))...)...)
	r.show(out)
	return nil
}

// grow measures a thousand memories of one user after ever more others, and before and after each a thousand of somebody who
// has only a thousand others: what the machine does besides then shows in both.
func (r *reflecting) grow(ctx context.Context) error {
	veteran := r.newLife("veteran", 1_000, 0.5)
	out := Table{Title: fmt.Sprintf("Reflection on %d further memories of one user as the history grows, seconds; before and after each, on %d of users with %d others",
		further, further, newcomerHistory)}
	out.add("after", "seconds", "within cycles", "of the others", "ratio", "cycles", "reviews", "traits", "visible", "evidence", "against", "events", "clues", "promised")
	for _, history := range []int{1_000, 5_000, 10_000, 25_000, 50_000} {
		if history > r.History {
			break
		}
		if err := r.tell(ctx, history-veteran.told, veteran); err != nil {
			return err
		}
		if _, _, err := r.reflect(ctx); err != nil {
			return err
		}
		took, within, others, err := r.compare(ctx, veteran)
		if err != nil {
			return err
		}
		c, err := r.count(ctx, veteran.user)
		if err != nil {
			return err
		}
		ratio := within.Seconds() / others.Seconds()
		out.add(append([]string{fmt.Sprint(history), fmt.Sprintf("%.2f", took.Seconds()), fmt.Sprintf("%.2f", within.Seconds()), fmt.Sprintf("%.2f", others.Seconds()), fmt.Sprintf("%.2f", ratio)},
			append(c.cells(), fmt.Sprintf("≤ %d %s", flatGoal, verdict(ratio <= flatGoal)))...)...)
	}
	r.show(out)
	return nil
}

// compare times the reflection on further memories of a user, and, on average, of a newcomer before and another one after.
func (r *reflecting) compare(ctx context.Context, veteran *life) (took, within, others time.Duration, err error) {
	if len(r.newcomers) < 2 {
		return 0, 0, 0, errors.New("there are no newcomers left to compare to")
	}
	order := []*life{r.newcomers[0], veteran, r.newcomers[1]}
	r.newcomers = r.newcomers[2:]
	for _, l := range order {
		if err := r.tell(ctx, further, l); err != nil {
			return 0, 0, 0, err
		}
		whole, cycles, err := r.reflect(ctx)
		if err != nil {
			return 0, 0, 0, err
		}
		if l == veteran {
			took, within = whole, cycles
		} else {
			others += cycles / 2
		}
	}
	return took, within, others, nil
}

// tell imports and embeds the next n memories of people; meanwhile nobody is reflected on.
func (r *reflecting) tell(ctx context.Context, n int, people ...*life) error {
	if n <= 0 {
		return nil
	}
	var file bytes.Buffer
	for _, l := range people {
		l.memories(&file, n)
	}
	if _, err := r.pool.Exec(ctx, `
		insert into oxbow.river_queue (name, paused_at) values ('reflect', now())
		on conflict (name) do update set paused_at = excluded.paused_at`); err != nil {
		return err
	}
	if _, err := r.importAndEmbed(ctx, r.dsn, func(ctx context.Context, client *oxbow.Client) error {
		_, err := client.Import(ctx, io.Reader(&file), oxbow.ImportOptions{})
		return err
	}); err != nil {
		return err
	}
	var waiting int
	if err := r.pool.QueryRow(ctx, "select count(*) from oxbow.reflection_inbox").Scan(&waiting); err != nil {
		return err
	}
	if waiting != n*len(people) {
		return fmt.Errorf("%d memories wait to be reflected on instead of %d", waiting, n*len(people))
	}
	_, err := r.pool.Exec(ctx, "vacuum analyze") // what autovacuum would have done in the meantime
	return err
}

// reflect runs a worker until every memory is reflected on, and returns the time from the beginning of the first cycle to the
// end of the last, and how much of it went by within cycles; of several at once, each counts.
func (r *reflecting) reflect(ctx context.Context) (took, within time.Duration, err error) {
	if _, err := r.pool.Exec(ctx, "update oxbow.river_queue set paused_at = null"); err != nil {
		return 0, 0, err
	}
	start := time.Now()
	stop, err := startWorker(ctx, worker.Config{DatabaseURL: r.dsn})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if _, err := await(ctx, r.pool, 20*time.Millisecond, workLeft, func() (waiting bool, err error) {
		err = r.pool.QueryRow(ctx, `
			select exists (select from oxbow.reflection_inbox)
			    or exists (select from oxbow.river_job where kind in ('check_trigger', 'reflect', 'contradiction_review') and state in `+statesLeft+`)`).Scan(&waiting)
		return waiting, err
	}); err != nil {
		return 0, 0, err
	}
	err = r.pool.QueryRow(ctx, `
		select max(completed_at) - min(started_at), sum(completed_at - started_at) from oxbow.reflection_cycles where started_at >= $1`,
		start).Scan(&took, &within)
	return took, within, err
}

// work is what reflections came to.
type work struct {
	scanned, cycles, reviews, traits, visible, evidence, against, events, clues int
}

// count counts what the reflections on a user, or on all, have come to so far.
func (r *reflecting) count(ctx context.Context, user string) (c work, err error) {
	err = r.pool.QueryRow(ctx, `
		select (select coalesce(sum(memories_scanned), 0) from oxbow.reflection_cycles where user_id = any(u.ids)),
		       (select count(*) from oxbow.reflection_cycles where user_id = any(u.ids) and trigger_type <> 'contradiction_review'),
		       (select count(*) from oxbow.reflection_cycles where user_id = any(u.ids) and trigger_type = 'contradiction_review'),
		       (select count(*) from oxbow.memories_trait where user_id = any(u.ids) and expired_at is null),
		       (select count(*) from oxbow.traits where user_id = any(u.ids) and stage in ('emerging', 'established', 'core')),
		       (select count(*) from oxbow.trait_evidence where user_id = any(u.ids)),
		       (select count(*) from oxbow.trait_evidence where user_id = any(u.ids) and direction = 'contradicting'),
		       (select count(*) from oxbow.trait_events where user_id = any(u.ids)),
		       (select count(*) from oxbow.trait_clues where user_id = any(u.ids))
		  from (select array_agg(distinct c.user_id) as ids from oxbow.reflection_cycles c where $1 in ('', c.user_id)) u`, user).
		Scan(&c.scanned, &c.cycles, &c.reviews, &c.traits, &c.visible, &c.evidence, &c.against, &c.events, &c.clues)
	return c, err
}

func (c work) cells() (cells []string) {
	for _, n := range []int{c.cycles, c.reviews, c.traits, c.visible, c.evidence, c.against, c.events, c.clues} {
		cells = append(cells, fmt.Sprint(n))
	}
	return cells
}
