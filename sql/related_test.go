package sqlcode_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// naming inserts a memory that names people.
func naming(t testing.TB, tx db, content string, names ...string) string {
	t.Helper()
	return remember(t, tx, row{"user_id": ann(t.(*testing.T)), "content": content,
		"metadata": map[string]any{"entities": names}})
}

// related returns the contents of the memories related to another, most related first.
func related(t testing.TB, tx db, id string) []string {
	t.Helper()
	return all[string](t, tx, "select content from oxbow.related($1, $2)", ann(t.(*testing.T)), id)
}

func TestRelated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(t *testing.T, tx db, boats, cat string)
		want   []string
	}{
		"by names, those that share more of them first": {want: []string{"Tom and Anna", "The cat", "Boats"}},
		"not if forgotten": {want: []string{"Tom and Anna", "Boats"}, change: func(t *testing.T, tx db, _, cat string) {
			exec(t, tx, "select oxbow.forget($1, $2)", ann(t), cat)
		}},
		"again after a restore": {want: []string{"Tom and Anna", "The cat", "Boats"},
			change: func(t *testing.T, tx db, _, cat string) {
				exec(t, tx, "select oxbow.forget($1, $2)", ann(t), cat)
				exec(t, tx, "select oxbow.restore($1, $2)", ann(t), cat)
			}},
		"not if ended": {want: []string{"Tom and Anna", "Boats"}, change: func(t *testing.T, tx db, _, cat string) {
			exec(t, tx, "update oxbow.memories set invalid_at = now() where user_id = $1 and id = $2", ann(t), cat)
		}},
		"not if sensitive": {want: []string{"Tom and Anna", "Boats"}, change: func(t *testing.T, tx db, _, cat string) {
			exec(t, tx, "update oxbow.memories set sensitivity = 2 where user_id = $1 and id = $2", ann(t), cat)
		}},
		"by the names of today": {want: []string{"Tom and Anna", "Boats"}, change: func(t *testing.T, tx db, _, cat string) {
			exec(t, tx, `update oxbow.memories set metadata = '{"entities": ["Bo"]}' where user_id = $1 and id = $2`, ann(t), cat)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tx := pgtest.Tx(t)
			boats := naming(t, tx, "Boats", "Anna")
			cat := naming(t, tx, "The cat", "Anna")
			naming(t, tx, "A dog", "Bo")
			naming(t, tx, "Tom and Anna", "Anna", "Tom")
			index(t, tx, ann(t))
			asked := naming(t, tx, "They met", "Tom", "Anna")
			addVector(t, tx, ann(t), "fact", asked, axis(1))
			addVector(t, tx, ann(t), "fact", cat, axis(1, 2, 3, 4, 5))
			index(t, tx, ann(t))
			if c.change != nil {
				c.change(t, tx, boats, cat)
			}
			require.Equal(t, c.want, related(t, tx, asked))
			require.Contains(t, related(t, tx, boats), "They met", "in both directions")
		})
	}
}

func TestRelatedIsBounded(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	var last string
	for i := range 20 {
		last = naming(t, tx, fmt.Sprint("Boat ", i), "Anna")
	}
	index(t, tx, ann(t))
	links := "select count(*) from oxbow.memory_links where user_id = $1 and from_id = $2"
	require.Equal(t, 5, one[int](t, tx, links, ann(t), last))
	last = naming(t, tx, "The twenty-first", "Anna")
	index(t, tx, ann(t))
	require.Zero(t, one[int](t, tx, links, ann(t), last), "a name that many share says nothing")

	self := naming(t, tx, "About me", ann(t), "Sue")
	naming(t, tx, "Me too", ann(t))
	index(t, tx, ann(t))
	require.Empty(t, related(t, tx, self), "everything names the user")
	require.Equal(t, "max_results", fails(t, tx, "select oxbow.related($1, $2, 0)", ann(t), self).ColumnName)
}

