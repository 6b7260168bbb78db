package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/eval"
)

func TestEvalSample(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	d.ok("remember", "demo-maren", "Maren owns a red canoe.")
	before := d.rows()
	r := d.run("eval", sampleFile, "--json")
	require.Zero(t, r.code, r.err)
	require.Empty(t, r.unexpected())
	report := decoded[eval.Report](t, r.out)
	require.Equal(t, 29, report.All.N)
	require.Equal(t, map[string]int{"date": 4, "fact": 6, "multi": 6, "single": 13}, map[string]int{
		"date": report.Categories["date"].N, "fact": report.Categories["fact"].N,
		"multi": report.Categories["multi"].N, "single": report.Categories["single"].N})
	require.Greater(t, report.All.Hit10, 0.85, "it is an easy file")
	require.LessOrEqual(t, report.All.Recall5, report.All.Recall10)
	require.LessOrEqual(t, report.All.Recall20, report.All.Hit20)
	require.Positive(t, report.Latency.P50)
	require.LessOrEqual(t, report.Latency.P50, report.Latency.P99)
	keys := map[string]map[string]any{}
	require.NoError(t, json.Unmarshal([]byte(r.out), &keys))
	require.Len(t, keys, 3)
	require.Len(t, keys["all"], 7)
	require.Equal(t, before, d.rows(), "what was loaded is erased, and the users of the database are untouched")

	table := d.ok("eval", sampleFile, "--limit-questions", "5")
	require.Regexp(t, `^5 questions, 120 memories of 3 users, vectors of local-v1 with 1024 dimensions\n`, table)
	require.Regexp(t, `\nall +5 +[01]\.\d{3} `, table)
	require.Regexp(t, `A recall took \d+\.\d ms \(median\), \d+\.\d ms \(p95\), \d+\.\d ms \(p99\)\.`, table)
}

// The expected measures can be counted by hand: the words of each question occur in one memory.
func TestEvalByHand(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	name := lines(t,
		`{"type":"memory","user":"ada","id":"1","content":"The boat is called Heron."}`,
		`{"type":"memory","user":"ada","id":"2","content":"Bees live behind the shed."}`,
		`{"type":"memory","user":"bob","id":"1","content":"Wolves were heard at night."}`,
		`{"type":"memory","user":"ada","id":"0B6F0F0E-6A0A-4F0B-9E0D-1F2A3B4C5D6E","content":"Grandmother sang tango."}`,
		`{"type":"question","user":"ada","question":"heron boat","gold":["1"],"category":"found"}`,
		`{"type":"question","user":"bob","question":"wolves night","gold":["1"],"category":"found"}`,
		`{"type":"question","user":"ada","question":"grandmother `+
			`tango","gold":["0b6f0f0e-6a0a-4f0b-9e0d-1f2a3b4c5d6e"],"category":"found"}`,
		`{"type":"question","user":"ada","question":"bees shed","gold":["2","9"],"category":"half"}`,
		`{"type":"question","user":"bob","question":"wolves","gold":["2"],"category":"absent"}`,
		`{"type":"question","user":"bob","question":"nothing","gold":[]}`)
	r := d.run("eval", name, "--json")
	require.Zero(t, r.code, r.err)
	report := decoded[eval.Report](t, r.out)
	require.Equal(t, map[string]eval.Score{
		"found":  {N: 3, Recall5: 1, Recall10: 1, Recall20: 1, Hit5: 1, Hit10: 1, Hit20: 1},
		"half":   {N: 1, Recall5: 0.5, Recall10: 0.5, Recall20: 0.5, Hit5: 1, Hit10: 1, Hit20: 1},
		"absent": {N: 1},
	}, report.Categories)
	require.InDelta(t, 0.7, report.All.Recall10, 1e-12)
	require.Contains(t, r.err,
		`line 8: the gold id "9" is not that of a memory of that user in the file; it counts as not found.`)
	require.Contains(t, r.err, `line 9: the gold id "2" is not that of a memory of that user`)
	require.Equal(t, &eval.Precision{N: 5, Precision: 0.6, Recall: 0.7, Unknown: 1, Silent: 1}, report.Precision)
}

