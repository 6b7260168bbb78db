package consistency

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// family contains consistent traits of one user: a trait with a long history and an older wording,
// its parent, and a trend.
type family struct {
	trait, old, parent, trend uuid.UUID
}

func insertFamily(t *testing.T, pool *pgxpool.Pool, user string) (f family) {
	t.Helper()
	evidence := func(name string, day int, quality lifecycle.Quality) traittest.Evidence {
		return traittest.Evidence{Content: user + " " + name, At: traittest.Day(1, day), Session: "s" + name,
			Quality: quality}
	}
	against := evidence("late", 14, lifecycle.QualityC)
	against.Against = true
	events := []traittest.Event{
		traittest.Created(traittest.Day(1, 10), 0.5, evidence("one", 1, "C"), evidence("two", 2, "C")),
		traittest.Reinforced(traittest.Day(1, 12), traittest.Policies.Reinforcement(
			map[string]lifecycle.Quality{"a": "A", "b": "B"}),
			evidence("three", 11, "A"), evidence("four", 12, "B")),
		{Event: lifecycle.Event{Kind: lifecycle.Used, At: traittest.Day(1, 13), Factor: traittest.Policies.FactorUsed},
			Actor: "app"},
		traittest.Contradicted(traittest.Day(1, 15), traittest.Policies.Contradiction(1), against),
		traittest.Reinforced(traittest.Day(1, 20), 0.05, evidence("five", 18, "D")),
	}
	f.parent = traittest.Trait{UserID: user, Content: user + " is orderly.", Subtype: lifecycle.Preference,
		Events: []traittest.Event{
			traittest.Created(traittest.Day(1, 21), 0.6, evidence("six", 20, "C"))}}.Insert(t, pool)
	f.old = traittest.Trait{UserID: user, Content: user + " is up at dawn.", Key: "dawn", Parent: f.parent,
		Events: events}.Insert(t, pool)
	require.NoError(t, pool.QueryRow(t.Context(), `select oxbow.reword_trait($1, $2,
		$1 || ' gets up early.', 'reflection', null)`, user, f.old).Scan(&f.trait))
	f.trend = traittest.Trait{UserID: user, Content: user + " may be tired.", Events: []traittest.Event{
		traittest.Watched(traittest.Day(1, 10), traittest.Day(2, 9), evidence("seven", 1, "C"))}}.Insert(t, pool)
	return f
}

// check checks a user and returns the report and the problems.
func check(t *testing.T, pool *pgxpool.Pool, user string, repair bool) (Report, []Problem) {
	t.Helper()
	var found []Problem
	report, err := Check(t.Context(), pool, Options{UserID: user, Repair: repair, Found: func(p Problem) error {
		found = append(found, p)
		return nil
	}})
	require.NoError(t, err)
	require.EqualValues(t, len(found), report.Problems)
	return report, found
}

func kinds(problems []Problem) []string {
	set := map[string]bool{}
	for _, p := range problems {
		set[p.Kind] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// bypass runs SQL without triggers, foreign keys and checks.
func bypass(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(context.WithoutCancel(t.Context()),
			`set local session_replication_role = replica`); err != nil {
			return err
		}
		// Rows may be older than the constraint.
		if _, err := tx.Exec(t.Context(),
			`alter table oxbow.memories_trait drop constraint if exists trait_confidence_range`); err != nil {
			return err
		}
		tag, err := tx.Exec(t.Context(), sql, args...)
		if err == nil && tag.RowsAffected() == 0 {
			err = fmt.Errorf("nothing was changed: %s", sql)
		}
		return err
	}))
}

// rows returns everything stored about a user's traits, except the columns with the time of
// writing.
func rows(t *testing.T, pool *pgxpool.Pool, user string) (text string) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), `
		select concat_ws(E'\n',
		  (select string_agg((to_jsonb(m) - 'version' - 'updated_at' - 'former_ends')::text, E'\n' order by m.id)
		  from oxbow.memories_trait m where m.user_id = $1),
		  (select string_agg((to_jsonb(e) - 'confidence' - 'factor' || jsonb_build_object('confidence',
		  round(e.confidence::numeric, 9), 'factor', round(e.factor::numeric, 9)))::text,
		     E'\n' order by e.trait_id, e.seq) from oxbow.trait_events e where e.user_id = $1),
		  (select string_agg(to_jsonb(v)::text, E'\n' order by v.trait_id, v.memory_id) from oxbow.trait_evidence v
		  where v.user_id = $1))`, user).Scan(&text))
	return text
}

