package sqlcode_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

func settle(t *testing.T, tx db, now time.Time, limit int) (settled, dissolved int) {
	t.Helper()
	require.NoError(t, tx.QueryRow(t.Context(), `select settled, dissolved from oxbow.settle_traits($1, $2)`, now,
		limit).Scan(&settled, &dissolved))
	return settled, dissolved
}

// rowState returns the state in a trait's row, and its next transition.
func rowState(t *testing.T, tx db, id uuid.UUID) (lifecycle.State, time.Time) {
	t.Helper()
	state := scanState(t, tx, `
		select trait_subtype, trait_stage, trait_confidence, trait_confidence_at, trait_reinforcement_count,
		trait_contradiction_count, trait_window_end
		  from oxbow.memories_trait where id = $1`, id)
	return state, or(one[*time.Time](t, tx, `select trait_next_transition_at from oxbow.memories_trait where id = $1`,
		id))
}

// requireSettled compares a trait's row and the replay of its events with a state computed by the rules.
func requireSettled(t *testing.T, tx db, id uuid.UUID, want lifecycle.State) {
	t.Helper()
	row, next := rowState(t, tx, id)
	requireState(t, want, row, "the row")
	require.WithinDuration(t, traittest.Policies.NextTransition(want), next, 0)
	user := one[string](t, tx, `select user_id from oxbow.memories_trait where id = $1`, id)
	requireState(t, want, replayed(t, tx, user, id.String(), "infinity"), "the events")
}

func TestSettle(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := ann(t)
	now := traittest.Day(6, 1)
	make := func(events ...traittest.Event) uuid.UUID {
		return traittest.Trait{UserID: user, Events: events}.Insert(t, tx)
	}
	created := traittest.Day(1, 10)
	state := func(events ...traittest.Event) (s lifecycle.State) {
		for _, e := range events {
			e.Subtype = lifecycle.Behavior
			s = traittest.Policies.Apply(s, e.Event)
		}
		return s
	}
	cases := map[string][]traittest.Event{
		"over a boundary": {traittest.Created(created, 0.61)},
		"over two":        {traittest.Created(created.AddDate(-1, 0, 0), 0.86)},
		"too weak": {traittest.Created(created, 0.2), traittest.Contradicted(created, 0.4),
			traittest.Contradicted(created, 0.4)},
		"a trend": {traittest.Watched(created, created.AddDate(0, 0, 30))},
		"a trend, once more": {traittest.Watched(created, created.AddDate(0, 0, 30)),
			traittest.Reinforced(created.AddDate(0, 0, 1), 0.15)},
		"not due":         {traittest.Created(traittest.Day(5, 30), 0.59)},
		"a trend not yet": {traittest.Watched(created, now.Add(time.Second))},
		"dissolved": {traittest.Created(created, 0.2),
			{Event: lifecycle.Event{Kind: lifecycle.Dissolution, At: created}}},
		"at the second of it": {traittest.Created(now.Add(-time.Second), 0.60)},
		"a second to go":      {traittest.Watched(created, now)},
		"reinforced many times": {traittest.Created(created, 0.7), traittest.Reinforced(created, 0.1),
			traittest.Reinforced(created, 0.1)},
	}
	ids, before := map[string]uuid.UUID{}, map[string]lifecycle.State{}
	for name, events := range cases {
		ids[name], before[name] = make(events...), state(events...)
	}
	due := 0
	for _, s := range before {
		if next := traittest.Policies.NextTransition(s); !next.IsZero() && !next.After(now) {
			due++
		}
	}
	require.Equal(t, 8, due)
	// ignore the traits of other tests
	exec(t, tx, `update oxbow.memories_trait set trait_next_transition_at = null where user_id <> $1`, user)

	settled, dissolved := settle(t, tx, now, 1000)
	require.Equal(t, due, settled)
	require.Equal(t, 4, dissolved)
	for name, s := range before {
		t.Run(name, func(t *testing.T) {
			e, ok := traittest.Policies.Follow(s, now)
			events := len(cases[name])
			if ok {
				s = traittest.Policies.Apply(s, e)
				events++
				require.Equal(t, string(e.Kind)+" by settle to "+string(s.Stage), one[string](t, tx, `
					select event || ' by ' || actor || ' to ' || stage from oxbow.trait_events where trait_id = $1
					order by seq desc limit 1`, ids[name]))
			}
			require.Equal(t, events, one[int](t, tx, `select max(seq) from oxbow.trait_events where trait_id = $1`,
				ids[name]))
			requireSettled(t, tx, ids[name], s)
		})
	}
	settled, _ = settle(t, tx, now, 1000)
	require.Zero(t, settled, "nothing is due any more")
}

