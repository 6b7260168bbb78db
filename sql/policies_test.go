package sqlcode_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

func TestSetPolicy(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	policy := func(column string) float64 {
		return one[float64](t, tx, `select `+column+` from oxbow.policies where name = 'trait_decay_core'`)
	}
	exec(t, tx, `select oxbow.set_policy('trait_decay_core', 0.004)`)
	require.Equal(t, 0.004, policy("value"))
	require.Equal(t, 0.001, policy(`"default"`))
	exec(t, tx, `select oxbow.set_policy('trait_decay_core', 0.003) from generate_series(1, 2)`)
	require.Equal(t, 0.003, policy("value"))
	require.Equal(t, []float64{0.004, 0.003},
		all[float64](t, tx, `select value from oxbow.policy_changes order by valid_from`))

	for _, value := range []string{"2", "0", "'NaN'", "'Infinity'", "null"} {
		err := fails(t, tx, `select oxbow.set_policy('trait_decay_core', `+value+`)`)
		require.Equal(t, "23514", err.Code)
		require.Equal(t, "value of trait_decay_core must be between 1e-06 and 1", err.Message)
	}
	err := fails(t, tx, `select oxbow.set_policy('trait_decay_cor', 0.1)`)
	require.Equal(t, "name must be a policy in the view oxbow.policies", err.Message)
	asApp(t, tx)
	require.Equal(t, "42501", fails(t, tx, `select oxbow.set_policy('trait_decay_core', 0.1)`).Code)
	require.Positive(t, one[int](t, tx, `select count(*) from oxbow.policies`), "an application reads them")
}

func TestPoliciesAreAppendOnly(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Database(t)) // its own, because truncate locks out every other test
	for _, sql := range []string{"delete from oxbow.policy_changes", "update oxbow.policy_changes set value = 1",
		"truncate oxbow.policy_changes", "delete from oxbow.trait_rules", "update oxbow.trait_rules set spacing = 1",
		"truncate oxbow.trait_rules", "delete from oxbow.recall_rules",
		`update oxbow.policy_definitions set "default" = 1`} {
		require.Contains(t, fails(t, conn, sql).Message, "append-only")
	}
	for row, says := range map[string]string{
		"'trait_spacing', now(), 11":                          "value of trait_spacing must be between 0 and 10",
		"'trait_spacing', 'infinity', 1":                      "valid_from must be now, after all other changes",
		"'trait_spacing', now() - interval '1 day', 1":        "valid_from must be now, after all other changes",
		"'trait_spacing', clock_timestamp() + '3 seconds', 1": "valid_from must be now, after all other changes",
	} {
		require.Equal(t, says, fails(t, conn, "insert into oxbow.policy_changes (name, valid_from, value) values ("+row+")").
			Message)
	}
}

// Until a change is committed, other transactions write events by the old value.
func TestPolicyChangeIsCommittedAtOnce(t *testing.T) {
	t.Parallel()
	tx := begin(t, pgtest.Database(t))
	exec(t, tx, `select oxbow.set_policy('trait_spacing', 0.2), pg_sleep(2)`)
	require.ErrorContains(t, tx.Commit(t.Context()), "trait_spacing must be committed within 2 seconds of set_policy")
}

// Every column of the tables of rules is a policy.
func TestRulesArePolicies(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	rules := func() []string {
		return all[string](t, tx, `
			select 'trait_' || r.key || ' ' || r.value from jsonb_each_text(to_jsonb((oxbow.trait_rules())[1])) r
			where r.key <> 'valid_from'
			union select r.key || ' ' || r.value from jsonb_each_text(to_jsonb(oxbow.recall_rules('', 'infinity'))) r
			where r.key <> 'valid_from'
			except select p.name || ' ' || to_jsonb(p.value) from oxbow.policies p`)
	}
	require.Empty(t, rules())
	changeEveryPolicy(t, tx)
	require.Empty(t, rules())
	require.Empty(t, all[string](t, tx, `select name from oxbow.policies where value = "default"`))
}

// A policy that does not affect transitions adds no trait rules, and settle has no work.
func TestOtherPoliciesChangeNoTraitRules(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	rules := func() int { return one[int](t, tx, `select cardinality(oxbow.trait_rules())`) }
	before := rules()
	exec(t, tx, `select oxbow.set_policy('reflection_hours', 12), oxbow.set_policy('trait_factor_a', 0.3)`)
	require.Equal(t, before, rules())
	require.False(t, one[bool](t, tx, `select oxbow.policies_pending()`))
	exec(t, tx, `select oxbow.set_policy('trait_spacing', 0.2)`)
	require.Equal(t, before+1, rules())
	require.True(t, one[bool](t, tx, `select oxbow.policies_pending()`))
}

// An imported trait follows the policies of this database, not of its source.
func TestImportedTraitFollowsThesePolicies(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	exec(t, tx, `set local oxbow.origin = 'import'`)
	require.True(t, one[bool](t, tx, `
		insert into oxbow.memories (user_id, memory_type, content, trait_subtype, trait_stage, trait_confidence,
		  trait_confidence_at, trait_reinforcement_count, trait_next_transition_at)
		values ($1, 'trait', 'Likes tea', 'preference', 'emerging', 0.4, now(), 0, now() + interval '10 years')
		returning trait_next_transition_at = oxbow.trait_next_transition('emerging', 0.4, 'preference', 0, now(),
		null)`, ann(t)))
}

