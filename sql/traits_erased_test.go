package sqlcode_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// Deleting a trait deletes the evidence that it gives to another.
func TestDeleteTraitThatIsEvidence(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := ann(t)
	id := early(user).Insert(t, tx)
	parent := traittest.Trait{UserID: user, Content: "Ann is disciplined.", Subtype: lifecycle.Preference,
		Events: []traittest.Event{
			traittest.Created(traittest.Day(4, 1), 0.5, traittest.Evidence{Content: "Never missed a lesson.",
				At: traittest.Day(3, 30)}), traittest.Reinforced(traittest.Day(5, 1), 0.05)}}.Insert(t, tx)
	exec(t, tx, `update oxbow.trait_events set memories = 1 where user_id = $1 and trait_id = $2 and seq = 2`, user,
		parent)
	exec(t, tx, `insert into oxbow.trait_evidence (user_id, trait_id, direction, memory_type, memory_id, quality,
		session_key, observed_at, timezone, event_seq)
		values ($1, $2, 'supporting', 'trait', $3, 'D', 's', now(), 'UTC', 2)`, user, parent, id)
	exec(t, tx, `select oxbow.delete_trait($1, $2)`, user, id)
	require.Equal(t, []string{"created"}, all[string](t, tx,
		`select event from oxbow.trait_events where user_id = $1 and trait_id = $2`, user, parent))
	require.InDelta(t, 0.5, one[float64](t, tx, `select stored_confidence from oxbow.traits where user_id = $1
		and id = $2`, user, parent), 1e-12)
}

// Erased memories no longer count, as if they had never been weighed.
func TestErasedEvidence(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := ann(t)
	trait := early(user)
	trait.Events = append(trait.Events, traittest.Reinforced(traittest.Day(4, 10), 1-(1-0.15)*(1-0.20),
		traittest.Evidence{Content: "Breakfast at six.", At: traittest.Day(4, 8)},
		traittest.Evidence{Content: "I love dawn.", At: traittest.Day(4, 9), Quality: lifecycle.QualityB}))
	id := trait.Insert(t, tx)
	child := traittest.Trait{UserID: user, Content: "Ann swims at six.", Parent: id}.Insert(t, tx)
	erase := func(content string) {
		exec(t, tx, `select oxbow.erase_memory(user_id, id) from oxbow.memories where user_id = $1 and content = $2`,
			user, content)
	}
	// held returns the stored state, which must equal the replay of the events
	held := func() (events []string, confidence float64) {
		require.True(t, one[bool](t, tx, `
			select abs(m.trait_confidence - r.confidence) < 1e-12 and m.trait_stage = r.stage
			and m.trait_confidence_at = r.confidence_at
			   and m.trait_reinforcement_count = r.reinforcements and m.trait_contradiction_count = r.contradictions
			   and m.trait_next_transition_at = oxbow.trait_next_transition(r.stage, r.confidence, r.subtype,
			   r.reinforcements, r.confidence_at, null)
			  from oxbow.memories_trait m, oxbow.replay_trait(m.user_id, m.id) r where m.user_id = $1 and m.id = $2`,
			user, id))
		return all[string](t, tx, `select event || ' ' || memories from oxbow.trait_events where user_id = $1
			and trait_id = $2 order by seq`, user, id),
			one[float64](t, tx, `select trait_confidence from oxbow.memories_trait where user_id = $1 and id = $2`,
				user, id)
	}
	replayed := func(events ...traittest.Event) float64 {
		var s lifecycle.State
		for _, e := range events {
			e.Subtype = lifecycle.Behavior
			s = traittest.Policies.Apply(s, e.Event)
		}
		return s.Confidence
	}
	last := traittest.Reinforced(traittest.Day(4, 10), 0.20)
	erase("Breakfast at six.")
	events, confidence := held()
	require.Equal(t, []string{"created 2", "reinforced 1", "contradicted 1", "reinforced 1"}, events)
	require.InDelta(t, replayed(trait.Events[0], trait.Events[1], trait.Events[2], last), confidence, 1e-12)
	erase("Slept until noon.")
	events, confidence = held()
	require.Equal(t, []string{"created 2", "reinforced 1", "reinforced 1"}, events)
	require.InDelta(t, replayed(trait.Events[0], trait.Events[1], last), confidence, 1e-12)

	for _, content := range []string{"I love dawn.", "First at the pool again.", "Up at five, and out on the lake.",
		"Baked bread before sunrise."} {
		require.Equal(t, 1, one[int](t, tx, `select count(*) from oxbow.memories_trait where user_id = $1 and id = $2`,
			user, id))
		erase(content)
	}
	require.Equal(t, []string{child.String()}, all[string](t, tx, `
		select id::text from oxbow.memories_trait where user_id = $1 and trait_parent_id is null`, user),
		"nothing supports it any more")
	require.Zero(t, one[int](t, tx, `select count(*) from oxbow.trait_refusals where user_id = $1`, user),
		"it may come again")
}

// A trait that a person worded does not depend on evidence.
func TestErasedEvidenceOfAnEditedTrait(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := ann(t)
	id := early(user).Insert(t, tx).String()
	id = one[string](t, tx, `select oxbow.edit_trait($1, $2, content => 'Ann is a morning person.')`, user, id)
	exec(t, tx, `select oxbow.erase_memory(user_id, id) from oxbow.memories where user_id = $1
		and memory_type = 'episodic'`, user)
	require.Equal(t, []string{"created", "edited"}, all[string](t, tx,
		`select event from oxbow.trait_events where user_id = $1 order by seq`, user))
	require.Equal(t, "core 0.9 0 0", one[string](t, tx, `
		select concat_ws(' ', stage, stored_confidence, reinforcement_count, supporting) from oxbow.traits
		where user_id = $1 and id = $2`, user, id))
	exec(t, tx, `select oxbow.erase_user($1)`, user)
	for _, table := range []string{"memories", "trait_events", "trait_evidence", "trait_refusals"} {
		require.Zero(t, one[int](t, tx, `select count(*) from oxbow.`+table+` where user_id = $1`, user), table)
	}
}

// No setting of an application keeps a trait whose evidence it deletes.
func TestAppCannotSwitchOffReweighing(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	early(ann(t)).Insert(t, tx)
	asApp(t, tx)
	setUser(t, tx, ann(t))
	exec(t, tx, `set local oxbow.erasing = 'on'`)
	exec(t, tx, `delete from oxbow.memories where memory_type <> 'trait'`)
	require.Empty(t, all[string](t, tx, `select content from oxbow.memories`))
}
