package main

import (
	"context"
	_ "embed" // traits.sql
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow/store"
)

// decayedView is what settling replaces: every trait's decayed confidence, computed ahead (S §5.1).
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
func settle(ctx context.Context, b *bench) error {
	traits := b.sized(1_000_000)
	var pools []*pgxpool.Pool
	for i, n := range []int{traits / 100, traits} {
		_, pool, err := b.fresh(ctx, fmt.Sprint("bench_settle_", i), 1)
		if err != nil {
			return err
		}
		if err := insertTraits(ctx, pool, "user-", n, 200); err != nil {
			return err
		}
		if err := execAll(ctx, pool, "vacuum analyze"); err != nil {
			return err
		}
		pools = append(pools, pool)
	}
	few, all := pools[0], pools[1]
	if _, err := all.Exec(ctx, decayedView); err != nil {
		return err
	}
	refresh := func(how string) func() (time.Duration, error) {
		return func() (time.Duration, error) {
			start := time.Now()
			_, err := all.Exec(ctx, "refresh materialized view "+how+" decayed_traits")
			return time.Since(start), err
		}
	}
	ways := []func() (time.Duration, error){
		func() (time.Duration, error) { return settleDue(ctx, few) },
		func() (time.Duration, error) { return settleDue(ctx, all) },
		refresh(""), refresh("concurrently"),
	}
	times, err := inTurns(b.rounds, len(ways), func(i int) (time.Duration, error) {
		if err := execAll(ctx, all, "checkpoint"); err != nil {
			return 0, err
		}
		return ways[i]()
	})
	if err != nil {
		return err
	}
	t := b.table(fmt.Sprintf("Settling %d traits, medians of rounds in turns", dueTraits), fmt.Sprintf("%-40s", ""),
		"median", "fastest")
	for i, name := range []string{fmt.Sprintf("settle among %d", traits/100), fmt.Sprintf("settle among %d", traits),
		"refresh", "refresh concurrently"} {
		t.row(name, median(times[i]), slices.Min(times[i]))
	}
	b.atMost(fmt.Sprintf("settling %d of %d traits / refreshing a view of all", dueTraits, traits), 0.02,
		medianRatio(times[1], times[2]))
	b.atMost("the same / refreshing it concurrently", 0.02, medianRatio(times[1], times[3]))
	b.atMost("the same / settling among a hundredth of them", 2, medianRatio(times[1], times[0]))
	return nil
}

// settleDue sets the clock to when the next traits are due, and measures settling them.
func settleDue(ctx context.Context, pool *pgxpool.Pool) (time.Duration, error) {
	clock, err := nextDue(ctx, pool, dueTraits)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	settled, err := store.SettleTraits(ctx, pool, clock, dueTraits)
	if err == nil && settled.Settled != dueTraits {
		err = fmt.Errorf("%d traits were settled instead of %d", settled.Settled, dueTraits)
	}
	return time.Since(start), err
}

func nextDue(ctx context.Context, pool *pgxpool.Pool, n int) (clock time.Time, err error) {
	err = pool.QueryRow(ctx, `
		select max(d.at) from (select m.trait_next_transition_at as at from oxbow.memories_trait m
		                        where m.trait_next_transition_at is not null order by 1 limit $1) d`, n).Scan(&clock)
	return clock, err
}

//go:embed sql/traits.sql
var traitsSQL string

// insertTraits writes n traits with their first events as reflections leave them, in all stages, none of them due
// yet. Triggers and foreign keys are off meanwhile.
func insertTraits(ctx context.Context, pool *pgxpool.Pool, prefix string, n, each int) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "set local session_replication_role = replica; select setseed(0.5)"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, traitsSQL, n, each, prefix); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			insert into oxbow.trait_events
			  (user_id, trait_id, seq, event, at, sets, memories, subtype, window_end, confidence, stage)
			select user_id, id, 1, 'created', trait_confidence_at, trait_confidence, 3, trait_subtype, trait_window_end,
			       trait_confidence, trait_stage
			  from oxbow.memories_trait where user_id like $1 || '%'`, prefix)
		return err
	})
}
