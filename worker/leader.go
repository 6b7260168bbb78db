package worker

import (
	"context"
	"time"

	"github.com/oxbow-memory/oxbow/store"
)

// overdue is how long due jobs may stay untouched before the leader is deposed. A working leader makes
// scheduled jobs available every 5 seconds.
const overdue = 2 * time.Minute

// watchLeader deposes a leader that does not do its work, until stop is called. River elects a new leader
// when the term of the old one expires. A leader that keeps its term without working, or a term recorded
// far into the future, would delay retries and the extraction of finished conversations.
func (w *Worker) watchLeader(ctx context.Context) (stop func()) {
	return repeat(ctx, w.cfg.overdue/4, func(ctx context.Context) {
		deposed, err := store.DeposeLeader(ctx, w.pool, w.cfg.overdue)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			w.log.WarnContext(ctx, "cannot look for overdue jobs", "error", err)
		case deposed:
			w.log.WarnContext(ctx, "deposed the leader, which did not start due jobs", "for", w.cfg.overdue.String())
		}
	})
}
