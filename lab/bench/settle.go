package main

import (
	"context"
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
	select m.user_id, m.id, m.content, m.trait_subtype, m.trait_stage, m.trait_context, m.trait_confidence, m.trait_reinforcement_count,
	       m.trait_first_observed, m.trait_last_reinforced, m.importance, m.metadata, m.created_at,
	       m.trait_confidence * exp(case m.trait_subtype when 'behavior' then -0.005 when 'preference' then -0.002 else -0.001 end::double precision
	         / (1 + 0.1::double precision * coalesce(m.trait_reinforcement_count, 0))
	         * extract(epoch from now() - m.trait_confidence_at)::double precision / 86400) as decayed_confidence
	  from oxbow.memories_trait m where m.trait_stage not in ('trend', 'dissolved') and m.expired_at is null;
	create unique index on decayed_traits (user_id, id);
	create index on decayed_traits (user_id, decayed_confidence desc)`

const dueTraits = 1000

// settle compares settling the 1,000 traits that are due with refreshing a materialized view of all traits, and with itself among
// a hundredth of them.
func settle(ctx context.Context, b *bench) error {
	traits := b.sized(1_000_000)
	var pools []*pgxpool.Pool
	for i, n := range []int{traits / 100, traits} {
		dsn, err := b.database(ctx, fmt.Sprint("bench_settle_", i))
		if err != nil {
			return err
		}
		pool, err := openPool(ctx, dsn, 1)
		if err != nil {
			return err
		}
		defer pool.Close()
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
	t := b.table(fmt.Sprintf("Settling %d traits, medians of rounds in turns", dueTraits), fmt.Sprintf("%-40s", ""), "median", "fastest")
	for i, name := range []string{fmt.Sprintf("settle among %d", traits/100), fmt.Sprintf("settle among %d", traits), "refresh", "refresh concurrently"} {
		t.row(name, median(times[i]), slices.Min(times[i]))
	}
	b.atMost(fmt.Sprintf("settling %d of %d traits / refreshing a view of all", dueTraits, traits), 0.02, medianRatio(times[1], times[2]))
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
	settled, _, err := store.SettleTraits(ctx, pool, clock, dueTraits)
	if err == nil && settled != dueTraits {
		err = fmt.Errorf("%d traits were settled instead of %d", settled, dueTraits)
	}
	return time.Since(start), err
}

func nextDue(ctx context.Context, pool *pgxpool.Pool, n int) (clock time.Time, err error) {
	err = pool.QueryRow(ctx, `
		select max(d.at) from (select m.trait_next_transition_at as at from oxbow.memories_trait m
		                        where m.trait_next_transition_at is not null order by 1 limit $1) d`, n).Scan(&clock)
	return clock, err
}

// insertTraits writes n traits with their first events as reflections leave them, in all stages, none of them due yet. Triggers
// and foreign keys are off meanwhile.
func insertTraits(ctx context.Context, pool *pgxpool.Pool, prefix string, n, each int) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "set local session_replication_role = replica; select setseed(0.5)"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			insert into oxbow.memories_trait (user_id, memory_type, id, content, valid_at, created_at, source, metadata, trait_key, trait_subtype,
			  trait_stage, trait_confidence, trait_confidence_at, trait_context, trait_reinforcement_count, trait_contradiction_count,
			  trait_first_observed, trait_last_reinforced, trait_window_start, trait_window_end, trait_derived_from, trait_next_transition_at)
			select $3 || (row_number() over () - 1) / $2, 'trait', gen_random_uuid(), s.content, s.first, s.at, 'reflection',
			       jsonb_build_object('evidence_contexts', jsonb_build_array(s.context)), s.key, s.subtype,
			       s.stage, s.confidence, s.at, s.context, s.reinforcements, s.reinforcements / 5,
			       s.first, s.at, case s.stage when 'trend' then s.at end, s.window_end, 'patterns', n.next
			  from (select d.*, case when d.kind < 0.05 then 'trend' when d.kind < 0.15 then 'dissolved' else oxbow.trait_stage_of(d.sure) end as stage,
			               case when d.kind < 0.05 then null when d.kind < 0.15 then 0.04 else d.sure end as confidence,
			               case when d.kind < 0.05 then d.base + d.span * interval '30 days' end as window_end,
			               d.base - d.age * interval '60 days' as at, d.base - d.age * interval '60 days' - d.span * interval '300 days' as first
			          from (select now() as base, random() as kind, 0.06 + 0.89 * random() as sure, random() as age, random() as span,
			                       floor(20 * random() ^ 3)::integer as reinforcements,
			                       case when g % 20 < 16 then 'behavior' when g % 20 < 19 then 'preference' else 'core' end as subtype,
			                       (array['work', 'personal', 'social', 'learning', 'general'])[1 + g % 5] as context,
			                       (array['do:', 'food:', 'like:'])[1 + g % 3] || g % 997 as key,
			                       case when g % 2 = 0 then 'Often spends time with friend ' || g % 997 else '经常和第' || g % 997 || '位朋友一起' end as content
			                  from generate_series(1, 2 * $1::bigint) g) d) s,
			       lateral (select oxbow.trait_next_transition(s.stage, s.confidence, s.subtype, s.reinforcements, s.at, s.window_end) as next) n
			 where coalesce(n.next > s.base, true)
			 limit $1`, n, each, prefix); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			insert into oxbow.trait_events (user_id, trait_id, seq, event, at, sets, memories, subtype, window_end, confidence, stage)
			select m.user_id, m.id, 1, 'created', m.trait_confidence_at, m.trait_confidence, 3, m.trait_subtype, m.trait_window_end,
			       m.trait_confidence, m.trait_stage
			  from oxbow.memories_trait m where m.user_id like $1 || '%'`, prefix)
		return err
	})
}
