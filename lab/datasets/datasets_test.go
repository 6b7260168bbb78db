package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// invent makes a repository with these files and returns its directory and commit. The content of the held-out files is
// removed from its objects, so that git fails to read it.
func invent(t *testing.T, files map[string]string, heldOut ...string) (dir, commit string) {
	t.Helper()
	dir = t.TempDir()
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", output)
		return strings.TrimSpace(string(output))
	}
	git("init", "--quiet")
	git("config", "uploadpack.allowFilter", "true")
	git("config", "uploadpack.allowAnySHA1InWant", "true")
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	git("add", "-A")
	git("commit", "--quiet", "-m", "data")
	for _, name := range heldOut {
		id := git("rev-parse", "HEAD:"+name)
		require.NoError(t, os.Remove(filepath.Join(dir, ".git", "objects", id[:2], id[2:])))
		require.Error(t, exec.Command("git", "-C", dir, "cat-file", "-p", id).Run(), "it cannot be read any more")
	}
	return dir, git("rev-parse", "HEAD")
}

// converted returns the lines of a set whose repository is dir.
func converted(t *testing.T, s set, dir, commit string) (lines []line) {
	t.Helper()
	require.NoError(t, must.Try(func() { lines = s.convert(&repository{dir, commit}) }))
	return lines
}

func ofType(lines []line, kind string) (found []line) {
	for _, l := range lines {
		if l.Type == kind {
			found = append(found, l)
		}
	}
	return found
}

const person = `{"dialogues":[
	{"session_uuid":"a1","current_time":"2025-12-15 (Monday)","dialogue_turns":[
		{"speaker":"User","content":"My boat is %s.","is_query":false},
		{"speaker":"Assistant","content":"A fine boat.","is_query":false},
		{"speaker":"Assistant","content":"","is_query":false}],
	 "extracted_memory":[{"index":"P-1","content":"【Boats】 User has a boat.","source_role_snapshot":"User"}]},
	{"session_uuid":"b2","current_time":"2025-12-14 (Sunday)","dialogue_turns":[
		{"speaker":"User","content":"Which boat?","is_query":true,"category_name":"Static"},
		{"speaker":"Assistant","content":"Yours.","memory_session_uuids":["b2","a1"]},
		{"speaker":"User","content":"And before?","is_query":true,"category_name":"Static"},
		{"speaker":"Assistant","content":"Unknown.","memory_session_uuids":[],"memory_used":[]}],
	 "extracted_memory":[]}]}`

func inventPeople(t *testing.T) (dir, commit string) {
	t.Helper()
	files := map[string]string{"dataset/Somebody_Else_dialogues_256k.json": fmt.Sprintf(person, "secret")}
	for _, name := range []string{"Adeleke_Okonjo", "Ethan_Hunt", "Kenta_Tanaka", "Kim_Ji_young", "Liam_O_Connor"} {
		files["dataset/"+name+"_dialogues_256k.json"] = fmt.Sprintf(person, "of "+name)
	}
	return invent(t, files, "dataset/Somebody_Else_dialogues_256k.json")
}

// What is held out is never read: git would fail.
func TestHeldOutFilesAreNotRead(t *testing.T) {
	t.Parallel()
	dir, commit := inventPeople(t)
	require.Equal(t, tally{memories: 30, questions: 5, points: 5, users: 5}, count(converted(t, realmem, dir, commit)))

	clone := &repository{commit: commit}
	require.NoError(t, must.Try(func() {
		clone.clone(t.Context(), filepath.Join(t.TempDir(), "clone"), "file://"+dir)
		require.Len(t, realmem.convert(clone), 40)
	}), "a clone fetches only what is read")
	require.Error(t, must.Try(func() { clone.file("dataset/Somebody_Else_dialogues_256k.json") }))
}

