package main

import (
	_ "embed" // traits.sql
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/store"
)

// decayedView is the alternative to settling: a materialized view of every trait's decayed confidence (S §5.1).
const decayedView = `
	create materialized view decayed_traits as
	select user_id, id, content, trait_subtype, trait_stage, trait_context, trait_confidence, trait_reinforcement_count,
	       trait_first_observed, trait_last_reinforced, importance, metadata, created_at,
	       trait_confidence * exp(
	         case trait_subtype when 'behavior' then -0.005 when 'preference' then -0.002 else -0.001 end::float8
	         / (1 + 0.1::float8 * coalesce(trait_reinforcement_count, 0))
	         * extract(epoch from now() - trait_confidence_at)::float8 / 86400) as decayed_confidence
	  from oxbow.memories_trait where trait_stage not in ('trend', 'dissolved') and expired_at is null;
	create unique index on decayed_traits (user_id, id);
	create index on decayed_traits (user_id, decayed_confidence desc)`

const dueTraits = 1000

// settle compares settling the 1,000 traits that are due with refreshing a materialized view of all traits, and with
// itself among a hundredth of them.
func settle(b *bench) {
	traits := b.sized(1_000_000)
	filled := func(name string, n int) database {
		d := b.database(name)
		d.insertTraits("user-", n, 200)
		d.exec("vacuum analyze")
		return d
	}
	few, all := filled("bench_settle_few", traits/100), filled("bench_settle_all", traits)
	all.exec(decayedView)
	timed := func(name string, measure func() float64) variant {
		return variant{name, func() float64 {
			all.exec("checkpoint")
			return measure()
		}}
	}
	refresh := func(how string) func() float64 {
		return func() float64 {
			start := time.Now()
			all.exec("refresh materialized view " + how + " decayed_traits")
			return msSince(start)
		}
	}
	r := b.compare(fmt.Sprintf("Settling %d traits", dueTraits), "ms",
		timed(fmt.Sprintf("settle among %d", traits), func() float64 { return all.settleDue(all, dueTraits) }),
		timed(fmt.Sprintf("settle among %d", traits/100), func() float64 { return few.settleDue(few, dueTraits) }),
		timed("refresh", refresh("")), timed("refresh concurrently", refresh("concurrently")))
	b.atMost(fmt.Sprintf("settling %d of %d traits / refreshing a view of all", dueTraits, traits), 0.02, r.ratio(0, 2))
	b.atMost("the same / refreshing it concurrently", 0.02, r.ratio(0, 3))
	b.atMost("the same / settling among a hundredth of them", 2, r.ratio(0, 1))
}

// settleDue settles the n traits that are due next, at the time when they are due, and returns the milliseconds.
func (d database) settleDue(db store.DB, n int64) float64 {
	clock := ask[time.Time](d, `
		select max(d.at) from (select trait_next_transition_at as at from oxbow.memories_trait
		                        where trait_next_transition_at is not null order by 1 limit $1) d`, n)
	start := time.Now()
	if done := must.Get(store.SettleTraits(d.ctx, db, clock, int(n))); done.Settled != n {
		must.OK(fmt.Errorf("%d traits were settled instead of %d", done.Settled, n))
	}
	return msSince(start)
}

//go:embed sql/traits.sql
var traitsSQL string

// insertTraits writes n traits with their first events as reflections leave them, in all stages, none of them due
// yet. Triggers and foreign keys are off meanwhile.
func (d database) insertTraits(prefix string, n, each int) {
	must.OK(pgx.BeginFunc(d.ctx, d, func(tx pgx.Tx) error {
		must.Get(tx.Exec(d.ctx, "set local session_replication_role = replica; select setseed(0.5)"))
		must.Get(tx.Exec(d.ctx, traitsSQL, n, each, prefix))
		_, err := tx.Exec(d.ctx, `
			insert into oxbow.trait_events
			  (user_id, trait_id, seq, event, at, sets, memories, subtype, window_end, confidence, stage)
			select user_id, id, 1, 'created', trait_confidence_at, trait_confidence, 3, trait_subtype, trait_window_end,
			       trait_confidence, trait_stage
			  from oxbow.memories_trait where user_id like $1 || '%'`, prefix)
		return err
	}))
}