// Sessions as gold, what must not come back, and questions asked at a time or of some memories.
func TestEvalJudges(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	name := lines(t,
		`{"type":"memory","user":"ada","id":"1","session":"s1","at":"2026-01-01T08:00:00Z","content":"The boat is green.",`+
			`"metadata":{"about":"boat"}}`,
		`{"type":"memory","user":"ada","id":"2","session":"s1","at":"2026-01-01T08:01:00Z","content":"The boat is small."}`,
		`{"type":"memory","user":"ada","id":"3","session":"s2","at":"2026-02-01T08:00:00Z","content":"The boat boat is blue."}`,
		`{"type":"question","user":"ada","question":"the boat","gold_sessions":["s1"],"category":"late"}`,
		`{"type":"question","user":"ada","question":"the boat","gold_sessions":["s1","s2"],"at":"2026-01-15T00:00:00Z",`+
			`"category":"early"}`,
		`{"type":"question","user":"ada","question":"the boat","gold":["1"],"unwanted":["2"],"metadata":{"about":"boat"}}`,
		`{"type":"question","user":"ada","question":"the boat","gold":["1"],"unwanted":["2"]}`,
		`{"type":"question","user":"bob","question":"the boat","gold":[]}`,
		`{"type":"point","user":"ada","content":"ignored"}`)
	r := d.run("eval", name, "--json")
	require.Zero(t, r.code, r.err)
	report := decoded[eval.Report](t, r.out)
	require.Equal(t, 2, report.All.N)
	require.InDelta(t, 1, report.Sessions.Categories["late"].Recall5, 1e-12)
	require.InDelta(t, 0.5, report.Sessions.Categories["early"].Recall20, 1e-12, "the second session is later")
	require.InDelta(t, (1+0.5)/2, report.Precision.Precision, 1e-12, "the filter leaves out what is unwanted")
	require.Equal(t, 1, report.Precision.Unknown)
	shown := d.ok("eval", name, "--min-score", "0.01")
	require.Regexp(t, `(?s)\nSessions:\n\n.*\nlate .*The precision of 2 questions is 0.750 at a recall of 1.000.\n`+
		`Nothing unwanted was found for 1.000 of 1 question about which nothing is known.\n`, shown)
	require.Equal(t, exitUsage, d.run("eval", name, "--min-score", "-1").code)
}

func TestEvalTunes(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	before := d.rows()
	r := d.run("eval", "--tune", sampleFile, "--json")
	require.Zero(t, r.code, r.err)
	found := decoded[eval.Tuning](t, r.out)
	require.Equal(t, eval.Setting{"text": 1, "vector": 0.2, "entity": 0.1, "nearest": 60}, found.Present)
	require.GreaterOrEqual(t, found.After, found.Before)
	require.LessOrEqual(t, *found.LeftOut, 1.0)
	require.Contains(t, r.err, `"vector":1.5}: recall@10 `)
	require.Less(t, found.Scale["unrelated"], found.Scale["related"])
	require.Equal(t, before, d.rows(), "the setting is not changed")

	text := d.ok("eval", "--tune", sampleFile, "--limit-questions", "10")
	require.Regexp(t, `^present  recall@10 [01]\.\d{3}  \{"entity":0.1,"nearest":60,"text":1,"vector":0.2\}\nbest     `, text)

	d.exec(`insert into oxbow.settings (key, value) values ('recall', '{"unrelated": 0.98, "related": 0.99}')`)
	r = d.run("eval", "--tune", sampleFile)
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(regexp.MustCompile(`recall@10 \S+`).FindAllString(r.err, -1)))),
		1, "no vector is so similar, whatever its weight: %s", r.err)
}

func TestEvalKeeps(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	r := d.run("eval", sampleFile, "--keep")
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.err, "Kept 120 memories of users such as eval-")
	require.Equal(t, 120, d.number(`select count(*) from oxbow.memories where user_id like 'eval-%'`))
	require.Equal(t, 120, d.number(`select count(*) from oxbow.memory_vectors`))
	require.Zero(t, d.number(`select count(*) from oxbow.river_job`))
	require.Equal(t, 1, d.number(`select count(*) from oxbow.users where user_id like 'eval-%demo-zhouyun'
		and timezone = 'Etc/GMT-8'`))
}

// Without anything extracted, the messages are erased all the same.
func TestEvalExtractsNothing(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	require.Contains(t, d.ok("eval", "--extract", lines(t, `{"type":"memory","user":"ada","id":"1","content":"ok"}`,
		`{"type":"question","user":"ada","question":"heron boat","gold":["1"]}`)),
		"0 memories extracted from 1 message (0.00 per message).")
	require.Zero(t, d.rows())
	require.Zero(t, d.number(`select count(*) from oxbow.messages`))
}

