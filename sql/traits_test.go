package sqlcode_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// early returns a trait with evidence for and against it.
func early(user string) traittest.Trait {
	return traittest.Trait{UserID: user, Content: "Ann gets up early.", Key: "early", Events: []traittest.Event{
		traittest.Created(traittest.Day(1, 10), 0.4,
			traittest.Evidence{Content: "Up at five, and out on the lake.", At: traittest.Day(1, 3), Session: "s1"},
			traittest.Evidence{Content: "Baked bread before sunrise.", At: traittest.Day(1, 8), Session: "s2"}),
		traittest.Reinforced(traittest.Day(2, 10), 0.15, traittest.Evidence{Content: "First at the pool again.",
			At: traittest.Day(2, 9)}),
		traittest.Contradicted(traittest.Day(3, 10), 0.2, traittest.Evidence{Content: "Slept until noon.",
			At: traittest.Day(3, 9), Against: true}),
	}}
}

type heldTrait struct {
	ID         string
	Content    string
	Stage      string
	Confidence float64
}

func heldAsOf(t *testing.T, tx db, user string, at any) []heldTrait {
	t.Helper()
	rows, err := tx.Query(t.Context(), `select id::text, content, stage, coalesce(confidence, 0)
		from oxbow.traits_as_of($1, $2)`, user, at)
	require.NoError(t, err)
	var held []heldTrait
	for rows.Next() {
		var h heldTrait
		require.NoError(t, rows.Scan(&h.ID, &h.Content, &h.Stage, &h.Confidence))
		held = append(held, h)
	}
	require.NoError(t, rows.Err())
	return held
}

func TestTraitsView(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := ann(t)
	id := early(user).Insert(t, tx)
	traittest.Trait{UserID: user, Events: []traittest.Event{traittest.Watched(traittest.Day(1, 1),
		traittest.Day(1, 31))}}.Insert(t, tx)
	traittest.Trait{UserID: bob(t)}.Insert(t, tx)

	require.Equal(t, 2, one[int](t, tx, `select count(*) from oxbow.traits where user_id = $1`, user))
	require.Equal(t, "dissolved", one[string](t, tx, `select stage from oxbow.traits where user_id = $1
		and stored_stage = 'trend'`, user),
		"its window has ended, though nobody settled it")
	var supporting, contradicting int
	var confidence, stored, expected float64
	require.NoError(t, tx.QueryRow(t.Context(), `
		select supporting, contradicting, confidence, stored_confidence,
		       stored_confidence * exp(-0.005 / 1.1 * extract(epoch
		       from now() - confidence_at)::double precision / 86400)
		  from oxbow.traits where user_id = $1 and id = $2`, user, id).Scan(&supporting, &contradicting, &confidence,
		&stored, &expected))
	require.Equal(t, []int{3, 1}, []int{supporting, contradicting})
	require.InDelta(t, expected, confidence, 1e-12)
	require.Less(t, confidence, stored)

	exec(t, tx, `update oxbow.memories_trait set forgotten_at = now() where user_id = $1 and id = $2`, user, id)
	require.Equal(t, 1, one[int](t, tx, `select count(*) from oxbow.traits where user_id = $1`, user),
		"what is forgotten is not shown")
}

func TestTraitsAsOf(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := ann(t)
	id := early(user).Insert(t, tx).String()

	require.Empty(t, heldAsOf(t, tx, user, traittest.Day(1, 9)))
	at := func(month time.Month, day int) heldTrait {
		held := heldAsOf(t, tx, user, traittest.Day(month, day))
		require.Len(t, held, 1)
		require.Equal(t, []string{id, "Ann gets up early."}, []string{held[0].ID, held[0].Content})
		return held[0]
	}
	require.InDelta(t, 0.4, at(1, 10).Confidence, 1e-12)
	fresh := traittest.Policies.Decay(0.4, lifecycle.Behavior, 0, 31*24*time.Hour)
	require.InDelta(t, traittest.Policies.Decay(0.4, lifecycle.Behavior, 0, 20*24*time.Hour), at(1, 30).Confidence,
		1e-12)
	reinforced := fresh + (1-fresh)*0.15
	require.InDelta(t, reinforced, at(2, 10).Confidence, 1e-12)
	require.InDelta(t, traittest.Policies.Decay(reinforced, lifecycle.Behavior, 1, 28*24*time.Hour)*0.8,
		at(3, 10).Confidence, 1e-12)
	require.Equal(t, "emerging", at(3, 10).Stage)
	require.Equal(t, "candidate", at(9, 10).Stage, "time alone")

	exec(t, tx, `update oxbow.memories_trait set forgotten_at = now() where user_id = $1`, user)
	require.Empty(t, heldAsOf(t, tx, user, traittest.Day(3, 10)), "what is forgotten is not told, as of any time")
}