// A next transition that is too early is corrected, without other effects.
func TestSettlePutsOff(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := traittest.Trait{UserID: ann(t)}.Insert(t, tx)
	state, next := rowState(t, tx, id)
	exec(t, tx, `update oxbow.memories_trait set trait_next_transition_at = $2 where id = $1`, id, state.At)
	var settled int
	require.NoError(t, tx.QueryRow(t.Context(), `select settled from oxbow.settle_traits($1, 0, $2)`,
		state.At.Add(time.Hour), ann(t)).Scan(&settled))
	require.Equal(t, 1, settled, "it was looked at")
	after, put := rowState(t, tx, id)
	require.Equal(t, state, after)
	require.Equal(t, next, put)
	require.Equal(t, 1, one[int](t, tx, `select count(*) from oxbow.trait_events where trait_id = $1`, id))
}

// The clock of settle may be behind the last event.
func TestSettleWithAClockThatIsBehind(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := traittest.Trait{UserID: ann(t), Events: []traittest.Event{
		traittest.Watched(traittest.Day(1, 10), traittest.Day(2, 1)),
		traittest.Reinforced(traittest.Day(3, 1), 0.15)}}.Insert(t, tx)
	state, _ := rowState(t, tx, id)
	now := traittest.Day(2, 2)
	exec(t, tx, `select oxbow.settle_traits($1, 0, $2)`, now, ann(t))
	requireSettled(t, tx, id, traittest.Policies.Apply(state, lifecycle.Event{Kind: lifecycle.Dissolution, At: now}))
}

// A trait wrongly marked as due counts towards the batch, so that settle moves on to the next ones.
func TestSettleSkipsTraitsThatAreNotDue(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	now := traittest.Day(2, 2)
	var last uuid.UUID
	for i := range 5 {
		last = traittest.Trait{UserID: ann(t), Events: []traittest.Event{traittest.Created(now.Add(-time.Hour),
			0.5)}}.Insert(t, tx)
		exec(t, tx, `update oxbow.memories_trait set trait_next_transition_at = $2 where id = $1`, last,
			now.Add(time.Duration(i-10)*time.Minute))
	}
	exec(t, tx, `update oxbow.memories_trait set trait_confidence = 0.300001, trait_confidence_at = $2 where id = $1`,
		last, now.Add(-time.Hour))
	for _, want := range []int{2, 2, 1, 0} {
		settled, dissolved := settle(t, tx, now, 2)
		require.Equal(t, want, settled)
		require.Zero(t, dissolved)
	}
	require.Equal(t, 1, one[int](t, tx, `select count(*) from oxbow.memories_trait where user_id = $1
		and trait_stage = 'candidate'`, ann(t)))
}

// Settling in any number of steps keeps rows and events consistent, with the confidence of a single decay.
func TestSettleInSteps(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	random := rand.New(rand.NewPCG(1, 2))
	start := traittest.Day(1, 1)
	states := map[uuid.UUID]lifecycle.State{}
	for i := range 60 {
		events := []traittest.Event{traittest.Created(start.Add(time.Duration(random.Int64N(86400))*time.Second),
			0.06+0.93*random.Float64())}
		if i%5 == 0 {
			events[0] = traittest.Watched(start, start.AddDate(0, 0, random.IntN(60)+1))
		}
		events[0].Subtype = subtypes[random.IntN(3)]
		id := traittest.Trait{UserID: ann(t), Subtype: events[0].Subtype, Events: events}.Insert(t, tx)
		states[id] = traittest.Policies.Replay([]lifecycle.Event{events[0].Event})
	}
	for now := start; now.Before(start.AddDate(6, 0, 0)); now = now.Add(time.Duration(random.IntN(90*24)) * time.Hour) {
		exec(t, tx, `select oxbow.settle_traits($1, 0, $2)`, now, ann(t))
		for id, s := range states {
			if e, ok := traittest.Policies.Follow(s, now); ok {
				states[id] = traittest.Policies.Apply(s, e)
			}
		}
	}
	for id, s := range states {
		requireSettled(t, tx, id, s)
	}
}

