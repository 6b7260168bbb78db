package reasoner

import "context"

// Questioner asks what older memories of a person could tell: the first phase of a deep reflection (C §8.3). It is safe
// for concurrent use. Its errors are those of a Reasoner.
type Questioner interface {
	// Name identifies the questioner in the records.
	Name() string
	// Questions returns at most MaxQuestions questions that recent memories raise. Memories are recalled by their words.
	Questions(ctx context.Context, recent Batch) ([]string, error)
}

// MaxQuestions is the maximum number of questions that recent memories raise.
const MaxQuestions = 3
