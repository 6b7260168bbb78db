package llm

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"

	"github.com/oxbow-memory/oxbow/internal/llm/llmtest"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// A bad answer is repaired once; a second one is an error.
func TestRepair(t *testing.T) {
	t.Parallel()
	nothing := llmtest.Reflection{}.JSON()
	for name, c := range map[string]struct {
		reply   llmtest.Reply
		problem string
	}{
		"prose":         {llmtest.Prose(), "not a JSON object"},
		"broken JSON":   {llmtest.BrokenJSON(), "does not fit the schema"},
		"a list":        {llmtest.Say("[]"), "not a JSON object"},
		"nothing of it": {llmtest.Say("{}"), "is missing"},
		"null lists": {llmtest.Say(
			`{"patterns": null, "reinforcements": [], "contradictions": [], "clusters": []}`), `"patterns" is missing`},
		"unknown member": {llmtest.Say(strings.Replace(nothing, "{", `{"confidence": 1, `, 1)),
			"a member that the schema does not have"},
		"a number in it": {llmtest.Say(
			`{"patterns": [{"content": "likes tea", "confidence": 1}], "reinforcements": [], "contradictions": [], "clusters": []}`), "a member that the schema does not have"},
		"a wrong type": {llmtest.Say(strings.Replace(nothing, `"clusters":[]`, `"clusters":"none"`, 1)),
			`"clusters" must not be a JSON string`},
		"two answers":    {llmtest.Say(nothing + nothing), "something follows"},
		"prose after it": {llmtest.Say(nothing + " Is that right?"), "something follows"},
		"found invalid": {llmtest.StatusCode(400, "json_validate_failed", "Generated JSON does not match the expected schema."),
			"the server says that it does not fit"},
		"cut off":         {llmtest.Truncated(nothing), "cut off after 80 tokens"},
		"filtered":        {llmtest.Filtered(), "content filter"},
		"empty":           {llmtest.Say(" \n"), "empty"},
		"a fence alone":   {llmtest.Fenced(""), "not a JSON object"},
		"thoughts no end": {llmtest.Say("<think>hm " + nothing), "not a JSON object"},
		"a review instead": {llmtest.Say(llmtest.Verdict{Action: "keep"}.JSON()),
			"a member that the schema does not have"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.server.Next(c.reply)
			proposals, err := b.Reflect(b.ctx, batch())
			require.NoError(t, err)
			require.Zero(t, proposals)
			require.Len(t, b.calls, 2)
			require.ErrorContains(t, b.calls[0].Err, c.problem)
			require.NoError(t, b.calls[1].Err)
			require.Equal(t, []int{1, 2}, []int{b.calls[0].Attempt, b.calls[1].Attempt})
			repair := b.server.Requests()[1].Messages
			require.Contains(t, repair[len(repair)-1].Content, c.problem, "the model is told what is wrong")
			require.Equal(t, []string{"m1", "m2", "m3"}, b.server.Requests()[1].Memories(),
				"and sees the question again")
			require.Equal(t, string(b.server.Requests()[0].Schema), string(b.server.Requests()[1].Schema))

			b.server.Answer(func(llmtest.Request) llmtest.Reply { return c.reply })
			proposals, err = b.Reflect(b.ctx, batch())
			var useless *reasoner.AnswerError
			require.ErrorAs(t, err, &useless)
			require.Contains(t, useless.Problem, c.problem)
			require.Zero(t, proposals)
			require.Len(t, b.server.Requests(), 4)
		})
	}
}

// The repair shows the model its own answer, unless it was cut off: a model that repeated itself would go on.
func TestRepairShowsTheAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.Next(llmtest.BrokenJSON())
	_, err := b.Reflect(b.ctx, batch())
	require.NoError(t, err)
	repair := b.server.Requests()[1].Messages
	require.Len(t, repair, 4)
	require.Equal(t, "assistant", repair[2].Role)
	require.Equal(t, `{"patterns": [{"clue": "", "content": "runs bef`, repair[2].Content)

	b.server.Next(llmtest.Truncated(`{"patterns": [`))
	_, err = b.Reflect(b.ctx, batch())
	require.NoError(t, err)
	repair = b.server.Requests()[3].Messages
	require.Len(t, repair, 2, "some servers refuse two messages of the user in a row")
	require.Contains(t, repair[1].Content, "cut off after 80 tokens")
}

