package sqlcode_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// weighed completes events with evidence, as a reflection would create them.
func weighed(events ...traittest.Event) []traittest.Event {
	for i := range events {
		events[i].Factor, events[i].Count = weight(events[i].Kind, events[i].Evidence)
	}
	return events
}

func weight(kind lifecycle.Kind, evidence []traittest.Evidence) (factor float64, count int) {
	switch kind {
	case lifecycle.Reinforced:
		best := map[string]lifecycle.Quality{}
		for _, e := range evidence {
			if q, ok := best[e.Session]; !ok || e.Quality < q {
				best[e.Session] = e.Quality
			}
		}
		return traittest.Policies.Reinforcement(best), 0
	case lifecycle.Contradicted:
		return traittest.Policies.Contradiction(len(evidence)), len(evidence)
	case lifecycle.Used:
		return traittest.Policies.FactorUsed, 0
	}
	return 0, 0
}

// evidenceOf returns the contents of the memories that count in each event of a trait.
func evidenceOf(t *testing.T, tx db, id uuid.UUID) map[string]string {
	t.Helper()
	rows, err := tx.Query(t.Context(), `
		select m.content, m.id::text from oxbow.trait_evidence e join oxbow.memories m on m.user_id = e.user_id
		and m.id = e.memory_id where e.trait_id = $1`, id)
	require.NoError(t, err)
	found := map[string]string{}
	for rows.Next() {
		var content, memory string
		require.NoError(t, rows.Scan(&content, &memory))
		found[content] = memory
	}
	require.NoError(t, rows.Err())
	return found
}

// Whatever memories are erased, in any order and way, the trait equals what the rules compute from the
// remaining evidence.
func TestReweigh(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	qualities := []lifecycle.Quality{lifecycle.QualityA, lifecycle.QualityB, lifecycle.QualityC, lifecycle.QualityD}
	for trial := range 40 {
		user := fmt.Sprintf("%s %d", ann(t), trial)
		n := 0
		evidence := func(at time.Time, most int, against bool) (all []traittest.Evidence) {
			for range 1 + random.IntN(most) {
				n++
				all = append(all, traittest.Evidence{Content: fmt.Sprintf("memory %d", n),
					At:      at.Add(-time.Duration(random.IntN(3600)) * time.Second),
					Session: fmt.Sprintf("s%d", random.IntN(4)), Quality: qualities[random.IntN(4)], Against: against})
			}
			return all
		}
		at := traittest.Day(1, 10)
		events := []traittest.Event{traittest.Created(at, 0.4, evidence(at, 4, false)...)}
		if trial%4 == 0 {
			events = []traittest.Event{traittest.Watched(at, at.AddDate(0, 0, 300), evidence(at, 2, false)...)}
		}
		for range 1 + random.IntN(6) {
			at = at.AddDate(0, 0, 1+random.IntN(20))
			switch random.IntN(4) {
			case 0, 1:
				events = append(events, traittest.Reinforced(at, 0, evidence(at, 5, false)...))
			case 2:
				events = append(events, traittest.Contradicted(at, 0, evidence(at, 4, true)...))
			default:
				events = append(events, traittest.Event{Event: lifecycle.Event{Kind: lifecycle.Used, At: at,
					Factor: traittest.Policies.FactorUsed}})
			}
		}
		id := traittest.Trait{UserID: user, Events: weighed(events...)}.Insert(t, tx)
		memories := evidenceOf(t, tx, id)
		for content, memory := range memories {
			if random.IntN(2) == 0 {
				continue
			}
			if random.IntN(2) == 0 {
				exec(t, tx, `select oxbow.erase_memory($1, $2::text::uuid)`, user, memory)
			} else {
				exec(t, tx, `delete from oxbow.memories where user_id = $1 and id = $2::text::uuid`, user, memory)
			}
			events = without(events, content)
			if supporting(events) == 0 {
				require.Equal(t, 0, one[int](t, tx, `select count(*) from oxbow.memories_trait where user_id = $1`,
					user))
				break
			}
			requireReweighed(t, tx, user, id, events)
		}
	}
}