// tampered lists changes by somebody with all rights. $1 is the user, $2 the trait.
var tampered = []struct {
	name, sql string
	kinds     []string // found by the check
	left      []string // left by a repair
	lost      bool     // the repair cannot restore the original state
}{
	{name: "confidence", sql: `update oxbow.memories_trait set trait_confidence = trait_confidence + 1e-8
		where user_id = $1 and id = $2`, kinds: []string{"confidence"}},
	{name: "confidence of 2", sql: `update oxbow.memories_trait set trait_confidence = 2 where user_id = $1
		and id = $2`, kinds: []string{"confidence"}},
	{name: "confidence that is no number", sql: `update oxbow.memories_trait set trait_confidence = 'NaN'
		where user_id = $1 and id = $2`, kinds: []string{"confidence"}},
	{name: "no confidence", sql: `update oxbow.memories_trait set trait_confidence = null where user_id = $1
		and id = $2`, kinds: []string{"confidence"}},
	{name: "its moment",
		sql: `update oxbow.memories_trait set trait_confidence_at = trait_confidence_at + interval '1 microsecond'
			where user_id = $1 and id = $2`, kinds: []string{"confidence_at"}},
	{name: "stage", sql: `update oxbow.memories_trait set trait_stage = 'core' where user_id = $1 and id = $2`,
		kinds: []string{"stage"}},
	{name: "subtype", sql: `update oxbow.memories_trait set trait_subtype = 'core' where user_id = $1 and id = $2`,
		kinds: []string{"subtype"}},
	{name: "reinforcements", sql: `update oxbow.memories_trait set trait_reinforcement_count = 7 where user_id = $1
		and id = $2`, kinds: []string{"reinforcements"}},
	{name: "contradictions", sql: `update oxbow.memories_trait set trait_contradiction_count = null where user_id = $1
		and id = $2`, kinds: []string{"contradictions"}},
	{name: "window", sql: `update oxbow.memories_trait set trait_window_end = now() where user_id = $1 and id = $2`,
		kinds: []string{"window"}},
	{name: "a correction", sql: `update oxbow.memories_trait set trait_edited_at = now() where user_id = $1
		and id = $2`, kinds: []string{"corrected"}},
	{name: "window's begin", sql: `update oxbow.memories_trait set trait_window_start = now() where user_id = $1
		and id = $2`, kinds: []string{"window"}},
	{name: "next transition", sql: `update oxbow.memories_trait
		set trait_next_transition_at = trait_next_transition_at + interval '3 seconds' where user_id = $1 and id = $2`,
		kinds: []string{"next transition"}},
	{name: "no next transition", sql: `update oxbow.memories_trait set trait_next_transition_at = null
		where user_id = $1 and id = $2`, kinds: []string{"next transition"}},
	{name: "dissolved", sql: `update oxbow.memories_trait set trait_stage = 'dissolved' where user_id = $1 and id = $2`,
		kinds: []string{"stage"}},
	{name: "factor", sql: `update oxbow.trait_events set factor = 0.42 where user_id = $1 and trait_id = $2
		and seq = 2`, kinds: []string{"confidence", "event", "factor", "next transition"}},
	{name: "factor against", sql: `update oxbow.trait_events set factor = 0.4 where user_id = $1 and trait_id = $2
		and seq = 4`, kinds: []string{"confidence", "event", "factor", "next transition"}},
	{name: "factor of a use", sql: `update oxbow.trait_events set factor = 0.05 where user_id = $1 and trait_id = $2
		and seq = 3`, kinds: []string{"confidence", "event", "factor", "next transition"}},
	{name: "an event's confidence", sql: `update oxbow.trait_events set confidence = 0.9 where user_id = $1
		and trait_id = $2 and seq = 2`, kinds: []string{"event"}},
	{name: "an event's stage", sql: `update oxbow.trait_events set stage = 'core' where user_id = $1 and trait_id = $2
		and seq = 1`, kinds: []string{"event"}},
	{name: "an event's memories", sql: `update oxbow.trait_events set memories = 9 where user_id = $1 and trait_id = $2
		and seq = 4`, kinds: []string{"contradictions", "memories"}},
	{name: "an event's moment", sql: `update oxbow.trait_events set at = at - interval '1 day' where user_id = $1
		and trait_id = $2 and seq = 2`,
		kinds: []string{"confidence", "event", "next transition"}, lost: true},
	{name: "what it was created with", sql: `update oxbow.trait_events set sets = 0.55 where user_id = $1
		and trait_id = $2 and seq = 1`,
		kinds: []string{"confidence", "event", "next transition"}, lost: true},
	{name: "an event is gone", sql: `delete from oxbow.trait_events where user_id = $1 and trait_id = $2 and seq = 3`,
		kinds: []string{"confidence", "event", "gap", "next transition"}, lost: true},
	{name: "the first is gone", sql: `delete from oxbow.trait_events where user_id = $1 and trait_id = $2 and seq = 1`,
		kinds: []string{"beginning"}, left: []string{"beginning"}, lost: true},
	{name: "all events are gone", sql: `delete from oxbow.trait_events where user_id = $1 and trait_id = $2`,
		kinds: []string{"no events"}, left: []string{"evidence"}, lost: true},
	{name: "evidence is gone", sql: `delete from oxbow.trait_evidence where user_id = $1 and trait_id = $2
		and event_seq = 2 and quality = 'A'`, kinds: []string{"factor", "memories"}, lost: true},
	{name: "all of an event's", sql: `delete from oxbow.trait_evidence where user_id = $1 and trait_id = $2
		and event_seq = 2`, kinds: []string{"factor", "memories"}, lost: true},
	{name: "quality", sql: `update oxbow.trait_evidence set quality = 'D' where user_id = $1 and trait_id = $2
		and event_seq = 2`, kinds: []string{"factor"}, lost: true},
	{name: "its event is none", sql: `update oxbow.trait_evidence set event_seq = 77 where user_id = $1
		and trait_id = $2 and event_seq = 4`,
		kinds: []string{"evidence", "factor", "memories"}, left: []string{"evidence"}, lost: true},
	{name: "its event is another", sql: `update oxbow.trait_evidence set event_seq = 3 where user_id = $1
		and trait_id = $2 and event_seq = 4`,
		kinds: []string{"evidence", "factor", "memories"}, left: []string{"evidence", "memories"}, lost: true},
	{name: "the trait is gone", sql: `delete from oxbow.memories_trait where user_id = $1 and id = $2`,
		kinds: []string{"orphan"}, lost: true},
	{name: "a memory is gone", sql: `delete from oxbow.memories where user_id = $1 and content = $1 || ' three'
		and $2::uuid is not null`, kinds: []string{"orphan"}, lost: true},
	{name: "a clue without its memory", sql: `insert into oxbow.trait_clues (user_id, key, memory_type, memory_id,
		content, session_key, observed_at)
		values ($1, 'k', 'fact', $2, 'x', 's', now())`, kinds: []string{"orphan"}},
	{name: "the inbox", sql: `insert into oxbow.reflection_inbox (user_id, memory_type, memory_id, importance, valid_at)
		values ($1, 'fact', $2, 1, now())`, kinds: []string{"orphan"}},
	{name: "a link", sql: `insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation)
		values ($1, 'fact', $2, 'trait', $2, 'source')`, kinds: []string{"orphan"}},
	{name: "a parent that is none", sql: `update oxbow.memories_trait set trait_parent_id = gen_random_uuid()
		where user_id = $1 and id = $2`, kinds: []string{"parent"}, lost: true},
	{name: "its own parent", sql: `update oxbow.memories_trait set trait_parent_id = id where user_id = $1 and id = $2`,
		kinds: []string{"parent"}, lost: true},
	{name: "a parent of its kind", sql: `update oxbow.memories_trait m set trait_parent_id = (select t.id
		from oxbow.memories_trait t where t.user_id = $1 and t.trait_stage = 'trend')
		where m.user_id = $1 and m.id = $2`, kinds: []string{"parent"}, lost: true},
	{name: "a circle", sql: `update oxbow.memories_trait set trait_parent_id = $2 where user_id = $1
		and trait_subtype = 'preference'`, kinds: []string{"parent"}},
	{name: "live and superseded", sql: `update oxbow.memories_trait set superseded_by = id where user_id = $1
		and id = $2`, kinds: []string{"superseded"}},
	{name: "expired with its events", sql: `update oxbow.memories_trait set expired_at = now() where user_id = $1
		and id = $2`, kinds: []string{"due", "superseded"}, lost: true},
	{name: "an old wording is live", sql: `update oxbow.memories_trait set expired_at = null where user_id = $1
		and superseded_by = $2`, kinds: []string{"no events", "superseded"}},
	{name: "an old wording is due", sql: `update oxbow.memories_trait
		set trait_next_transition_at = now(), trait_review_due_at = now() where user_id = $1 and superseded_by = $2`,
		kinds: []string{"due"}},
	{name: "a trend with a confidence", sql: `update oxbow.memories_trait set trait_confidence = 0.3 where user_id = $1
		and trait_stage = 'trend' and $2::uuid is not null`, kinds: []string{"confidence"}},
	{name: "a trend without a window", sql: `update oxbow.memories_trait set trait_window_end = null where user_id = $1
		and trait_stage = 'trend' and $2::uuid is not null`, kinds: []string{"window"}},
	{name: "a trend that never ends", sql: `update oxbow.trait_events set window_end = null where user_id = $1
		and stage = 'trend' and $2::uuid is not null`,
		kinds: []string{"next transition", "window"}, left: []string{"window"}, lost: true},
}

