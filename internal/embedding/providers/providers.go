// Package providers opens embedders: the local one, and remote ones through langchaingo.
package providers

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/provider"
)

// Names for Config.Provider.
const (
	Local  = "local"
	OpenAI = provider.OpenAI
	Ollama = provider.Ollama
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
	case "", Local:
		return openLocal(cfg)
	case OpenAI, Ollama:
		cfg, err := cfg.withDefaults()
		if err != nil {
			return nil, err
		}
		return newRemote(cfg)
	}
	return nil, fmt.Errorf("unknown embedding provider %q: use local, openai or ollama", cfg.Provider)
}

func openLocal(cfg Config) (embedding.Embedder, error) {
	if cfg.Model != "" && cfg.Model != embedding.LocalModel {
		return nil, fmt.Errorf("the local embedding provider has no model %q: omit it, or choose another provider",
			cfg.Model)
	}
	cfg.Dimension = cmp.Or(cfg.Dimension, embedding.LocalDimension)
	if cfg.Dimension < 2 || cfg.Dimension > embedding.MaxDimension {
		return nil, fmt.Errorf("embedding dimension %d is out of range: the local provider supports 2 to %d",
			cfg.Dimension, embedding.MaxDimension)
	}
	return embedding.NewLocal(cfg.Dimension), nil
}

func (cfg Config) withDefaults() (Config, error) {
	openAI := cfg.Provider == OpenAI
	cfg.Timeout = cmp.Or(cfg.Timeout, map[bool]time.Duration{true: 30 * time.Second, false: 2 * time.Minute}[openAI])
	cfg.BatchSize = cmp.Or(cfg.BatchSize, 128)
	if !openAI {
		cfg.BatchSize = 1 // its client sends one text per request anyway; a refused text then affects no other
	}
	if strings.HasPrefix(cfg.Model, "text-embedding-3") {
		cfg.SendDimension = true
	}

	endpoint := provider.Endpoint{
		Protocol: cfg.Provider, Model: cfg.Model, URL: cfg.URL, APIKey: cfg.APIKey, Timeout: cfg.Timeout}
	var err error
	cfg.URL, err = endpoint.Resolve("embedding")
	switch {
	case err != nil:
		return cfg, err
	case cfg.Dimension < 1 || cfg.Dimension > embedding.MaxDimension:
		return cfg, fmt.Errorf("embedding dimension %d of %s:%s is out of range: it must be 1 to %d", cfg.Dimension,
			cfg.Provider, cfg.Model, embedding.MaxDimension)
	case cfg.BatchSize < 1 || cfg.BatchSize > 2048:
		return cfg, fmt.Errorf("embedding batch size %d is out of range: it must be 1 to 2048", cfg.BatchSize)
	}
	return cfg, nil
}
