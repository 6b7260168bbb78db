package llm

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/llm/answer"
	"github.com/oxbow-memory/oxbow/internal/llm/llmtest"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// A bad answer is repaired once; a second one is an error. The error contains nothing of the
// answers or messages.
func TestExtractRepair(t *testing.T) {
	t.Parallel()
	nothing := llmtest.Extraction{}.JSON()
	for name, c := range map[string]struct {
		reply   llmtest.Reply
		problem string
	}{
		"prose":         {llmtest.Prose(), "not a JSON object"},
		"broken JSON":   {llmtest.Say(`{"candidates": [{"content": "Moved to Po`), "it ends too early"},
		"nothing of it": {llmtest.Say("{}"), `"candidates" is missing`},
		"half of it":    {llmtest.Say(`{"candidates": []}`), `"used" is missing`},
		"unknown member": {llmtest.Say(`{"candidates": [{"Moved to Porto": 1}], "used": []}`),
			"a member that the schema does not have"},
		"a wrong type": {llmtest.Say(`{"candidates": [{"importance": "Porto"}], "used": []}`),
			`"candidates.importance" must not be a JSON string`},
		"no number": {llmtest.Say(`{"candidates": [{"importance": 17e999}], "used": []}`),
			`must not be a JSON number`},
		"sources are objects": {llmtest.Say(`{"candidates": [{"sources": [{"m": "Porto"}]}], "used": []}`),
			"must not be a JSON object"},
		"two answers":  {llmtest.Say(nothing + nothing), "something follows"},
		"filtered":     {llmtest.Filtered(), "content filter"},
		"empty":        {llmtest.Say(""), "empty"},
		"a reflection": {llmtest.Say(llmtest.Reflection{}.JSON()), "a member that the schema does not have"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.server.Next(c.reply)
			extraction, err := b.Extract(b.ctx, conversation())
			require.NoError(t, err)
			require.Zero(t, extraction)
			require.Len(t, b.calls, 2)
			require.ErrorContains(t, b.calls[0].Err, c.problem)
			require.Equal(t, []int{1, 2}, []int{b.calls[0].Attempt, b.calls[1].Attempt})
			repair := b.server.Requests()[1].Messages
			require.Contains(t, repair[len(repair)-1].Content, c.problem, "the model is told what is wrong")

			b.server.Answer(func(llmtest.Request) llmtest.Reply { return c.reply })
			extraction, err = b.Extract(b.ctx, conversation())
			var useless *reasoner.AnswerError
			require.ErrorAs(t, err, &useless)
			require.Zero(t, extraction)
			require.Len(t, b.server.Requests(), 4)
			for _, said := range []string{"Porto", "17", "Moved", "patterns"} {
				require.NotContains(t, err.Error(), said)
			}
		})
	}
}

// A cut-off answer about several messages is not repaired, because they are asked about one by one next. One about a
// single message is.
func TestExtractCutOff(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.Answer(func(llmtest.Request) llmtest.Reply { return llmtest.Truncated(llmtest.Extraction{}.JSON()) })
	given := conversation()
	_, err := b.Extract(b.ctx, given)
	require.ErrorAs(t, err, new(*reasoner.AnswerError))
	require.Len(t, b.calls, 1)
	require.ErrorContains(t, b.calls[0].Err, "cut off after 80 tokens")

	given.Messages = given.Messages[:3]
	given.Messages[1].New = false
	_, err = b.Extract(b.ctx, given)
	require.ErrorAs(t, err, new(*reasoner.AnswerError))
	require.Len(t, b.calls, 3)
	repair := b.server.Requests()[2].Messages
	require.Contains(t, repair[len(repair)-1].Content, "cut off after 80 tokens")
}

// Failures that only waiting or a person can fix, for both questions.
func TestExtractorUnavailable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply llmtest.Reply
		after time.Duration
		says  string
	}{
		"too many requests": {llmtest.TooManyRequests(17 * time.Second), 17 * time.Second,
			"rate limit reached (HTTP status 429)"},
		"broken":           {llmtest.Status(500, "oops"), 0, "oops (HTTP status 500)"},
		"the key is in it": {llmtest.EchoKey(), 0, "check the API key"},
		"no answer":        {llmtest.Drop(), 0, "does not answer"},
		"silence":          {llmtest.Hang(), 0, "no answer within 100ms"},
		"a page":           {llmtest.Raw("<html>gateway</html>"), 0, "is not a chat completion"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(cfg *Config) {
				if name == "silence" {
					cfg.Timeout = 100 * time.Millisecond
				}
			})
			b.server.Answer(func(llmtest.Request) llmtest.Reply { return c.reply })
			extraction, err := b.Extract(b.ctx, conversation())
			require.Zero(t, extraction)
			resolutions, failure := b.Resolve(b.ctx, now, conflicts())
			require.Nil(t, resolutions)
			for _, err := range []error{err, failure} {
				var down *reasoner.UnavailableError
				require.ErrorAs(t, err, &down)
				require.Equal(t, c.after, down.RetryAfter)
				require.ErrorContains(t, err, c.says)
				require.NotContains(t, err.Error(), key)
			}
			require.Len(t, b.calls, 2)
			require.Equal(t, []string{"extract", "resolve"}, []string{b.calls[0].Purpose, b.calls[1].Purpose})
		})
	}

	b := setup(t)
	b.server.Answer(func(llmtest.Request) llmtest.Reply { return llmtest.ContextExceeded() })
	_, err := b.Extract(b.ctx, conversation())
	require.ErrorAs(t, err, new(*reasoner.AnswerError))
	_, err = b.Resolve(b.ctx, now, conflicts())
	require.ErrorAs(t, err, new(*reasoner.AnswerError))
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	_, err = b.Extract(ctx, conversation())
	require.Equal(t, context.Canceled, err)
}