// The check finds every change made behind Oxbow's back. A repair restores what the events and
// evidence determine, and a second check finds only the rest.
func TestCheckFindsTampering(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	for _, test := range tampered {
		t.Run(test.name, func(t *testing.T) {
			user := "ann, " + test.name
			f := insertFamily(t, pool, user)
			report, found := check(t, pool, user, false)
			require.Empty(t, found, "nobody has done anything")
			require.Equal(t, Report{Users: 1, Traits: 4}, report)
			before := rows(t, pool, user)

			bypass(t, pool, test.sql, user, f.trait)
			_, found = check(t, pool, user, false)
			require.Equal(t, test.kinds, kinds(found), "%+v", found)
			for _, p := range found {
				require.Equal(t, user, p.UserID)
				require.False(t, p.Repaired)
				require.NotEqual(t, p.Found, p.Expected)
			}

			_, repaired := check(t, pool, user, true)
			var left []Problem
			for _, p := range repaired {
				if !p.Repaired {
					left = append(left, p)
				}
			}
			require.ElementsMatch(t, test.left, kinds(left), "%+v", left)
			report, found = check(t, pool, user, false)
			require.ElementsMatch(t, test.left, kinds(found), "%+v", found)
			if !test.lost {
				require.Equal(t, before, rows(t, pool, user), "it is as it was")
			}
			require.LessOrEqual(t, report.Problems, int64(len(repaired)))
		})
	}
}

