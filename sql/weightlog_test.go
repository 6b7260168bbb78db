package sqlcode_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// logged returns the log of ann's weights, oldest first, as "cause times actor".
func logged(t *testing.T, tx db) []string {
	t.Helper()
	return all[string](t, tx, `select format('%s %s %s', cause, times, actor) from oxbow.weight_log
		where user_id = $1 order by at, cause`, ann(t))
}

// operate applies an operation of a new fact to a target.
func operate(t *testing.T, tx db, operation, policy, id, target string) {
	t.Helper()
	list, err := json.Marshal([]map[string]any{{"id": id, "type": "fact", "content": "Now this.", "at": time.Now(),
		"sources": []string{}, "operation": operation, "target": target, "also": []string{}, "policy": policy}})
	require.NoError(t, err)
	exec(t, tx, `select oxbow.apply_operations($1, 'me', $2, '{}')`, ann(t), string(list))
}

// Each cause adds one row, with the weights that oxbow.weight returns at that moment.
func TestWeightLog(t *testing.T) {
	t.Parallel()
	old := time.Now().Add(-60 * day)
	for name, c := range map[string]struct {
		given  row
		event  func(t *testing.T, tx db, id, other string)
		want   string // "" if the weight stays the same
		lowers bool
	}{
		"mentioned": {want: "mentioned 1 me", event: func(t *testing.T, tx db, id, _ string) {
			exec(t, tx, `select oxbow.mention_memory($1, 'fact', $2, array[now()], 1, 0::smallint, 'me')`, ann(t), id)
		}},
		"mentioned long ago": {want: "mentioned 1 me", event: func(t *testing.T, tx db, id, _ string) {
			exec(t, tx, `select oxbow.mention_memory($1, 'fact', $2, array[now() - interval '50 days'], 1, 0::smallint,
				'me')`, ann(t), id)
		}},
		"stored again": {want: "mentioned 1 system", event: func(t *testing.T, tx db, _, _ string) {
			remember(t, tx, row{"user_id": ann(t), "content": "A boat."})
			index(t, tx, ann(t))
		}},
		"said again": {want: "mentioned 1 me", event: func(t *testing.T, tx db, id, other string) {
			operate(t, tx, "NOOP", "", other, id)
		}},
		"used": {want: "used 2 app", event: func(t *testing.T, tx db, id, other string) {
			exec(t, tx, `select oxbow.touch($1, array[$2::uuid]), oxbow.touch($1, array[$2::uuid]),
				oxbow.touch($1, array[$3::uuid], false)`, ann(t), id, other)
			exec(t, tx, `select oxbow.fold_activity(100)`)
		}},
		"recalled": {event: func(t *testing.T, tx db, id, _ string) {
			exec(t, tx, `select oxbow.touch($1, array[$2::uuid], false)`, ann(t), id)
			exec(t, tx, `select oxbow.fold_activity(100)`)
		}},
		"used in a conversation": {want: "used 1 me", event: func(t *testing.T, tx db, id, _ string) {
			require.Equal(t, 1, one[int](t, tx, `
				select boosted from oxbow.write_extraction($1, 's', 'me', '{}', '[]', array[$2::uuid], false)`, ann(t), id))
		}},
		"negated": {want: "negated 1 me", lowers: true, event: func(t *testing.T, tx db, id, other string) {
			operate(t, tx, "UPDATE", "weight_balance", other, id)
		}},
		"kept as negated": {want: "negated 1 me", lowers: true, event: func(t *testing.T, tx db, id, other string) {
			operate(t, tx, "UPDATE", "version_keep", other, id)
		}},
		"replaced": {event: func(t *testing.T, tx db, id, other string) {
			operate(t, tx, "UPDATE", "latest_wins", other, id)
		}},
		"classified": {want: "classified 1 me", event: func(t *testing.T, tx db, id, _ string) {
			exec(t, tx, `select oxbow.reconcile_facts($1, 'me', json_build_array(json_build_object('id', $2::uuid,
				'category', 'identity', 'about', array['boat'], 'operation', 'ADD')))`, ann(t), id)
		}},
		"classified as a fact": {event: func(t *testing.T, tx db, id, _ string) {
			exec(t, tx, `select oxbow.reconcile_facts($1, 'me', json_build_array(json_build_object('id', $2::uuid,
				'category', 'fact', 'about', array['boat'], 'operation', 'ADD')))`, ann(t), id)
		}},
		"restored": {row{"negated_at": old, "invalid_at": old}, func(t *testing.T, tx db, id, _ string) {
			exec(t, tx, `select oxbow.restore($1, $2)`, ann(t), id)
		}, "restored 1 app", false},
		"restored, never negated": {given: row{"expired_at": old, "invalid_at": old},
			event: func(t *testing.T, tx db, id, _ string) { exec(t, tx, `select oxbow.restore($1, $2)`, ann(t), id) }},
		"forgotten and restored": {event: func(t *testing.T, tx db, id, _ string) {
			exec(t, tx, `select oxbow.forget($1, $2)`, ann(t), id)
			exec(t, tx, `select oxbow.restore($1, $2)`, ann(t), id)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tx := pgtest.Tx(t)
			exec(t, tx, `insert into oxbow.users (user_id, forgetting_factor) values ($1, 0.7)`, ann(t))
			id := remember(t, tx, row{"user_id": ann(t), "content": "A boat.", "created_at": old}.with(c.given))
			other := remember(t, tx, row{"user_id": ann(t), "content": "Now this."})
			before := weightAt(t, tx, id, time.Now()).Unclamped
			c.event(t, tx, id, other)
			if c.want == "" {
				require.Empty(t, logged(t, tx))
				return
			}
			require.Equal(t, []string{c.want}, logged(t, tx))
			require.Equal(t, id, one[string](t, tx, `select memory_id::text from oxbow.weight_log where user_id = $1`, ann(t)))
			var was, is float64
			var at time.Time
			require.NoError(t, tx.QueryRow(t.Context(), `select before, after, at from oxbow.weight_log where user_id = $1`,
				ann(t)).Scan(&was, &is, &at))
			require.InDelta(t, before, was, 1e-6)
			require.InDelta(t, weightAt(t, tx, id, at).Unclamped, is, 1e-9)
			require.Equal(t, c.lowers, is < was, "%v, %v", was, is)
			require.NotEqual(t, was, is)
		})
	}
}

