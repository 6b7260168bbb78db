package llm

import (
	"context"
	"errors"
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
