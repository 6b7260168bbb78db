package sqlcode_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// Counting joint uses reads the links of the memories that were used, and not all links to a memory that many others
// are linked to.
func TestJointUsesReadTheirLinks(t *testing.T) {
	t.Parallel()
	few, many := jointUses(t, 200), jointUses(t, 4000)
	require.Positive(t, few)
	require.Less(t, many, few+few/4, "rows read with 20 times as many memories")
}

// jointUses returns how many rows it takes to count a joint use of 50 memories of a user, who has as many memories as
// given, each linked to the first memory and the two before it.
func jointUses(t *testing.T, memories int) int {
	t.Helper()
	tx := begin(t, pgtest.Database(t)) // its own reads are counted
	episodes(t, tx, ann(t), memories)
	exec(t, tx, `insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation, weight)
		select $1, 'episodic', m.id, 'episodic', o.id, 'related_to', 0.5
		  from (select id, first_value(id) over w as first, lag(id) over w as last, lag(id, 2) over w as before
		          from oxbow.memories where user_id = $1 window w as (order by seq)) m
		 cross join lateral (select distinct id from unnest(array[m.first, m.last, m.before]) id) o
		 where o.id <> m.id`, ann(t))
	exec(t, tx, "analyze oxbow.memories, oxbow.memory_links")
	used := all[string](t, tx, "select id::text from oxbow.memories where user_id = $1 and seq <= 50", ann(t))
	sequential, indexed := reads(t, tx)
	exec(t, tx, `select oxbow.use_links(array_agg($1::text), array_agg(id), array_agg(now())) from unnest($2::uuid[]) id`,
		ann(t), used)
	sequentialAfter, indexedAfter := reads(t, tx)
	require.Equal(t, 1+2+47*3, one[int](t, tx, "select count(*) from oxbow.memory_links where user_id = $1 and joint = 1",
		ann(t)), "the links among the first 50")
	return sequentialAfter - sequential + indexedAfter - indexed
}
