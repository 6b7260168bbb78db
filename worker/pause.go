package worker

import (
	"context"
	"slices"
	"time"

	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/secrets"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// The names of the providers in store.Pause.
const (
	embeddingProvider = "embedding"
	reasonerProvider  = "reasoner"
)

// newProvider returns the state of a provider. It stores pauses, which oxbow status and oxbow doctor show.
func (w *Worker) newProvider(name string) *jobs.Provider {
	p := jobs.NewProvider()
	p.Changed = func(ctx context.Context, s jobs.ProviderStatus) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		var err error
		if s.Down() {
			err = store.NotePause(ctx, w.pool, store.Pause{Provider: name, Since: s.Since, Until: s.RetryAt,
				Failures: s.Failures, Error: oneline.Shorten(secrets.Mask(s.Err.Error()), 200)})
		} else {
			_, err = store.EndPauses(ctx, w.pool, name)
		}
		if err != nil {
			w.log.WarnContext(ctx, "cannot record that calls of a provider are paused", "provider", name, "error", err)
		}
	}
	return p
}

// endPauses makes jobs due that wait because an earlier worker paused their provider.
func (w *Worker) endPauses(ctx context.Context) error {
	ended, err := store.EndPauses(ctx, w.pool, embeddingProvider, reasonerProvider)
	if err != nil || len(ended) == 0 {
		return err
	}
	return store.WakeJobs(ctx, w.pool, jobs.Names(func(k *jobs.Kind) bool {
		return k.Embedder && slices.Contains(ended, embeddingProvider) ||
			k.Reasoner && slices.Contains(ended, reasonerProvider)
	}))
}
