package jobs

import (
	"log/slog"
	"slices"
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
	river.AddWorker(workers, newEmbedWorker(c))
	river.AddWorker(workers, &checkTriggerWorker{db: c.DB, together: &coalescer[CheckTriggerArgs]{c.DB, c.Logger, c.observer(), "1", checkedUsers}})
	reflection := c.Reflection()
	river.AddWorker(workers, &reflectWorker{Reflection: reflection})
	river.AddWorker(workers, &contradictionReviewWorker{Reflection: reflection})
	extraction := c.Extraction()
	river.AddWorker(workers, &extractWorker{Extraction: extraction})
	river.AddWorker(workers, &summarizeWorker{Extraction: extraction})
	river.AddWorker(workers, &expireTrendWorker{db: c.DB, now: c.Now})
	river.AddWorker(workers, &settleWorker{db: c.DB, now: c.Now, log: c.Logger})
	river.AddWorker(workers, &consistencyWorker{db: c.DB, now: c.Now, log: c.Logger})
	river.AddWorker(workers, &flushActivityWorker{db: c.DB})
	river.AddWorker(workers, &sensoryWorker{db: c.DB, log: c.Logger})
	river.AddWorker(workers, &vectorIndexWorker{db: c.DB, log: c.Logger})
	river.AddWorker(workers, &sweepWorker{db: c.DB, model: c.Embedder.Model(), log: c.Logger})
}

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

// Kinds are all kinds of jobs.
func Kinds() []string {
	return append(caused(), periodic()...)
}

// IsPeriodic tells whether jobs of a kind come with the clock, and concern everybody.
func IsPeriodic(kind string) bool { return slices.Contains(periodic(), kind) }

func caused() []string {
	return []string{EmbedArgs{}.Kind(), CheckTriggerArgs{}.Kind(), ExtractArgs{}.Kind(), SummarizeArgs{}.Kind(),
		ReflectArgs{}.Kind(), ContradictionReviewArgs{}.Kind(), ExpireTrendArgs{}.Kind()}
}

func periodic() []string {
	return []string{SettleArgs{}.Kind(), ConsistencyCheckArgs{}.Kind(), FlushActivityArgs{}.Kind(), SensoryArgs{}.Kind(), VectorIndexArgs{}.Kind(), SweepArgs{}.Kind()}
}