// without returns the events without a memory, leaving out events without any evidence.
func without(events []traittest.Event, content string) (left []traittest.Event) {
	for _, e := range events {
		had := len(e.Evidence)
		var evidence []traittest.Evidence
		for _, v := range e.Evidence {
			if v.Content != content {
				evidence = append(evidence, v)
			}
		}
		e.Evidence = evidence
		if had > 0 && len(evidence) == 0 && e.Kind != lifecycle.Created {
			continue
		}
		left = append(left, e)
	}
	return weightedAgain(left)
}

func weightedAgain(events []traittest.Event) []traittest.Event {
	for i, e := range events {
		if e.Kind == lifecycle.Reinforced || e.Kind == lifecycle.Contradicted {
			events[i].Factor, events[i].Count = weight(e.Kind, e.Evidence)
		}
	}
	return events
}

func supporting(events []traittest.Event) (n int) {
	for _, e := range events {
		for _, v := range e.Evidence {
			if !v.Against {
				n++
			}
		}
	}
	return n
}

func requireReweighed(t *testing.T, tx db, user string, id uuid.UUID, events []traittest.Event) {
	t.Helper()
	var s lifecycle.State
	var first, last time.Time
	for i, e := range events {
		e.Subtype = lifecycle.Behavior
		s = traittest.Policies.Apply(s, e.Event)
		for _, v := range e.Evidence {
			if !v.Against && (first.IsZero() || v.At.Before(first)) {
				first = v.At
			}
			if !v.Against && v.At.After(last) {
				last = v.At
			}
		}
		var stored struct {
			kind, stage        string
			memories, evidence int
			factor, confidence *float64
		}
		require.NoError(t, tx.QueryRow(t.Context(), `
			select event, stage, memories, (select count(*) from oxbow.trait_evidence v where v.user_id = e.user_id
			and v.trait_id = e.trait_id and v.event_seq = e.seq),
			       factor, confidence from oxbow.trait_events e where user_id = $1 and trait_id = $2 and seq = $3`,
			user, id, i+1).Scan(
			&stored.kind, &stored.stage, &stored.memories, &stored.evidence, &stored.factor, &stored.confidence))
		require.Equal(t, string(e.Kind)+" "+string(s.Stage), stored.kind+" "+stored.stage)
		require.Equal(t, len(e.Evidence), stored.memories)
		require.Equal(t, len(e.Evidence), stored.evidence)
		require.InDelta(t, e.Factor, or(stored.factor), 1e-12)
		require.InDelta(t, s.Confidence, or(stored.confidence), 1e-12)
	}
	require.Equal(t, len(events), one[int](t, tx, `select count(*) from oxbow.trait_events where user_id = $1
		and trait_id = $2`, user, id))
	row, next := rowState(t, tx, id)
	requireState(t, s, row, "the row")
	require.WithinDuration(t, traittest.Policies.NextTransition(s), next, 0)
	require.WithinDuration(t, first, one[time.Time](t, tx, `select trait_first_observed from oxbow.memories_trait
		where id = $1`, id), 0)
	require.WithinDuration(t, last, one[time.Time](t, tx, `select trait_last_reinforced from oxbow.memories_trait
		where id = $1`, id), 0)
}

func memory(content string, at time.Time) traittest.Evidence {
	return traittest.Evidence{Content: content, At: at, Session: "s " + content}
}

