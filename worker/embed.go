package worker

import (
	"context"
	"errors"
	"time"

	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// embedAttempts limits how often Embed asks a provider that is unavailable.
const embedAttempts = 4

// Embed computes the vectors and search terms of memories immediately, without jobs. It waits while the
// provider is unavailable, but not for long.
func (w *Worker) Embed(ctx context.Context, memories []store.MemoryRef) error {
	for attempt := 1; ; attempt++ {
		err := w.jobs().EmbedNow(ctx, memories)
		down, unavailable := errors.AsType[*jobs.UnavailableError](err)
		if !unavailable || attempt == embedAttempts {
			return err
		}
		select {
		case <-time.After(down.RetryAfter):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
