package chaos

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/lab/program"
)

// A short run of one seed finds no violation. Every violation that is then planted is found and reported.
func TestChaos(t *testing.T) {
	t.Parallel()
	binary, err := program.Build(t.Context(), "failpoints")
	require.NoError(t, err)
	var report, notes strings.Builder
	r, err := newRun(Options{Seed: 43, Duration: 5 * time.Second, Binary: binary, Hurry: true, Patient: true,
		Out: &report, Notes: &notes, parent: pgtest.Dir(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.clear(context.Background(), false)) })
	for _, step := range []func(context.Context) error{r.begin, r.disturb, r.heal, r.check} {
		require.NoError(t, step(t.Context()), "%s", &notes)
	}
	r.report(&report)
	require.Empty(t, r.violations, "%s", &report)
	require.Positive(t, r.ledger.actions["remember"]["acknowledged"])
	require.NotEmpty(t, r.faults)
	require.Len(t, r.checks, len(checks)+1)
	for _, c := range r.checks {
		// this run is short: the worker fills the indexes once a minute, and intentions may be due after it
		if c.name != "the vector indexes are correct" && c.name != "the webhook took what is due" {
			require.Positive(t, c.looked, c.name)
		}
	}

	migration := r.command(t.Context(), r.postgres.dsn(), "migrate", "up")
	migration.Env = append(migration.Env, failpoint.Variable+"="+failpoint.MigrateStep)
	require.ErrorContains(t, migration.Run(), "signal: killed", "a failpoint that is reached")

	conn, err := pgx.Connect(t.Context(), r.postgres.dsn())
	require.NoError(t, err)
	defer conn.Close(context.Background())
	shown := map[[2]string]bool{}
	for _, p := range plants {
		t.Run(p.check+", "+p.what, func(t *testing.T) {
			found := r.requireFound(t, conn, p)
			shown[[2]string{found.Check, found.Expected}] = true
		})
	}
	for _, one := range slices.Concat(lessons, trials) {
		require.Contains(t, shown, [2]string{one.check, one.expected}, "no plant shows that this can fail")
	}
	for _, c := range checks {
		require.True(t, slices.ContainsFunc(plants, func(p plant) bool {
			return slices.ContainsFunc(looks[p.check], func(look func(*checker) int) bool {
				return reflect.ValueOf(look).Pointer() == reflect.ValueOf(c.look).Pointer()
			})
		}), "no plant is for %s", c.name)
	}
	t.Run("webhook", func(t *testing.T) { r.requireDelivered(t, conn) })
	t.Run("atomic", func(t *testing.T) { r.requireAtomic(t, conn) })
}

// requireAtomic loses the answer to the erasure of a user. Unlogged rows that a crash took do not indicate a partial
// erasure; a missing memory does.
func (r *run) requireAtomic(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	row := r.row(t, func(row *written) bool {
		return row.write.outcome == acked && row.erased == never && isSteady(row.write.user)
	})
	r.ledger.add(&write{user: row.write.user, life: row.write.life, action: "sensory", outcome: acked,
		rows: []*written{{table: "sensory", id: uuid.New()}}})
	r.ledger.erasures = append(r.ledger.erasures, &erasure{row.write.user, row.write.life, unknown})
	r.ledger.crash()
	for sql, found := range map[string][]string{
		`select $1::uuid`:                          nil,
		`delete from oxbow.memories where id = $1`: {"atomic of " + userName(row.write.user)},
	} {
		tx, err := conn.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), sql, row.id)
		require.NoError(t, err)
		var said []string
		k := &checker{ctx: t.Context(), tx: tx, ledger: r.ledger, report: func(v Violation) {
			said = append(said, v.Check+" of "+v.User)
		}}
		k.writes()
		require.NoError(t, k.err)
		require.Equal(t, found, said, sql)
		require.NoError(t, tx.Rollback(t.Context()))
	}
}

