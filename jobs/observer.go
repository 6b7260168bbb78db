package jobs

import (
	"context"

	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow/store"
)

// Observer receives the results of jobs, for example to count them. Its methods are called after
// the transaction commits, and may be called concurrently.
type Observer interface {
	// Embedded reports how many memories got a vector and how many texts the provider refused.
	Embedded(memories, refused int)
	// Extracted reports the number of messages in a batch and of memories extracted from it.
	Extracted(messages, memories int)
	// ExtractionFailed reports that the extractor failed on a batch of messages. They are retried.
	ExtractionFailed(messages int)
	// Reflected reports the outcome of a reflection cycle.
	Reflected(Outcome)
	// Joined reports a job that runs together with the job of ctx and bypasses River's middleware.
	// It returns the metadata for the jobs that it enqueues, and a function to call with the error
	// that it ends with.
	Joined(ctx context.Context, job *rivertype.JobRow) (metadata []byte, end func(error))
	// Weighed reports the events that changed the weights of memories.
	Weighed(store.WeightEvents)
	// Overspent reports a job that waits because its user's daily token limit is reached.
	Overspent()
}
