package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/doctor"
	"github.com/oxbow-memory/oxbow/internal/gauges"
	"github.com/oxbow-memory/oxbow/store"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	require.Contains(t, d.ok("status"), "No memories yet.\n\nThe queue is empty.")

	d.ok("import", sampleFile)
	text := d.ok("status")
	require.Regexp(t, `database +oxbow\S*; schema (\d+) of \d+, River 8 of 8`, text)
	require.Contains(t, text, "local-v1 with 1024 dimensions")
	require.Regexp(t, `episodic +110 +0 +0 +0 +110\n`, text)
	require.Regexp(t, `embed +available +3 `, text)
	require.Regexp(t, `The oldest due job, embed \d+, has been waiting for \d+(\.\d)? \S+\.`, text)
	require.Contains(t, text, "The oldest memory to embed was stored ")
	s := decoded[databaseStatus](t, d.ok("status", "--json"))
	require.Equal(t, gauges.TypeCount{Type: store.Fact, Current: 9, Superseded: 1, Waiting: 10}, s.Memories[0])
	require.NotNil(t, s.OldestWaiting)
	require.Positive(t, s.EmbeddingLagSeconds)
	require.Equal(t, s.Oxbow.Latest, s.Oxbow.Current)

	d.work()
	d.ok("forget", "demo-maren", d.recall("demo-maren", "walnuts", "-n", "1")[0].ID.String())
	s = decoded[databaseStatus](t, d.ok("status", "--json"))
	require.Equal(t, gauges.TypeCount{Type: store.Fact, Current: 8, Superseded: 1, Forgotten: 1, Embedded: 10},
		s.Memories[0])
	require.Equal(t, gauges.TypeCount{Type: store.Episodic, Current: 110, Embedded: 110}, s.Memories[1])
	require.Nil(t, s.OldestWaiting)
	require.Zero(t, s.EmbeddingLagSeconds)
	require.Empty(t, s.Jobs)
	require.True(t, s.Provider.OK)
	require.True(t, s.Provider.MatchesVectors)
}

func TestStatusOfJobs(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	d.ok("remember", "ada", "x")
	d.exec(`update oxbow.river_job
		set state = 'discarded', attempt = 25, finalized_at = now(), created_at = now() - interval '3 days',
		errors = array['{"at": "2025-01-01T00:00:00Z", "attempt": 25, "error": "the disk is full", "trace": ""}']::jsonb[]`)
	text := d.ok("status")
	require.Regexp(t, `embed +discarded +1 +3\.0 days +the disk is full`, text)
	require.Contains(t, text, "No job is due.")
	require.NotContains(t, text, "memory to embed", "nobody is going to")
}

func TestStatusOfReasoner(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	require.NotContains(t, d.ok("status"), "reasoner", "the rules answer always")
	call := `insert into oxbow.llm_calls (user_id, purpose, model, attempt, started_at, latency, error)
		values ('ada', 'reflect', 'openai/m', 1, now() - interval '`
	d.exec(call + `3 hours', '1 s', null)`)
	require.Regexp(t, `reasoner +openai/m answered 3\.0 h ago\n`, d.ok("status"))
	d.exec(call + `30 minutes', '1 s', 'the server is away')`)
	d.exec(call + `20 minutes', '1 s', 'the server is still away')`)
	require.Regexp(t, `reasoner +openai/m: 2 calls failed in the last 30 min: the server is still away; no job waits `+
		`for it\n`, d.ok("status"))
	d.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args, state, scheduled_at, metadata)
		values ('reflect', 'reflect', 25, '{}', 'scheduled', now() + interval '1 minute', '{"snoozes": 3}')`)
	require.Regexp(t, `reasoner +openai/m: 2 calls failed in the last 30 min: the server is still away; waiting for `+
		`it: 1 job\n`, d.ok("status"))
	s := decoded[databaseStatus](t, d.ok("status", "--json"))
	require.WithinDuration(t, time.Now().Add(-30*time.Minute), *s.Reasoner.DownSince, time.Minute)
}

func TestStatusOfMessages(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	require.NotContains(t, d.ok("status"), "extraction")
	d.exec(`insert into oxbow.messages (user_id, session_id, content) select 'ada', 's1', 'number ' || n
		from generate_series(1, 3) n`)
	require.Regexp(t, `messages +3 waiting for extraction\n`, d.ok("status"))
	d.exec(`update oxbow.messages set extract_failures = 2, extract_error = 'that is prose' where content = 'number 1'`)
	d.exec(`update oxbow.messages set extract_failures = 5, extract_error = E'it has\na line'
		where content = 'number 2'`)
	require.Regexp(t,
		`messages +3 waiting for extraction; 2 failed, up to 5 times, and will be retried: it has a line\n`,
		d.ok("status"))
	s := decoded[databaseStatus](t, d.ok("status", "--json"))
	require.Equal(t, gauges.MessageCount{Waiting: 3, Failing: 2, Failures: 5, LastError: "it has\na line"}, s.Messages)
	d.exec(`update oxbow.messages set extracted_at = now() where content <> 'number 1'`)
	require.Regexp(t,
		`messages +1 waiting for extraction; 1 failed, up to 2 times, and will be retried: that is prose\n`,
		d.ok("status"))
}

func TestStatusOfProvider(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"the key is wrong"}}`, http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	flags := []string{"status", "--embedding-provider", "openai", "--embedding-model", "tiny", "--embedding-dimension",
		"1024",
		"--embedding-url", server.URL + "/v1"}
	require.Contains(t, d.ok(flags...), "openai:tiny with 1024 dimensions does not match the vectors")
	d.exec(`update oxbow.settings set value = '{"model": "openai:tiny", "dimension": 1024}' where key = 'embedding'`)
	text := d.ok(flags...)
	require.Contains(t, text, "openai:tiny fails: ")
	require.Contains(t, text, "401")
	s := decoded[databaseStatus](t, d.ok(append(flags, "--json")...))
	require.False(t, s.Provider.OK)
	require.True(t, s.Provider.MatchesVectors)
	require.Contains(t, s.Provider.Error, "401")
}

// A provider that workers do not call for a time is shown with since when, until when and why.
func TestStatusOfPauses(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	require.NotContains(t, d.ok("status"), "paused")
	now := time.Now()
	p := store.Pause{Provider: "embedding", Since: now.Add(-30 * time.Minute), Until: now.Add(5 * time.Minute), Failures: 4,
		Error: "HTTP status 429"}
	require.NoError(t, store.NotePause(t.Context(), d.kept(), p))
	require.Regexp(t, `paused +the embedding provider has failed for 30 min and is not called for another 5 min: `+
		`HTTP status 429\n`, d.ok("status"))
	s := decoded[databaseStatus](t, d.ok("status", "--json"))
	require.Len(t, s.Pauses, 1)
	require.WithinDuration(t, p.Until, s.Pauses[0].Until, time.Second)
	d.finds("model", doctor.LevelWarning, "the embedding provider has failed for 30 min and is not called for another 5 min")

	p.Until = now // it is over
	require.NoError(t, store.NotePause(t.Context(), d.kept(), p))
	require.NotContains(t, d.ok("status"), "paused")
}