func TestRealMem(t *testing.T) {
	t.Parallel()
	dir, commit := inventPeople(t)
	lines := converted(t, realmem, dir, commit)[:8]
	first := ofType(lines, "memory")[0]
	require.Equal(t, "2025-12-15T08:00:00Z", first.At.Format("2006-01-02T15:04:05Z07:00"))
	require.Equal(t, "Adeleke Okonjo", first.Speaker)
	require.Equal(t, "user", first.Role)
	asked := ofType(lines, "question")
	require.Len(t, asked, 1, "a question without earlier sessions is none")
	require.Equal(t, []string{"a1"}, asked[0].GoldSessions)
	require.Equal(t, "08:29:59", asked[0].At.Format("15:04:05"), "before its own session")
	require.Equal(t, "User has a boat.", ofType(lines, "point")[0].Content)
}

func TestMemDaily(t *testing.T) {
	t.Parallel()
	trajectory := func(name string) string {
		return `{"tid":0,"message_list":[{"mid":0,"message":"` + name + `","time":"2024年04月01日 周一 08:42"}],
			"question_list":[{"question":"` + name + `?","answer":"x","target_step_id":[0]}]}`
	}
	file := "[" + trajectory("even 0") + "," + trajectory("odd 1") + "," +
		strings.Replace(trajectory("failed"), "failed?", "[ERRORQ]", 1) + "," + trajectory("even 2") + "," +
		trajectory("odd 3") + "]"
	files := map[string]string{"data_generation/final_dataset/memdaily.json": "held out"}
	for _, kind := range memdailyKinds {
		for _, about := range []string{"roles", "events", "items", "places", "hybrid"} {
			files["data_generation/final_dataset/messages_and_QAs/"+kind.file+"_"+about+".json"] = file
		}
	}
	dir, commit := invent(t, files, "data_generation/final_dataset/memdaily.json")
	lines := converted(t, memdaily, dir, commit)
	require.Equal(t, tally{memories: 52, questions: 52, users: 1}, count(lines))
	for _, l := range lines {
		require.NotContains(t, l.Content+l.Question, "even")
		require.NotContains(t, l.Content+l.Question, "failed")
	}
	require.Equal(t, "2024-04-01T08:42:00+08:00", lines[0].At.Format("2006-01-02T15:04:05Z07:00"))
	require.Equal(t, []string{lines[0].ID}, lines[1].Gold)
	require.Equal(t, "post-processing", ofType(lines, "question")[40].Category)
}

func TestMADial(t *testing.T) {
	t.Parallel()
	dialogue := func(said string) string {
		return `{"dialogue":["<BOD>\n","<Bart>: \"` + said + `\"\n","<Assistant>:\"It was \"good\".\"\n","<EOD>\n"],
			"test-turn":[2],"relevant-id":[7],"user-id":2}` + "\n"
	}
	memory := `{"7": {"time": "2023-12-25", "event": "Lisa sang."%s}}` + "\n"
	dir, commit := invent(t, map[string]string{
		"data/ch/MADial-Bench-zh-memory.json":   fmt.Sprintf(memory, `, "user-id": 2`),
		"data/en/MADial-Bench-en-memory.json":   fmt.Sprintf(memory, ""),
		"data/en/MADial-Bench-en-dialogue.json": dialogue("even") + dialogue("odd") + dialogue("even"),
	})
	lines := converted(t, madialEnglish, dir, commit)
	require.Len(t, lines, 2)
	require.Equal(t, "2", lines[0].User)
	require.Equal(t, "Lisa sang.", lines[0].Content)
	require.Equal(t, line{Type: "question", User: "2", Question: "Bart: odd", Gold: []string{"7"}}, lines[1])
}

