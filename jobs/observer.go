package jobs

import (
	"context"

	"github.com/riverqueue/river/rivertype"
)

// Observer is told what jobs came to, for whoever counts it. It is called after the transaction
// that did it, from several goroutines at once.
type Observer interface {
	// Embedded: so many memories got a vector, and the provider refused so many texts.
	Embedded(memories, refused int)
	// Extracted: a batch of messages was read, and so many memories were made of it.
	Extracted(messages, memories int)
	// ExtractionFailed: nothing came of these messages; they are tried again.
	ExtractionFailed(messages int)
	// Reflected: a cycle ended.
	Reflected(Outcome)
	// Joined: a job is worked together with the one of ctx, and is not given to River's middleware.
	// It returns the metadata of the jobs that it causes, and what to call with the error that it
	// ends with.
	Joined(ctx context.Context, job *rivertype.JobRow) (metadata []byte, end func(error))
	// Overspent: a job waits because its user's reflections took all the tokens that they may take in a day.
	Overspent()
}

// unobserved is told and does nothing.
type unobserved struct{}

func (unobserved) Embedded(int, int)    {}
func (unobserved) Extracted(int, int)   {}
func (unobserved) ExtractionFailed(int) {}
func (unobserved) Reflected(Outcome)    {}
func (unobserved) Overspent()           {}
func (unobserved) Joined(context.Context, *rivertype.JobRow) ([]byte, func(error)) {
	return nil, func(error) {}
}

func (c Config) observer() Observer {
	if c.Observer == nil {
		return unobserved{}
	}
	return c.Observer
}
