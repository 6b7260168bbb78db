package llm

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/oxbow-memory/oxbow/internal/provider"
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
	switch {
	case cfg.MaxTokens < 256 || cfg.MaxTokens > 1_000_000:
		return cfg, fmt.Errorf("reasoner max tokens %d is out of range: it must be 256 to 1000000", cfg.MaxTokens)
	case cfg.ContextTokens < 2048:
		return cfg, fmt.Errorf("reasoner context tokens %d is out of range: it must be at least 2048",
			cfg.ContextTokens)
	case cfg.Timeout < 0:
		return cfg, fmt.Errorf("reasoner timeout %s is negative", cfg.Timeout)
	case cfg.Client != nil && cfg.Model == "":
		return cfg, errors.New("the language model has no name")
	case cfg.Client != nil:
		cfg.Provider = cmp.Or(cfg.Provider, "langchaingo")
		return cfg, nil
	}
	if !provider.Known(cfg.Provider) {
		return cfg, fmt.Errorf("unknown reasoner provider %q: use rules, openai or ollama", cfg.Provider)
	}
	endpoint := provider.Endpoint{
		Protocol: cfg.Provider, Model: cfg.Model, URL: cfg.URL, APIKey: cfg.APIKey, Timeout: cfg.Timeout}
	var err error
	cfg.URL, err = endpoint.Resolve("reasoner")
	return cfg, err
}
