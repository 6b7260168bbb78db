package sqlcode_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

func timelineOf(t *testing.T, tx db, user, topic string) []string {
	t.Helper()
	return all[string](t, tx, `select content from oxbow.timeline($1, $2)`, user, topic)
}

// A version found by its words brings along the versions that do not match.
func TestTimelineFollowsVersions(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := ann(t)
	ids := diary(t, tx,
		row{"memory_type": "fact", "content": "Lives in Rome.", "valid_at": ago(900 * 24 * time.Hour)},
		row{"content": "Bought a lamp."},
		row{"content": "Rented a boat to live on in summer.", "valid_at": ago(500 * 24 * time.Hour)},
		row{"memory_type": "fact", "content": "Drinks coffee.", "valid_at": ago(700 * 24 * time.Hour)})
	second := one[string](t, tx, `select oxbow.supersede($1, $2, 'Moved to Oslo.', valid_at => $3)::text`, user, ids[0],
		ago(400*24*time.Hour))
	third := one[string](t, tx, `select oxbow.supersede($1, $2, 'Her home is Bergen.', valid_at => $3)::text`, user,
		second, ago(100*24*time.Hour))
	index(t, tx, user)
	require.Equal(t, []string{"Lives in Rome.", "Rented a boat to live on in summer.", "Moved to Oslo.",
		"Her home is Bergen."}, timelineOf(t, tx, user, "Where does she live?"))
	require.Equal(t, []string{"Lives in Rome.", "Moved to Oslo.", "Her home is Bergen."},
		all[string](t, tx, `select content from oxbow.timeline($1, 'Bergen', types => '{fact}')`, user))
	require.Equal(t, []string{second, third}, all[string](t, tx,
		`select superseded_by::text from oxbow.timeline($1, 'Bergen') where superseded_by is not null`, user))
	require.Equal(t, []string{"Her home is Bergen."}, all[string](t, tx,
		`select content from oxbow.timeline($1, 'Bergen') where current`, user))
	require.Equal(t, []string{"Her home is Bergen."}, all[string](t, tx,
		`select content from oxbow.timeline($1, 'Bergen', max_results => 1)`, user))

	// contradicting memories, and a version kept for its own time, have no superseded_by
	tea := remember(t, tx, row{"user_id": user, "memory_type": "fact", "content": "Prefers tea.",
		"valid_at": ago(10 * 24 * time.Hour)})
	exec(t, tx, `insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation)
		values ($1, 'fact', $2, 'fact', $3, 'contradicts')`, user, tea, ids[3])
	require.Equal(t, []string{"Drinks coffee.", "Prefers tea."}, timelineOf(t, tx, user, "coffee"))
	require.Equal(t, tea, one[string](t, tx, `select contradicted_by::text from oxbow.timeline($1, 'coffee')
		where content = 'Drinks coffee.' and current`, user))
	exec(t, tx, `update oxbow.memory_links set relation = 'supersedes' where user_id = $1 and from_id = $2`, user, tea)
	exec(t, tx, `update oxbow.memories set invalid_at = $3 where user_id = $1 and id = $2`, user, ids[3],
		ago(10*24*time.Hour))
	require.Equal(t, tea, one[string](t, tx, `select superseded_by::text from oxbow.timeline($1, 'coffee')
		where content = 'Drinks coffee.' and not current`, user))

	// a forgotten version is left out and leads to no others
	exec(t, tx, `select oxbow.forget($1, $2)`, user, tea)
	require.Equal(t, []string{"Drinks coffee."}, timelineOf(t, tx, user, "coffee"))
	require.Nil(t, one[*string](t, tx, `select superseded_by::text from oxbow.timeline($1, 'coffee')`, user))
	exec(t, tx, `select oxbow.erase_memory($1, $2)`, user, second)
	require.Equal(t, []string{"Her home is Bergen."}, timelineOf(t, tx, user, "Bergen"),
		"the chain is broken where something was erased")
}

