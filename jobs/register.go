package jobs

import (
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/store"
)

// Config configures the workers. All fields are required.
type Config struct {
	// DB is a connection pool.
	DB store.DB
	// Embedder computes the vectors.
	Embedder Embedder
	// Provider tracks the health of Embedder.
	Provider *Provider
	// CallTime limits one call to Embedder.
	CallTime time.Duration
	// CallTexts is the maximum number of texts in one call, 1 to 128.
	CallTexts int
	// Reasoner derives traits from memories.
	Reasoner reasoner.Reasoner
	// Extractor extracts memories from messages. It uses the same provider as Reasoner, so the
	// Reasoner fields below apply to it as well.
	Extractor reasoner.Extractor
	// Facts reads what facts that applications stored are about.
	Facts reasoner.FactReader
	// Merger decides which memories say the same. It uses the same provider as Reasoner.
	Merger reasoner.Merger
	// Summarizer summarizes long conversations. It uses the same provider as Reasoner too.
	Summarizer reasoner.Summarizer
	// Reviewer decides about facts that are due for review. It uses the same provider as Reasoner too.
	Reviewer reasoner.Reviewer
	// Judge finds out what people think of answers. It uses the same provider as Reasoner too.
	Judge reasoner.Judge
	// Topics finds out what memories are about.
	Topics reasoner.TopicReader
	// Patterns are the keys of traits that patterns across users may count.
	Patterns []string
	// Abstracter draws conclusions from memories of one topic. It uses the same provider as Reasoner too.
	Abstracter reasoner.Abstracter
	// Questioner begins deep reflections, with the provider of Reasoner. Nil: they only answer open questions.
	Questioner reasoner.Questioner
	// Offline reports that Reasoner, Extractor, Summarizer, Reviewer and Judge make no network calls.
	Offline bool
	// ReasonerProvider tracks the health of Reasoner.
	ReasonerProvider *Provider
	// ReasonerCallTime limits one call to Reasoner.
	ReasonerCallTime time.Duration
	// ReflectBatch is the maximum number of memories in one reflection.
	ReflectBatch int
	// DailyTokens is the maximum number of tokens spent on a user in 24 hours. 0: unlimited.
	DailyTokens int64
	// Sender posts due intentions to webhooks.
	Sender Sender
	// Logger receives messages for operators.
	Logger *slog.Logger
	// Observer receives the results of jobs.
	Observer Observer
	// Now is the clock used for reflection.
	Now func() time.Time
}

// Register adds a worker for every kind of job.
func Register(workers *river.Workers, c Config) {
	for _, kind := range Kinds() {
		kind.register(workers, c)
	}
}

// reasonerTimeout allows for one call to the reasoner and the work in the database.
func reasonerTimeout(c Config) time.Duration { return c.ReasonerCallTime + Timeout }