func TestExtractOnOllama(t *testing.T) {
	t.Parallel()
	server := setup(t)
	b := setup(t, onOllama(server), func(cfg *Config) { cfg.Model = "qwen3:8b" })
	b.server = server.server
	b.server.Answer(llmtest.Remember("Moved to Porto", "Porto"))
	e, err := b.Extract(b.ctx, conversation())
	require.NoError(t, err)
	require.Equal(t, []string{"Moved to Porto"}, contents(e))
	r := b.server.Requests()[0]
	require.Contains(t, string(r.Schema), "negates")
	require.Contains(t, r.Messages[0].Content, "Its JSON schema")

	given := []reasoner.Conflict{{Candidate: e.Candidates[0], Similar: []reasoner.Held{{ID: uuid.New(), Type: "fact",
		Content: "Moved to Porto", Time: now}}}}
	resolutions, err := b.Resolve(b.ctx, now, given)
	require.NoError(t, err)
	require.Equal(t, []reasoner.Resolution{{Operation: reasoner.Noop, Target: given[0].Similar[0].ID,
		Reason: "it says so"}}, resolutions)
}

// FuzzExtraction checks that no answer does harm.
func FuzzExtraction(f *testing.F) {
	given := conversation()
	f.Add(candidates(llmtest.Fact("Moved to Porto", "m3"), llmtest.Fact("我改喝绿茶", "m5")).JSON())
	f.Add(
		`{"candidates":[{"content":"x","type":"fact","sources":["m3"],"entities":[{}],"emotion":{},"importance":-1e9,"time":"2025"}],"used":[{}]}`)
	f.Add(`{"candidates":[{"content":"\u2028","sources":null}],"used":[{"memory":"h1","reply":"m4"}]}`)
	sayable := map[uuid.UUID]bool{given.Messages[2].ID: true, given.Messages[4].ID: true}
	f.Fuzz(func(t *testing.T, text string) {
		var read answer.Extraction
		if decode(text, &read) != nil {
			return
		}
		e := listen(given).resolve(read)
		for _, c := range e.Candidates {
			bad := strings.TrimSpace(c.Content) == "" || strings.ContainsAny(c.Content, "\n\r\x00\u2028") ||
				len(c.Sources) == 0 ||
				!(c.Importance >= 0 && c.Importance <= 1) || c.Emotion != nil && !(c.Emotion.Valence >= -1 &&
				c.Emotion.Valence <= 1 && c.Emotion.Arousal >= 0 && c.Emotion.Arousal <= 1)
			for _, source := range c.Sources {
				bad = bad || !sayable[source]
			}
			named := map[string]bool{"": true}
			for _, entity := range c.Entities {
				named[entity.Name] = true
				bad = bad || entity.Name == "" || !slices.Contains(answer.Kinds, entity.Kind)
				requireLine(t, entity.Name, maxName)
			}
			for _, r := range c.Relations {
				bad = bad || !named[r.From] || !named[r.To] || r.From == r.To || r.Relation == ""
				requireLine(t, r.Relation, maxRelation)
			}
			bad = bad || len(c.Entities) > maxEntities || len(c.Relations) > maxRelations ||
				!slices.Contains(answer.Types, c.Type) ||
				!slices.Contains(answer.Categories, string(c.Category)) || !c.Time.IsZero() && (c.Time.Year() < 1 ||
				c.Time.Year() > 9999)
			requireLine(t, c.Content, maxStatement)
			if bad {
				t.Fatalf("%q: %+v", text, c)
			}
		}
		for _, d := range e.Dropped {
			require.LessOrEqual(t, len([]rune(d.What)), 501)
			require.LessOrEqual(t, len([]rune(d.Reason)), 500)
		}
		for _, id := range e.Used {
			if id != given.Recalled[0].ID {
				t.Fatalf("%q: %s", text, id)
			}
		}
	})
}