func TestTimelineInChineseAndByVector(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := ann(t)
	ids := diary(t, tx, row{"memory_type": "fact", "content": "我住在北京。", "created_at": ago(time.Hour)},
		row{"memory_type": "fact", "content": "她养了一只猫。"},
		row{"memory_type": "fact", "content": "我住在北京。"})
	next := one[string](t, tx, `select oxbow.supersede($1, $2, '我搬到上海了。', valid_at => $3)::text`, user, ids[0], ago(0))
	index(t, tx, user)
	require.Equal(t, []string{"我住在北京。", "我搬到上海了。"}, timelineOf(t, tx, user, "住在哪里"), "a repetition is told once")
	addVector(t, tx, user, "fact", next, axis(0))
	addVector(t, tx, user, "fact", ids[1], axis(1))
	require.Equal(t, []string{"我住在北京。", "我搬到上海了。"}, all[string](t, tx,
		`select content from oxbow.timeline($1, null, $2::text::halfvec)`, user, axis(0)))
	for says, sql := range map[string]string{
		"topic must not be empty without an embedding": `select oxbow.timeline($1, ' ')`,
		"max_results must be between 1 and 1000":       `select oxbow.timeline($1, 'x', max_results => 0)`,
		"types must be fact or episodic":               `select oxbow.timeline($1, 'x', types => '{trait}')`,
		"embedding must have 1024 dimensions":          `select oxbow.timeline($1, 'x', '[1]')`,
		"user_id must not be empty":                    `select oxbow.timeline(left($1, 0), 'x')`,
	} {
		require.Contains(t, fails(t, tx, sql, user).Message, says)
	}
}

// timeline, history and versions return nothing of another user, even for known ids.
func TestTimelineAndHistoryOfOthers(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for _, user := range []string{ann(t), bob(t)} {
		remember(t, tx, row{"user_id": user, "memory_type": "fact", "content": "A boat of " + user})
		index(t, tx, user)
	}
	id := one[string](t, tx, `select id::text from oxbow.memories where user_id = $1`, bob(t))
	asApp(t, tx)
	setUser(t, tx, ann(t))
	require.Equal(t, []string{"A boat of " + ann(t)}, timelineOf(t, tx, ann(t), "boat"))
	for _, sql := range []string{"select oxbow.timeline($1, 'boat')", "select oxbow.history($1, $2)",
		"select oxbow.versions($1, $2)"} {
		args := []any{bob(t), id}
		if sql == "select oxbow.timeline($1, 'boat')" {
			args = args[:1]
		}
		require.Equal(t, "42501", fails(t, tx, sql, args...).Code, sql)
	}
	for _, sql := range []string{"select event from oxbow.history($1, $2)",
		"select memory_type from oxbow.versions($1, $2)"} {
		require.Empty(t, all[string](t, tx, sql, ann(t), id))
	}
}

// timeline, history and versions read only the user's rows, even with plans made while the tables were
// empty. The cost of a long chain is proportional to its length.
func TestTimelineReadsOnlyItsUser(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	const versions, others = 50, 500
	calls := map[string]func(id string){
		"timeline": func(string) {
			exec(t, tx, `select oxbow.timeline($1, 'boat', $2::text::halfvec)`, ann(t),
				axis(1))
		},
		"history":  func(id string) { exec(t, tx, `select oxbow.history($1, $2)`, ann(t), id) },
		"versions": func(id string) { exec(t, tx, `select oxbow.versions($1, $2)`, ann(t), id) },
	}
	id := remember(t, tx, row{"user_id": ann(t), "memory_type": "fact"})
	for range 6 {
		for _, call := range calls {
			call(id)
		}
	}
	for i := range versions {
		id = one[string](t, tx, `select oxbow.supersede($1, $2, $3)::text`, ann(t), id,
			fmt.Sprint("The boat is painted ", i))
	}
	index(t, tx, ann(t))
	episodes(t, tx, bob(t), others)
	index(t, tx, bob(t))
	exec(t, tx, `insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation)
		select user_id, 'episodic', id, 'episodic', lead(id, 1, id) over (order by seq), 'related_to'
		from oxbow.memories where user_id = $1`, bob(t))
	exec(t, tx, "analyze oxbow.memories, oxbow.memory_links, oxbow.memory_history") // as autovacuum does
	require.Len(t, all[string](t, tx, `select memory_id::text from oxbow.versions($1, $2)`, ann(t), id), versions+1)
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		sequential, fetched := reads(t, tx)
		calls[name](id)
		sequentialAfter, fetchedAfter := reads(t, tx)
		require.Equal(t, sequential, sequentialAfter, name)
		require.Less(t, fetchedAfter-fetched, 40*versions, name)
	}
}