// Erasing all support of a trait erases the trait with its wordings. Its parts are detached, and a trait
// that it alone supported is erased too.
func TestTraitWithoutSupportIsErased(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	at := traittest.Day(1, 10)
	trait := traittest.Trait{UserID: ann(t), Content: "Ann runs.", Key: "runs", Events: []traittest.Event{
		traittest.Created(at, 0.6, memory("Ann ran on Monday.", at), memory("Ann ran on Friday.", at)),
		traittest.Contradicted(at, 0.2, traittest.Evidence{Content: "Ann stayed in bed.", At: at, Against: true})}}
	old := trait.Insert(t, tx)
	id := uuid.MustParse(one[string](t, tx, `select oxbow.reword_trait($1, $2, 'Ann runs in the morning.', 'reflection',
		null)::text`, ann(t), old))
	parent := traittest.Trait{UserID: ann(t), Content: "Ann likes sports.", Subtype: lifecycle.Preference,
		Events: []traittest.Event{traittest.Created(at, 0.6)}}.Insert(t, tx)
	grandparent := traittest.Trait{UserID: ann(t), Content: "Ann is full of energy.", Subtype: lifecycle.CoreTrait,
		Events: []traittest.Event{
			traittest.Created(at, 0.7, memory("Ann says that she never tires.", at)),
			traittest.Reinforced(at, 0.05)}}.Insert(t, tx)
	part := traittest.Trait{UserID: ann(t), Content: "Ann has running shoes.", Parent: id}.Insert(t, tx)
	speaks := `insert into oxbow.trait_evidence (user_id, trait_id, direction, memory_type, memory_id, quality,
		session_key, observed_at, timezone, event_seq)
		values ($1, $2, 'supporting', 'trait', $3, 'D', 'trait', $4, 'UTC', $5)`
	exec(t, tx, speaks, ann(t), parent, id, at, 1)
	exec(t, tx, speaks, ann(t), grandparent, parent, at, 2)
	exec(t, tx, `update oxbow.trait_events set memories = 1 where trait_id = $1 and seq = 2`, grandparent)
	exec(t, tx, `update oxbow.trait_events set reason = 'by way of: Ann likes sports.',
		details = jsonb_build_object('parent', $2::text) where trait_id = $1`, part, parent)
	exec(t, tx, `insert into oxbow.reflection_cycles (user_id, trigger_type, dropped)
		values ($1, 'manual', jsonb_build_array(jsonb_build_object('what', 'about ' || $2::text),
		jsonb_build_object('what', 'other')))`, ann(t), id)

	exec(t, tx, `delete from oxbow.memories where user_id = $1 and content = 'Ann ran on Monday.'`, ann(t))
	require.ElementsMatch(t, []string{"Ann runs.", "Ann runs in the morning.", "Ann likes sports.",
		"Ann is full of energy.", "Ann has running shoes."}, all[string](t, tx,
		`select content from oxbow.memories_trait where user_id = $1`, ann(t)), "something speaks for it still")

	exec(t, tx, `delete from oxbow.memories where user_id = $1 and content = 'Ann ran on Friday.'`, ann(t))
	require.Equal(t, []string{"Ann has running shoes.", "Ann is full of energy."}, all[string](t, tx,
		`select content from oxbow.memories_trait where user_id = $1 order by content`, ann(t)))
	require.Equal(t, 1, one[int](t, tx, `select count(*) from oxbow.memories_trait where id = $1
		and trait_parent_id is null`, part))
	require.Equal(t, []string{"created"}, all[string](t, tx,
		`select event from oxbow.trait_events where trait_id = $1 order by seq`, grandparent))
	require.Equal(t, `[{"what": "other"}]`, one[string](t, tx,
		`select dropped::text from oxbow.reflection_cycles where user_id = $1`, ann(t)))
	for _, table := range []string{"trait_events", "trait_evidence", "memory_history", "memory_links", "memories",
		"river_job", "reflection_cycles"} {
		text := one[string](t, tx, `select coalesce(string_agg(to_jsonb(r)::text, ' '), '')
			from oxbow.`+table+` r where to_jsonb(r)::text like '%' || $1 || '%'`, ann(t))
		for _, gone := range []string{old.String(), id.String(), parent.String(), "runs", "sports"} {
			require.NotContains(t, text, gone, table)
		}
	}
}