// requireDelivered plants messages that the webhook should not have got.
func (r *run) requireDelivered(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	back := r.row(t, func(row *written) bool { return row.write.outcome == failed })
	var first, again, foreign notice
	first.Data.UserID, first.Data.ID, first.Data.Content = userName(back.write.user), uuid.New(), back.content
	again, foreign = first, first
	foreign.Data.UserID, foreign.Data.ID = "user-30", uuid.New()
	for _, c := range []struct {
		got   map[string]notice
		found string
	}{
		{map[string]notice{"1": first}, "rolled back"},
		{map[string]notice{"1": first, "2": again}, "webhook"},
		{map[string]notice{"1": foreign}, "isolation"},
	} {
		tx, err := conn.Begin(t.Context())
		require.NoError(t, err)
		var said []string
		k := &checker{ctx: t.Context(), tx: tx, ledger: r.ledger, report: func(v Violation) { said = append(said, v.Check) },
			provider: &provider{notices: &notices{got: c.got}}}
		k.delivered()
		require.NoError(t, k.err)
		require.Contains(t, said, c.found)
		require.NoError(t, tx.Rollback(t.Context()))
	}

	n, err := newNotices()
	require.NoError(t, err)
	sign := func(message string) http.Header {
		signature, err := n.hook.Sign("1", time.Now(), []byte(message))
		require.NoError(t, err)
		return http.Header{"Webhook-Id": {"1"}, "Webhook-Signature": {signature},
			"Webhook-Timestamp": {strconv.FormatInt(time.Now().Unix(), 10)}}
	}
	message := `{"data": {"user_id": "user-00"}}`
	for range 2 {
		_, _, err = n.read([]byte(message), sign(message))
		require.NoError(t, err)
	}
	_, _, err = n.read([]byte(message), sign("another"))
	require.ErrorContains(t, err, "signature")
	_, _, err = n.read([]byte(`{}`), sign(`{}`))
	require.ErrorContains(t, err, "before, it was")
}

// looks maps the name of a violation to the checks that report it.
var looks = map[string][]func(*checker) int{
	"missing": {(*checker).writes}, "changed": {(*checker).writes}, "forgotten": {(*checker).writes},
	"rolled back": {(*checker).writes, (*checker).marks},
	"erased":      {(*checker).writes, (*checker).marks}, "embedding": {(*checker).vectors},
	"vector index": {(*checker).vectorIndex}, "text index": {(*checker).terms}, "extraction": {(*checker).messages},
	"doubled":       {(*checker).posted},
	"repeated fact": {(*checker).repeats}, "merge": {(*checker).merges}, "replaced fact": {(*checker).replaced},
	"reflection": {(*checker).reflections}, "replay": {(*checker).traits},
	"evidence": {(*checker).traits},
	"orphan":   {(*checker).orphans}, "job stuck": {(*checker).jobs}, "job given up": {(*checker).jobs},
	"job panicked": {(*checker).jobs},
	"isolation":    {(*checker).marks, (*checker).isolation},
	"feedback":     {(*checker).learned}, "intentions": {(*checker).learned}, "instructions": {(*checker).learned},
	"skills": {(*checker).learned}, "webhook": {(*checker).delivered}, "strategies": {(*checker).strategies},
}

// first are statements that a plant needs before its own.
var first = map[string]string{
	"no policy":              `alter table oxbow.messages disable row level security`,
	"a second signal for it": `alter table oxbow.feedback_signals drop constraint feedback_signals_user_id_message_id_key`,
	"two of a name":          `drop index oxbow.skills_name_idx`,
}

// plant is a violation to plant. sql runs without triggers and foreign keys, and returns the id or the user that the
// check must report.
type plant struct{ check, what, sql string }

