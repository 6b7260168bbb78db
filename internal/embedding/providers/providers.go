// Package providers opens embedders: the local one, models in the process, and remote ones through langchaingo.
package providers

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/embedding/onnx"
	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/provider"
	"github.com/oxbow-memory/oxbow/internal/secrets"
)

// Names for Config.Provider.
const (
	Local  = "local"
	ONNX   = "onnx"
	OpenAI = provider.OpenAI
	Ollama = provider.Ollama
)

const maxPrefix = 1000 // bytes; models have instructions of a sentence or two

// Config selects an embedder. worker.EmbeddingConfig has the same fields and documents them.
type Config struct {
	Provider      string
	Model         string
	Dimension     int
	Path          string
	Library       string
	SendDimension bool
	URL           string
	APIKey        string
	Timeout       time.Duration
	BatchSize     int

	QueryPrefix, PassagePrefix string
}

// remotes holds what differs between the remote providers, besides their protocols.
var remotes = map[string]remoteKind{
	OpenAI: {timeout: 30 * time.Second, callTexts: 64},
	Ollama: {timeout: 2 * time.Minute, callTexts: 8, single: true},
}

type remoteKind struct {
	timeout   time.Duration // of one request, by default
	callTexts int           // texts per call of Embed
	// single sends one text per request. Ollama's client does so anyway, and a refused text then
	// affects no other.
	single bool
}

// CallTime returns the time limit of one call of Embed. A call may take several requests when a
// provider refuses texts, so the limit is higher than that of a request.
func (cfg Config) CallTime() time.Duration {
	r, remote := remotes[cfg.Provider]
	switch {
	case cfg.Provider == ONNX:
		return 2 * time.Minute
	case !remote:
		return 10 * time.Second
	}
	return cmp.Or(cfg.Timeout, r.timeout) + 5*time.Second
}

// CallTexts returns the maximum number of texts per call of Embed. Slow providers get fewer, so that
// a failed call loses little.
func (cfg Config) CallTexts() int {
	if r, remote := remotes[cfg.Provider]; remote {
		return r.callTexts
	}
	if cfg.Provider == ONNX {
		return 16
	}
	return 128
}

// Open returns the embedder that cfg describes. It does not contact the provider. An error names
// the field and its value.
func Open(cfg Config) (embedding.Embedder, error) {
	for _, prefix := range []string{cfg.QueryPrefix, cfg.PassagePrefix} { // the database records them
		if len(prefix) > maxPrefix || !utf8.ValidString(prefix) || strings.Contains(prefix, "\x00") {
			return nil, fmt.Errorf("embedding prefix %q must be valid UTF-8 without NUL, at most %d bytes",
				oneline.Shorten(prefix, 60), maxPrefix)
		}
	}
	switch {
	case cfg.Provider == ONNX:
		return openONNX(cfg)
	case cfg.Path != "" || cfg.Library != "":
		return nil, fmt.Errorf("only the embedding provider onnx has a path and a library: omit %q, or choose onnx",
			cmp.Or(cfg.Path, cfg.Library))
	case cfg.Provider == "" || cfg.Provider == Local:
		return openLocal(cfg)
	}
	r, known := remotes[cfg.Provider]
	if !known {
		return nil, fmt.Errorf("unknown embedding provider %q: use local, onnx, openai or ollama", cfg.Provider)
	}
	cfg, err := cfg.withDefaults(r)
	if err != nil {
		return nil, err
	}
	return newRemote(cfg)
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
	if cfg.QueryPrefix != "" || cfg.PassagePrefix != "" {
		return nil, fmt.Errorf("the local embedding provider has no prefixes: omit %q, or choose another provider",
			cmp.Or(cfg.QueryPrefix, cfg.PassagePrefix))
	}
	if cfg.URL != "" {
		return nil, fmt.Errorf("the local embedding provider has no URL: omit %q, or choose another provider",
			secrets.StripURL(cfg.URL))
	}
	return embedding.NewLocal(cfg.Dimension), nil
}

func openONNX(cfg Config) (embedding.Embedder, error) {
	switch {
	case cfg.Path == "":
		return nil, errors.New("the embedding path is empty: set it to the folder of a model")
	case cfg.URL != "":
		return nil, fmt.Errorf("the embedding provider onnx has no URL: omit %q, or choose another provider",
			secrets.StripURL(cfg.URL))
	}
	return onnx.Open(onnx.Config{Name: cfg.Model, Folder: cfg.Path, Library: cfg.Library, Dimension: cfg.Dimension,
		QueryPrefix: cfg.QueryPrefix, PassagePrefix: cfg.PassagePrefix})
}

func (cfg Config) withDefaults(r remoteKind) (Config, error) {
	cfg.Timeout = cmp.Or(cfg.Timeout, r.timeout)
	cfg.BatchSize = cmp.Or(cfg.BatchSize, r.callTexts)
	if r.single {
		cfg.BatchSize = 1
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
	case cfg.BatchSize < 1 || cfg.BatchSize > r.callTexts:
		return cfg, fmt.Errorf("embedding batch size %d is out of range: it must be 1 to %d", cfg.BatchSize, r.callTexts)
	}
	return cfg, nil
}