func TestTolerated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	answer := llmtest.Reflection{Patterns: []llmtest.Pattern{{Content: "runs before work",
		Evidence: llmtest.On("m1", "m3")}}}.JSON()
	for _, reply := range []llmtest.Reply{llmtest.Fenced(answer), llmtest.Say("```\n" + answer + "```\n"),
		llmtest.Say("<think>{two runs}</think>\n" + answer), llmtest.Say("two runs</think>\n" + answer),
		llmtest.Say(strings.Replace(answer, "runs before", "</think> runs before", 1)),
		llmtest.Fenced(strings.Replace(answer, "runs before", "</think> runs before", 1)), llmtest.Say("\n" + answer + "\n"),
		llmtest.SayUncounted(answer)} {
		b.server.Next(reply)
		proposals, err := b.Reflect(b.ctx, batch())
		require.NoError(t, err)
		require.Len(t, proposals.Patterns, 1)
	}
	require.Len(t, b.calls, 8)
	require.Zero(t, b.calls[7].PromptTokens, "not counted by the server")
	require.Zero(t, b.calls[7].CompletionTokens)
}

// Failures that only waiting or a person can fix are not retried.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	elsewhere := llmtest.New(t)
	for name, c := range map[string]struct {
		reply llmtest.Reply
		after time.Duration
		says  string
	}{
		"too many requests": {llmtest.TooManyRequests(17 * time.Second), 17 * time.Second,
			"rate limit reached (HTTP status 429)"},
		"too many, no time": {llmtest.TooManyRequests(-1), 0, "429"},
		"broken":            {llmtest.Status(500, "oops"), 0, "oops (HTTP status 500)"},
		"overloaded":        {llmtest.Status(503, "overloaded"), 0, "503"},
		"slow":              {llmtest.Status(408, "slow"), 0, "408"},
		"the key is in it":  {llmtest.EchoKey(), 0, "incorrect key in Bearer (API key); check the API key"},
		"forbidden":         {llmtest.Status(403, "no"), 0, "check the API key"},
		"no such model":     {llmtest.Status(404, "no such model"), 0, `check the model "gpt-5-mini" and the URL`},
		"no money":          {llmtest.Status(402, "insufficient balance"), 0, "insufficient balance"},
		"refused":           {llmtest.Status(400, "I do not like it"), 0, "I do not like it (HTTP status 400)"},
		"a redirect":        {llmtest.Redirect(elsewhere.URL()), 0, "which is not followed"},
		"no answer":         {llmtest.Drop(), 0, "does not answer"},
		"an endless answer": {llmtest.Endless(), 0, "more than 8388608 bytes"},
		"a page":            {llmtest.Raw("<html>gateway</html>"), 0, "is not a chat completion; check the URL"},
		"no choices":        {llmtest.Raw(`{"choices": []}`), 0, "is not a chat completion"},
		"an echo": {llmtest.Status(400, "input_value='Another run before work, in the rain.'"), 0,
			"said: something that quotes the request (HTTP status 400)"},
		"an echo with success": {llmtest.Raw(`{"error": {"message": "bad text: Went for a run before work."}}`), 0,
			"said: something that quotes the request (HTTP status 200)"},
		"the prompt is no secret": {llmtest.Status(500, "You help an application to understand one person"), 0,
			"said: You help an application"},
		"an error with success": {llmtest.Raw(`{"error": {"message": "backend is gone"}}`), 0, "backend is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.server.Answer(func(llmtest.Request) llmtest.Reply { return c.reply })
			proposals, err := b.Reflect(b.ctx, batch())
			var down *reasoner.UnavailableError
			require.ErrorAs(t, err, &down)
			require.Zero(t, proposals)
			require.Equal(t, c.after, down.RetryAfter)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), key)
			require.Len(t, b.server.Requests(), 1)
			require.Len(t, b.calls, 1)
			require.Equal(t, err, b.calls[0].Err)
			require.Zero(t, b.calls[0].PromptTokens)
		})
	}
	t.Cleanup(func() { require.Empty(t, elsewhere.Requests()) })
}

