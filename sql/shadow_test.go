package sqlcode_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// shadowCalls call every public function: $1 is a user, $2 the ids of a fact, a trait and a document, $3 a
// moment.
var shadowCalls = []string{
	"add_memory($1, 'Sails')", "add_memory($1, 'Sails', 'insight', '{}')", "attachments($1, $2[1], $3)",
	"drop_skill($1, oxbow.learn_skill($1, 'Knot', '{tie}'), 'why')", "skills_for($1, 'boat')", "skills_for($1)",
	"end_instruction($1, oxbow.instruct($1, 'Be brief', 'length'), 'why')",
	"instruct($1, 'Be brief', 'length', 'work', 'a', 's', 1, 'e', 'who')", "instructions_of($1, 'a', 's', '{work}', true)",
	"learn_skill($1, 'Knot', '{tie}', 'boat', '{rope}', 'why')",
	"skill_outcome($1, oxbow.learn_skill($1, 'Knot', '{tie}'), true)",
	"conclusions_of($1)", "conclusions_of($1, 'do:sailing', true, 10)",
	"set_value($1, 'occupation', to_jsonb('baker'::text))", "get_value($1, 'occupation')", "profile($1)",
	"emotion_profile($1)", "emotion_profile($1, $3)", "context($1, include => '{profile,emotion,communities,skills}')",
	"communities($1)", "communities($1, 'boat', 3)",
	"predict($1)", "predict($1, $3, $3 + interval '1 day', 5)",
	"complete_intention($1, oxbow.intend($1, 'Paint', $3), 'why')", "drop_intention($1, oxbow.intend($1, 'Sail'), 'why')",
	"intend($1, 'Paint', $3, 'day', 'reminder', 'FREQ=DAILY', 'when', 'e')", "upcoming($1)", "upcoming($1, $3)",
	"snooze_intention($1, oxbow.intend($1, 'Row', $3), $3)",
	"adjustments_of($1)", "adjustments_of($1, $2[1])", "answered($1, 'boat?', $2, $2[1:1], 's', $3)",
	"feedback($1, 'wrong', $2[1:1], query => 'boat?', reason => 'why', external_id => 'e')",
	"feedback($1, 'helpful', answer_id => oxbow.answered($1, 'boat?', $2))",
	"signal($1, 'mixed', 0.9, parts => '{\"style\":\"negative\"}', attributions => $2[1:1], reason => 'r', external_id => 'f')",
	"rollback($1, oxbow.adjust($1, 'fact', $2[1], 0.5, 'why', '{}', 0, $3))",
	"operation($1, $2[1])", "retry_operation($1, $2[1])", "search($1, 'boat', $4, '{general}')",
	"context($1, 'boat', $4, agent => 'a')", "context($1, null, null, agent => 'a', types => '{fact}')",
	"context_parts($1, 'boat', null, 50, '{fact,trait}', '{work}', 'a', $3)",
	"context_parts($1, types => '{episodic}', agent => 'b')",
	"delete_file($1, 'p')", "delete_messages($1, 's')", "delete_trait($1, $2[2])",
	"dissolve_trait($1, $2[2], 'why', 'who')", "edit_trait($1, $2[2], 'Sails', 0.5, 'work', 'why', 'who')",
	"end_session($1, 's')", "entities_of($1)", "entity_edges_of($1)",
	"entity_edges_of($1, (select e.id from oxbow.entities e where e.user_id = $1 and e.kind = 'person'))",
	"entity_edges_of($1, $2[1])",
	"erase_memory($1, $2[1], '0123456789abcdef')", "erase_user($1, '0123456789abcdef')",
	"erased_after($1, now())", "erasure($1, '0123456789abcdef')", "finish_erasures($1)",
	"facts_as_of($1)", "facts_as_of($1, $3)", "facts_as_of($1, $3, $3)",
	"forget($1, $2[1], 'why')", "history($1, $2[1])",
	"ingest_file($1, 'q', '{one,two}', array['{}', '{}']::jsonb[], 'text/plain', 6, 'h', '{}', '{}')",
	"ingest_file($1, 'p', '{one}', array['{}']::jsonb[], 'text/plain', 3, 'i', '{}', '{}')",
	"merge($1, " + boats + ", 'A boat')", "unmerge($1, oxbow.merge($1, " + boats + "))",
	"promote($1, $2[1], 'why')", "provenance($1, $2[1])", "provenance($1, $2[2], 1)",
	"recall($1, 'boat')", "recall($1, 'boat', $4, now => $3)",
	"recall($1, 'boat', types => '{fact}', max_results => 1)",
	"recall($1, 'boat', contexts => '{work}')", "recall($1, 'boat', agent => 'a')", "recall($1, 'boat', agent => 'b')",
	`recall($1, 'boat', metadata_contains => '{"n": 1}')`, "recall($1, 'boat', valid_as_of => $3)",
	"recall($1, 'boat', believed_as_of => $3)", "recall_debug($1, 'boat', now => $3)",
	"related($1, $2[1])", "related($1, $2[1], 1)", "restore($1, $2[4])",
	"set_tier($1, $2[1], 'core', 'why')", "supersede($1, $2[1], 'A ship.', $3, '{}', 'why', 'who')",
	"timeline($1, 'boat')", "timeline($1, 'boat', $4, '{fact}', 1)", "touch($1, $2, true)", "touch($1, $2[1:1], false)",
	"traits_as_of($1, $3)", "traits_as_of($1, now())", "verify($1, $2[1], true, 'why')", "versions($1, $2[1])",
	"why($1, $2[1])", "why($1, $2[1], 'zh')", "why($1, $2[2])", "weight($1, $2[1])", "weight($1, $2[1], $3)",
	"weight_crossings($1, $2[1], 0.3)", "weight_crossings($1, $2[1], 0.3, $3, 900)",
}

