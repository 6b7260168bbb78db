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
)

// manner is how a server is asked. Servers that speak OpenAI's protocol differ in what they know of
// it; where one refuses a parameter, it is asked without, from then on.
type manner struct {
	format      format
	limit       limit
	temperature float64 // 0: as it is for others; 1: the only one that models that think accept
}

// format is how JSON is demanded.
type format int

const (
	formatSchema format = iota // by schema; the server sees to it
	formatJSON                 // as any JSON; the prompt has the schema
	formatNone                 // by the prompt alone
)

// limit is how the length of an answer is limited.
type limit int

const (
	limitCompletion limit = iota // max_completion_tokens
	limitTokens                  // max_tokens
	limitNone
)

// terms are the manner in which the server was found to understand.
type terms struct {
	mu  sync.Mutex
	how manner
}

func (t *terms) get() manner {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.how
}

// adapt finds another manner if the exchange was refused for the one it was made in. It reports whether to ask again.
func (t *terms) adapt(used manner, x *exchange) bool {
	if x.status != http.StatusBadRequest && x.status != http.StatusUnprocessableEntity {
		return false
	}
	said := strings.ToLower(x.message + " " + x.code)
	next := used
	switch {
	case x.tooLong():
		// only room that was kept for the answer can be given up
		if !strings.Contains(said, "completion") || used.limit == limitNone {
			return false
		}
		next.limit = limitNone
	case mentions(said, "response_format", "response format", "json_schema", "json schema", "json_object", "schema", "structured output", "grammar"):
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
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.how == used { // otherwise somebody else found another meanwhile
		t.how = next
	}
	return true
}

func mentions(text string, any ...string) bool {
	for _, word := range any {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// model makes a client for one question: the library binds the schema to the client.
func (r *Reasoner) model(q question, how manner) (llms.Model, []llms.CallOption, error) {
	client := &http.Client{
		Transport: r.http,
		// A redirect could carry key and memories to another host: it is an answer like any other.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	options := []llms.CallOption{llms.WithTemperature(how.temperature)}
	if how.limit != limitNone {
		options = append(options, llms.WithMaxTokens(r.cfg.MaxTokens))
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
	if r.cfg.Provider == ProviderOllama {
		if how.format != formatNone {
			options = append(options, llms.WithJSONMode()) // the transport puts the schema there
		}
		if _, err := url.Parse(r.cfg.URL); err != nil {
			return nil, nil, err // the library would end the program
		}
		model, err := ollama.New(ollama.WithServerURL(r.cfg.URL), ollama.WithModel(r.cfg.Model), ollama.WithHTTPClient(client),
			ollama.WithRunnerNumCtx(r.cfg.ContextTokens))
		if err != nil {
			return nil, nil, fmt.Errorf("reasoner provider ollama: %w", err)
		}
		return model, options, nil
	}
	// Everything is given, since the library fills gaps from environment variables of its own. The
	// transport replaces the token.
	made := []openai.Option{openai.WithBaseURL(r.cfg.URL), openai.WithToken("unused"), openai.WithOrganization(""),
		openai.WithModel(r.cfg.Model), openai.WithHTTPClient(client)}
	switch how.format {
	case formatSchema:
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