// Evidence of the wrong event is moved to the event of its cycle.
func TestCheckReattachesEvidence(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	f := insertFamily(t, pool, "ann")
	cycle := uuid.New()
	bypass(t, pool, `update oxbow.trait_events set cycle_id = $2 where trait_id = $1 and seq = 4`, f.trait, cycle)
	bypass(t, pool, `update oxbow.trait_evidence set cycle_id = $2 where trait_id = $1 and event_seq = 4`, f.trait,
		cycle)
	before := rows(t, pool, "ann")
	bypass(t, pool, `update oxbow.trait_evidence set event_seq = 3 where trait_id = $1 and event_seq = 4`, f.trait)
	report, found := check(t, pool, "ann", true)
	require.Equal(t, report.Problems, report.Repaired, "%+v", found)
	require.Equal(t, before, rows(t, pool, "ann"))
}

// Duplicate evidence is possible only if the unique index is missing.
func TestCheckFindsEvidenceThatCountedTwice(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	f := insertFamily(t, pool, "ann")
	before := rows(t, pool, "ann")
	_, err := pool.Exec(t.Context(), `alter table oxbow.trait_evidence drop constraint trait_evidence_pkey`)
	require.NoError(t, err)
	bypass(t, pool, `insert into oxbow.trait_evidence select * from oxbow.trait_evidence where trait_id = $1
		and event_seq = 5`, f.trait)
	_, found := check(t, pool, "ann", false)
	require.Equal(t, []string{"counted twice", "memories"}, kinds(found))
	report, _ := check(t, pool, "ann", true)
	require.Equal(t, report.Problems, report.Repaired)
	require.Equal(t, before, rows(t, pool, "ann"))
}