// An erased memory leaves no trace in the history of the one that it replaced.
func TestErasedVersionLeavesNoHistory(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := ann(t)
	for i, policy := range []string{"latest_wins", "version_keep", "weight_balance"} {
		exec(t, tx, `insert into oxbow.messages (user_id, session_id, content) values ($1, 's', 'x')`, user)
		messages := all[string](t, tx, `select id::text from oxbow.messages where user_id = $1
			and extracted_at is null`, user)
		old := remember(t, tx, row{"user_id": user, "memory_type": "fact", "content": fmt.Sprint("old ", i)})
		created := one[string](t, tx, `select gen_random_uuid()::text`)
		exec(t, tx, `select oxbow.write_extraction($1, 's', 'a model', $2::text[]::uuid[],
			json_build_array(json_build_object('id', $3::text, 'type', 'fact', 'content', 'secret',
			'at', now(), 'importance', 0.5, 'metadata', '{}'::json, 'sources',
			$2::text[], 'reason', 'secret too', 'operation', 'UPDATE', 'target', $4::text, 'policy', $5::text)), '{}',
			true)`,
			user, messages, created, old, policy)
		require.Equal(t, []string{"ADD", "ADD", "UPDATE"}, all[string](t, tx,
			`select event from oxbow.history($1, $2) order by event`, user, old), policy)
		require.Equal(t, messages, all[string](t, tx, `select message_ids[1]::text from oxbow.history($1, $2)
			where event = 'ADD' and memory_id = $2::text::uuid`, user, created))
		exec(t, tx, `select oxbow.erase_memory($1, $2)`, user, created)
		require.Empty(t, all[string](t, tx, `select h::text from oxbow.memory_history h where user_id = $1
			and h::text like '%secret%'`, user), policy)
		require.Equal(t, []string{"ADD", "UPDATE"}, all[string](t, tx,
			`select event from oxbow.history($1, $2) order by event`, user, old), policy)
	}
}

// The view has the events of all memories, including plain inserts, and shows an application only its own
// user's.
func TestHistoryView(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := ann(t)
	old := remember(t, tx, row{"user_id": user, "content": "lives in Lisbon", "source": "form"})
	created := one[string](t, tx, `select oxbow.supersede($1, $2, 'lives in Porto', reason => 'she moved')::text`, user,
		old)
	remember(t, tx, row{"user_id": bob(t)})
	exec(t, tx, `insert into oxbow.memory_history (user_id, memory_type, memory_id, event, new_content, actor, reason)
		values ($1, 'fact', $2, 'ADD', 'lives in Porto', 'x', 'y')`, user, created)
	asApp(t, tx)
	setUser(t, tx, user)
	require.Equal(t, []string{
		"ADD <NULL> lives in Lisbon form <NULL> " + old,
		"SUPERSEDE lives in Lisbon lives in Porto app she moved " + old,
		"ADD <NULL> lives in Porto x y " + created,
	}, all[string](t, tx, `select concat_ws(' ', event, coalesce(old_content, '<NULL>'), new_content, actor,
		coalesce(reason, '<NULL>'), memory_id) from oxbow.history order by at, memory_id = $1::uuid desc, event`, old))
}
