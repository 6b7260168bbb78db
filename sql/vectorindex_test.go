package sqlcode_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// Traits have their own slots with more exact indexes; other types share the rest.
func TestSlotsOfTraits(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	require.Equal(t, []string{"m=16 ef_construction=64: 16", "m=24 ef_construction=128: 4"}, all[string](t, tx, `
		select format('%s: %s', array_to_string(c.reloptions, ' '), count(*)) from pg_class c
		 where c.relnamespace = 'oxbow'::regnamespace and c.relname ~ '^indexed_vectors_\d+_idx$' group by c.reloptions
		 order by 1`))
	exec(t, tx, `update oxbow.settings set value = '{"policy": "always"}' where key = 'vector_index'`)
	exec(t, tx, `insert into oxbow.memory_term_stats (user_id, memory_type, documents, terms)
		select 'user ' || n, case when n % 2 = 0 then 'trait' else 'episodic' end, 1000000000 + n, 1
		from generate_series(1, 50) n`)
	exec(t, tx, `select oxbow.assign_slots()`)
	require.Equal(t, []string{"episodic 16 1-16 user 19", "trait 4 17-20 user 44"}, all[string](t, tx, `
		select format('%s %s %s-%s %s', memory_type, count(*), min(slot),
		max(slot), 'user ' || min(split_part(user_id, ' ', 2)::integer))
		  from oxbow.vector_slots group by memory_type order by 1`), "the largest of each")
	exec(t, tx, `delete from oxbow.settings where key = 'vector_index.looked'`)
	exec(t, tx, `update oxbow.settings set value = '{"policy": "auto", "from": 100, "most": 3}'
		where key = 'vector_index'`)
	exec(t, tx, `select oxbow.assign_slots()`)
	require.Equal(t, 3, one[int](t, tx, `select count(*) from oxbow.vector_slots where not ending`))
}

// A memory that becomes sensitive leaves the indexes, with the copy of its vector in a slot, and the inbox.
func TestSensitiveMemoriesLeaveTheIndexes(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := remember(t, tx, row{"user_id": ann(t), "memory_type": "episodic"})
	other := remember(t, tx, row{"user_id": ann(t), "memory_type": "episodic", "content": "A walk by the sea."})
	index(t, tx, ann(t))
	for _, id := range []string{id, other} {
		addVector(t, tx, ann(t), "episodic", id, axis(1))
		exec(t, tx, `insert into oxbow.indexed_vectors (user_id, memory_type, memory_id, slot, embedding)
			values ($1, 'episodic', $2, 1, $3::text::halfvec) on conflict (user_id, memory_type, memory_id)
			do update set slot = excluded.slot, embedding = excluded.embedding`, ann(t), id, axis(1))
	}
	exec(t, tx, `update oxbow.memories set sensitivity = 2 where user_id = $1 and id = $2`, ann(t), id)
	for _, table := range []string{"memory_vectors", "indexed_vectors", "memory_terms", "reflection_inbox"} {
		require.Equal(t, []string{other}, all[string](t, tx,
			`select memory_id::text from oxbow.`+table+` where user_id = $1`, ann(t)), table)
	}
}
