package jobs

import (
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/store"
)

// Config is what the workers work with. All fields are required unless they say otherwise.
type Config struct {
	// DB is a pool.
	DB store.DB
	// Embedder makes the vectors.
	Embedder Embedder
	// Provider records how Embedder fares.
	Provider *Provider
	// CallTime limits one call of Embedder.
	CallTime time.Duration
	// CallTexts is how many texts one call has at most, 1 to 128.
	CallTexts int
	// Reasoner draws conclusions.
	Reasoner reasoner.Reasoner
	// Extractor makes memories of messages. What is said of Reasoner holds for it too: it is the same provider.
	Extractor reasoner.Extractor
	// Summarizer tells in short what long conversations were about. It is the same provider, too.
	Summarizer reasoner.Summarizer
	// Offline says that Reasoner, Extractor and Summarizer ask nothing of a network.
	Offline bool
	// ReasonerProvider records how Reasoner fares.
	ReasonerProvider *Provider
	// ReasonerCallTime limits one call of Reasoner.
	ReasonerCallTime time.Duration
	// ReflectBatch is how many memories are reflected on at once.
	ReflectBatch int
	// DailyTokens is how many tokens the reflections of a user may take in 24 hours. 0: any number.
	DailyTokens int64
	// Logger gets what a person should know.
	Logger *slog.Logger
	// Observer is told what the jobs came to. Default: nobody.
	Observer Observer
	// Now is the clock of reflection. Default: time.Now.
	Now func() time.Time
}

// Register adds a worker for every kind of job.
func Register(workers *river.Workers, c Config) {
	if c.Now == nil {
		c.Now = time.Now
	}
	for _, kind := range Kinds() {
		kind.register(workers, c)
	}
}

// reasonerTimeout is what a call of the reasoner may take, and what the database may.
func reasonerTimeout(c Config) time.Duration { return c.ReasonerCallTime + Timeout }

// Reflection is what the jobs reflect with.
func (c Config) Reflection() *Reflection {
	return &Reflection{DB: c.DB, Reasoner: c.Reasoner, Provider: c.ReasonerProvider, CallTime: c.ReasonerCallTime, Batch: c.ReflectBatch,
		DailyTokens: c.DailyTokens, Now: c.Now, Logger: c.Logger, Observer: c.observer()}
}

func newEmbedWorker(c Config) *embedWorker {
	callTexts := min(max(c.CallTexts, 1), embedIDs)
	return &embedWorker{
		db: c.DB, embedder: c.Embedder, provider: c.Provider,
		callTime: c.CallTime, callTexts: callTexts, log: c.Logger, observer: c.observer(),
		together: &coalescer[EmbedArgs]{c.DB, c.Logger, c.observer(), embedWeight, callTexts},
	}
}