// All users are checked in pages, and the continuing check resumes where it stopped.
func TestCheckEverybody(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	for i := range 9 {
		insertFamily(t, pool, fmt.Sprintf("user %d", i))
	}
	// More traits than a page holds.
	_, err := pool.Exec(t.Context(), `
		select set_config('oxbow.origin', 'import', false);
		insert into oxbow.memories (user_id, memory_type, content) select 'user 4', 'trait', 'trait ' || n
		from generate_series(1, 1100) n;
		select oxbow.adopt_trait(user_id, id, 'import') from oxbow.memories_trait where content like 'trait %';
		select set_config('oxbow.origin', '', false)`)
	require.NoError(t, err)
	bypass(t, pool, `update oxbow.memories_trait set trait_stage = 'core' where user_id in ('user 1', 'user 8')
		and trait_subtype = 'preference'`)
	bypass(t, pool, `insert into oxbow.trait_events (user_id, trait_id, seq, event, at, stage)
		values ('user 42', gen_random_uuid(), 1, 'used', now(), '')`)
	var progress []Report
	report, err := Check(t.Context(), pool, Options{Progress: func(r Report) { progress = append(progress, r) }})
	require.NoError(t, err)
	require.Equal(t, Report{Users: 10, Traits: 9*4 + 1100, Problems: 3}, report)
	require.Greater(t, len(progress), 2)
	require.Equal(t, report, progress[len(progress)-1])

	now := time.Date(2025, 6, 1, 3, 0, 0, 0, time.UTC)
	next := func(limit int) (last bool, found []Problem) {
		last, err := CheckNext(t.Context(), pool, now, limit, func(p Problem) error {
			found = append(found, p)
			return nil
		})
		require.NoError(t, err)
		return last, found
	}
	for round := range 2 {
		last, found := next(4)
		require.False(t, last)
		require.Len(t, found, 1)
		require.Equal(t, "user 1", found[0].UserID)
		state, err := ReadState(t.Context(), pool)
		require.NoError(t, err)
		require.Equal(t, State{At: now, Users: 4, Problems: 1, After: "user 3"}, state, "round %d", round)
		last, found = next(4)
		require.False(t, last)
		require.Equal(t, []string{"orphan"}, kinds(found), "user 42 comes before user 8")
		last, found = next(4)
		require.True(t, last)
		require.Equal(t, []string{"stage"}, kinds(found))
		state, err = ReadState(t.Context(), pool)
		require.NoError(t, err)
		require.Equal(t, State{At: now, Users: 10, Problems: 3}, state)
	}
	again, _ := check(t, pool, "user 8", false)
	require.EqualValues(t, 1, again.Problems, "the check that goes on repairs nothing")
}

// A reflection that writes during a check does not cause false problems.
func TestCheckWhileTraitsChange(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	var ids []uuid.UUID
	for i := range 40 {
		ids = append(ids, traittest.Trait{UserID: "ann", Content: fmt.Sprintf("Ann does %d.", i)}.Insert(t, pool))
	}
	stop := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if _, err := pool.Exec(context.WithoutCancel(t.Context()),
				`select oxbow.edit_trait('ann', $1, confidence => 0.5 + $2 * 0.0001)`, ids[n%len(ids)],
				n%1000); err != nil {
				done <- err
				return
			}
		}
	}()
	for range 30 {
		_, found := check(t, pool, "ann", false)
		require.Empty(t, found)
	}
	close(stop)
	require.NoError(t, <-done)
}