// If the clock went backwards, a later event counts as no earlier, in every query of past states.
func TestAsOfWithAClockThatWentBackwards(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := ann(t)
	id := traittest.Trait{UserID: user, Events: []traittest.Event{
		traittest.Created(traittest.Day(1, 1), 0.4), traittest.Reinforced(traittest.Day(3, 1), 0.25),
		traittest.Reinforced(traittest.Day(2, 1), 0.25)}}.Insert(t, tx)
	for _, c := range []struct {
		at     time.Time
		events int
	}{{traittest.Day(2, 10), 1}, {traittest.Day(3, 1), 3}, {traittest.Day(3, 20), 3}} {
		var want lifecycle.State
		for _, e := range []lifecycle.Event{{Kind: lifecycle.Created, At: traittest.Day(1, 1), Sets: 0.4,
			Subtype: lifecycle.Behavior},
			{Kind: lifecycle.Reinforced, At: traittest.Day(3, 1), Factor: 0.25}, {Kind: lifecycle.Reinforced,
				At: traittest.Day(2, 1), Factor: 0.25}}[:c.events] {
			want = traittest.Policies.Apply(want, e)
		}
		require.InDelta(t, traittest.Policies.ConfidenceAt(want, c.at), heldAsOf(t, tx, user, c.at)[0].Confidence,
			1e-12)
		require.InDelta(t, traittest.Policies.ConfidenceAt(want, c.at), one[float64](t, tx,
			`select (oxbow.traits_then($1, $2) -> $3 ->> 'confidence')::double precision`, user, c.at, id.String()),
			1e-12)
	}
	_, err := tx.Exec(t.Context(), `select * from oxbow.traits_as_of($1, 'infinity')`, user)
	require.ErrorContains(t, err, "must be a finite time")
}

