package worker

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/embedding/providers"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// embedder translates a provider's errors into those of package jobs.
type embedder struct{ embedding.Embedder }

func (e embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := e.Embedder.Embed(ctx, texts)
	return translated(ctx, vectors, err)
}

func (e embedder) EmbedQueries(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := embedding.Queries(ctx, e.Embedder, texts)
	return translated(ctx, vectors, err)
}

// Prefixes returns those of the model, for store.ModelOf.
func (e embedder) Prefixes() (query, passage string) {
	m := store.ModelOf(e.Embedder)
	return m.QueryPrefix, m.PassagePrefix
}

func translated(ctx context.Context, vectors [][]float32, err error) ([][]float32, error) {
	var failed *embedding.Error
	if !errors.As(err, &failed) {
		if ctx.Err() == nil && errors.As(err, new(net.Error)) { // of an embedder that the program brought
			return nil, &jobs.UnavailableError{Broke: true, Err: err}
		}
		return vectors, err
	}
	switch failed.Kind {
	case embedding.Unavailable:
		broke := failed.RetryAfter == 0 && (failed.Status == 0 || failed.Status >= http.StatusInternalServerError)
		return nil, &jobs.UnavailableError{RetryAfter: failed.RetryAfter, Broke: broke, Err: err}
	case embedding.Permanent:
		return vectors, &jobs.RefusedError{Texts: failed.Texts, Reasons: failed.Reasons, Err: err}
	}
	return nil, err
}

// openEmbedder returns the configured embedder.
func (c Config) openEmbedder() (embedding.Embedder, error) {
	if c.Embedder != nil {
		return c.Embedder, nil
	}
	return providers.Open(providers.Config(c.Embedding))
}