// boats are two of the facts that the test stores.
const boats = `array(select m.id from oxbow.memories m where m.user_id = $1 and m.content ~ '^Boat' and m.expired_at is null
	order by m.seq limit 2)`

// A column with the name of an argument changes no result.
func TestColumnsDoNotShadowArguments(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), pgtest.Database(t)) // its own, because adding columns locks every table
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context()) // the rollback takes long, and must end before the database is dropped
	populate(t, tx, ann(t))
	moment := one[string](t, tx, "select (now() - interval '1 hour')::text")
	for i, agent := range []string{"a", "b", "a"} {
		remember(t, tx, row{"user_id": ann(t), "agent_id": agent,
			"metadata":   map[string]any{"n": i, "context": []string{"work", "home"}[i%2]},
			"created_at": ago(0), "valid_at": ago(time.Hour), "content": "Boat " + agent, "session_id": "s"})
	}
	index(t, tx, ann(t))
	ids := all[string](t, tx, `
		select m.id::text from oxbow.memories m
		  join unnest('{fact,trait,document}'::text[]) with ordinality k(kind, nth) on m.memory_type = k.kind
		 where m.user_id = $1 and m.content = 'A boat on the river.' order by k.nth`, ann(t))
	forgotten := remember(t, tx, row{"user_id": ann(t), "content": "A forgotten boat."})
	exec(t, tx, "select oxbow.forget($1, $2)", ann(t), forgotten)
	ids = append(ids, forgotten)

	uncalled := all[string](t, tx, `
		select p.proname::text from pg_proc p
		 where p.pronamespace = 'oxbow'::regnamespace and p.pronargs > 0 and p.proargnames[1] = 'user_id'
		   and not exists (select from unnest($1::text[]) c where c like p.proname || '(%')`, shadowCalls)
	require.Empty(t, uncalled, "shadowCalls must call every function whose first argument is a user")

	// a user_id would make a table a user table, so only those have that column; no column begins with an
	// underscore
	before := answers(t, tx, ann(t), ids, moment)
	exec(t, tx, "set constraints all immediate") // an erasure is dated when the transaction commits
	exec(t, tx, `do $$
		declare t record;
		begin
		  for t in
		    select c.oid::regclass as name, string_agg(format('add column %I text default ''shadow''', a.name), ', ')
		         as columns
		      from pg_class c, (select distinct unnest(p.proargnames) as name from pg_proc p
		      where p.pronamespace = 'oxbow'::regnamespace) a
		     where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
		       and c.relname !~ '^river|^schema_version|^installed_code' and a.name !~ '^_|^$|^user_id$'
		       and not exists (select from pg_attribute f where f.attrelid = c.oid and f.attname = a.name)
		     group by c.oid
		  loop
		    execute format('alter table %s %s', t.name, t.columns);
		  end loop;
		end $$`)
	require.True(t, one[bool](t, tx,
		`select exists (select from information_schema.columns where table_schema = 'oxbow'
				and table_name = 'memories' and column_name = 'agent')`))
	after := answers(t, tx, ann(t), ids, moment)
	for i, call := range shadowCalls {
		require.Equal(t, before[i], after[i], call)
	}
}

var anyID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// answers returns the result of every call and the user's rows after it. Each call is rolled back.
func answers(t *testing.T, tx db, user string, ids []string, moment string) []string {
	t.Helper()
	var out []string
	for _, call := range shadowCalls {
		inner, err := tx.Begin(t.Context())
		require.NoError(t, err)
		sql := "select coalesce(jsonb_agg(to_jsonb(r)), '[]')::text from oxbow." + call + " r"
		for place, value := range map[string]string{
			"$1": "any_user", "$2": "any_ids", "$3": "any_moment", "$4": "any_vector",
		} {
			sql = strings.ReplaceAll(sql, place, "(select v."+value+" from given v)")
		}
		answer := one[string](t, inner, `
			with given as (select $1::text as any_user, $2::text[]::uuid[] as any_ids, $3::timestamptz as any_moment,
			                      $4::text::halfvec as any_vector) `+sql, user, ids, moment, axis(1))
		state := one[string](t, inner, `
			select concat(
			  (select jsonb_agg(jsonb_build_array(m.content, m.valid_at, m.invalid_at, m.expired_at is null,
			  m.forgotten_at, m.metadata, m.agent_id, m.trait_stage, m.trait_confidence, m.trait_context)
			            order by m.content, m.memory_type, m.expired_at is null, m.agent_id, m.forgotten_at, m.metadata)
			     from oxbow.memories m where m.user_id = $1),
			  (select jsonb_agg(jsonb_build_array(h.event, h.actor, h.reason, h.old_content, h.new_content)
			            order by h.event, h.reason, h.old_content, h.new_content)
			     from oxbow.memory_history h where h.user_id = $1),
			  (select count(*) from oxbow.activity a where a.user_id = $1))`, user)
		require.NoError(t, inner.Rollback(t.Context()))
		out = append(out, anyID.ReplaceAllString(answer+state, "id"))
	}
	return out
}