// A rewording is a new row that takes over everything; as-of queries return the old wording.
func TestEditTraitRewords(t *testing.T) {
	t.Parallel()
	tx := begin(t, pgtest.Database(t)) // now() is its start
	user := ann(t)
	id := early(user).Insert(t, tx).String()
	child := traittest.Trait{UserID: user, Content: "Ann swims at six.", Parent: uuid.MustParse(id)}.Insert(t, tx)
	exec(t, tx, `insert into oxbow.trait_evidence (user_id, trait_id, direction, memory_type, memory_id, quality,
		session_key, observed_at, timezone, event_seq)
		values ($1, $2, 'supporting', 'trait', $3, 'D', 's', now(), 'UTC', 1)`, user, child, id)
	exec(t, tx, `update oxbow.memories_trait set trait_review_due_at = now(), trait_contexts = '{"work": {}}'
		where user_id = $1 and id = $2`, user, id)

	newer := one[string](t, tx, `select oxbow.edit_trait($1, $2, content => 'Ann is a morning person.',
		reason => 'my word for it')`, user, id)
	require.NotEqual(t, id, newer)
	require.Equal(t, 4, one[int](t, tx, `select count(*) from oxbow.trait_evidence where user_id = $1
		and trait_id = $2`, user, newer))
	require.Equal(t, []string{"created", "reinforced", "contradicted", "edited"},
		all[string](t, tx, `select event from oxbow.trait_events where user_id = $1 and trait_id = $2 order by seq`,
			user, newer))
	require.Zero(t, one[int](t, tx, `select count(*) from oxbow.trait_events where user_id = $1 and trait_id = $2`,
		user, id))
	require.Equal(t, newer, one[string](t, tx, `select trait_parent_id::text from oxbow.memories_trait
		where user_id = $1 and id = $2`, user, child))
	require.Equal(t, newer, one[string](t, tx, `select memory_id::text from oxbow.trait_evidence where user_id = $1
		and trait_id = $2`, user, child))
	require.Equal(t, "user, my word for it, "+newer, one[string](t, tx, `
		select concat_ws(', ', actor, reason, details ->> 'version') from oxbow.trait_events where user_id = $1
		and event = 'edited'`, user))
	require.Equal(t, "early core 0.9", one[string](t, tx, `
		select concat_ws(' ', key, stage, confidence) from oxbow.traits where user_id = $1 and id = $2
		and edited_at = now()`, user, newer))
	require.True(t, one[bool](t, tx, `
		select trait_review_due_at is null and trait_contexts is null and trait_next_transition_at > now()
		  from oxbow.memories_trait where user_id = $1 and id = $2`, user, newer))
	require.Equal(t, newer, one[string](t, tx, `
		select superseded_by::text from oxbow.memories_trait where user_id = $1 and id = $2 and expired_at is not null
		   and trait_next_transition_at is null and trait_review_due_at is null`, user, id))

	before := heldAsOf(t, tx, user, one[time.Time](t, tx, `select now() - interval '1 second'`))
	require.Equal(t, []string{id, "Ann gets up early."}, []string{before[0].ID, before[0].Content})
	require.Less(t, before[0].Confidence, 0.45)
	after := heldAsOf(t, tx, user, one[time.Time](t, tx, `select now()`))
	require.Equal(t, heldTrait{newer, "Ann is a morning person.", "core", 0.9}, after[0])

	// edited again, only the new id works
	err := fails(t, tx, `select oxbow.edit_trait($1, $2, content => 'x')`, user, id)
	require.Equal(t, "OX102", err.Code)
	require.Equal(t, "trait "+id+" has a newer wording, "+newer, err.Message)
	newest := one[string](t, tx, `select oxbow.edit_trait($1, $2, content => 'Ann likes mornings.')`, user, newer)
	require.Contains(t, fails(t, tx, `select oxbow.dissolve_trait($1, $2)`, user, id).Message,
		"has a newer wording, "+newest)
	require.Equal(t, newest, one[string](t, tx, `select oxbow.edit_trait($1, $2, content => 'Ann likes mornings.')`,
		user, newest),
		"the same wording needs no new row")
	exec(t, tx, `select oxbow.erase_memory($1, $2)`, user, newest)
	require.Equal(t, "trait "+newer+" has a newer wording", fails(t, tx, `select oxbow.dissolve_trait($1, $2)`, user,
		newer).Message)
}

// Recall as of a time before the rewording finds only one wording of the trait.
func TestRewordedTraitInRecall(t *testing.T) {
	t.Parallel()
	tx := begin(t, pgtest.Database(t))
	user := ann(t)
	id := traittest.Trait{UserID: user, Content: "Ann likes lakes.",
		Events: []traittest.Event{traittest.Created(traittest.Day(1, 1), 0.9)}}.Insert(t, tx)
	exec(t, tx, `update oxbow.memories set valid_at = '2025-01-01', created_at = '2025-01-01' where user_id = $1`, user)
	exec(t, tx, `select oxbow.edit_trait($1, $2, content => 'Ann loves lakes.')`, user, id)
	index(t, tx, user)
	recalled := func(sql string) []string {
		return all[string](t, tx, `select content from oxbow.recall($1, 'lakes'`+sql+`)`, user)
	}
	require.Equal(t, []string{"Ann loves lakes."}, recalled(""))
	require.Equal(t, []string{"Ann loves lakes."}, recalled(", valid_as_of => '2025-03-01'"))
	require.Equal(t, []string{"Ann likes lakes."},
		recalled(", valid_as_of => '2025-03-01', believed_as_of => '2025-03-01'"))
}