// Reasons given by reflection may quote the evidence, so they are removed when any of it is erased. A
// person's reason stays.
func TestReasonsGoWithTheEvidence(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	at := traittest.Day(1, 10)
	old := traittest.Trait{UserID: ann(t), Events: []traittest.Event{
		traittest.Created(at, 0.4, memory("one", at), memory("two", at)),
		traittest.Contradicted(at, 0.2, traittest.Evidence{Content: "three", At: at, Against: true})}}.Insert(t, tx)
	reworded := one[string](t, tx, `select oxbow.reword_trait($1,
		$2, 'Ann runs at noon.', 'reflection', 'because of three')::text`, ann(t), old)
	exec(t, tx, `update oxbow.trait_events set reason = 'because of one' where trait_id = $1::text::uuid and seq = 1`,
		reworded)
	id := one[string](t, tx, `select oxbow.edit_trait($1, $2::text::uuid, content => 'Ann runs late.',
		reason => 'says Ann')::text`, ann(t), reworded)
	reasons := func() []string {
		return all[string](t, tx, `
			select reason from oxbow.trait_events where user_id = $1 and reason is not null
			union all select reason from oxbow.memory_history where user_id = $1 and reason is not null order by 1`,
			ann(t))
	}
	require.Contains(t, reasons(), "because of three")
	require.Contains(t, reasons(), "because of one")
	exec(t, tx, `delete from oxbow.memories where user_id = $1 and content = 'three'`, ann(t))
	require.NotEmpty(t, reasons())
	for _, r := range reasons() {
		require.Equal(t, "says Ann", r)
	}
	require.Equal(t, 2, one[int](t, tx, `select count(*) from oxbow.trait_evidence where trait_id = $1::text::uuid`,
		id))
}

// A trait that a person worded stays, and so does an imported one: neither depends on evidence.
func TestTraitWithoutEvidenceStays(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	at := traittest.Day(1, 10)
	edited := traittest.Trait{UserID: ann(t), Events: []traittest.Event{traittest.Created(at, 0.6, memory("one", at)),
		traittest.Reinforced(at, 0.15, memory("two", at))}}.Insert(t, tx)
	id := one[string](t, tx, `select oxbow.edit_trait($1, $2, content => 'Ann rises at five.',
		confidence => 0.95)::text`, ann(t), edited)
	imported := remember(t, tx, row{"user_id": ann(t), "memory_type": "trait", "trait_stage": "established",
		"trait_confidence":    0.7,
		"trait_confidence_at": at, "trait_reinforcement_count": 2, "trait_contradiction_count": 1})
	exec(t, tx, `select oxbow.adopt_trait($1, $2::text::uuid, 'import')`, ann(t), imported)
	exec(t, tx, `insert into oxbow.trait_events (user_id, trait_id, seq, event, at, factor, memories, stage)
		values ($1, $2::text::uuid, 5, 'reinforced', $3, 0.15, 1, 'x')`, ann(t), imported, at)
	three := remember(t, tx, row{"user_id": ann(t), "content": "three"})
	exec(t, tx, `insert into oxbow.trait_evidence (user_id, trait_id, direction, memory_type, memory_id, quality,
		session_key, observed_at, timezone, event_seq)
		values ($1, $2::text::uuid, 'supporting', 'fact', $3::text::uuid, 'C', 's', $4, 'UTC', 5)`, ann(t), imported,
		three, at)

	exec(t, tx, `delete from oxbow.memories where user_id = $1 and content in ('one', 'two', 'three')`, ann(t))
	require.Equal(t, []string{"created", "edited"}, all[string](t, tx,
		`select event from oxbow.trait_events where trait_id = $1::text::uuid order by seq`, id))
	state, _ := rowState(t, tx, uuid.MustParse(id))
	require.Equal(t, 0.95, state.Confidence)
	require.Equal(t, 0, state.Reinforcements)
	require.Equal(t, []string{"created", "reinforced", "reinforced", "contradicted"},
		all[string](t, tx, `select event from oxbow.trait_events where trait_id = $1::text::uuid order by seq`,
			imported))
	requireSettled(t, tx, uuid.MustParse(imported), lifecycle.State{Subtype: lifecycle.Behavior,
		Stage: lifecycle.Established, Confidence: 0.7, At: at, Reinforcements: 2, Contradictions: 1})
}