// The facts that extraction should find.
func TestEvalPoints(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	name := lines(t,
		`{"type":"memory","user":"ada","id":"1","session":"s1","role":"user","content":"I am allergic to walnuts."}`,
		`{"type":"memory","user":"ada","id":"2","session":"s2","role":"user","content":"I live in Porto."}`,
		`{"type":"point","user":"ada","session":"s1","content":"The user is allergic to walnuts."}`,
		`{"type":"point","user":"ada","session":"s1","content":"The user lives in Porto."}`)
	r := d.run("eval", "--extract", name, "--json", "--point-similarity", "0.9")
	require.Zero(t, r.code, r.err)
	points := decoded[eval.Report](t, r.out).Points
	require.Equal(t, eval.Points{Memories: 2, Points: 2, Precision: 0.5, Recall: 0.5}, points.Words)
	require.Equal(t, &eval.Points{Memories: 2, Points: 2}, points.Embedding)
	require.Regexp(t, `\nwords +2 +0\.500 +2 +0\.500`, d.ok("eval", "--extract", name))
}

func TestEvalRefuses(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	for says, name := range map[string]string{
		"has no questions: add lines like": lines(t, `{"user":"ada","content":"x"}`),
		`line 1: gold must be a list of ids, got "1"`: lines(t,
			`{"type":"question","user":"ada","question":"q","gold":"1"}`),
		`some.jsonl: line 2: importance must be between 0 and 1, got 2`: lines(t,
			`{"type":"question","user":"ada","question":"q","gold":["1"]}`,
			`{"user":"ada","id":"1","content":"x","importance":2}`),
		"has points but no questions: use --extract": lines(t, `{"type":"point","user":"ada","content":"x"}`),
		"/no/such/file: no such file or direct":      "/no/such/file",
	} {
		r := d.run("eval", name, "--json")
		require.Equal(t, exitFailed, r.code)
		require.Contains(t, r.err, says)
		require.Empty(t, r.out)
	}
	r := d.run("eval", sampleFile, "--embedding-dimension", "64")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "vectors are from local-v1 with 1024 dimensions")
	require.Equal(t, exitUsage, d.run("eval", sampleFile, "--limit-questions", "-1").code)
	require.Equal(t, exitUsage, d.run("eval", sampleFile, "--extract", "--point-similarity", "NaN").code)
	r = d.run("eval", "--tune", lines(t, `{"type":"question","user":"ada","question":"q","gold":[]}`))
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "has no questions with gold, which --tune needs")
	require.Zero(t, d.rows())
}

// An interrupt while waiting for the provider ends the run, and the loaded data is erased.
func TestEvalInterrupted(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	d.exec(`update oxbow.settings set value = '{"model": "openai:tiny", "dimension": 1024}' where key = 'embedding'`)
	ctx, interrupt := context.WithCancel(t.Context())
	loaded := 0
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices only after reading that the client is gone
		loaded = d.number(`select count(*) from oxbow.memories`)
		interrupt()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	file, err := os.ReadFile(sampleFile)
	require.NoError(t, err)
	// One user, so that the provider gets one request.
	var some []string
	for line := range strings.Lines(string(file)) {
		if strings.Contains(line, `"user": "demo-thabo"`) {
			some = append(some, strings.TrimSpace(line))
		}
	}
	var out, errs bytes.Buffer
	code := run(ctx, []string{"eval", "--database-url", d.dsn, lines(t, some...), "--embedding-provider", "openai",
		"--embedding-model", "tiny",
		"--embedding-dimension", "1024", "--embedding-url", server.URL + "/v1"},
		&app{in: strings.NewReader(""), out: &out, err: &errs})
	require.Equal(t, exitFailed, code)
	require.Equal(t, "Interrupted. Erasing the temporary users.\noxbow: interrupted\n", errs.String())
	require.Empty(t, out.String())
	require.Positive(t, loaded)
	require.Zero(t, d.rows())
}

// All checks of the lives pass.
func TestEvalLives(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	r := d.run("eval", "../../examples/weights.jsonl", "--json")
	require.Zero(t, r.code, r.err)
	report := decoded[livesReport](t, r.out)
	var failed []string
	for _, f := range report.Failed {
		failed = append(failed, f.Life)
		require.NotEmpty(t, f.Found)
	}
	require.Empty(t, failed)
	require.Equal(t, 60, report.Lives)
	require.Zero(t, d.number(`select count(*) from oxbow.memories`), "the temporary users are erased")
	r = d.run("eval", lines(t, `{"life":"a-1","steps":[],"checks":[]}`))
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "line 1: a life must have a name and checks")
}