func TestWeightLogIsAppendOnly(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	populate(t, tx, ann(t))
	require.Equal(t, "the log of weights is append-only",
		fails(t, tx, `update oxbow.weight_log set after = 9 where user_id = $1`, ann(t)).Message)
	require.Equal(t, "23514", fails(t, tx, `insert into oxbow.weight_log (user_id, memory_type, memory_id, cause, before,
		after) select user_id, memory_type, id, 'liked', 1, 2 from oxbow.memories where user_id = $1`, ann(t)).Code)
	id := one[string](t, tx, `select memory_id::text from oxbow.weight_log where user_id = $1`, ann(t))
	exec(t, tx, `select oxbow.erase_memory($1, $2)`, ann(t), id)
	require.Zero(t, count(t, tx, "oxbow.weight_log", ann(t)))
	require.Equal(t, 1, one[int](t, tx, `select (rows ->> 'weight_log')::integer from oxbow.erasures
		order by at desc limit 1`))
}

func TestWeightLogIsTrimmed(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := diary(t, tx, row{"content": "A boat."})[0]
	exec(t, tx, `insert into oxbow.weight_log (user_id, memory_type, memory_id, at, cause, before, after)
		select $1, 'episodic', $2, timestamptz '1901-06-01' - n * interval '1 day', 'used', 1, 2
		  from generate_series(0, 99) n`, ann(t), id)
	now := time.Date(1901, 6, 1, 12, 0, 0, 0, time.UTC)
	trim := func(limit int) int { return one[int](t, tx, `select oxbow.trim_weight_log($1, $2)`, now, limit) }
	require.Equal(t, 4, trim(4))
	require.Equal(t, 6, trim(100), "older than 90 days")
	require.Zero(t, trim(100))
	require.Equal(t, 90, count(t, tx, "oxbow.weight_log", ann(t)))
	exec(t, tx, `select oxbow.set_policy('weight_log_days', 10)`)
	require.Equal(t, 80, trim(100))
}