// Replies that use two memories together relate them more, and less the longer ago that was.
func TestRelatedByJointUse(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	boats := naming(t, tx, "Boats", "Anna")
	cat := naming(t, tx, "The cat", "Anna")
	index(t, tx, ann(t))
	asked := naming(t, tx, "They met", "Anna")
	index(t, tx, ann(t))
	weight := func(id string) float64 {
		return one[float64](t, tx, `select weight from oxbow.related($1, $2) where memory_id = $3`, ann(t), asked, id)
	}
	report := func(ago string, ids ...string) {
		exec(t, tx, "select oxbow.touch($1, $2, at => now() - $3::interval)", ann(t), ids, ago)
	}
	fold := func() { exec(t, tx, "select oxbow.fold_activity(1000)") }
	before := weight(boats)
	require.Less(t, before, 1.0)
	require.InDelta(t, before, weight(cat), 1e-9)

	report("2 hours", asked)
	report("1 hour", boats)
	exec(t, tx, "select oxbow.touch($1, $2, false, now() - interval '3 hours')", ann(t), []string{asked, boats})
	fold()
	require.InDelta(t, before, weight(boats), 1e-9, "used apart, or only returned")

	report("30 days", asked, boats)
	fold()
	require.InDelta(t, 1-(1-before)*math.Sqrt(0.8), weight(boats), 1e-6, "half of it counts after a half-life")
	require.InDelta(t, before, weight(cat), 1e-9, "of another pair")
	exec(t, tx, "select oxbow.answered($1, 'Who?', $2, $2)", ann(t), []string{asked, boats})
	fold()
	require.InDelta(t, 1-(1-before)*math.Pow(0.8, 1.5), weight(boats), 1e-6, "what is left of it, and one more")
	require.Equal(t, []string{"Boats", "The cat"}, related(t, tx, asked))
}

// Facts about the same subject are related without naming anybody.
func TestRelatedBySubject(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	about := row{"user_id": ann(t), "metadata": map[string]any{"about": "taste:tea"}}
	green := remember(t, tx, about.with(row{"content": "Green tea is best"}))
	remember(t, tx, about.with(row{"content": "Tea at four"}))
	remember(t, tx, row{"user_id": ann(t), "content": "Coffee"})
	index(t, tx, ann(t))
	require.Equal(t, []string{"Tea at four"}, related(t, tx, green))
	index(t, tx, ann(t))
	require.Equal(t, 1, one[int](t, tx, "select count(*) from oxbow.memory_links where user_id = $1", ann(t)), "once")
}

func TestProvenance(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	ids := map[string]string{}
	for _, content := range []string{"summary", "merged", "one", "two", "repeat", "old", "secret", "forgotten", "behind"} {
		ids[content] = remember(t, tx, row{"user_id": ann(t), "content": content})
	}
	for _, l := range []struct{ from, relation, to string }{
		{"summary", "compressed_from", "merged"}, {"merged", "merged_from", "one"}, {"merged", "merged_from", "two"},
		{"one", "supersedes", "old"}, {"old", "supersedes", "summary"}, {"two", "source", "secret"},
		{"summary", "source", "forgotten"}, {"forgotten", "source", "behind"}, {"summary", "related_to", "behind"},
	} {
		exec(t, tx, `insert into oxbow.memory_links (user_id, from_type, from_id, relation, to_type, to_id)
			values ($1, 'fact', $2, $3, 'fact', $4)`, ann(t), ids[l.from], l.relation, ids[l.to])
	}
	exec(t, tx, "update oxbow.memories set superseded_by = $2, expired_at = now() where user_id = $1 and id = $3", ann(t),
		ids["one"], ids["repeat"])
	exec(t, tx, "update oxbow.memories set sensitivity = 2 where user_id = $1 and id = $2", ann(t), ids["secret"])
	exec(t, tx, "select oxbow.forget($1, $2)", ann(t), ids["forgotten"])
	exec(t, tx, "insert into oxbow.sessions (user_id, id) values ($1, 's')", ann(t))
	exec(t, tx, `with said as (insert into oxbow.messages (user_id, session_id, content) values ($1, 's', 'hello') returning id)
		insert into oxbow.memory_sources (user_id, memory_type, memory_id, session_id, message_id)
		select $1, 'fact', $2, 's', id from said`, ann(t), ids["old"])

	list := `select format('%s %s %s', step, relation, content) from oxbow.provenance($1, $2, $3)`
	want := []string{"1 compressed_from merged", "2 merged_from one", "2 merged_from two", "3 repeats repeat",
		"3 supersedes old", "3 source ", "4 said hello"}
	require.Equal(t, want, all[string](t, tx, list, ann(t), ids["summary"], 100), "a circle ends")
	require.Equal(t, want[:3], all[string](t, tx, list, ann(t), ids["summary"], 3))
	require.Empty(t, all[string](t, tx, list, ann(t), ids["forgotten"], 100))
	require.Equal(t, "max_results", fails(t, tx, "select oxbow.provenance($1, $2, 1001)", ann(t), ids["one"]).ColumnName)
}
