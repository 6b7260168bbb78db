package sqlcode_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// remembered is recall's explanation of a trait.
type remembered struct {
	Subtype       string  `json:"subtype"`
	Stage         string  `json:"stage"`
	StageBoost    float64 `json:"stage_boost"`
	Confidence    float64 `json:"confidence"`
	Supporting    int     `json:"supporting"`
	Contradicting int     `json:"contradicting"`
}

// recallTraits recalls the user's traits about boats, and returns their explanations by content.
func recallTraits(t *testing.T, tx db, args row) map[string]remembered {
	t.Helper()
	sql, values := recallStatement(row{"query": "boats", "types": []string{"trait"}, "max_results": 1000}.with(args))
	rows, err := tx.Query(t.Context(), "select content, explain from "+sql, values...)
	require.NoError(t, err)
	traits := map[string]remembered{}
	var content string
	var explained remembered
	_, err = pgx.ForEachRow(rows, []any{&content, &explained}, func() error {
		require.NotContains(t, traits, content)
		traits[content] = explained
		return nil
	})
	require.NoError(t, err)
	return traits
}

// settled returns a trait whose confidence was set at the given moment.
func settled(user, subtype, content string, confidence float64, at time.Time) row {
	stage := "candidate"
	switch {
	case confidence > 0.85:
		stage = "core"
	case confidence >= 0.6:
		stage = "established"
	case confidence > 0.3:
		stage = "emerging"
	}
	return row{"user_id": user, "memory_type": "trait", "content": content, "trait_subtype": subtype,
		"trait_stage":      stage,
		"trait_confidence": confidence, "trait_confidence_at": at, "created_at": at, "valid_at": at}
}

// observe adds memories that support or contradict a trait, counted in one event.
func observe(t *testing.T, tx db, user, trait, direction string, n, event int) {
	t.Helper()
	for range n {
		id := remember(t, tx, row{"user_id": user, "memory_type": "episodic"})
		exec(t, tx, `insert into oxbow.trait_evidence (user_id, trait_id, direction, memory_type, memory_id, quality,
			session_key, observed_at, timezone, event_seq)
			values ($1, $2, $3, 'episodic', $4, 'C', 's', now(), 'UTC', $5)`, user, trait, direction, id, event)
	}
}

// Recall applies the decay since a trait's row was written, whether or not settle has run.
func TestRecallUsesTheCurrentStage(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	set := ago(0)
	id := remember(t, tx, settled(ann(t), "behavior", "likes boats", 0.9, set))
	observe(t, tx, ann(t), id, "supporting", 3, 1)
	observe(t, tx, ann(t), id, "contradicting", 1, 2)
	index(t, tx, ann(t))
	for _, c := range []struct {
		days  int
		stage string
		boost float64
	}{
		{-3, "core", 0.25}, {0, "core", 0.25}, {11, "core", 0.25}, {12, "established", 0.15}, {81, "established", 0.15},
		{82, "emerging", 0.05}, {219, "emerging", 0.05}, {220, "", 0}, {600, "", 0},
	} {
		now := set.AddDate(0, 0, c.days)
		for name, filter := range map[string]row{"all": {}, "filtered": {"metadata_contains": "{}"},
			"as of": {"valid_as_of": set.AddDate(0, 0, 700)}} {
			traits := recallTraits(t, tx, filter.with(row{"user_id": ann(t), "now": now}))
			if c.stage == "" {
				require.Empty(t, traits, "%s, after %d days", name, c.days)
				continue
			}
			got := traits["likes boats"]
			require.InDelta(t, 0.9*math.Exp(-0.005*max(float64(c.days), 0)), got.Confidence, 1e-9, "%s, after %d days",
				name, c.days)
			got.Confidence = 0
			require.Equal(t, remembered{Subtype: "behavior", Stage: c.stage, StageBoost: c.boost, Supporting: 3,
				Contradicting: 1}, got, "%s, after %d days", name, c.days)
		}
	}
	require.Equal(t, "core", one[string](t, tx, "select trait_stage from oxbow.memories_trait where user_id = $1",
		ann(t)), "recall writes nothing")
}

func TestRecallHidesOldWordingsAndDissolvedTraits(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := remember(t, tx, settled(ann(t), "preference", "likes sailing boats", 0.7, ago(0)))
	index(t, tx, ann(t))
	require.Contains(t, recallTraits(t, tx, row{"user_id": ann(t), "now": ago(0)}), "likes sailing boats")

	id = one[string](t, tx, "select oxbow.edit_trait($1, $2, content => 'likes rowing boats')", ann(t), id)
	index(t, tx, ann(t))
	traits := recallTraits(t, tx, row{"user_id": ann(t)})
	require.Len(t, traits, 1)
	require.Equal(t, "core", traits["likes rowing boats"].Stage, "a person's word counts")
	before := transactionTime(t, tx).Add(-time.Hour)
	require.Equal(t, traits, recallTraits(t, tx, row{"user_id": ann(t), "valid_as_of": before}),
		"the new wording says what was true all along")

	exec(t, tx, "select oxbow.dissolve_trait($1, $2)", ann(t), id)
	for _, asOf := range []any{nil, before} {
		require.Empty(t, recallTraits(t, tx, row{"user_id": ann(t), "valid_as_of": asOf}),
			"nor what it was called before")
	}
}

func transactionTime(t *testing.T, tx db) time.Time { return one[time.Time](t, tx, "select now()") }

