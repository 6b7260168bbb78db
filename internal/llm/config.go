package llm

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/provider"

	"github.com/tmc/langchaingo/llms"
)

// Names for Config.Provider.
const (
	ProviderOpenAI = "openai"
	ProviderOllama = "ollama"
)

const (
	openAIURL = "https://api.openai.com/v1"
	ollamaURL = "http://127.0.0.1:11434"
)

// DefaultTimeout limits one request. It allows for models that think or must be loaded first.
const DefaultTimeout = 2 * time.Minute

const (
	defaultMaxTokens     = 8192
	defaultContextTokens = 16384
)

// Config selects a model. worker.ReasonerConfig has the same fields and documents them.
type Config struct {
	Provider      string
	Model         string
	URL           string
	APIKey        string
	Timeout       time.Duration
	MaxTokens     int
	ContextTokens int
	Client        llms.Model
}

func (cfg Config) withDefaults() (Config, error) {
	cfg.Timeout = cmp.Or(cfg.Timeout, DefaultTimeout)
	cfg.MaxTokens = cmp.Or(cfg.MaxTokens, defaultMaxTokens)
	cfg.ContextTokens = cmp.Or(cfg.ContextTokens, defaultContextTokens)
	if cfg.Client != nil {
		if cfg.Model == "" {
			return cfg, errors.New("the language model has no name")
		}
		cfg.Provider = cmp.Or(cfg.Provider, "langchaingo")
		return cfg, nil
	}
	if cfg.Provider != ProviderOpenAI && cfg.Provider != ProviderOllama {
		return cfg, fmt.Errorf("unknown reasoner provider %q: use rules, openai or ollama", cfg.Provider)
	}
	openAI := cfg.Provider == ProviderOpenAI
	cfg.URL = cmp.Or(cfg.URL, map[bool]string{true: openAIURL, false: ollamaURL}[openAI])
	address, err := url.Parse(cfg.URL)
	switch {
	case strings.TrimSpace(cfg.Model) == "":
		return cfg, fmt.Errorf("reasoner model is empty: the provider %s requires one", cfg.Provider)
	case err != nil || (address.Scheme != "http" && address.Scheme != "https") || address.Host == "":
		return cfg, fmt.Errorf("reasoner URL %q is not an http or https address", provider.WithoutSecrets(cfg.URL))
	case openAI && cfg.APIKey == "" && address.Host == "api.openai.com":
		return cfg, fmt.Errorf("reasoner API key is empty: %s requires one", provider.WithoutSecrets(cfg.URL))
	case strings.ContainsAny(cfg.APIKey, "\r\n"):
		return cfg, fmt.Errorf("reasoner API key contains a line break")
	case cfg.Timeout < 0:
		return cfg, fmt.Errorf("reasoner timeout %s is negative", cfg.Timeout)
	case cfg.MaxTokens < 256 || cfg.MaxTokens > 1_000_000:
		return cfg, fmt.Errorf("reasoner max tokens %d is out of range: it must be 256 to 1000000", cfg.MaxTokens)
	case cfg.ContextTokens < 2048:
		return cfg, fmt.Errorf("reasoner context tokens %d is out of range: it must be at least 2048",
			cfg.ContextTokens)
	}
	return cfg, nil
}
