package main

import (
	"cmp"
	"context"
	"math"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/embedding/providers"
	"github.com/oxbow-memory/oxbow/rerank"
	"github.com/oxbow-memory/oxbow/worker"
)

// embeddingFlags choose the embedding provider.
type embeddingFlags struct{ cfg worker.EmbeddingConfig }

func (e *embeddingFlags) add(f *pflag.FlagSet) {
	e.cfg.APIKey = os.Getenv("OXBOW_EMBEDDING_API_KEY") // not a flag: other users could see it in the process list
	f.StringVar(&e.cfg.Provider, "embedding-provider", "",
		"embedding provider: local (default), onnx, openai (any server with its API) or ollama")
	f.StringVar(&e.cfg.Model, "embedding-model", "", "name of the provider's model")
	intFlag(f, &e.cfg.Dimension, "embedding-dimension", "", 1, embedding.MaxDimension, "length of the model's vectors")
	f.StringVar(&e.cfg.Path, "embedding-path", "", "folder of the model, for onnx")
	f.StringVar(&e.cfg.Library, "embedding-library", "",
		"path of ONNX Runtime's shared library, for onnx (default: the system finds it)")
	f.StringVar(&e.cfg.URL, "embedding-url", "", "base URL of the server (default: the provider's)")
	f.BoolVar(&e.cfg.SendDimension, "embedding-send-dimension", false,
		"request vectors of that dimension from the server")
	durationFlag(f, &e.cfg.Timeout, "embedding-timeout", time.Millisecond,
		"timeout of one request (default 30s, 2m for ollama)")
	intFlag(f, &e.cfg.BatchSize, "embedding-batch-size", "", 1, 64, "texts per request to openai, default 64")
	f.StringVar(&e.cfg.QueryPrefix, "embedding-query-prefix", "",
		`text before every question, if the model was trained with one, such as "query: "`)
	f.StringVar(&e.cfg.PassagePrefix, "embedding-passage-prefix", "",
		`text before every memory, such as "passage: "`)
	envs(f, "embedding-")
}

// open returns the chosen embedder. Invalid flags are usage errors.
func (e *embeddingFlags) open() (oxbow.Embedder, error) {
	embedder, err := providers.Open(providers.Config(e.cfg))
	if err != nil {
		return nil, usageError{err}
	}
	return embedder, nil
}

// option makes a client use the chosen embedder.
func (e *embeddingFlags) option(context.Context) (oxbow.Option, error) {
	embedder, err := e.open()
	if err != nil {
		return nil, err
	}
	return oxbow.WithEmbedder(embedder), nil
}

// rerankFlags choose the server that ranks recalled memories again.
type rerankFlags struct {
	cfg     rerank.Config
	options oxbow.RerankOptions
}

func (r *rerankFlags) add(f *pflag.FlagSet) {
	r.cfg.APIKey = os.Getenv("OXBOW_RERANK_API_KEY") // not a flag: other users could see it in the process list
	r.options = oxbow.RerankOptions{Pool: oxbow.DefaultRerankPool, Timeout: oxbow.DefaultRerankTimeout}
	f.StringVar(&r.cfg.URL, "rerank-url", "", "base URL of a server that ranks recalled memories again (default: none)")
	f.StringVar(&r.cfg.Model, "rerank-model", "", "name of the server's model (default: none, with TEI's API)")
	intFlag(f, &r.options.Pool, "rerank-pool", "", 1, oxbow.MaxRerankPool, "number of memories to rank again")
	durationFlag(f, &r.options.Timeout, "rerank-timeout", time.Millisecond,
		"how long to wait for that server before keeping recall's order")
	f.Float64Var(&r.options.Weight, "rerank-weight", oxbow.DefaultRerankWeight,
		"weight of that server's order, above 0; recall's own has weight 1")
	envs(f, "rerank-")
}

// open returns the chosen reranker, or nil.
func (r *rerankFlags) open() (oxbow.Reranker, error) {
	if r.cfg.URL == "" {
		return nil, nil
	}
	if !(r.options.Weight > 0) || math.IsInf(r.options.Weight, 1) {
		return nil, usagef("invalid --rerank-weight %g: expected a number above 0", r.options.Weight)
	}
	reranker, err := rerank.New(r.cfg)
	if err != nil {
		return nil, usageError{err}
	}
	return reranker, nil
}

// option makes a client use the chosen reranker, if any.
func (r *rerankFlags) option(context.Context) (oxbow.Option, error) {
	reranker, err := r.open()
	if reranker == nil {
		return nil, err
	}
	return oxbow.WithReranker(reranker, r.options), nil
}

// reasonerFlags choose the reasoner and its clock.
type reasonerFlags struct{ now *moment }

func (r *reasonerFlags) add(f *pflag.FlagSet, cfg *worker.Config) {
	f.StringVar(&cfg.Reasoner.Provider, "reasoner-provider", "", "reasoner: rules (default), openai or ollama")
	f.StringVar(&cfg.Reasoner.Model, "reasoner-model", "", "name of the language model")
	f.StringVar(&cfg.Reasoner.URL, "reasoner-url", "", "base URL of the server (default: the provider's)")
	durationFlag(f, &cfg.Reasoner.Timeout, "reasoner-timeout", time.Millisecond, "timeout of one request (default 2m)")
	intFlag(f, &cfg.Reasoner.MaxTokens, "reasoner-max-tokens", "", 256, 1_000_000,
		"tokens of one answer, including thoughts, default 8192")
	f.Int64Var(&cfg.DailyTokens, "reasoner-daily-tokens", 0,
		"tokens per user and day for reflection (default: unlimited)")
	r.now = momentFlag(f, "now", "set the reflection clock to this time or to the end of this period, in UTC")
	envs(f, "reasoner-")
}

// complete sets the key, which is never a flag, and the clock.
func (r *reasonerFlags) complete(cfg *worker.Config) {
	cfg.Reasoner.APIKey = cmp.Or(os.Getenv("OXBOW_REASONER_API_KEY"), os.Getenv("OPENAI_API_KEY"))
	if now := r.now.end(time.UTC); !now.IsZero() {
		cfg.Now = func() time.Time { return now }
	}
}