func TestEditTraitWithoutRewording(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := ann(t)
	id := early(user).Insert(t, tx).String()
	edit := func(arguments string) string {
		require.Equal(t, id, one[string](t, tx, `select oxbow.edit_trait($1, $2, `+arguments+`)`, user, id))
		return one[string](t, tx, `select concat_ws(' ', stage, confidence, context) from oxbow.traits
			where user_id = $1 and id = $2`, user, id)
	}
	require.Equal(t, "emerging 0.45 general", edit("confidence => 0.45"))
	require.Equal(t, "core 0.9 work", edit("context => 'work'"))
	require.Equal(t, "core 0.97 work", edit("confidence => 0.97"))
	require.Equal(t, "core 0.97 social", edit("context => 'social', actor => 'ann''s app'"),
		"0.9 is the least, not the most")
	require.Equal(t, 3+4, one[int](t, tx, `select max(seq) from oxbow.trait_events where user_id = $1`, user))
	require.Equal(t, `{"context": "social"} ann's app`, one[string](t, tx, `
		select concat_ws(' ', details, actor) from oxbow.trait_events where user_id = $1 and seq = 7`, user))
}

func TestDissolveTrait(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := ann(t)
	id := early(user).Insert(t, tx)
	for range 2 {
		exec(t, tx, `select oxbow.dissolve_trait($1, $2, reason => 'not me')`, user, id)
	}
	require.Equal(t, "dissolved", one[string](t, tx, `select stage from oxbow.traits where user_id = $1
		and next_transition_at is null`, user))
	require.Equal(t, []string{"user not me"}, all[string](t, tx, `
		select concat_ws(' ', actor, reason) from oxbow.trait_events where user_id = $1 and event = 'dissolved'`, user),
		"told once")
	require.Empty(t, all[string](t, tx, `select content from oxbow.recall($1, 'early', types => array['trait'])`, user))
	exec(t, tx, `select oxbow.edit_trait($1, $2, confidence => 0.5)`, user, id)
	require.Equal(t, "emerging", one[string](t, tx, `select stage from oxbow.traits where user_id = $1`, user),
		"a person brings it back")

	// a person may also dissolve a trait that time has dissolved, and reflection respects that
	faded := traittest.Trait{UserID: user, Events: []traittest.Event{traittest.Created(traittest.Day(1, 1), 0.2),
		{Event: lifecycle.Event{Kind: lifecycle.Dissolution, At: traittest.Day(12, 1)}, Actor: "settle"}}}.Insert(t, tx)
	exec(t, tx, `select oxbow.dissolve_trait($1, $2)`, user, faded)
	require.Equal(t, []string{"settle", "user"}, all[string](t, tx, `
		select actor from oxbow.trait_events where user_id = $1 and trait_id = $2 and event = 'dissolved' order by seq`,
		user, faded))

	// as well as one that the person had affirmed before
	affirmed := traittest.Trait{UserID: user, Content: "Ann swims.",
		Events: []traittest.Event{traittest.Created(traittest.Day(1, 1), 0.2)}}.Insert(t, tx)
	exec(t, tx, `select oxbow.edit_trait($1, $2, confidence => 0.9)`, user, affirmed)
	exec(t, tx, `select oxbow.settle_traits(now() + interval '90 years', 0, $1)`, user)
	exec(t, tx, `select oxbow.dissolve_trait($1, $2)`, user, affirmed)
	require.Equal(t, []string{"settle", "user"}, all[string](t, tx, `
		select actor from oxbow.trait_events where user_id = $1 and trait_id = $2 and event = 'dissolved' order by seq`,
		user, affirmed))
}

