// Package worker runs Oxbow's background jobs: it embeds memories, extracts them from messages,
// reflects on them, and maintains the database.
//
//	w, err := worker.New(ctx, worker.Config{DatabaseURL: url})
//	if err != nil { … }
//	defer w.Close()
//	err = w.Run(ctx) // until ctx is cancelled
package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/tmc/langchaingo/llms"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/oxbow-memory/oxbow/internal/connect"
	"github.com/oxbow-memory/oxbow/internal/embedding/providers"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/store"
)

// Config configures a Worker. Only DatabaseURL is required.
type Config struct {
	// DatabaseURL is the connection string of the database. It may contain pgx parameters such as
	// pool_max_conns, the maximum number of connections (default: the number of CPUs, at least 9), or, for a
	// pooler in transaction mode, default_query_exec_mode=exec.
	DatabaseURL string
	// Embedding selects the embedding provider. Default: the local one.
	Embedding EmbeddingConfig
	// WebhookPrivate lets webhooks have private, local and link-local addresses.
	WebhookPrivate bool
	// Embedder replaces Embedding. oxbow.NewEmbedder makes one from any langchaingo embedder.
	Embedder Embedder
	// Reasoner selects the reasoner. Default: the built-in rules.
	Reasoner ReasonerConfig
	// DailyTokens is the maximum number of tokens that the reflections of one user may use in 24
	// hours. Further reflections wait. Default: unlimited.
	DailyTokens int64
	// Now is the clock of reflection, for historical data. Default: time.Now.
	Now func() time.Time
	// Concurrency is the number of embed jobs that run at once, 1 to 1000. Default: for local and onnx
	// the number of CPUs, but at least 2 and at most 4; for other providers 8.
	Concurrency int
	// PollOnly disables LISTEN, which poolers in transaction mode do not support. Jobs are then
	// found by polling only.
	PollOnly bool
	// PollInterval is how often the queue of new memories is polled, at least 10 ms. Default: 100 ms.
	PollInterval time.Duration
	// StopTimeout is how long running jobs may continue after the worker is stopped. Default: 30 seconds.
	StopTimeout time.Duration
	// HealthAddr is the HTTP address that serves health and readiness, such as "127.0.0.1:8080".
	// Default: none.
	HealthAddr string
	// MetricsAddr is the HTTP address that serves Prometheus metrics and health. Default: none.
	MetricsAddr string
	// TracerProvider records the traces of jobs and of the calls that they make. Default: the
	// global provider of OpenTelemetry, which does nothing unless the program has set it.
	TracerProvider trace.TracerProvider
	// Logger is the worker's logger. Default: nothing is logged.
	Logger *slog.Logger

	fast           bool              // for tests: start maintenance without staggering
	overdue        time.Duration     // default: the constant overdue
	scheduleAge    time.Duration     // default: the constant scheduleAge
	lastWait       time.Duration     // default: the constant lastWait
	testReasoner   reasoner.Reasoner // for tests: replaces Reasoner
	testExtractor  reasoner.Extractor
	testSummarizer reasoner.Summarizer // nil means the rules
	reembedPage    int                 // memories per transaction of Reembed
	riverLevel     slog.Level          // of River's messages; default: warning
}

// EmbeddingConfig selects one of the built-in embedding providers. The zero value selects the local one.
type EmbeddingConfig struct {
	// Provider is "local" (default), "onnx" (a model in the process, in programs built with the tag onnx), "openai" (any
	// server that speaks OpenAI's /embeddings) or "ollama".
	Provider string
	// Model is the provider's name for the model. Required except for local and onnx; for onnx the default is the name of
	// the folder.
	Model string
	// Dimension is the length of the vectors, 1 to 3584. Required except for local, whose default is 1024, and for onnx,
	// whose default is the model's dimension.
	Dimension int
	// Path is the folder of an onnx model in the layout of sentence-transformers, with tokenizer.json and model.onnx or
	// onnx/model.onnx. Library is the path of ONNX Runtime's shared library. Default: the system looks for the library.
	Path, Library string
	// SendDimension asks an OpenAI-compatible server for vectors of that length. Models that have only
	// one length refuse. OpenAI's text-embedding-3 models, which support any, are always asked.
	SendDimension bool
	// URL is the server's address. Default: https://api.openai.com/v1 or http://127.0.0.1:11434.
	URL string
	// APIKey is sent as a bearer token. OpenAI requires it; other servers may not.
	APIKey string
	// Timeout limits one request. Default: 30 seconds, or 2 minutes for Ollama, which may have to load
	// the model first.
	Timeout time.Duration
	// BatchSize is the number of texts in a request, 1 to 64. Default: 64. Ollama always gets one.
	BatchSize int
	// QueryPrefix and PassagePrefix precede the text of a question and of a memory, for models trained with such
	// prefixes, such as "query: " and "passage: " for E5. Default: those that an onnx folder states, or none.
	QueryPrefix, PassagePrefix string
}

