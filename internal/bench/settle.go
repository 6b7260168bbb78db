package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow/store"
)

const (
	dueTraits     = 1_000
	traitsPerUser = 200
	loaders       = 2

	settleGoal = 0.02 // of the time of refreshing the view
	flatGoal   = 2    // the most that anything may grow by with the data
)

// insertTraits writes traits as reflections leave them, in all stages, none of them due yet. $1: how many, $2: of each user,
// $3: how the users' names begin.
const insertTraits = `
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
	          from (select g, now() as base, random() as kind, 0.06 + 0.89 * random() as sure, random() as age, random() as span,
	                       floor(20 * random() ^ 3)::integer as reinforcements,
	                       case when g % 20 < 16 then 'behavior' when g % 20 < 19 then 'preference' else 'core' end as subtype,
	                       (array['work', 'personal', 'social', 'learning', 'general'])[1 + g % 5] as context,
	                       (array['do:', 'food:', 'like:'])[1 + g % 3] || g % 997 as key,
	                       case when g % 2 = 0 then 'Often spends time on ' || (array['pottery', 'river walks', 'old maps', 'baking'])[1 + g / 2 % 4]
	                                                || ', mostly in the company of friend ' || g % 997
	                            else '经常和第' || g % 997 || '位朋友一起' || (array['做陶艺', '沿河散步', '看旧地图', '烤面包'])[1 + g / 2 % 4] end as content
	                  from generate_series(1, 2 * $1::bigint) g) d) s,
	       lateral (select oxbow.trait_next_transition(s.stage, s.confidence, s.subtype, s.reinforcements, s.at, s.window_end) as next) n
	 where coalesce(n.next > s.base, true)
	 limit $1`

// insertEvents writes what made these traits. $1: the users.
const insertEvents = `
	insert into oxbow.trait_events (user_id, trait_id, seq, event, at, sets, memories, subtype, window_end, confidence, stage)
	select m.user_id, m.id, 1, 'created', m.trait_confidence_at, m.trait_confidence, 3, m.trait_subtype, m.trait_window_end,
	       m.trait_confidence, m.trait_stage
	  from oxbow.memories_trait m where m.user_id like $1`

// decayedView is what it is compared to: every trait's decayed confidence, computed ahead, without the vectors.
const decayedView = `
	create materialized view decayed_traits as
	select m.user_id, m.id, m.content, m.trait_subtype, m.trait_stage, m.trait_context, m.trait_confidence, m.trait_reinforcement_count,
	       m.trait_first_observed, m.trait_last_reinforced, m.importance, m.metadata, m.created_at,
	       m.trait_confidence * exp(case m.trait_subtype when 'behavior' then -0.005 when 'preference' then -0.002 else -0.001 end::double precision
	                                / (1 + 0.1::double precision * coalesce(m.trait_reinforcement_count, 0))
	                                * extract(epoch from now() - m.trait_confidence_at)::double precision / 86400) as decayed_confidence
	  from oxbow.memories_trait m
	 where m.trait_stage not in ('trend', 'dissolved') and m.expired_at is null;
	create unique index on decayed_traits (user_id, id);
	create index on decayed_traits (user_id, decayed_confidence desc)`

// traitBase is a database of traits.
type traitBase struct {
	name   string
	traits int
	pool   *pgxpool.Pool
	times  []time.Duration // of settling dueTraits
	wal    []float64       // bytes written to the log by that
}

// settleTimes compares settling the traits that are due to refreshing a materialised view of all, and to itself among fewer
// traits.
func (b *bench) settleTimes(ctx context.Context) error {
	start := time.Now()
	var bases []*traitBase
	for _, n := range []int{b.Traits / 100, b.Traits / 10, b.Traits} {
		base, err := b.loadTraits(ctx, n)
		if err != nil {
			return fmt.Errorf("load %d traits: %w", n, err)
		}
		defer base.pool.Close()
		bases = append(bases, base)
	}
	largest := bases[len(bases)-1]
	if _, err := largest.pool.Exec(ctx, decayedView); err != nil {
		return err
	}
	filled := time.Since(start)

	var plain, concurrent []time.Duration
	for round := -1; round < b.Settles; round++ {
		order := slices.Clone(bases)
		if round%2 == 0 {
			slices.Reverse(order)
		}
		for _, base := range order {
			took, err := base.settle(ctx)
			if err != nil {
				return fmt.Errorf("settle among %d traits: %w", base.traits, err)
			}
			if round >= 0 {
				base.times = append(base.times, took)
			}
		}
		if round >= 0 && round%3 == 0 {
			took, err := largest.refresh(ctx, "")
			if err != nil {
				return err
			}
			plain = append(plain, took)
		}
		if round == b.Settles/2 {
			took, err := largest.refresh(ctx, "concurrently")
			if err != nil {
				return err
			}
			concurrent = append(concurrent, took)
		}
	}
	b.printSettled(bases, plain, concurrent, filled)
	for _, base := range bases {
		base.pool.Close()
		if err := b.drop(ctx, base.name); err != nil {
			return err
		}
	}
	return nil
}