// What quotes 24 bytes of the data may quote a user; a few words may be there by chance.
func TestHideQuotes(t *testing.T) {
	t.Parallel()
	sent := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeSystem, "You help an application to remember its user."),
		llms.TextParts(llms.ChatMessageTypeHuman, `{"text": "昨天和老王去医院复查血糖。Then had a cup of green tea."}`)}
	for said, hidden := range map[string]bool{
		"输入内容不当：和老王去医院复查血糖":                                  true,
		"输入内容不当：老王":                                          false,
		"bad: had a cup of green tea.":                       true,
		"bad: green tea":                                     false,
		"bad: You help an application to remember its user.": false,
		"": false,
	} {
		require.Equal(t, hidden, hideQuotes(said, sent) != said, said)
	}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	b := setup(t, func(cfg *Config) { cfg.Timeout = 100 * time.Millisecond })
	b.server.Answer(func(llmtest.Request) llmtest.Reply { return llmtest.Hang() })
	_, err := b.Reflect(b.ctx, batch())
	require.ErrorAs(t, err, new(*reasoner.UnavailableError))
	require.ErrorContains(t, err, "no answer within 100ms")

	b = setup(t)
	b.server.Answer(func(llmtest.Request) llmtest.Reply { return llmtest.Hang() })
	ctx, cancel := context.WithCancel(b.ctx)
	go func() {
		<-b.server.Hanging()
		cancel()
	}()
	_, err = b.Reflect(ctx, batch())
	require.Equal(t, context.Canceled, err)
	require.Len(t, b.calls, 1)
	_, err = b.Reflect(ctx, batch())
	require.Equal(t, context.Canceled, err)
	require.Len(t, b.server.Requests(), 1)
}

// A model that repeats itself until the limit does not answer in time on a slow server. Its answers get shorter until they
// are cut off in time, which counts as an invalid answer. They get longer again once the server is fast.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	b := setup(t, func(cfg *Config) { cfg.Timeout, cfg.MaxTokens = 2*time.Second, 2048 })
	b.server.Answer(func(r llmtest.Request) llmtest.Reply {
		if r.MaxTokens > 600 {
			return llmtest.Hang()
		}
		return llmtest.Truncated(`{"patterns": [`)
	})
	for range 2 {
		_, err := b.Reflect(b.ctx, batch())
		require.ErrorAs(t, err, new(*reasoner.UnavailableError))
	}
	b.server.Next(llmtest.Slow(time.Second, llmtest.Truncated(`{"patterns": [`)),
		llmtest.Slow(time.Second, llmtest.Truncated(`{"patterns": [`)))
	_, err := b.Reflect(b.ctx, batch())
	require.ErrorAs(t, err, new(*reasoner.AnswerError))
	b.server.Answer(func(r llmtest.Request) llmtest.Reply { return llmtest.Truncated(`{"patterns": [`) })
	_, err = b.Reflect(b.ctx, batch())
	require.ErrorAs(t, err, new(*reasoner.AnswerError))
	_, err = b.Reflect(b.ctx, batch())
	require.ErrorAs(t, err, new(*reasoner.AnswerError))
	var limits []int
	for _, r := range b.server.Requests() {
		limits = append(limits, r.MaxTokens)
	}
	require.Equal(t, []int{2048, 1024, 512, 512, 512, 1024, 2048, 2048}, limits)
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	b := setup(t, func(cfg *Config) { cfg.URL = "http://user:pass@127.0.0.1:1/v1?token=x" })
	_, err := b.Reflect(b.ctx, batch())
	require.ErrorAs(t, err, new(*reasoner.UnavailableError))
	require.ErrorContains(t, err, "http://127.0.0.1:1/v1 does not answer")
	require.NotContains(t, err.Error(), "pass")
	require.NotContains(t, err.Error(), "token")
}

// If a prompt is too long or a filter refuses it, waiting does not help; asking about fewer
// memories does.
func TestPromptRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply llmtest.Reply
		says  string
	}{
		"context":          {llmtest.ContextExceeded(), "longer than the model gpt-5-mini reads"},
		"by another name":  {llmtest.Status(400, "the request exceeds the available context size"), "longer than"},
		"too large":        {llmtest.Status(413, ""), "longer than"},
		"more than minute": {llmtest.Status(429, "Request too large for gpt-5-mini on tokens per min"), "longer than"},
		"filter": {llmtest.StatusCode(400, "content_filter", "the prompt triggered a policy"),
			"content filter refuses the prompt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.server.Answer(func(llmtest.Request) llmtest.Reply { return c.reply })
			_, err := b.Reflect(b.ctx, batch())
			require.ErrorAs(t, err, new(*reasoner.AnswerError))
			require.ErrorContains(t, err, c.says)
			require.Len(t, b.server.Requests(), 1, "asking again does not help")
		})
	}
}