// A person's actor cannot be one of Oxbow's own names, and a trait is a short text.
func TestWhatAPersonMayNotSay(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := ann(t)
	id := early(user).Insert(t, tx)
	for _, own := range []string{"reflection", "settle", "import", "check"} {
		for _, call := range []string{`select oxbow.edit_trait($1, $2, confidence => 0.5, actor => $3)`,
			`select oxbow.edit_trait($1, $2, content => 'x', actor => $3)`,
			`select oxbow.dissolve_trait($1, $2, actor => $3)`} {
			require.Contains(t, fails(t, tx, call, user, id, own).Message, "actor", call)
		}
	}
	require.Contains(t, fails(t, tx, `select oxbow.edit_trait($1, $2, content => repeat('晨', 1001))`, user, id).Message,
		"at most 1,000 characters")
	exec(t, tx, `select oxbow.edit_trait($1, $2, content => repeat('晨', 1000))`, user, id)
	hint := fails(t, tx, `update oxbow.memories set content = 'x' where user_id = $1 and id = $2`, user, id).Hint
	require.Contains(t, hint, "oxbow.edit_trait")
}

func TestDeleteTrait(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	tx := begin(t, dsn)
	user := ann(t)
	trait := early(user)
	trait.Content, trait.Key = "Ann gets up at zebra hour.", "zebra-early"
	old := trait.Insert(t, tx).String()
	exec(t, tx, `insert into oxbow.trait_clues (user_id, key, memory_type, memory_id, content, session_key, observed_at)
		select user_id, 'zebra-early', memory_type, id, 'Ann and the zebra hour', 's', now() from oxbow.memories
		where user_id = $1 and memory_type = 'episodic'`, user)
	id := one[string](t, tx, `select oxbow.edit_trait($1, $2, content => 'Ann is a zebra of the morning.',
		reason => 'zebra!')`, user, old)
	kept := traittest.Trait{UserID: user, Content: "Ann likes to swim.", Parent: uuid.MustParse(id)}.Insert(t, tx)
	index(t, tx, user)
	exec(t, tx, `insert into oxbow.river_job (kind, queue, max_attempts, args, errors)
		values ('contradiction_review', 'reflect', 5, jsonb_build_object('user_id', $1::text, 'ids', $2::text),
		array['{"error": "zebra"}'::jsonb])`, user, id)

	// two wordings with terms, the old one's history, a link, 4 clues, 4 pieces of evidence, 4 events, and jobs
	deleted := one[int](t, tx, `select oxbow.delete_trait($1, $2)`, user, id)
	require.GreaterOrEqual(t, deleted, 2+2+1+1+4+4+4+1)
	require.Equal(t, []string{kept.String()}, all[string](t, tx,
		`select id::text from oxbow.memories_trait where user_id = $1 and trait_parent_id is null`, user))
	require.Equal(t, 4, one[int](t, tx, `select count(*) from oxbow.memories where user_id = $1
		and memory_type = 'episodic'`, user), "memories stay")
	require.ElementsMatch(t, all[string](t, tx, `
		select oxbow.trait_hash(said)::text
		from unnest(array['zebra-early', 'Ann gets up at zebra hour.', 'Ann is a zebra of the morning.']) said`),
		all[string](t, tx, `select hash::text from oxbow.trait_refusals where user_id = $1`, user))
	for _, table := range all[string](t, tx, `
		select c.oid::regclass::text from pg_class c where c.relnamespace = 'oxbow'::regnamespace
		and c.relkind = 'r'`) {
		require.Zero(t, one[int](t, tx,
			`select count(*) from `+table+` t where t::text ~ ('zebra|' || $1::text || '|' || $2::text)`, old, id),
			table)
	}
	require.Equal(t, "OX101", fails(t, tx, `select oxbow.delete_trait($1, $2)`, user, id).Code)
}

