package sqlcode_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// befriend stores a memory that names entities, and indexes it.
func befriend(t *testing.T, tx db, content string, names ...string) string {
	t.Helper()
	id := naming(t, tx, content, names...)
	index(t, tx, ann(t))
	return id
}

// propagate looks at all entities and communities that are due, and returns how many entities it looked at.
func propagate(t *testing.T, tx db) (looked int) {
	t.Helper()
	for n := -1; n != 0; looked += n {
		n = one[int](t, tx, "select oxbow.propagate(10)")
		require.Less(t, looked, 1000, "it does not end")
	}
	exec(t, tx, "select oxbow.summarize_communities(100)")
	return looked
}

func TestCommunities(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	met := befriend(t, tx, "Mei, Bo and Tao row together", "Mei", "Bo", "Tao")
	befriend(t, tx, "Bo and Mei bought a boat", "Bo", "Mei")
	befriend(t, tx, "林晓、王芳和李雷一起唱歌", "林晓", "王芳", "李雷")
	befriend(t, tx, "Tao once met 王芳", "Tao", "王芳") // a bridge
	befriend(t, tx, "Alone", "Zoe")
	propagate(t, tx)
	names := func(query string) []string {
		t.Helper()
		return all[string](t, tx, "select array_to_string(array(select unnest(names) order by 1), ' ') "+
			"from oxbow.communities($1, $2) order by 1", ann(t), query)
	}
	require.Equal(t, []string{"Bo Mei Tao", "李雷 林晓 王芳"}, names(""))
	require.Equal(t, []string{"李雷 林晓 王芳"}, names("王芳最近怎么样?"))
	require.Empty(t, names("What does Zoe do?"))
	require.Contains(t, one[string](t, tx, "select oxbow.context($1, 'How is Mei?', include => '{communities}')", ann(t)),
		"## People and things that belong together\n- Bo, Mei, Tao: Mei, Bo and Tao row together; Bo and Mei bought a boat\n")
	require.Zero(t, propagate(t, tx), "nothing changed")

	// what is forgotten connects nothing, and is not shown before the job has run
	exec(t, tx, "select oxbow.forget($1, $2)", ann(t), met)
	require.NotContains(t, all[string](t, tx, "select summary from oxbow.communities($1)", ann(t)), "row together")
	propagate(t, tx)
	require.Equal(t, []string{"Tao 李雷 林晓 王芳"}, names(""), "what is left connects Tao with 王芳")
	exec(t, tx, "select oxbow.restore($1, $2)", ann(t), met)
	propagate(t, tx)
	require.Equal(t, []string{"Bo Mei Tao", "李雷 林晓 王芳"}, names(""))
	exec(t, tx, "select oxbow.erase_memory($1, $2)", ann(t), met)
	require.Zero(t, one[int](t, tx, "select count(*)::int from oxbow.communities where $1 = any(sources::text[])", met))
	propagate(t, tx)
	require.Equal(t, []string{"Tao 李雷 林晓 王芳"}, names(""))
	require.ErrorContains(t, fails(t, tx, "select oxbow.communities($1, max_results => 0)", ann(t)), "max_results must be")
}

// A new edge has only what is near it looked at, however many entities there are.
func TestCommunitiesFollowChanges(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for group := range 40 {
		name := func(n int) string { return fmt.Sprintf("P%dx%d", group, n) }
		befriend(t, tx, fmt.Sprintf("Group %d", group), name(0), name(1), name(2))
	}
	require.GreaterOrEqual(t, propagate(t, tx), 120)
	require.Equal(t, 40, one[int](t, tx, "select count(*)::int from oxbow.communities($1, max_results => 100)", ann(t)))
	befriend(t, tx, "A new friend of group 7", "P7x0", "P7x3")
	require.LessOrEqual(t, propagate(t, tx), 8)
	require.Equal(t, 4, one[int](t, tx, "select max(members) from oxbow.communities($1, max_results => 100)", ann(t)))
}
