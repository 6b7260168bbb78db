package worker

import "context"

// Extract processes the waiting messages of a session immediately, including those that wait for the
// session to become quiet. It calls report after each batch. Messages whose extraction has failed are
// left to the jobs.
func (w *Worker) Extract(ctx context.Context, userID, sessionID string, report func(messages int)) error {
	x := w.jobs().Extraction()
	for {
		done, more, err := x.Step(ctx, userID, sessionID)
		if err != nil || !more {
			return err
		}
		report(done)
	}
}