func TestPrecisionMemBench(t *testing.T) {
	t.Parallel()
	dir, commit := invent(t, map[string]string{
		"fixtures/beliefs.seed.json": `[
			{"_id":"a","user_id":"test-user","canonical_name":"redis","aliases":["cache"],"content":"Uses Redis.",
			 "why_it_matters":"Speed.","scope":["code"]},
			{"_id":"b","user_id":"test-user","canonical_name":"old","content":"Used X.","scope":["code"],"superseded_by":"a"},
			{"_id":"c","user_id":"test-user","canonical_name":"short","content":"Be short.","scope":["code"],"pinned":true},
			{"_id":"d","user_id":"test-user","canonical_name":"mara","content":"A heroine.","scope":["novel"],"pinned":true},
			{"_id":"e","user_id":"other","canonical_name":"secret","content":"Haskell.","scope":["code"]}]`,
		"fixtures/retrieval.cases.json": `[
			{"category":"A","scope":["code"],"query":"cache?","expect":{"relevantBeliefs":{"shouldOnlyInclude":["a"]}}},
			{"category":"A","scope":["code"],"query":"  ","expect":{}},
			{"category":"A","scope":["code"],"query":"no room?","budget":{"maxBeliefs":1},"expect":{}},
			{"category":"A","scope":["code","novel"],"query":"all?","budget":{"maxBeliefs":8},"expect":{}},
			{"category":"A","userId":"new","scope":["code"],"query":"who?","expect":{}}]`,
		"fixtures/session-retrieval.cases.json": `[{"turns":[{"label":"drift","scope":["novel"],"userMessage":"Mara?",
			"expect":{"relevantBeliefs":{"shouldOnlyInclude":[]}}}]}]`,
	})
	lines := converted(t, precisionScoped, dir, commit)
	require.Equal(t, "redis cache Uses Redis. Speed.", lines[0].Content)
	scope := func(s string) map[string]any { return map[string]any{"scope": []string{s}} }
	require.Equal(t, scope("novel"), lines[3].Metadata)
	none := []string{}
	require.Equal(t, []line{
		{Type: "question", User: "test-user", Question: "cache?", Gold: []string{"a"}, Unwanted: []string{"b", "d"},
			Category: "A", Metadata: scope("code")},
		{Type: "question", User: "test-user", Question: "all?", Gold: none, Unwanted: []string{"a", "b"}, Category: "A"},
		{Type: "question", User: "new", Question: "who?", Gold: none, Category: "A", Metadata: scope("code")},
	}, ofType(lines, "question"))
	require.Nil(t, ofType(converted(t, precision, dir, commit), "question")[0].Metadata)
	require.Equal(t, []line{{Type: "question", User: "test-user", Question: "Mara?", Gold: none,
		Unwanted: []string{"a", "b", "c"}, Category: "drift"}},
		ofType(converted(t, precisionSessions, dir, commit), "question"))
}

func TestAgreement(t *testing.T) {
	t.Parallel()
	accuracy, kappa := compare([]pair{{Match: true, cosine: 0.9}, {Match: true, cosine: 0.1}, {cosine: 0.5}, {cosine: 0.2}}, 0.6)
	require.InDelta(t, 0.75, accuracy, 1e-12)
	require.InDelta(t, 0.5, kappa, 1e-12)
	require.Equal(t, 200, strings.Count(string(pairs), "\n"))
}

func TestCommand(t *testing.T) {
	t.Parallel()
	from, to := filepath.Join(t.TempDir(), "given.jsonl"), t.TempDir()
	require.NoError(t, os.WriteFile(from, []byte(`{"type":"memory","user":"u","content":"x"}`+"\n"), 0o644))
	var out strings.Builder
	run := func(args ...string) error {
		return must.Try(func() { command(t.Context(), &out, append([]string{"-to", to}, args...)) })
	}
	require.NoError(t, run("-from", "locomo="+from, "locomo"))
	require.Equal(t, "locomo: 1 memories, 0 questions and 0 points of 1 users\n", out.String())
	written, err := os.ReadFile(filepath.Join(to, "locomo.jsonl"))
	require.NoError(t, err)
	require.Contains(t, string(written), `"content":"x"`)
	require.ErrorContains(t, run("locomo"), "give -from locomo=FILE")
	require.ErrorContains(t, run("nosuch"), `unknown set "nosuch"`)
	require.ErrorContains(t, run("-from", "realmem="+to, "realmem"), "cannot read dataset/Adeleke_Okonjo_dialogues_256k.json")
}