// Recall with believed_as_of equals a replay of the events up to then.
func TestRecallOfTraitsAsBelieved(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	random := rand.New(rand.NewPCG(7, 9))
	start := transactionTime(t, tx).AddDate(0, 0, -400)
	for n := range 25 {
		id := liveThrough(t, tx, random, fmt.Sprintf("likes boats %d", n), start.AddDate(0, 0, random.IntN(60)))
		if n%3 == 0 {
			exec(t, tx, "select oxbow.edit_trait($1, $2, content => $3)", ann(t), id,
				fmt.Sprintf("likes boats %d, edited", n))
		}
	}
	imported := settled(ann(t), "core", "imported with boats", 0.8, start.AddDate(0, 0, 100))
	remember(t, tx, imported)
	index(t, tx, ann(t))

	seen := map[string]int{}
	for range 40 {
		at := start.Add(time.Duration(random.Int64N(int64(400 * 24 * time.Hour))))
		rows, err := tx.Query(t.Context(), `
			select a.content, a.stage, a.confidence, a.subtype,
			       (select count(*) from oxbow.trait_evidence e join oxbow.trait_events v on (v.user_id, v.trait_id,
			       v.seq) = (e.user_id, e.trait_id, e.event_seq)
			         where e.user_id = $1 and e.trait_id = a.trait_id and v.at <= $2)
			  from oxbow.traits_as_of($1, $2) a where a.stage in ('emerging', 'established', 'core')`, ann(t), at)
		require.NoError(t, err)
		want := map[string]remembered{}
		var content string
		var r remembered
		_, err = pgx.ForEachRow(rows, []any{&content, &r.Stage, &r.Confidence, &r.Subtype, &r.Supporting},
			func() error {
				want[content] = r
				seen[r.Stage]++
				return nil
			})
		require.NoError(t, err)
		got := recallTraits(t, tx, row{"user_id": ann(t), "believed_as_of": at})
		_, known := got["imported with boats"]
		require.Equal(t, at.After(start.AddDate(0, 0, 100)), known,
			"without events, what is stored counts from when it was known")
		delete(got, "imported with boats")
		require.Len(t, got, len(want), "at %s", at)
		for content, w := range want {
			g := got[content]
			require.InDelta(t, w.Confidence, g.Confidence, 1e-9, content)
			boost := map[string]float64{"emerging": 0.05, "established": 0.15, "core": 0.25}[w.Stage]
			w.StageBoost, w.Confidence, g.Confidence = boost, 0, 0
			require.Equal(t, w, g, content)
		}
	}
	for _, stage := range []string{"emerging", "established", "core"} {
		require.Greater(t, seen[stage], 20, stage)
	}
}

// liveThrough creates a trait with random events until now.
func liveThrough(t *testing.T, tx db, random *rand.Rand, content string, at time.Time) string {
	t.Helper()
	id := remember(t, tx, row{"user_id": ann(t), "memory_type": "trait", "content": content, "trait_stage": "trend",
		"trait_subtype":    "behavior",
		"trait_window_end": at.AddDate(0, 0, 30), "trait_confidence_at": at, "created_at": at, "valid_at": at})
	event := func(kind string, factor, sets any, memories int) {
		exec(t, tx, `select oxbow.record_event(e) from (select $1::text as user_id, $2::uuid as trait_id,
			$3::text as event, $4::timestamptz as at,
			$5::double precision as factor, $6::double precision as sets,
			$7::integer as memories, 'test' as actor, 'behavior' as subtype, $8::timestamptz as window_end) v,
			lateral jsonb_populate_record(null::oxbow.trait_events, to_jsonb(v)) e`, ann(t), id, kind, at, factor, sets,
			memories, at.AddDate(0, 0, 30))
	}
	if random.IntN(3) == 0 {
		event("created", nil, nil, 0)
	} else {
		event("created", nil, 0.4+0.4*random.Float64(), 0)
	}
	for seq := 2; ; seq++ {
		at = at.Add(time.Duration(random.Int64N(int64(30 * 24 * time.Hour))))
		if at.After(transactionTime(t, tx)) {
			return id
		}
		switch random.IntN(16) {
		case 0:
			event("dissolved", nil, nil, 0)
		case 1:
			event("revived", nil, 0.2, 0)
		case 2, 3:
			event("contradicted", 0.2, nil, 1)
		case 4:
			event("used", 0.02, nil, 0)
		default:
			event("reinforced", 0.25, nil, 1)
			observe(t, tx, ann(t), id, "supporting", 1, seq)
		}
	}
}

// Returning a memory only counts an access; using it in a reply raises a trait's confidence, once in 24
// hours.
func TestOnlyUseStrengthens(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	start := time.Now().Add(-time.Hour)
	id := traittest.Trait{UserID: ann(t), Events: []traittest.Event{traittest.Created(start, 0.5)}}.Insert(t, tx)
	trend := traittest.Trait{UserID: ann(t), Events: []traittest.Event{traittest.Watched(start,
		start.AddDate(0, 0, 30))}}.Insert(t, tx)
	for _, c := range []struct {
		call     string
		accesses int
		events   []string
	}{
		{"touch($1, $2, used => false)", 1, nil},
		{"touch($1, $2)", 2, []string{"used 0.02"}},
		{"touch($1, $2, used => true)", 3, []string{"used 0.02"}},
	} {
		exec(t, tx, "select oxbow."+c.call, ann(t), []uuid.UUID{id, trend})
		exec(t, tx, "select oxbow.fold_activity(10)")
		for _, id := range []uuid.UUID{id, trend} {
			var accesses int
			require.NoError(t,
				tx.QueryRow(t.Context(), "select access_count from oxbow.memories where user_id = $1 and id = $2",
					ann(t), id).
					Scan(&accesses))
			require.Equal(t, c.accesses, accesses, c.call)
		}
		rows, err := tx.Query(t.Context(),
			"select event || ' ' || factor from oxbow.trait_events where user_id = $1 and seq > 1", ann(t))
		require.NoError(t, err)
		events, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		require.ElementsMatch(t, c.events, events, c.call)
	}
}
