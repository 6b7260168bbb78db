package llm

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// client is a language model of langchaingo.
type client func(context.Context, llms.CallOptions, string) (string, error)

func (c client) GenerateContent(ctx context.Context, messages []llms.MessageContent,
	options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, set := range options {
		set(&o)
	}
	text, err := c(ctx, o, messages[0].Parts[0].(llms.TextContent).Text)
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: text}}}, err
}

func (client) Call(context.Context, string, ...llms.CallOption) (string, error) { return "", nil }

// langchaingo has no option for a schema, so the prompt of a client has it.
func TestClient(t *testing.T) {
	t.Parallel()
	r, err := Open(Config{Model: "m", Client: client(
		func(_ context.Context, o llms.CallOptions, system string) (string, error) {
			if o.Temperature == 0 {
				return "", errors.New("400: unsupported value: temperature")
			}
			require.True(t, o.JSONMode)
			require.Contains(t, system, `"reinforcements"`)
			return `{"patterns": [], "reinforcements": [], "contradictions": [], "clusters": []}`, nil
		})})
	require.NoError(t, err)
	_, err = r.Reflect(t.Context(), batch())
	require.NoError(t, err)

	r, err = Open(Config{Model: "m", Timeout: time.Millisecond, Client: client(
		func(ctx context.Context, _ llms.CallOptions, _ string) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})})
	require.NoError(t, err)
	_, err = r.Reflect(t.Context(), batch())
	require.ErrorAs(t, err, new(*reasoner.UnavailableError))
	require.ErrorContains(t, err, "reasoning with langchaingo/m: no answer within 1ms")
}

// model is a client with a whole answer.
type model struct{ llms.ContentChoice }

func (m model) GenerateContent(context.Context, []llms.MessageContent, ...llms.CallOption) (*llms.ContentResponse, error) {
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{&m.ContentChoice}}, nil
}

func (model) Call(context.Context, string, ...llms.CallOption) (string, error) { return "", nil }

// The libraries of providers report tokens and cut-off answers in different ways.
func TestClientAnswers(t *testing.T) {
	t.Parallel()
	const nothing = `{"patterns": [], "reinforcements": [], "contradictions": [], "clusters": []}`
	for name, c := range map[string]struct {
		choice  llms.ContentChoice
		in, out int
		problem string
	}{
		"OpenAI": {llms.ContentChoice{StopReason: "stop", GenerationInfo: map[string]any{"PromptTokens": 7,
			"CompletionTokens": 3}}, 7, 3, ""},
		"Anthropic": {llms.ContentChoice{StopReason: "max_tokens", GenerationInfo: map[string]any{"InputTokens": 7,
			"OutputTokens": 3}}, 7, 3, "cut off after 3 tokens"},
		"Google": {llms.ContentChoice{StopReason: "FinishReasonMaxTokens", GenerationInfo: map[string]any{
			"PromptTokens": int32(7), "CompletionTokens": int32(3), "input_tokens": int32(7)}}, 7, 3, "cut off after 3 tokens"},
		"Bedrock": {llms.ContentChoice{StopReason: "end_turn", GenerationInfo: map[string]any{"input_tokens": 7,
			"output_tokens": 3}}, 7, 3, ""},
		"nonsense": {llms.ContentChoice{GenerationInfo: map[string]any{"PromptTokens": -7, "InputTokens": "7",
			"CompletionTokens": int64(1) << 40}}, 0, maxTokens, ""},
		"none": {llms.ContentChoice{}, 0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.choice.Content = nothing
			r, err := Open(Config{Model: "m", Client: model{c.choice}})
			require.NoError(t, err)
			var calls []reasoner.Usage
			_, err = r.Reflect(reasoner.WithRecorder(t.Context(), func(u reasoner.Usage) { calls = append(calls, u) }), batch())
			require.Equal(t, []int{c.in, c.out}, []int{calls[0].PromptTokens, calls[0].CompletionTokens})
			if c.problem == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.problem)
			require.ErrorAs(t, err, new(*reasoner.AnswerError))
		})
	}
}

// A prompt that a client refuses is not asked again and again, and its errors are fit to be logged.
func TestClientErrors(t *testing.T) {
	t.Parallel()
	for says, answered := range map[string]bool{
		"anthropic: 400: prompt is too long: 250000 tokens > 200000 maximum":  true,
		"API returned status code 400: content_filter":                        true,
		"API returned status code 500: overloaded":                            false,
		"bad request: " + batch().Memories[0].Content + "\n":                  false,
		"the API key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH": false,
		strings.Repeat("long ", 1000):                                         false,
	} {
		r, err := Open(Config{Model: "m", Client: client(
			func(context.Context, llms.CallOptions, string) (string, error) { return "", errors.New(says) })})
		require.NoError(t, err)
		_, err = r.Reflect(t.Context(), batch())
		if answered {
			require.ErrorAs(t, err, new(*reasoner.AnswerError), says)
		} else {
			require.ErrorAs(t, err, new(*reasoner.UnavailableError), says)
		}
		require.NotContains(t, err.Error(), "run before work")
		require.NotContains(t, err.Error(), "abcdefghijklmnop")
		require.LessOrEqual(t, len(err.Error()), 310)
	}
}