// ReasonerConfig selects the reasoner: the built-in rules, a language model provider, or Client.
type ReasonerConfig struct {
	// Provider is "rules" (default), "openai" (any server that speaks OpenAI's /chat/completions) or
	// "ollama".
	Provider string
	// Model is the provider's name for the model. Required, except for rules.
	Model string
	// URL is the server's address. Default: https://api.openai.com/v1 or http://127.0.0.1:11434.
	URL string
	// APIKey is sent as a bearer token. OpenAI requires it; other servers may not.
	APIKey string
	// Timeout limits one request. Default: 2 minutes.
	Timeout time.Duration
	// MaxTokens limits an answer, including any thinking before it, to 256 to 1,000,000 tokens.
	// Default: 8192.
	MaxTokens int
	// ContextTokens is the context size requested from Ollama for prompt and answer, at least 2,048.
	// Default: 16384. Other servers set their own.
	ContextTokens int
	// Client is any language model of langchaingo. It replaces the server; Provider and Model then only
	// name it.
	Client llms.Model
}

// Embedder turns texts into vectors; see oxbow.Embedder. A job fails with the error of its embedder,
// which counts as an attempt.
type Embedder interface {
	Model() string
	Dimension() int
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// ConfigError reports an invalid Config.
type ConfigError struct{ error }

func (e *ConfigError) Unwrap() error { return e.error }

func (c Config) withDefaults() (Config, error) {
	if c.Concurrency == 0 {
		c.Concurrency = 8
		if c.inProcess() {
			c.Concurrency = min(max(runtime.NumCPU(), 2), 4)
		}
	}
	c.PollInterval = cmp.Or(c.PollInterval, 100*time.Millisecond)
	c.StopTimeout = cmp.Or(c.StopTimeout, 30*time.Second)
	c.overdue = cmp.Or(c.overdue, overdue)
	c.scheduleAge = cmp.Or(c.scheduleAge, scheduleAge)
	c.lastWait = cmp.Or(c.lastWait, lastWait)
	c.reembedPage = cmp.Or(c.reembedPage, 1024)
	c.riverLevel = cmp.Or(c.riverLevel, slog.LevelWarn)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.TracerProvider == nil {
		c.TracerProvider = otel.GetTracerProvider()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Logger = slog.New(calmLog{maskedLog{c.Logger.Handler()}, &repeated{}})
	switch {
	case c.Concurrency < 1 || c.Concurrency > 1000:
		return c, fmt.Errorf("concurrency %d is out of range: it must be 1 to 1000", c.Concurrency)
	case c.PollInterval < 10*time.Millisecond:
		return c, fmt.Errorf("poll interval %s is too short: it must be 10ms or more", c.PollInterval)
	case c.DailyTokens < 0:
		return c, fmt.Errorf("daily tokens %d is negative", c.DailyTokens)
	case c.StopTimeout < 0:
		return c, fmt.Errorf("stop timeout %s is negative", c.StopTimeout)
	case c.byRules() && (c.Reasoner.Model != "" || c.Reasoner.URL != ""):
		return c, errors.New("the reasoner rules has no model and no URL: omit them, or choose another provider")
	}
	return c, nil
}

// inProcess reports whether embedding takes the time of this process.
func (c Config) inProcess() bool {
	return c.Embedder == nil && slices.Contains([]string{"", providers.Local, providers.ONNX}, c.Embedding.Provider)
}

// callTime limits one call of the embedder.
func (c Config) callTime() time.Duration {
	if c.Embedder != nil {
		return cmp.Or(c.Embedding.Timeout, 30*time.Second) + 5*time.Second
	}
	return providers.Config(c.Embedding).CallTime()
}

// callTexts is the maximum number of texts per call of the embedder.
func (c Config) callTexts() int {
	if c.Embedder != nil {
		return 64
	}
	return providers.Config(c.Embedding).CallTexts()
}

// openPool opens the connection pool and configures its connections.
func (c Config) openPool(ctx context.Context) (*pgxpool.Pool, error) {
	cfg, err := connect.Pool(c.DatabaseURL, c.applicationName(), store.RegisterTypes)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(c.DatabaseURL, "pool_max_conns") {
		// Jobs need connections for short statements, not while they call a model. More than one for each CPU makes
		// nothing faster, and each takes about 20 MB of memory in PostgreSQL. But with few, the jobs of one user that wait
		// for an open transaction would hold all of them.
		cfg.MaxConns = max(cfg.MaxConns, 9)
	}
	return pgxpool.NewWithConfig(ctx, cfg)
}

func (c Config) applicationName() string {
	name, err := os.Hostname()
	if err != nil {
		name = "on an unknown host"
	}
	return "oxbow worker " + name
}
