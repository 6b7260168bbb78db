package llm

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/ollama"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/oxbow-memory/oxbow/internal/provider"
)

// parameters holds the parameters of a request. Servers that speak OpenAI's protocol support different
// parts of it. If a server refuses a parameter, later requests omit it.
type parameters struct {
	format      format
	limit       limit
	temperature float64 // 0: the same as for others; 1: the only value that thinking models accept
	tokens      int     // maximum of an answer; reduced if the server is slow
}

// format is how JSON is requested.
type format int

const (
	formatBounded format = iota // by schema, which the server enforces, with limits for lists and texts
	formatSchema                // by schema without these limits
	formatJSON                  // as any JSON; the prompt has the schema
	formatNone                  // by the prompt only
)

// limit is the parameter that limits the length of an answer.
type limit int

const (
	limitCompletion limit = iota // max_completion_tokens
	limitTokens                  // max_tokens
	limitNone
)

// negotiated holds the parameters that the server is known to support.
type negotiated struct {
	mu  sync.Mutex
	how parameters
}

func (t *negotiated) get() parameters {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.how
}

// adapt chooses other parameters if the server refused the one used. It reports whether to ask again.
func (t *negotiated) adapt(used parameters, x *provider.Exchange) bool {
	if x.Status != http.StatusBadRequest && x.Status != http.StatusUnprocessableEntity {
		return false
	}
	said := strings.ToLower(x.Message + " " + x.Code)
	next := used
	switch {
	case misshaped(x):
		return false
	case tooLong(x):
		// Only the space reserved for the answer can be released.
		if !strings.Contains(said, "completion") || used.limit == limitNone {
			return false
		}
		next.limit = limitNone
	case mentions(said, "maxitems", "maxlength", "response_format", "response format", "json_object", "schema", "structured output", "grammar"):
		if used.format == formatNone {
			return false
		}
		next.format++
	case mentions(said, "temperature"):
		if used.temperature != 0 {
			return false
		}
		next.temperature = 1
	case mentions(said, "max_tokens", "max_completion_tokens", "max tokens"):
		if used.limit == limitNone {
			return false
		}
		next.limit++
	default:
		return false
	}
	t.replace(used, next)
	return true
}

// replace changes the parameters, unless another request did so meanwhile.
func (t *negotiated) replace(used, next parameters) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.how == used {
		t.how = next
	}
}

// minTokens is the smallest number of tokens to which an answer is limited.
const minTokens = 256

// shorten halves the token limit after an answer that was not complete in time, down to minTokens. Without this, a model
// that repeats itself until the limit would never answer on a slow server, and its job would never fail.
func (t *negotiated) shorten(used parameters) {
	next := used
	next.tokens = max(used.tokens/2, minTokens)
	t.replace(used, next)
}

// lengthen doubles the token limit, up to most, after an answer that was cut off although the server is fast.
func (t *negotiated) lengthen(used parameters, most int) {
	next := used
	next.tokens = min(2*used.tokens, most)
	t.replace(used, next)
}

func mentions(text string, any ...string) bool {
	for _, word := range any {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// model creates a client for one question, because the library binds the schema to the client.
func (r *Reasoner) model(q question, how parameters) (llms.Model, []llms.CallOption, error) {
	client := r.server.Client()
	options := []llms.CallOption{llms.WithTemperature(how.temperature)}
	if how.limit != limitNone {
		options = append(options, llms.WithMaxTokens(how.tokens))
	}
	if how.limit == limitTokens {
		options = append(options, openai.WithLegacyMaxTokensField())
	}
	if r.cfg.Client != nil {
		if how.format != formatNone {
			options = append(options, llms.WithJSONMode())
		}
		return r.cfg.Client, options, nil
	}
	if r.cfg.Provider == provider.Ollama {
		if how.format != formatNone {
			options = append(options, llms.WithJSONMode()) // ollamaServer adds the schema
		}
		limits := &q.bounds
		if how.format != formatBounded {
			limits = nil
		}
		client.Transport = ollamaServer{r.server, q.schema, limits}
		if _, err := url.Parse(r.cfg.URL); err != nil {
			return nil, nil, err // the library would exit the program
		}
		model, err := ollama.New(ollama.WithServerURL(r.cfg.URL), ollama.WithModel(r.cfg.Model),
			ollama.WithHTTPClient(client),
			ollama.WithRunnerNumCtx(r.cfg.ContextTokens))
		if err != nil {
			return nil, nil, fmt.Errorf("reasoner provider ollama: %w", err)
		}
		return model, options, nil
	}
	// Every option is set, because the library takes missing ones from environment variables. The
	// server replaces the token.
	made := []openai.Option{openai.WithBaseURL(r.cfg.URL), openai.WithToken("unused"), openai.WithOrganization(""),
		openai.WithModel(r.cfg.Model), openai.WithHTTPClient(client)}
	switch how.format {
	case formatBounded, formatSchema:
		if how.format == formatBounded {
			client.Transport = boundedServer{r.server, q.bounds}
		}
		made = append(made, openai.WithResponseFormat(&openai.ResponseFormat{Type: "json_schema",
			JSONSchema: &openai.ResponseFormatJSONSchema{Name: q.purpose, Strict: true, Schema: q.schema}}))
	case formatJSON:
		options = append(options, llms.WithJSONMode())
	}
	model, err := openai.New(made...)
	if err != nil {
		return nil, nil, fmt.Errorf("reasoner provider openai: %w", err)
	}
	return model, options, nil
}