// A trait older than trait events gets events that lead to its current state.
func TestAdoptTrait(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	at := traittest.Day(1, 10)
	for name, c := range map[string]struct {
		row  row
		want lifecycle.State
	}{
		"nothing known": {row{"created_at": at}, lifecycle.State{Stage: lifecycle.Candidate, Confidence: 0.2, At: at}},
		"a trend": {row{"trait_stage": "trend", "trait_confidence_at": at,
			"trait_window_end": at.AddDate(0, 0, 9)}, lifecycle.State{Stage: lifecycle.Trend, At: at,
			WindowEnd: at.AddDate(0, 0, 9)}},
		"too sure": {row{"trait_stage": "core", "trait_confidence_at": at, "trait_confidence": 1.0},
			lifecycle.State{Stage: lifecycle.Core, Confidence: 1 - 1e-9, At: at}},
		"a wrong stage": {row{"trait_stage": "established", "trait_confidence_at": at, "trait_confidence": 0.3},
			lifecycle.State{Stage: lifecycle.Candidate, Confidence: 0.3, At: at}},
		"a wrong window": {row{"trait_confidence_at": at, "trait_confidence": 0.4, "trait_window_end": at},
			lifecycle.State{Stage: lifecycle.Emerging, Confidence: 0.4, At: at}},
		"dissolved": {row{"trait_stage": "dissolved", "trait_confidence_at": at},
			lifecycle.State{Stage: lifecycle.Dissolved, At: at}},
		"dissolved, weak": {row{"trait_stage": "dissolved", "trait_confidence_at": at, "trait_confidence": 0.04,
			"trait_reinforcement_count": 4},
			lifecycle.State{Stage: lifecycle.Dissolved, Confidence: 0.04, At: at, Reinforcements: 4}},
		"far too often": {row{"trait_confidence_at": at, "trait_confidence": 0.5,
			"trait_reinforcement_count": 2000000000, "trait_contradiction_count": 7},
			lifecycle.State{Stage: lifecycle.Emerging, Confidence: 0.5, At: at, Reinforcements: 1000,
				Contradictions: 7}},
	} {
		id := remember(t, tx, c.row.with(row{"user_id": ann(t), "memory_type": "trait", "content": name}))
		require.True(t, one[bool](t, tx, `select oxbow.adopt_trait($1, $2::text::uuid, 'import')`, ann(t), id))
		require.False(t, one[bool](t, tx, `select oxbow.adopt_trait($1, $2::text::uuid, 'import')`, ann(t), id),
			"it has events now")
		c.want.Subtype = lifecycle.Behavior
		requireSettled(t, tx, uuid.MustParse(id), c.want)
	}
	id := remember(t, tx, row{"user_id": ann(t), "memory_type": "trait", "trait_stage": "trend"})
	exec(t, tx, `select oxbow.adopt_trait($1, $2::text::uuid, 'import')`, ann(t), id)
	state, next := rowState(t, tx, uuid.MustParse(id))
	require.WithinDuration(t, time.Now().AddDate(0, 0, 30), state.WindowEnd, 2*time.Hour, "it is watched from now on")
	require.Equal(t, state.WindowEnd, next)
	exec(t, tx, `select oxbow.set_policy('trait_candidate_max', 0.45), oxbow.set_policy('trait_established_min', 0.75)`)
	for _, stage := range []string{"candidate", "emerging", "established", "core"} {
		id := remember(t, tx, row{"user_id": ann(t), "memory_type": "trait", "trait_stage": stage,
			"trait_confidence_at": time.Now().Add(time.Minute)}) // after the change
		exec(t, tx, `select oxbow.adopt_trait($1, $2::text::uuid, 'import')`, ann(t), id)
		require.Equal(t, stage, one[string](t, tx, `select trait_stage from oxbow.memories where id = $1`, id))
	}
}