// If a server does not support a parameter, it is asked without the parameter from then on.
func TestAdapts(t *testing.T) {
	t.Parallel()
	b := setup(t, func(cfg *Config) { cfg.Model = "local" })
	b.server.Answer(func(r llmtest.Request) llmtest.Reply {
		body := string(r.Body)
		switch {
		case r.Format == "json_schema":
			return llmtest.Status(400, "response_format: json_schema is not supported")
		case r.Temperature != nil && *r.Temperature != 1:
			return llmtest.Status(400, "temperature: only 1 is supported")
		case strings.Contains(body, "max_completion_tokens"):
			return llmtest.Status(422, "extra field max_completion_tokens")
		case strings.Contains(body, "max_tokens"):
			return llmtest.Status(400, "max_tokens is too large")
		}
		return llmtest.Nothing(r)
	})
	_, err := b.Reflect(b.ctx, batch())
	require.NoError(t, err)
	require.Len(t, b.calls, 6)
	require.NoError(t, b.calls[5].Err)
	_, err = b.Reflect(b.ctx, batch())
	require.NoError(t, err)
	require.Len(t, b.calls, 7)
	last := b.server.Requests()[6]
	require.Equal(t, "json_object", last.Format)
	require.Contains(t, last.Messages[0].Content, `"reinforcements"`, "the prompt has the schema now")
	require.Zero(t, last.MaxTokens)
}

// Lists and texts are limited in the schema, so that a model that repeats itself comes to their end, unless the server
// refuses that.
func TestBoundedLists(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.Answer(func(r llmtest.Request) llmtest.Reply {
		if bytes.Contains(r.Schema, []byte("maxItems")) {
			return llmtest.Status(400, "Invalid schema: 'maxItems' is not permitted.")
		}
		return llmtest.Nothing(r)
	})
	given := batch()
	given.Memories[0].Content = `a schema with "type":"array" in it`
	for range 2 {
		_, err := b.Reflect(b.ctx, given)
		require.NoError(t, err)
	}
	requests := b.server.Requests()
	require.Len(t, requests, 3)
	require.Contains(t, string(requests[0].Schema), `"type":"array","maxItems":3,"items"`)
	require.Contains(t, string(requests[0].Schema), `"type":"string","maxLength":300,`)
	require.Equal(t, given.Memories[0].Content, requests[0].Data("memories")[0].Text)
	require.Equal(t, "json_schema", requests[2].Format)

	ollama := setup(t, onOllama(b))
	_, err := ollama.Reflect(b.ctx, given)
	require.NoError(t, err)
	requests = b.server.Requests()[3:]
	require.Len(t, requests, 2)
	require.Contains(t, string(requests[0].Schema), `"maxItems":3`)
	require.NotContains(t, string(requests[1].Schema), "maxItems")
	require.NotEmpty(t, requests[1].Schema)
}

func TestAdaptsToNoFormat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.Answer(func(r llmtest.Request) llmtest.Reply {
		if r.Format != "" {
			return llmtest.Status(400, "unknown parameter: response_format")
		}
		return llmtest.Nothing(r)
	})
	_, err := b.Reflect(b.ctx, batch())
	require.NoError(t, err)
	require.Len(t, b.calls, 4)

	b.server.Answer(func(llmtest.Request) llmtest.Reply { return llmtest.Status(400, "response_format, I said") })
	_, err = b.Reflect(b.ctx, batch())
	require.ErrorAs(t, err, new(*reasoner.UnavailableError))
}

// The space reserved for the answer is released before the prompt counts as too long.
func TestGivesUpRoom(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.Answer(func(r llmtest.Request) llmtest.Reply {
		if r.MaxTokens > 0 {
			return llmtest.Status(400,
				"maximum context length is 8192 tokens, you requested 9000 (808 in the messages, 8192 in the completion)")
		}
		return llmtest.Nothing(r)
	})
	_, err := b.Reflect(b.ctx, batch())
	require.NoError(t, err)
	require.Len(t, b.calls, 2)
}