// changeEveryPolicy sets each policy halfway between its default and the farther end of its range.
func changeEveryPolicy(t *testing.T, tx db) {
	t.Helper()
	exec(t, tx, `
		select oxbow.set_policy(name,
		         ("default" + case when maximum - "default" > "default" - minimum then maximum else minimum end) / 2)
		  from oxbow.policies`)
}

// Changing policies keeps what was believed before; the new values apply from the change on.
func TestPoliciesChange(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	exec(t, tx, `set local oxbow.origin = 'import'`)
	exec(t, tx, `
		insert into oxbow.memories (user_id, memory_type, content, trait_subtype, trait_stage, trait_confidence,
		  trait_confidence_at, trait_reinforcement_count)
		select $1, 'trait', 'number ' || i, (array['behavior', 'preference', 'core'])[1 + i % 3],
		oxbow.trait_stage_of(c), c,
		       now() - i * interval '1 day', i % 4
		  from (select i, 0.06 + 0.9 * i / 60 as c from generate_series(1, 60) i) s`, ann(t))
	exec(t, tx, `select oxbow.adopt_trait(user_id, id, 'import') from oxbow.memories_trait where user_id = $1`, ann(t))
	exec(t, tx, `select oxbow.settle_traits(now(), 0, $1)`, ann(t))
	asOf := func() []string {
		return all[string](t, tx, `
			select row(a.*)::text from oxbow.traits_as_of($1, now() - interval '1 day') a
			union all select to_jsonb(t)::text from jsonb_each(oxbow.traits_then($1, now() - interval '1 day')) t
			order by 1`, ann(t))
	}
	before := asOf()
	require.Greater(t, len(before), 60)
	const held = `select oxbow.trait_confidence_at(0.9, 'core', 0, now() - interval '10 days', now())`
	now := one[float64](t, tx, held)
	changeEveryPolicy(t, tx)
	exec(t, tx, `select oxbow.set_policy('trait_candidate_max', 0.2)`) // the others rise
	require.Equal(t, before, asOf())
	require.Equal(t, now, one[float64](t, tx, held))

	// ten days before the change at the old rate, ten after it at the new one
	exec(t, tx, `create temporary table moment on commit drop as select max(valid_from) as changed
		from oxbow.trait_rules`)
	require.InDelta(t, 0.9, one[float64](t, tx, `
		select oxbow.trait_confidence_at(0.9, 'core', 0, changed - interval '10 days', changed + interval '10 days')
		       / exp(-10 * 0.001) / exp(-10 * oxbow.policy('trait_decay_core')) from moment`),
		1e-4) // not at one moment

	// the job updates traits in batches and settles in both directions
	for range 61 {
		if one[int](t, tx, `select oxbow.follow_policies(7)`) < 7 {
			break
		}
	}
	require.Zero(t, one[int](t, tx, `select oxbow.follow_policies(7)`))
	exec(t, tx, `select oxbow.settle_traits(changed + interval '2 seconds', 0, $1) from moment`, ann(t))
	require.Empty(t, all[string](t, tx, `
		select m.content || ': ' || m.trait_stage from oxbow.memories_trait m, moment
		 where m.user_id = $1 and m.trait_stage <> oxbow.trait_stage_at(m.trait_stage, m.trait_confidence,
		 m.trait_subtype,
		   m.trait_reinforcement_count, m.trait_confidence_at, m.trait_window_end, changed + interval '2 seconds')`,
		ann(t)))
	changes := all[string](t, tx, `
		select distinct reason from oxbow.trait_events where user_id = $1 and actor = 'settle' and at > now()`, ann(t))
	require.Subset(t, changes, []string{"core to established", "candidate to emerging",
		"its confidence fell below 0.1"})
	require.Empty(t, all[string](t, tx, `
		select m.content from oxbow.memories_trait m, oxbow.replay_trait(m.user_id, m.id) r
		 where m.user_id = $1 and (r.stage, r.confidence, r.confidence_at, r.reinforcements)
		   is distinct from (m.trait_stage, m.trait_confidence, m.trait_confidence_at, m.trait_reinforcement_count)`,
		ann(t)))
	require.Empty(t, all[string](t, tx, `
		select m.content from oxbow.memories_trait m
		 where m.user_id = $1 and m.trait_next_transition_at is distinct from oxbow.trait_next_transition(m.trait_stage,
		   m.trait_confidence, m.trait_subtype, m.trait_reinforcement_count, m.trait_confidence_at,
		   m.trait_window_end)`, ann(t)))
	require.Equal(t, before, asOf(), "yesterday stays as it was")
}

// docs/policies.md lists every policy as the migration defines it.
func TestPoliciesAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/policies.md")
	require.NoError(t, err)
	var rows []string
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| `") {
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	require.Equal(t, all[string](t, pgtest.Tx(t), `
		select format('| `+"`%s`"+` | %s %s | %s to %s | %s (%s) |', 
		              name, "default", unit, minimum, maximum, meaning, source)
		  from oxbow.policies order by name collate "C"`), rows)
}