// dueTraits inserts traits without triggers, every nth of them due at now.
func dueTraits(t *testing.T, tx db, user string, n, nth int, now time.Time) {
	t.Helper()
	exec(t, tx, "set local session_replication_role = replica")
	exec(t, tx, `
		insert into oxbow.memories_trait (user_id, memory_type, content, trait_subtype, trait_stage, trait_confidence,
		trait_confidence_at,
		  trait_reinforcement_count, trait_contradiction_count, trait_next_transition_at)
		select $1, 'trait', 'They do ' || i, 'behavior', 'emerging', 0.31,
		case when i % $3 = 0 then $4::timestamptz - interval '60 days' else $4::timestamptz end, 0, 0,
		       oxbow.trait_next_transition('emerging', 0.31, 'behavior', 0,
		       case when i % $3 = 0 then $4::timestamptz - interval '60 days' else $4::timestamptz end, null)
		  from generate_series(1, $2::int) i`, user, n, nth, now)
	exec(t, tx, `
		insert into oxbow.trait_events (user_id, trait_id, seq, event, at, sets, subtype, confidence, stage)
		select user_id, id, 1, 'created', trait_confidence_at, 0.31, 'behavior', 0.31, 'emerging'
		from oxbow.memories_trait where user_id = $1`, user)
	exec(t, tx, "set local session_replication_role = origin")
}

// The cost of settling depends on the number of due traits, not of all traits.
func TestSettleReadsOnlyDueTraits(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	now := traittest.Day(6, 1)
	for range 6 { // plans made for empty tables
		settle(t, tx, now, 1000)
	}
	dueTraits(t, tx, ann(t), 20000, 200, now)
	exec(t, tx, "analyze oxbow.memories_trait")
	sequential, fetched := reads(t, tx)
	settled, _ := settle(t, tx, now, 1000)
	require.Equal(t, 100, settled)
	sequentialAfter, fetchedAfter := reads(t, tx)
	require.Equal(t, sequential, sequentialAfter, "no sequential scan")
	require.Less(t, fetchedAfter-fetched, 1000)
	require.Equal(t, 0, one[int](t, tx, `select count(*) from oxbow.memories_trait
		where trait_next_transition_at <= $1`, now))
}

// Concurrent workers share the due traits, and settle each once.
func TestSettleAtOnce(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	conn := connect(t, dsn)
	now := traittest.Day(6, 1)
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	dueTraits(t, tx, "ann", 3000, 2, now)
	require.NoError(t, tx.Commit(t.Context()))

	total := make(chan int, 4)
	var workers sync.WaitGroup
	for range cap(total) {
		conn := connect(t, dsn)
		workers.Go(func() {
			sum := 0
			for {
				var settled int
				if err := conn.QueryRow(context.WithoutCancel(t.Context()),
					`select settled from oxbow.settle_traits($1, 100)`, now).Scan(&settled); err != nil {
					t.Error(err)
				}
				sum += settled
				if settled == 0 {
					break
				}
			}
			total <- sum
		})
	}
	workers.Wait()
	close(total)
	sum := 0
	for n := range total {
		sum += n
	}
	require.Equal(t, 1500, sum)
	require.Equal(t, 1500, one[int](t, conn, `select count(*) from oxbow.trait_events where event = 'decayed'`))
	require.Equal(t, 1500, one[int](t, conn, `select count(distinct trait_id) from oxbow.trait_events
		where event = 'decayed'`))

	// a locked trait is left for the next run
	again := now.AddDate(2, 0, 0)
	holding := begin(t, dsn)
	exec(t, holding, `select from oxbow.memories_trait order by id limit 10 for update`)
	settled, dissolved := settle(t, conn, again, 10000)
	require.Equal(t, fmt.Sprint(2990, 2990), fmt.Sprint(settled, dissolved))
	require.NoError(t, holding.Rollback(t.Context()))
	settled, _ = settle(t, conn, again, 10000)
	require.Equal(t, 10, settled)
}
