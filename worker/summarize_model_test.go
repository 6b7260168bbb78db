package worker

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/llm/llmtest"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/jobs"
)

// A summary waits while the summarizer is down. An invalid answer is retried; after the last
// attempt, the next summary begins with the later messages.
func TestSummarizerFails(t *testing.T) {
	b := setup(t)
	c := b.chronicle()
	c.before = func(int, reasoner.Told) error { return &reasoner.UnavailableError{Err: errors.New("it is away")} }
	b.exec(`insert into oxbow.messages (user_id, session_id, content, seq) select 'ann', 's1', 'event: number ' || n, n
		from generate_series(1, 40) n`)
	require.ErrorAs(t, b.drain(), new(*UnfinishedError))
	require.Equal(t, 8*5, b.count(`oxbow.memories`), "extraction goes on")
	j := b.job("summarize")
	require.Zero(t, j.Attempt)
	c.before = func(int, reasoner.Told) error { return &reasoner.AnswerError{Problem: "that is prose"} }
	b.hurry()
	require.ErrorAs(t, b.drain(), new(*UnfinishedError))
	j = b.job("summarize")
	require.Equal(t, "retryable", j.State)
	require.Contains(t, j.LastError, "that is prose")
	b.exec(`update oxbow.river_job set attempt = 8 where kind = 'summarize'`)
	b.work()
	require.Empty(t, b.summaries("ann"))
	c.before = nil
	b.chat("ann", "s1", 41, 80)
	require.Equal(t, []string{numbers(41, 80)}, b.summaries("ann"))
}

// A language model writes the summary, within the user's daily tokens.
func TestSummaryByModel(t *testing.T) {
	b := setup(t)
	server := llmtest.New(t)
	b.cfg.Reasoner = ReasonerConfig{Provider: "openai", Model: "m", URL: server.URL(), APIKey: "k"}
	server.Answer(func(r llmtest.Request) llmtest.Reply {
		if r.Purpose == "summarize" {
			return llmtest.Say(llmtest.Summary("米娅的对话有" + fmt.Sprint(len(r.Data("messages"))) + "条新消息。"))
		}
		return llmtest.Nothing(r)
	})
	var said []string
	for i := range 35 {
		said = append(said, fmt.Sprintf("今天是第%d天。", i))
	}
	b.say("米娅", "s1", said...)
	b.work()
	require.Equal(t, []string{"米娅的对话有35条新消息。"}, b.summaries("米娅"))
	require.Equal(t, 1, b.count(`oxbow.llm_calls where purpose = 'summarize' and job_id is not null
		and cycle_id is null`))
	require.Equal(t, 1, b.count(`oxbow.memory_history where event = 'ADD' and actor = 'openai/m'`))

	b.exec(`update oxbow.llm_calls set prompt_tokens = 1000000 where purpose = 'summarize'`)
	b.say("米娅", "s1", said...)
	b.work()
	b.cfg.DailyTokens = 100
	b.exec(`update oxbow.sessions set summarized_seq = 0, summary_id = null`)
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args)
		values ('summarize', 'reflect', 25, '{"user_id": "米娅", "session_id": "s1"}')`)
	require.ErrorAs(t, b.drain(), new(*UnfinishedError))
	require.Equal(t, 1, b.count(`oxbow.river_job where kind = 'summarize' and state = 'scheduled'
		and scheduled_at > now() + interval '30 minutes'`))
}

func TestSummarizeArgsAreChecked(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args)
		values ('summarize', 'reflect', 25, '{"user_id": "ann"}')`)
	require.NoError(t, b.drain())
	require.Contains(t, b.job("summarize").LastError, "need a user and a session")
	require.Equal(t, "summarize", jobs.SummarizeArgs{}.Kind())
}