// loadTraits makes a database of n traits.
func (b *bench) loadTraits(ctx context.Context, n int) (*traitBase, error) {
	base := &traitBase{name: fmt.Sprintf("bench_settle_%d", n), traits: n}
	dsn, err := b.database(ctx, base.name)
	if err != nil {
		return nil, err
	}
	if base.pool, err = openPool(ctx, dsn, loaders); err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	errs := make([]error, loaders)
	for i := range loaders {
		wg.Go(func() { errs[i] = base.load(ctx, i, n/loaders) })
	}
	wg.Wait()
	_, err = base.pool.Exec(ctx, "vacuum analyze") // what autovacuum would have done in the meantime
	if err := errors.Join(append(errs, err)...); err != nil {
		base.pool.Close()
		return nil, err
	}
	return base, nil
}

// load adds n traits. Triggers and foreign keys are off meanwhile.
func (t *traitBase) load(ctx context.Context, part, n int) error {
	return pgx.BeginFunc(ctx, t.pool, func(tx pgx.Tx) error {
		for _, statement := range []struct {
			sql  string
			args []any
		}{
			{"set local session_replication_role = replica", nil},
			{"select setseed($1)", []any{0.1 * float64(part)}},
			{insertTraits, []any{n, traitsPerUser, fmt.Sprintf("user-%d-", part)}},
			{insertEvents, []any{fmt.Sprintf("user-%d-%%", part)}},
		} {
			if _, err := tx.Exec(ctx, statement.sql, statement.args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// settle sets the clock to when the next traits are due, and measures settling them. Like refresh it begins after a checkpoint,
// so that nothing is measured that earlier work left to write.
func (t *traitBase) settle(ctx context.Context) (time.Duration, error) {
	var clock time.Time
	err := t.pool.QueryRow(ctx, `
		select max(d.at) from (select m.trait_next_transition_at as at from oxbow.memories_trait m
		                        where m.trait_next_transition_at is not null order by 1 limit $1) d`, dueTraits).Scan(&clock)
	if err != nil {
		return 0, err
	}
	if _, err := t.pool.Exec(ctx, "checkpoint"); err != nil {
		return 0, err
	}
	var before string
	if err := t.pool.QueryRow(ctx, "select pg_current_wal_insert_lsn()::text").Scan(&before); err != nil {
		return 0, err
	}
	start := time.Now()
	settled, _, err := store.SettleTraits(ctx, t.pool, clock, dueTraits)
	if err != nil {
		return 0, err
	}
	took := time.Since(start)
	if settled != dueTraits {
		return 0, fmt.Errorf("%d traits were settled instead of %d", settled, dueTraits)
	}
	var wal float64
	err = t.pool.QueryRow(ctx, "select (pg_current_wal_insert_lsn() - $1::text::pg_lsn)::float8", before).Scan(&wal)
	t.wal = append(t.wal, wal)
	return took, err
}

func (t *traitBase) refresh(ctx context.Context, how string) (time.Duration, error) {
	if _, err := t.pool.Exec(ctx, "checkpoint"); err != nil {
		return 0, err
	}
	start := time.Now()
	_, err := t.pool.Exec(ctx, "refresh materialized view "+how+" decayed_traits")
	return time.Since(start), err
}

func (b *bench) printSettled(bases []*traitBase, plain, concurrent []time.Duration, filled time.Duration) {
	out := Table{Title: fmt.Sprintf("Settling %d traits that are due, milliseconds, medians of %d rounds in turns (loaded in %.0f s, triggers off)",
		dueTraits, b.Settles, filled.Seconds())}
	out.add("traits", "settle", "fastest", "MB of WAL", "fastest, times the first", "promised")
	first := slices.Min(bases[0].times)
	for i, base := range bases {
		fastest, times, promise := slices.Min(base.times), "", ""
		if i > 0 {
			growth := float64(fastest) / float64(first)
			times, promise = fmt.Sprintf("%.2f", growth), fmt.Sprintf("≤ %d %s", flatGoal, verdict(growth <= flatGoal))
		}
		out.add(fmt.Sprint(base.traits), ms(median(base.times)), ms(fastest), fmt.Sprintf("%.1f", median(base.wal)/1e6), times, promise)
	}
	b.show(out)

	largest := bases[len(bases)-1]
	out = Table{Title: fmt.Sprintf("The same beside refreshing a materialised view of the %d traits, in turns", largest.traits)}
	out.add("refresh", "milliseconds", "settle/refresh", "promised")
	for _, r := range []struct {
		how   string
		times []time.Duration
	}{{"plain: nobody reads meanwhile", plain}, {"concurrently", concurrent}} {
		share := float64(median(largest.times)) / float64(median(r.times))
		out.add(r.how, ms(median(r.times)), fmt.Sprintf("%.2f %%", 100*share), fmt.Sprintf("< %.0f %% %s", 100*settleGoal, verdict(share < settleGoal)))
	}
	b.show(out)
}
