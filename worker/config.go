// Package worker assembles what works the jobs: the pool of connections, the store, the embedding provider and River.
package worker

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/oxbow-memory/oxbow/internal/embedding/providers"
	"github.com/oxbow-memory/oxbow/internal/llm"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/store"
)

// Config says what to work on and how. DatabaseURL is required.
type Config struct {
	// DatabaseURL names the database. pgx's own parameters may be in it, such as pool_max_conns, or, for a pooler that
	// shares connections by transaction, default_query_exec_mode=exec.
	DatabaseURL string
	// Embedding chooses the provider of vectors. Default: the local one.
	Embedding EmbeddingConfig
	// Embedder makes vectors in the place of Embedding. oxbow.NewEmbedder makes one of any embedder of langchaingo.
	Embedder Embedder
	// Reasoner chooses what draws conclusions. Default: the rules.
	Reasoner ReasonerConfig
	// DailyTokens is how many tokens the reflections of a user may take in 24 hours; what exceeds
	// it waits. Default: any number.
	DailyTokens int64
	// Now is the clock of reflection, for data that lies in the past. Default: time.Now.
	Now func() time.Time
	// Concurrency is how many embed jobs run at once. Default: the number of CPUs, 2 to 4; for a provider that is asked
	// over a network 8.
	Concurrency int
	// PollOnly leaves LISTEN alone, which poolers that share connections by transaction do not carry. Jobs are found by
	// polling, as they are anyway when no notification comes.
	PollOnly bool
	// PollInterval is how often the queue of new memories is looked at. Default 100 ms.
	PollInterval time.Duration
	// StopTimeout is how long running jobs may go on when the worker is stopped. Default 30 seconds.
	StopTimeout time.Duration
	// HealthAddr is where health and readiness are served over HTTP, such as "127.0.0.1:8080". Default: nowhere.
	HealthAddr string
	// MetricsAddr is where metrics are served over HTTP for Prometheus, and health too. Default: nowhere.
	MetricsAddr string
	// TracerProvider gets the traces of jobs and of the calls that they make. Default:
	// OpenTelemetry's global one, which does nothing unless the program has set it.
	TracerProvider trace.TracerProvider
	// CheckSchema tells whether the database is what this program needs. Default: no check.
	CheckSchema func(ctx context.Context, db store.DB) error
	// Logger gets what is done. Default: nothing is logged.
	Logger *slog.Logger

	fast        bool                // tests: no staggered start of maintenance
	overdue     time.Duration       // see the constant
	scheduleAge time.Duration       // see the constant
	lastWait    time.Duration       // see the constant
	thinks      reasoner.Reasoner   // tests: the reasoner, whatever Reasoner says
	extracts    reasoner.Extractor  // tests: the extractor
	summarizes  reasoner.Summarizer // tests: the summarizer; nil: the rules
	reembedPage int                 // how many memories one step of Reembed looks at and commits
}

// EmbeddingConfig chooses one of the providers of vectors that the program has.
type EmbeddingConfig = providers.Config

// ReasonerConfig chooses one of the language models that the program can ask. With Client it is any
// model of langchaingo, which Model then names.
type ReasonerConfig = llm.Config

// Embedder makes vectors of texts, as oxbow.Embedder. Its errors count as attempts of the jobs that they stop.
type Embedder interface {
	Model() string
	Dimension() int
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

func (c Config) withDefaults() (Config, error) {
	if c.Concurrency == 0 {
		c.Concurrency = 8
		if c.local() {
			c.Concurrency = min(max(runtime.NumCPU(), 2), 4)
		}
	}
	c.PollInterval = cmp.Or(c.PollInterval, 100*time.Millisecond)
	c.StopTimeout = cmp.Or(c.StopTimeout, 30*time.Second)
	c.overdue = cmp.Or(c.overdue, overdue)
	c.scheduleAge = cmp.Or(c.scheduleAge, scheduleAge)
	c.lastWait = cmp.Or(c.lastWait, lastWait)
	c.reembedPage = cmp.Or(c.reembedPage, 1024)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.TracerProvider == nil {
		c.TracerProvider = otel.GetTracerProvider()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.CheckSchema == nil {
		c.CheckSchema = func(context.Context, store.DB) error { return nil }
	}
	switch {
	case c.Concurrency < 1 || c.Concurrency > 1000:
		return c, fmt.Errorf("concurrency %d is out of range: it must be 1 to 1000", c.Concurrency)
	case c.PollInterval < 10*time.Millisecond:
		return c, fmt.Errorf("poll interval %s is too short: it must be 10ms or more", c.PollInterval)
	case c.DailyTokens < 0:
		return c, fmt.Errorf("the limit of %d tokens a day is negative", c.DailyTokens)
	case c.StopTimeout < 0:
		return c, fmt.Errorf("stop timeout %s is negative", c.StopTimeout)
	}
	return c, nil
}

func (c Config) local() bool {
	return c.Embedder == nil && (c.Embedding.Provider == "" || c.Embedding.Provider == providers.ProviderLocal)
}

// callTime limits one call of the embedder. A call may take several requests when a provider refuses texts, so it is
// somewhat more than the limit of a request.
func (c Config) callTime() time.Duration {
	switch {
	case c.local():
		return 10 * time.Second
	case c.Embedding.Timeout > 0:
		return c.Embedding.Timeout + 5*time.Second
	case c.Embedding.Provider == providers.ProviderOllama:
		return 2*time.Minute + 5*time.Second
	}
	return 35 * time.Second
}

// callTexts is how many texts one call has: few where a call takes long, so that little is lost with one that fails.
func (c Config) callTexts() int {
	switch {
	case c.local():
		return 128
	case c.Embedding.Provider == providers.ProviderOllama:
		return 8 // its server is asked for one text at a time
	}
	return 64
}

// openPool connects, and fails with pgx's error where the database does not answer.
func (c Config) openPool(ctx context.Context) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(c.DatabaseURL)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(c.DatabaseURL, "pool_max_conns") {
		// one for each job, and those of River itself: fetching, completing, listening, leading
		cfg.MaxConns = int32(c.Concurrency + defaultWorkers + reflectWorkers + extractWorkers + 6)
	}
	if cfg.ConnConfig.RuntimeParams["application_name"] == "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = "oxbow worker " + hostname()
	}
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error { return store.RegisterTypes(ctx, conn) }
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return pool, nil
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "on an unknown host"
	}
	return name
}
