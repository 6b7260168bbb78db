package worker

import "context"

// Extract works the messages of a session off at once, those that wait for quiet included, and
// tells of each batch. Messages on which extraction failed are left to the jobs.
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
