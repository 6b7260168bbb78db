package worker

import (
	"context"
	"sync"
	"time"

	"github.com/oxbow-memory/oxbow/store"
)

// overdue is how long jobs may be due and lie before another worker is to lead: the one that leads
// takes up, every 5 seconds, what was to wait until now.
const overdue = 2 * time.Minute

// watchLeader sees to it, until stop, that somebody leads who does what a leader does. River elects
// anew when a leader is gone; one that is there and does nothing, or is written down for a time
// that is far off, would keep retries, and conversations that are over, waiting for as long.
func (w *Worker) watchLeader(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		ticker := time.NewTicker(w.cfg.overdue / 4)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			deposed, err := store.DeposeLeader(ctx, w.pool, w.cfg.overdue)
			switch {
			case ctx.Err() != nil:
			case err != nil:
				w.log.WarnContext(ctx, "could not look for jobs that are overdue", "error", err)
			case deposed:
				w.log.WarnContext(ctx, "jobs that are due lie untouched: another worker is to lead", "for", w.cfg.overdue.String())
			}
		}
	})
	return func() { cancel(); watching.Wait() }
}