func TestCorrectionsRefuse(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := ann(t)
	id := early(user).Insert(t, tx).String()
	fact := remember(t, tx, row{"user_id": user, "memory_type": "fact"})
	other := traittest.Trait{UserID: bob(t)}.Insert(t, tx).String()
	for _, bad := range []struct{ arguments, code, says string }{
		{`$2`, "23514", "content or confidence or context must be given"},
		{`$2, content => ' '`, "23514", "content must not be blank"},
		{`$2, content => repeat('x', 1001)`, "23514", "content must have at most 1,000 characters"},
		{`$2, confidence => 0`, "23514", "confidence must be above 0 and below 1"},
		{`$2, confidence => 1`, "23514", "confidence must be above 0 and below 1"},
		{`$2, confidence => 'NaN'`, "23514", "confidence must be above 0 and below 1"},
		{`$2, confidence => -0.1`, "23514", "confidence must be above 0 and below 1"},
		{`$2, context => 'home'`, "23514", "context must be work, personal, social, learning or general"},
		{`null, confidence => 0.5`, "23514", "id must not be null"},
	} {
		err := fails(t, tx, `select oxbow.edit_trait($1, `+bad.arguments+`) where $2::uuid is not null`, user, id)
		require.Equal(t, bad.code, err.Code, "%s: %s", bad.arguments, err.Message)
		require.Contains(t, err.Message, bad.says)
	}
	for call, arguments := range map[string]string{"edit_trait": ", confidence => 0.5", "dissolve_trait": "",
		"delete_trait": ""} {
		sql := `select oxbow.` + call + `($1, $2` + arguments + `)`
		err := fails(t, tx, sql, user, fact)
		require.Equal(t, "OX105", err.Code)
		require.Contains(t, err.Message, "memory "+fact+" of user")
		require.Equal(t, "OX101", fails(t, tx, sql, user, other).Code, "another's is not there")
		require.Equal(t, "OX101", fails(t, tx, sql, user, uuid.NewString()).Code)
	}
	exec(t, tx, `select oxbow.forget($1, $2)`, user, id)
	require.Equal(t, "OX103", fails(t, tx, `select oxbow.edit_trait($1, $2, confidence => 0.5)`, user, id).Code)
	require.Equal(t, 3, one[int](t, tx, `select max(seq) from oxbow.trait_events where user_id = $1`, user),
		"nothing happened")
}

// An application's login corrects traits of its user, and only through the functions.
func TestCorrectionsByAnApplication(t *testing.T) {
	t.Parallel()
	tx := begin(t, pgtest.Database(t))
	user := ann(t)
	id, other := early(user).Insert(t, tx).String(), early(bob(t)).Insert(t, tx).String()
	exec(t, tx, `set local role oxbow_app`)
	exec(t, tx, `select set_config('oxbow.user_id', $1, true)`, user)
	require.Equal(t, []string{id}, all[string](t, tx, `select id::text from oxbow.traits`))
	for _, sql := range []string{`select oxbow.edit_trait($1, $2, confidence => 0.5)`,
		`select oxbow.dissolve_trait($1, $2)`,
		`select oxbow.delete_trait($1, $2)`} {
		require.Equal(t, "42501", fails(t, tx, sql, bob(t), other).Code)
		require.Equal(t, "OX101", fails(t, tx, sql, user, other).Code)
	}
	require.Equal(t, "42501", fails(t, tx, `select * from oxbow.traits_as_of($1, now())`, bob(t)).Code)
	for _, sql := range []string{`update oxbow.memories_trait set trait_confidence = 0.99`,
		`update oxbow.trait_events set sets = 0.99`,
		`delete from oxbow.trait_evidence`} {
		require.Equal(t, "42501", fails(t, tx, sql).Code, sql)
	}
	require.Equal(t, "42501", fails(t, tx, `select oxbow.reword_trait($1, $2, 'x', 'user', null)`, user, id).Code)

	newer := one[string](t, tx, `select oxbow.edit_trait($1, $2, content => 'Ann is a morning person.')`, user, id)
	require.Equal(t, "core", one[string](t, tx, `select stage from oxbow.traits where id = $1`, newer))
	require.Equal(t, "", one[string](t, tx, `select current_setting('oxbow.origin', true)`),
		"inserting traits is not open after it")
	require.Len(t, heldAsOf(t, tx, user, one[time.Time](t, tx, `select now()`)), 1)
	exec(t, tx, `select oxbow.dissolve_trait($1, $2)`, user, newer)
	require.Positive(t, one[int](t, tx, `select oxbow.delete_trait($1, $2)`, user, newer))
}