// Reflection adding evidence and an erasure deleting it lock in one order: memories first, then traits,
// each by id. So one waits for the other, without a deadlock.
func TestEraseWhileReflecting(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	conn := connect(t, dsn)
	at := traittest.Day(1, 10)
	var traits []string
	for i := range 6 {
		id := traittest.Trait{UserID: "ann", Content: fmt.Sprintf("Ann does %d.", i),
			Events: []traittest.Event{traittest.Created(at, 0.5, memory(fmt.Sprintf("base %d", i), at))}}.Insert(t,
			conn)
		traits = append(traits, id.String())
	}
	const rounds = 60
	var memories []string
	for i := range rounds {
		memories = append(memories, remember(t, conn, row{"user_id": "ann", "content": fmt.Sprintf("memory %d", i)}))
	}
	// every memory supports every trait
	exec(t, conn, `insert into oxbow.trait_events (user_id, trait_id, seq, event, at, factor, memories, stage)
		select 'ann', t, 2, 'reinforced', $2, 0.15, $3, 'x' from unnest($1::text[]::uuid[]) t`, traits, at, rounds)
	exec(t, conn, `insert into oxbow.trait_evidence (user_id, trait_id, direction, memory_type, memory_id, quality,
		session_key, observed_at, timezone, event_seq)
		select 'ann', t, 'supporting', 'fact', m, 'C', 's' || m, $3, 'UTC', 2
		from unnest($1::text[]::uuid[]) t, unnest($2::text[]::uuid[]) m`, traits, memories, at)

	ctx := context.WithoutCancel(t.Context())
	reflecting, erasing := connect(t, dsn), connect(t, dsn)
	for _, c := range []*pgx.Conn{reflecting, erasing} {
		exec(t, c, `set deadlock_timeout = '10ms'`)
	}
	done := make(chan error, 2)
	go func() { // locks and writes like a reflection
		for i := range 10 * rounds {
			if _, err := reflecting.Exec(ctx, fmt.Sprintf(`
				begin;
				select from oxbow.memories where user_id = 'ann' and memory_type = 'episodic' order by id for key share;
				select from oxbow.memories_trait where user_id = 'ann' order by id for no key update;
				insert into oxbow.trait_clues (user_id, key, memory_type, memory_id, content, session_key, observed_at)
				  select user_id, 'key %d', memory_type, id, 'x', 's', now() from oxbow.memories where user_id = 'ann'
				  and memory_type = 'episodic' limit 1;
				update oxbow.memories_trait set version = version + 1 where user_id = 'ann';
				commit`, i)); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	go func() {
		for _, id := range memories {
			if _, err := erasing.Exec(ctx, `select oxbow.erase_memory('ann', $1::text::uuid)`, id); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	require.NoError(t, <-done)
	require.NoError(t, <-done)
	require.Equal(t, []string{"created"}, all[string](t, conn, `select distinct event from oxbow.trait_events`))
	require.Equal(t, 6, one[int](t, conn, `select count(*) from oxbow.trait_evidence`))
}

// Rejected proposals of a language model may paraphrase any memory that it was shown.
func TestErasureRemovesModelNotes(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := ann(t)
	secret := one[string](t, tx, `insert into oxbow.memories (user_id, memory_type, content)
		values ($1, 'fact', 'The word is hunter2.') returning id::text`, user)
	other := one[string](t, tx, `insert into oxbow.memories (user_id, memory_type, content)
		values ($1, 'fact', 'Ann sketches.') returning id::text`, user)
	exec(t, tx, `insert into oxbow.reflection_cycles (user_id, trigger_type, started_at, completed_at, reasoner,
		dropped)
		select $1, 'manual', now() + at, now() + at, r,
		jsonb_build_array(jsonb_build_object('what', '{"evidence": "m1", "content": "hunter2"}', 'reason', 'no'))
		  from (values (interval '1 minute', 'openai/m'), ('-1 minute', 'openai/m'), ('1 minute', 'rules-v1')) c(at,
		  r)`, user)
	exec(t, tx, `insert into oxbow.trait_clues (user_id, key, content, memory_type, memory_id, session_key, observed_at)
		select $1, key, 'x', 'fact', id::uuid, 's', now() from unnest($2::text[]) id,
		unnest('{says hunter2 sketches,do:sketching}'::text[]) key`, user, []string{secret, other})
	exec(t, tx, `select oxbow.erase_memory($1, $2::text::uuid)`, user, secret)
	require.Equal(t, []string{"-00:01:00 openai/m", "00:01:00 rules-v1"}, all[string](t, tx, `
		select (started_at - now())::text || ' ' || reasoner from oxbow.reflection_cycles where user_id = $1
		and dropped <> '[]' order by 1`, user))
	require.Equal(t, []string{"do:sketching " + other}, all[string](t, tx,
		`select key || ' ' || memory_id from oxbow.trait_clues where user_id = $1`, user))
}
