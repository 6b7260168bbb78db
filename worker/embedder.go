package worker

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/embedding/providers"
	"github.com/oxbow-memory/oxbow/jobs"
)

// embedder translates a provider's errors into those of package jobs.
type embedder struct{ embedding.Embedder }

func (e embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := e.Embedder.Embed(ctx, texts)
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
