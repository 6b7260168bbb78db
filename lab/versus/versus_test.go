package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/eval"
	"github.com/oxbow-memory/oxbow/lab/models"
	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/lab/program"
)

const sample = `
{"type":"memory","user":"b","id":"1","speaker":"Bo","content":"I have a boat."}
{"type":"memory","user":"a","id":"1","content":"Ann sings."}
{"type":"memory","user":"b","id":"2","content":"It leaks."}
{"type":"question","user":"b","question":"What leaks?","gold":["1","2"]}
{"type":"question","user":"a","question":"Who sings?","gold":["1"]}
{"type":"question","user":"a","question":"Who dances?","gold":[]}
{"type":"point","user":"a","id":"p","content":"Ann sings."}
`

func TestReadSet(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "life.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(sample), 0o600))
	s := readSet(name, 0)
	require.Equal(t, "life", s.name)
	require.Len(t, s.memories, 3)
	require.Equal(t, "Bo: I have a boat.", s.memories[1].Text)
	require.Len(t, s.questions, 2)
	steps := s.steps(100)
	require.Len(t, steps, 4, "a user's memories are added at once, and the questions follow")
	require.Len(t, steps[1].add, 2)
	require.Len(t, s.steps(1), 5)

	s = readSet(name, 1)
	require.Equal(t, []int{1, 2}, []int{s.users, s.of})
	require.Len(t, s.memories, 1, "of the user with the fewest")
	require.Len(t, s.questions, 1)
}

func TestUsers(t *testing.T) {
	t.Parallel()
	var u users
	require.NoError(t, u.Set("locomo=2,lifebench-zh=1"))
	require.Equal(t, users{"locomo": 2, "lifebench-zh": 1}, u)
	require.ErrorContains(t, u.Set("2"), "is not NAME=NUMBER")
	require.Equal(t, "lifebench-zh", setName("eval/lifebench-zh.jsonl.gz"))
}

func TestQuestionsOfATimeComeBeforeLaterMemories(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "life.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(`
{"type":"memory","user":"a","id":"1","session":"r","at":"2026-01-01T00:00:00Z","content":"Ann sings."}
{"type":"memory","user":"a","id":"2","session":"s","at":"2026-01-03T00:00:00Z","content":"Ann dances."}
{"type":"question","user":"a","question":"Who dances?","gold_sessions":["s"]}
{"type":"question","user":"a","question":"Who sings?","at":"2026-01-02T00:00:00Z","gold_sessions":["r"]}
`), 0o600))
	s := readSet(name, 0)
	require.Equal(t, eval.SessionDepth, s.depth)
	steps := s.steps(100)
	require.Len(t, steps, 4)
	require.Equal(t, "1", steps[0].add[0].ID)
	require.Equal(t, "Who sings?", steps[1].ask.Question)
	require.Equal(t, "2", steps[2].add[0].ID)
	require.Equal(t, "Who dances?", steps[3].ask.Question)
}

func TestCount(t *testing.T) {
	t.Parallel()
	var f figures
	f.count(&question{Gold: []string{"a", "b", "c", "d"}}, []string{"x", "a", "y", "z", "w", "b", "v", "u"}, nil)
	require.Equal(t, figures{Recall5: 0.25, Recall10: 0.5, Hit10: 1, Precision: 0.25}, f)
	f.count(&question{Gold: []string{"a"}}, []string{"a"}, nil)
	require.Equal(t, figures{Recall5: 1.25, Recall10: 1.5, Hit10: 2, Precision: 1.25}, f)
	f.count(&question{Gold: []string{"a"}}, nil, nil)
	require.Equal(t, figures{Recall5: 1.25, Recall10: 1.5, Hit10: 2, Precision: 1.25}, f)
	f.count(&question{User: "u", Sessions: []string{"s"}}, []string{"a", "b", "c"},
		map[[2]string]string{{"u", "a"}: "r", {"u", "b"}: "r", {"u", "c"}: "s"})
	require.Equal(t, figures{Recall5: 2.25, Recall10: 2.5, Hit10: 3, Precision: 1.75}, f)

	require.InDelta(t, 2, percentile([]time.Duration{1e6, 2e6, 3e6}, 0.5), 0)
	require.InDelta(t, 3, percentile([]time.Duration{1e6, 2e6, 3e6}, 0.95), 0)
}

func TestReport(t *testing.T) {
	t.Parallel()
	var all results
	for _, f := range []figures{{Recall10: 0.5, P50: 4}, {Recall10: 0.5, P50: 2}, {Recall10: 0.5, P50: 9}} {
		all = append(all, result{Set: "s", Rival: ours, Figures: f})
	}
	for _, f := range []figures{{Recall10: 0.4, P50: 1}, {Recall10: 0.4, P50: 3}, {Recall10: 0.4, P50: 2}} {
		all = append(all, result{Set: "s", Rival: "bm25", Figures: f})
	}
	all = append(all, result{Set: "s", Rival: overHTTP, Figures: figures{Recall10: 0.6}}) // is not compared
	file := filepath.Join(t.TempDir(), "results.json")
	all.write(file)
	require.Equal(t, all, readResults(file))
	rep := all.report()
	require.Equal(t, []lost{{"s", "bm25", "search p50 ms", "2.0", "4.0"}}, rep.lost)
	page := rep.page("../..")
	require.Contains(t, page, "| s | bm25 | search p50 ms | 2.0 | 4.0 | it runs in the process")
	require.Regexp(t, "\\| mem0 \\(Node.js\\) \\| `mem0ai` [0-9.]+ \\|", page)
	require.Contains(t, rep.text(), "in 8 of 9 cells (89 %): in 4 of 4 cells of what is found, and in 4 of 5 of what")
}

// An adapter is a process that is added to and asked, and its files and memory are measured.
func TestMeasure(t *testing.T) {
	name := filepath.Join(t.TempDir(), "life.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(sample), 0o600))
	require.NoError(t, must.Try(func() {
		r := &run{ctx: t.Context(), root: must.Get(program.Root(t.Context())), models: &models.Server{}}
		v := &rivals[slices.IndexFunc(rivals, func(v rival) bool { return v.name == "bm25" })]
		v.install(r.ctx, r.root)
		f := r.measure(v, readSet(name, 0))
		require.InDelta(t, 0.75, f.Recall10, 0, "one memory of the second question has none of its words")
		require.InDelta(t, 1, f.Precision, 0)
		require.Positive(t, f.Adds)
		require.Positive(t, f.P50)
		require.Positive(t, f.Bytes)
		require.Greater(t, f.Memory, 10.0)
	}))
}
