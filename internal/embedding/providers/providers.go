// Package providers opens embedders: the local one, and remote ones through langchaingo.
package providers

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/provider"
)

// Names for Config.Provider.
const (
	ProviderLocal  = "local"
	ProviderOpenAI = "openai"
	ProviderOllama = "ollama"
)

const (
	openAIURL = "https://api.openai.com/v1"
	ollamaURL = "http://127.0.0.1:11434"
)

// Config selects an embedder. worker.EmbeddingConfig has the same fields and documents them.
type Config struct {
	Provider      string
	Model         string
	Dimension     int
	SendDimension bool
	URL           string
	APIKey        string
	Timeout       time.Duration
	BatchSize     int
}

// Open returns the embedder that cfg describes. It does not contact the provider. An error names
// the field and its value.
func Open(cfg Config) (embedding.Embedder, error) {
	switch cfg.Provider {
	case "", ProviderLocal:
		return openLocal(cfg)
	case ProviderOpenAI, ProviderOllama:
		cfg, err := cfg.withDefaults()
		if err != nil {
			return nil, err
		}
		return newRemote(cfg)
	}
	return nil, fmt.Errorf("embedding provider %q is not known: use local, openai or ollama", cfg.Provider)
}

func openLocal(cfg Config) (embedding.Embedder, error) {
	if cfg.Model != "" && cfg.Model != embedding.LocalModel {
		return nil, fmt.Errorf("embedding model %q is none of the local provider's: leave it out, or name the provider",
			cfg.Model)
	}
	if cfg.Dimension == 0 {
		cfg.Dimension = embedding.LocalDimension
	}
	if cfg.Dimension < 2 || cfg.Dimension > embedding.MaxDimension {
		return nil, fmt.Errorf("embedding dimension %d is out of range: the local provider makes 2 to %d", cfg.Dimension,
			embedding.MaxDimension)
	}
	return embedding.NewLocal(cfg.Dimension), nil
}

func (cfg Config) withDefaults() (Config, error) {
	openAI := cfg.Provider == ProviderOpenAI
	if cfg.URL == "" {
		cfg.URL = ollamaURL
		if openAI {
			cfg.URL = openAIURL
		}
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 2 * time.Minute
		if openAI {
			cfg.Timeout = 30 * time.Second
		}
	}
	if cfg.BatchSize == 0 {
		cfg.BatchSize = 128
	}
	if !openAI {
		cfg.BatchSize = 1 // its client sends one text per request anyway; a refused text then affects no other
	}
	if strings.HasPrefix(cfg.Model, "text-embedding-3") {
		cfg.SendDimension = true
	}

	address, err := url.Parse(cfg.URL)
	switch {
	case strings.TrimSpace(cfg.Model) == "":
		return cfg, fmt.Errorf("embedding model is empty: the provider %s needs the name of one", cfg.Provider)
	case cfg.Dimension < 1 || cfg.Dimension > embedding.MaxDimension:
		return cfg, fmt.Errorf("embedding dimension %d of %s:%s is out of range: it must be 1 to %d", cfg.Dimension,
			cfg.Provider, cfg.Model, embedding.MaxDimension)
	case err != nil || (address.Scheme != "http" && address.Scheme != "https") || address.Host == "":
		return cfg, fmt.Errorf("embedding URL %q is no http or https address", provider.WithoutSecrets(cfg.URL))
	case openAI && cfg.APIKey == "" && address.Host == "api.openai.com":
		return cfg, fmt.Errorf("embedding API key is empty: %s needs one", cfg.URL)
	case strings.ContainsAny(cfg.APIKey, "\r\n"):
		return cfg, fmt.Errorf("embedding API key has a line break in it")
	case cfg.Timeout < 0:
		return cfg, fmt.Errorf("embedding timeout %s is negative", cfg.Timeout)
	case cfg.BatchSize < 1 || cfg.BatchSize > 2048:
		return cfg, fmt.Errorf("embedding batch size %d is out of range: it must be 1 to 2048", cfg.BatchSize)
	}
	return cfg, nil
}