var plants = []plant{
	{"missing", "a memory is deleted", `delete from oxbow.memories where id = (%[1]s) returning id::text`},
	{"missing", "a message is deleted", `delete from oxbow.messages where id = (select min(id::text)
		from oxbow.messages)::uuid returning id::text`},
	{"changed", "another text", `update oxbow.memories set content = content || '!' where id = (%[1]s)
		returning id::text`},
	{"changed", "another user", `update oxbow.memories_episodic set user_id = 'user-30' where id = (%[1]s)
		returning id::text`},
	{"doubled", "a request that was repeated", `insert into oxbow.memories (user_id, content, source)
		select user_id, content, source from oxbow.memories where source like 'post %%' limit 1 returning user_id`},
	{"forgotten", "nobody asked for it", `update oxbow.memories set forgotten_at = now() where id = (%[1]s)
		returning id::text`},
	{"rolled back", "a row of a transaction that was", `insert into oxbow.memories (user_id, id, content)
		values ('%[2]s', '%[3]s', '%[4]s') returning id::text`},
	{"rolled back", "its text in the history", `insert into oxbow.memory_history (user_id, memory_type, memory_id,
		event, old_content) values ('%[2]s', 'fact', '%[3]s', 'UPDATE', 'was: %[4]s') returning user_id`},
	{"erased", "a memory that was erased", `insert into oxbow.memories (user_id, id, content)
		values ('%[5]s', '%[6]s', '%[7]s') returning id::text`},
	{"erased", "its id in a job", `insert into oxbow.river_job (kind, queue, max_attempts, args, state, finalized_at)
		values ('embed', 'embed', 25, jsonb_build_object('user_id', '%[5]s', 'ids', '%[6]s'), 'completed', now())
		returning args ->> 'ids'`},
	{"embedding", "no vector", `delete from oxbow.memory_vectors where memory_id = (%[1]s) returning memory_id::text`},
	{"embedding", "the vector of another", `update oxbow.memory_vectors v set embedding = o.embedding
		from oxbow.memory_vectors o where v.memory_id = (%[1]s)
		and o.memory_id = (select m.id from oxbow.memories m, oxbow.memories n where n.id = (%[1]s)
		and m.content not like left(n.content, 8) || '%%' and m.forgotten_at is null order by m.id limit 1)
		returning v.memory_id::text`},
	{"embedding", "a refusal", `insert into oxbow.embedding_refusals (user_id, memory_type, memory_id, model, reason)
		select user_id, memory_type, id, 'm', 'r' from oxbow.memories where id = (%[1]s) returning memory_id::text`},
	{"text index", "no terms", `delete from oxbow.memory_terms where memory_id = (%[1]s) returning memory_id::text`},
	{"text index", "wrong statistics", `update oxbow.memory_term_stats set documents = documents + 1
		where user_id = 'user-00' and memory_type = 'episodic' returning user_id`},
	{"extraction", "a message waits", `update oxbow.messages set extracted_at = null where id = (select min(id::text)
		from oxbow.messages)::uuid returning id::text`},
	{"extraction", "nothing came of a message", `delete from oxbow.memory_sources
		where message_id = (select min(message_id::text) from oxbow.memory_sources where user_id = 'user-00')::uuid
		returning message_id::text`},
	{"extraction", "nothing came of the message of a home", `delete from oxbow.memory_sources
		where message_id = (select min(g.id::text) from oxbow.messages g where g.role = 'user'
		and g.user_id in ('user-00', 'user-05', 'user-10', 'user-15', 'user-20', 'user-25')
		and g.content ~ 'live in|住在')::uuid returning message_id::text`},
	{"extraction", "a message counted twice", `insert into oxbow.memory_history (user_id, memory_type, memory_id, event,
		new_content, message_ids) select user_id, memory_type, memory_id, event, new_content, message_ids
		from oxbow.memory_history where message_ids <> '{}' order by id limit 1 returning message_ids[1]::text`},
	{"extraction", "the same memory twice", `with one as (select s.* from oxbow.memory_sources s
		join oxbow.memories m on m.user_id = s.user_id and m.id = s.memory_id where s.message_id is not null
		and m.superseded_by is null limit 1),
		copy as (insert into oxbow.memories (user_id, memory_type, content) select m.user_id, m.memory_type, m.content
		from oxbow.memories m join one on m.user_id = one.user_id and m.id = one.memory_id
		returning user_id, memory_type, id)
		insert into oxbow.memory_sources (user_id, memory_type, memory_id, session_id, message_id)
		select copy.user_id, copy.memory_type, copy.id, one.session_id, one.message_id from copy, one
		returning message_id::text`},
	{"repeated fact", "two current ones", `insert into oxbow.memories (user_id, memory_type, content)
		select user_id, memory_type, content from oxbow.memories_fact where expired_at is null and forgotten_at is null
		and invalid_at is null order by id limit 1 returning user_id`},
	{"repeated fact", "one mention too many", `update oxbow.memories_fact set mention_count = mention_count + 1
		where user_id = 'user-30' and content ~ 'n9' and expired_at is null returning id::text`},
	{"merge", "one that counts too many", `insert into oxbow.memories (user_id, memory_type, content, source, metadata)
		values ('user-00', 'episodic', 'c', 'merge', '{"merged": {"count": 3}}') returning id::text`},
	{"merge", "an original is current too", `with merged as (insert into oxbow.memories (user_id, memory_type, content,
		source, metadata) values ('user-00', 'episodic', 'c', 'merge', '{"merged": {"count": 1}}') returning id)
		insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation)
		select 'user-00', 'episodic', id, 'episodic', (%[1]s), 'merged_from' from merged returning to_id::text`},
	{"merge", "one that was unmerged is not current", `with o as (update oxbow.memories set expired_at = now()
		where id = (%[1]s) returning user_id, memory_type, id)
		insert into oxbow.memory_history (user_id, memory_type, memory_id, event, created_at)
		select user_id, memory_type, id, 'UNMERGE', now() + interval '1 day' from o returning memory_id::text`},
	{"replaced fact", "no event", `with gone as (delete from oxbow.memory_history where memory_id = (select id
		from oxbow.memories_fact where superseded_by is not null order by id limit 1) returning memory_id::text)
		select memory_id from gone limit 1`},
	{"reflection", "a memory counted twice", `update oxbow.reflection_cycles set memories_scanned = memories_scanned + 1
		where id = (select id from oxbow.reflection_cycles
		where user_id in ('user-00', 'user-05', 'user-10', 'user-15', 'user-20', 'user-25') limit 1)
		returning user_id`},
	{"replay", "reinforced once too often", `update oxbow.memories_trait
		set trait_reinforcement_count = trait_reinforcement_count + 1 where id = (select id from oxbow.memories_trait
		where expired_at is null order by id limit 1) returning id::text`},
	{"replay", "another confidence", `with trait as (update oxbow.memories_trait
		set trait_confidence = 0.5, trait_stage = 'emerging' where id = (select id from oxbow.memories_trait
		where expired_at is null order by id limit 1) returning user_id, id)
		select id::text from trait`},
	{"evidence", "one that did not count", `insert into oxbow.trait_evidence (user_id, trait_id, direction, memory_type,
		memory_id, quality, session_key, observed_at, timezone, event_seq)
		select e.user_id, e.trait_id, e.direction, m.memory_type, m.id, e.quality, e.session_key, e.observed_at,
		e.timezone, e.event_seq from oxbow.trait_evidence e
		  join oxbow.memories m on m.user_id = e.user_id where not exists (select from oxbow.trait_evidence o
		  where o.user_id = e.user_id and o.trait_id = e.trait_id and o.memory_id = m.id) limit 1
		  returning trait_id::text`},
	{"orphan", "evidence", `delete from oxbow.memories_trait where id = (select trait_id from oxbow.trait_evidence
		order by trait_id limit 1) returning id::text`},
	{"orphan", "a use", `insert into oxbow.activity (user_id, memory_ids) values ('user-00', array[gen_random_uuid()])
		returning memory_ids[1]::text`},
	{"orphan", "sources of a message", `delete from oxbow.messages where id = (select min(message_id::text)
		from oxbow.memory_sources)::uuid returning id::text`},
	{"job stuck", "one runs", `insert into oxbow.river_job (kind, queue, max_attempts, args, state, attempted_at)
		values ('embed', 'embed', 25, '{"user_id": "user-00"}', 'running', now()) returning id::text`},
	{"job stuck", "one is due", `insert into oxbow.river_job (kind, queue, max_attempts, args, state)
		values ('reflect', 'reflect', 25, '{"user_id": "user-00"}', 'available') returning id::text`},
	{"vector index", "a copy of another vector", `insert into oxbow.indexed_vectors
		select user_id, memory_type, memory_id, 16, embedding + embedding from oxbow.memory_vectors
		where memory_id = (%[1]s) on conflict (user_id, memory_type, memory_id) do update
		set slot = excluded.slot, embedding = excluded.embedding returning memory_id::text`},
	{"vector index", "no copy", `insert into oxbow.vector_slots (user_id, memory_type, slot, ready_at)
		values ('user-00', 'episodic', 16, now())
		on conflict (user_id, memory_type) do update set ready_at = now() returning (select v.memory_id::text
		from oxbow.memory_vectors v
		  where v.user_id = 'user-00' and v.memory_type = 'episodic'
		    and not exists (select from oxbow.indexed_vectors x where x.user_id = v.user_id
		    and x.memory_type = v.memory_type and x.memory_id = v.memory_id) limit 1)`},
	{"job given up", "after too many attempts", `insert into oxbow.river_job (kind, queue, max_attempts, args, state,
		finalized_at) values ('extract', 'extract', 25, '{"user_id": "user-00"}', 'discarded', now())
		returning id::text`},
	{"job panicked", "and then went well", `insert into oxbow.river_job (kind, queue, max_attempts, args, state, finalized_at,
		errors) values ('embed', 'embed', 25, '{"user_id": "user-00"}', 'completed', now(),
		array['{"error": "index out of range", "trace": "embed.go"}'::jsonb]) returning id::text`},
	{"isolation", "a text of another user", `insert into oxbow.memories (user_id, content) select 'user-30', content
		from oxbow.memories where id = (%[1]s) returning user_id`},
	{"isolation", "no policy", `select 'user-00'`},
	{"feedback", "a second signal for it", `insert into oxbow.feedback_signals (user_id, source, kind, type, confidence,
		message_id, dispatched_at) select 'user-00', 'judge', 'correction', 'negative', 1, m.id, now()
		from (select gen_random_uuid() as id) m, generate_series(1, 2) returning message_id::text`},
	{"feedback", "a complaint that was not heard", `insert into oxbow.messages (user_id, session_id, role, content,
		extracted_at) values ('user-00', 's', 'user', 'No, that is wrong.', now()) returning id::text`},
	{"feedback", "a signal that was not counted", `update oxbow.feedback_signals set dispatched_at = null
		where id = (select min(id::text) from oxbow.feedback_signals)::uuid returning id::text`},
	{"feedback", "nothing was adjusted", `insert into oxbow.adjustments (user_id, kind, memory_type, memory_id, before,
		after, cause, signals) select s.user_id, 'memory_weight', memory_type, memory_id, 1, 1, 'c', array[signal_id]
		from oxbow.feedback_subjects s limit 1 returning id::text`},
	{"feedback", "adjusted without a signal", `insert into oxbow.adjustments (user_id, kind, memory_type, memory_id, before,
		after, cause, signals) select user_id, 'memory_weight', memory_type, id, 1, 0.5, 'c', '{}'
		from oxbow.memories where id = (%[1]s) returning id::text`},
	{"feedback", "adjusted by signals about another", `insert into oxbow.adjustments (user_id, kind, memory_type, memory_id,
		before, after, cause, signals) select s.user_id, 'memory_weight', s.memory_type, gen_random_uuid(), 1, 0.5, 'c',
		array[s.signal_id] from oxbow.feedback_subjects s limit 1 returning id::text`},
	{"intentions", "it did not become due", `insert into oxbow.intentions (user_id, content, due_at, precision, remind_at)
		values ('user-00', 'c', now(), 'minute', now() - interval '1 day') returning id::text`},
	{"instructions", "two with the same words", `with two as (insert into oxbow.instructions (user_id, content)
		values ('user-00', 'c'), ('user-00', 'c') returning id) select min(id::text) from two`},
	{"instructions", "one that ended holds", `with one as (insert into oxbow.instructions (user_id, content, priority)
		values ('user-00', 'Speak of planted things', 100) returning user_id, content)
		insert into oxbow.instructions (user_id, content, ended_at) select user_id, content, now() from one
		returning id::text`},
	{"skills", "two of a name", `with two as (insert into oxbow.skills (user_id, name, situation, steps)
		values ('user-00', 'n', 's', '{one}'), ('user-00', 'N', 's', '{two}') returning id)
		select min(id::text) from two`},
	{"webhook", "nothing was posted", `insert into oxbow.intentions (user_id, content, due_at, precision, state,
		became_due_at) values ('user-00', 'c', now(), 'minute', 'due', now()) returning id::text`},
	{"webhook", "it was due again", `update oxbow.intentions set state = 'due', became_due_at = now()
		where id = (select min(id::text) from oxbow.intentions)::uuid returning id::text`},
	{"strategies", "a proposal that was not tried", `with gone as (update oxbow.strategies set judged_at = now()), said as (
		insert into oxbow.answers (user_id, query, recalled, used) select 'user-00', 'q', array[(%[1]s)], array[(%[1]s)]
		from generate_series(1, 500)) insert into oxbow.strategies (about, cause, changes)
		values ('recall', 'c', '{"recall_weight": 0.5}') returning version::text`},
	{"strategies", "an adopted one that was not judged", `with said as (insert into oxbow.answers (user_id, query, recalled,
		used) select 'user-00', 'q', array[(%[1]s)], array[(%[1]s)] from generate_series(1, 8)) insert into oxbow.strategies
		(about, cause, changes, state, adopted_at) values ('recall', 'c', '{}', 'adopted', now() - interval '1 day')
		returning version::text`},
	{"strategies", "two that wait", `with two as (insert into oxbow.strategies (about, cause, changes, state, adopted_at)
		select 'recall', 'c', '{}', 'adopted', now() from generate_series(1, 2) returning version)
		select max(version)::text from two`},
	{"strategies", "one that gained nothing", `insert into oxbow.strategies (about, cause, changes, state, metric_before,
		metric_after) values ('recall', 'c', '{}', 'rolled_back', 0.5, 0.5) returning version::text`},
	{"strategies", "a policy that was not set", `insert into oxbow.strategies (about, cause, changes, state, metric_before,
		metric_after, adopted_at, judged_at) values ('recall', 'c', '{"recall_weight": 0.123}', 'adopted', 0.5, 0.6,
		now() + interval '1 day', now()) returning version::text`},
	{"strategies", "a policy that was not restored", `insert into oxbow.strategies (about, cause, changes, previous, state,
		metric_before, metric_after, adopted_at) values ('recall', 'c', '{"recall_weight": 0.5}',
		'{"recall_weight": 0.123}', 'rolled_back', 0.5, 0.6, now() + interval '1 day') returning version::text`},
}