// The days found are those that a scan of every day finds.
func TestWeightCrossings(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	random := rand.New(rand.NewPCG(18, 10))
	ids := diary(t, tx, row{"content": "A boat.", "created_at": ago(0)}, row{"content": "A sail.", "created_at": ago(0)})
	twice := 0
	for range 30 {
		base := time.Now().Add(time.Minute) // when the changed policies are in force
		past := func(days float64) time.Time { return base.Add(-time.Duration(random.Float64() * days * float64(day))) }
		exec(t, tx, `update oxbow.memories set category = $3, created_at = $4, strength = $5, tier = $6, used_at = $7,
			mentions = $8, negated_at = $9, activated_at = null, source = $10 where user_id = $1 and id = $2`, ann(t), ids[0],
			[]string{"identity", "skill", "temporary", "无"}[random.IntN(4)], past(800), 4*random.Float64()*random.Float64(),
			[]string{"normal", "normal", "core"}[random.IntN(3)], []any{nil, past(100)}[random.IntN(2)],
			[]any{nil, mentions(past(9), past(1))}[random.IntN(2)], []any{nil, past(90), past(9)}[random.IntN(3)],
			[]any{nil, "summary"}[random.IntN(2)])
		exec(t, tx, `select oxbow.set_policy('weight_conflict_fade', $1)`, float64(random.IntN(2)))
		const days = 3000
		daily := all[float64](t, tx, `
			select w.weight
			  from (select m, oxbow.recall_rules($1, $3) as rules from oxbow.memories m
			         where m.user_id = $1 and m.id = $2 offset 0) m
			 cross join generate_series(0, $4::integer) n
			 cross join oxbow.weight_factors((m.m).category, (m.m).created_at, (m.m).activated_at, (m.m).used_at,
			   (m.m).mentions, (m.m).negated_at, (m.m).strength, (m.m).tier, (m.m).source,
			   $3::timestamptz + n * interval '24 hours', m.rules) w
			 order by n`, ann(t), ids[0], base, days)
		require.InDelta(t, weightAt(t, tx, ids[0], base.Add(900*day)).Unclamped, daily[900], 1e-12)
		for _, level := range []float64{0.05, 0.1, 0.15, 0.3, 0.3 + random.Float64()} {
			var scan []string
			for n, w := range daily {
				if below := w < level; n == 0 || below != (daily[n-1] < level) {
					scan = append(scan, fmt.Sprintf("%d %.1s", n, strconv.FormatBool(below)))
				}
			}
			found := all[string](t, tx, `select format('%s %s', day, below) from oxbow.weight_crossings($1, $2, $3, $4, $5)
				order by day`, ann(t), ids[0], level, base, days)
			require.Equal(t, scan, found, "level %v", level)
			if len(found) > 2 {
				twice++
			}
		}
	}
	require.Greater(t, twice, 2, "some rise and fall again")
	now := time.Now()
	require.Equal(t, []bool{false}, all[bool](t, tx, `select below from oxbow.weight_crossings($1, $2, 0.3, $3, 9)`,
		ann(t), ids[1], ago(0)), "not within nine days")
	require.Len(t, all[int](t, tx, `select day from oxbow.weight_crossings($1, $2, 0.05)`, ann(t), ids[1]), 2,
		"a century by default")
	require.Less(t, time.Since(now), 5*time.Second)
	require.Empty(t, all[int](t, tx, `select day from oxbow.weight_crossings('nobody', $1, 0.05)`, ids[1]))
	for arguments, want := range map[string]string{
		"0.3, 'infinity'": "at must be in the years 1 to 9999",
		"0":               "level must be between 0.000001 and 1000000",
		"'nan'":           "level must be between 0.000001 and 1000000",
		"null":            "level must be between 0.000001 and 1000000",
		"0.3, now(), -1":  "days must be between 0 and 365250",
	} {
		require.Equal(t, want, fails(t, tx, fmt.Sprintf(`select oxbow.weight_crossings($1, $2, %s)`, arguments), ann(t),
			ids[0]).Message)
	}
}