// requireFound plants a violation in a transaction that is rolled back, and requires that a check finds it.
func (r *run) requireFound(t *testing.T, conn *pgx.Conn, p plant) Violation {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.Background())
	_, err = tx.Exec(t.Context(), first[p.what])
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `set local session_replication_role = replica`)
	require.NoError(t, err)
	var named string
	sql := p.sql
	if strings.Contains(sql, "%") {
		back, gone := r.row(t, func(row *written) bool { return row.write.outcome == failed }),
			r.row(t, func(row *written) bool { return row.erased == acked })
		one := `select min(id::text)::uuid from oxbow.memories_episodic where user_id = 'user-00'
			and external_id is not null`
		sql = fmt.Sprintf(sql+"%.0[1]s%.0[2]s%.0[3]s%.0[4]s%.0[5]s%.0[6]s%.0[7]s", one, userName(back.write.user),
			back.id, back.content, userName(gone.write.user), gone.id, gone.content)
	}
	require.NoError(t, tx.QueryRow(t.Context(), sql).Scan(&named), sql)
	var found []Violation
	k := &checker{ctx: t.Context(), tx: tx, ledger: r.ledger, provider: r.provider, app: appRole,
		report: func(v Violation) { found = append(found, v) }}
	for _, look := range looks[p.check] {
		look(k)
		require.NoError(t, k.err)
		for _, v := range found {
			if v.Check == p.check && (v.User == named || v.ID == named) {
				require.NotEmpty(t, v.Expected)
				return v
			}
		}
	}
	require.Fail(t, "it was not found", "%s, %s: %s\nfound: %v", p.check, p.what, named, found)
	return Violation{}
}

// row is a row of memories that a client wrote.
func (r *run) row(t *testing.T, fits func(*written) bool) *written {
	t.Helper()
	for _, w := range r.ledger.writes {
		for _, row := range w.rows {
			if row.table == "memories" && w.action != "working" && w.action != "supersede" && w.user != sharedUser &&
				fits(row) {
				return row
			}
		}
	}
	require.Fail(t, "no client wrote such a row")
	return nil
}
