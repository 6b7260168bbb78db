package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"go.opentelemetry.io/otel/trace"

	"github.com/oxbow-memory/oxbow/internal/connect"
	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/embedding/providers"
	"github.com/oxbow-memory/oxbow/internal/reasoner/extract"
	"github.com/oxbow-memory/oxbow/internal/reasoner/rules"
	"github.com/oxbow-memory/oxbow/internal/webhook"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/store"
)

const (
	// riverSchema is the schema of River's tables.
	riverSchema = "oxbow"

	defaultWorkers = 4
	reflectWorkers = 2
	extractWorkers = 4

	// rescueAfter is how long a job may run before River assumes that its worker was killed. Kinds
	// with a longer timeout use that instead. River checks every 30 seconds.
	rescueAfter = 45 * time.Second
)

// riverIndexes are the indexes of River's table that River rebuilds daily. Its default list has three more, which
// migrations drop.
var riverIndexes = []string{"river_job_pkey", "river_job_prioritized_fetching_index",
	"river_job_state_and_finalized_at_index", "river_job_turn_idx", "river_job_unique_idx", "river_job_user_idx"}

// Worker works jobs. New makes one for a single Run or RunUntilIdle; Close releases its connections.
type Worker struct {
	cfg           Config
	pool          *pgxpool.Pool
	provider      *jobs.Provider
	embedder      embedding.Embedder
	reasonerState *jobs.Provider // the state of the reasoner
	reasoners
	log     *slog.Logger
	metrics *metrics
	gauges  *collector
	tracer  trace.Tracer
	started atomic.Bool
	writes  writes
}

// New connects to the database and checks that the worker can run there. Errors: a *ConfigError,
// a *pgconn.ConnectError, the errors of migrations.Check, and a *store.ModelMismatchError.
func New(ctx context.Context, cfg Config) (*Worker, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, &ConfigError{err}
	}
	made, err := cfg.openEmbedder()
	if err != nil {
		return nil, &ConfigError{err}
	}
	models, err := cfg.openReasoner()
	if err != nil {
		return nil, &ConfigError{err}
	}
	if err := cfg.checkDatabase(ctx, made); err != nil {
		return nil, err
	}
	pool, err := cfg.openPool(ctx)
	if err != nil {
		return nil, err
	}
	w := &Worker{cfg: cfg, pool: pool, embedder: made, reasoners: models, log: cfg.Logger,
		metrics: newMetrics(), tracer: cfg.TracerProvider.Tracer(tracerName)}
	w.provider, w.reasonerState = w.newProvider(embeddingProvider), w.newProvider(reasonerProvider)
	w.gauges = &collector{worker: w}
	w.metrics.registry.MustRegister(w.gauges)
	return w, nil
}

// checkDatabase checks the schema before the pool opens, because its connections need the extension.
func (c Config) checkDatabase(ctx context.Context, made embedding.Embedder) error {
	cfg, err := connect.One(c.DatabaseURL, c.applicationName())
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := migrations.Check(ctx, conn); err != nil || made == nil {
		return err
	}
	return c.checkModel(ctx, conn, made)
}

// checkModel compares the model with the database's. The error says how to make them agree.
func (c Config) checkModel(ctx context.Context, db store.DB, made embedding.Embedder) error {
	err := store.CheckModel(ctx, db, store.ModelOf(made))
	if c.Embedder != nil {
		return err // the command line cannot use it; the program calls Reembed
	}
	if errors.As(err, new(*store.ModelMismatchError)) {
		return fmt.Errorf("%w: configure the model of the database, or change the database's with: %s", err,
			c.reembedCommand(made))
	}
	return err
}

func (c Config) reembedCommand(made embedding.Embedder) string {
	command := "oxbow reembed --embedding-provider " + cmp.Or(c.Embedding.Provider, providers.Local)
	if c.Embedding.Model != "" {
		command += " --embedding-model " + c.Embedding.Model
	}
	command = fmt.Sprintf("%s --embedding-dimension %d", command, made.Dimension())
	if c.Embedding.QueryPrefix != "" {
		command += " --embedding-query-prefix '" + c.Embedding.QueryPrefix + "'"
	}
	if c.Embedding.PassagePrefix != "" {
		command += " --embedding-passage-prefix '" + c.Embedding.PassagePrefix + "'"
	}
	return command
}

// Close closes the connections. Call it after Run or RunUntilIdle has returned.
func (w *Worker) Close() { w.pool.Close() }

// Pool returns the worker's connection pool.
func (w *Worker) Pool() *pgxpool.Pool { return w.pool }

// Run works jobs until ctx ends. It then takes no new jobs, waits up to Config.StopTimeout for running
// ones, and interrupts the rest; the next worker runs interrupted jobs again. A clean stop is not an error.
func (w *Worker) Run(ctx context.Context) error {
	periodic, periodicJobs, err := w.newPeriodic(ctx)
	switch {
	case ctx.Err() != nil:
		return nil // stopped before it started
	case err != nil:
		return err
	}
	if err := w.endPauses(ctx); err != nil {
		return err
	}
	if !w.cfg.PollOnly {
		heard, err := w.hears(ctx)
		if err != nil {
			return err
		}
		if w.cfg.PollOnly = !heard; !heard {
			w.log.WarnContext(ctx, "notifications do not arrive, as behind a pooler in transaction mode, so the worker "+
				"polls: start it with --poll-only, or connect it directly")
		}
	}
	client, err := w.client(periodicJobs, time.Second)
	if err != nil {
		return err
	}
	stopServing, err := w.serve(ctx)
	if err != nil {
		return err
	}
	defer stopServing()
	if err := w.start(ctx, client); err != nil {
		return err
	}
	w.log.InfoContext(ctx, "working", "model", w.embedder.Model(), "dimension", w.embedder.Dimension(),
		"concurrency", w.cfg.Concurrency, "poll_only", w.cfg.PollOnly)
	stopWatching := w.watchLeader(ctx)
	stopFollowing := periodic.watch(ctx, client)
	<-ctx.Done()
	stopFollowing()
	stopWatching()
	w.log.InfoContext(ctx, "stopping", "limit", w.cfg.StopTimeout.String())
	return w.stop(ctx, client)
}

// startAttempts limits how often the worker tries to start River. Each attempt waits up to 10 seconds for
// PostgreSQL.
const startAttempts = 6

func (w *Worker) start(ctx context.Context, client *river.Client[pgx.Tx]) error {
	for attempt := 1; ; attempt++ {
		// River stops hard when its context ends; w.stop stops it gracefully.
		err := client.Start(context.WithoutCancel(ctx))
		if err == nil {
			w.started.Store(true)
			return nil
		}
		if !errors.Is(err, context.DeadlineExceeded) || attempt == startAttempts || ctx.Err() != nil {
			return fmt.Errorf("start the worker: %w", err)
		}
		w.log.WarnContext(ctx, "PostgreSQL is slow; retrying the start", "attempt", attempt, "error", err)
	}
}

// lastWait is how long an interrupted job may take to return.
const lastWait = 5 * time.Second

func (w *Worker) stop(ctx context.Context, client *river.Client[pgx.Tx]) error {
	defer w.started.Store(false)
	ctx = context.WithoutCancel(ctx) // ctx has usually ended
	soft, cancel := context.WithTimeout(ctx, w.cfg.StopTimeout)
	defer cancel()
	err := client.Stop(soft)
	if err == nil {
		return nil
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("stop the worker: %w", err)
	}
	w.log.WarnContext(ctx, "interrupting running jobs", "after", w.cfg.StopTimeout.String())
	hard, cancel := context.WithTimeout(ctx, w.cfg.lastWait)
	defer cancel()
	if err := client.StopAndCancel(hard); err != nil {
		return fmt.Errorf(
			"jobs did not end within %s, nor within %s after being interrupted; another worker will take them over: %w",
			w.cfg.StopTimeout, w.cfg.lastWait, err)
	}
	return nil
}

// jobs returns the configuration of the jobs.
func (w *Worker) jobs() jobs.Config {
	o := &observed{w.metrics, w.tracer}
	c := jobs.Config{
		DB: w.pool, Embedder: observedEmbedder{embedder{w.embedder}, o}, Provider: w.provider,
		CallTime: w.cfg.callTime(), CallTexts: w.cfg.callTexts(),
		Reasoner: observedReasoner{w.reasoner, o}, Extractor: observedExtractor{w.extractor, o},
		Facts: extract.New(), Summarizer: observedSummarizer{w.summarizer, o}, Merger: observedMerger{w.merger, o},
		Reviewer: observedReviewer{w.reviewer, o}, Judge: observedJudge{w.judge, o},
		Sender:     webhook.NewSender(w.cfg.WebhookPrivate),
		Abstracter: observedAbstracter{w.abstracter, o}, Topics: rules.New(), Patterns: rules.Vocabulary(), Offline: w.cfg.byRules(),
		ReasonerProvider: w.reasonerState, ReasonerCallTime: w.cfg.reasonerCallTime(),
		ReflectBatch: w.cfg.reflectBatch(),
		DailyTokens:  w.cfg.DailyTokens, Logger: w.log, Observer: joining{w.metrics, w.tracer}, Now: w.cfg.Now,
	}
	if w.questioner != nil {
		c.Questioner = observedQuestioner{w.questioner, o}
	}
	return c
}

// client returns a client of River that polls for jobs that no user waits for at the given interval.
func (w *Worker) client(periodic []*river.PeriodicJob, poll time.Duration) (*river.Client[pgx.Tx], error) {
	workers := river.NewWorkers()
	jobs.Register(workers, w.jobs())
	reflectPoll := poll
	if w.cfg.PollOnly { // the batches of an inbox follow each other at this interval
		reflectPoll = min(poll, 200*time.Millisecond)
	}
	return river.NewClient(jobs.Driver(w.pool), &river.Config{
		Schema:  riverSchema,
		Workers: workers,
		Queues: map[string]river.QueueConfig{
			// Fetch again as soon as a job ends: users wait for new memories.
			jobs.QueueEmbed: {MaxWorkers: w.cfg.Concurrency, FetchCooldown: 2 * time.Millisecond,
				FetchPollInterval: w.cfg.PollInterval},
			jobs.QueueDefault: {MaxWorkers: defaultWorkers, FetchCooldown: 20 * time.Millisecond,
				FetchPollInterval: poll},
			jobs.QueueExtract: {MaxWorkers: extractWorkers, FetchCooldown: 5 * time.Millisecond,
				FetchPollInterval: w.cfg.PollInterval},
			jobs.QueueReflect: {MaxWorkers: reflectWorkers, FetchCooldown: 20 * time.Millisecond,
				FetchPollInterval: reflectPoll},
		},
		PeriodicJobs:                periodic,
		PollOnly:                    w.cfg.PollOnly,
		JobTimeout:                  jobs.Timeout,
		RescueStuckJobsAfter:        rescueAfter,
		CompletedJobRetentionPeriod: jobs.MaxRetention,
		ReindexerIndexNames:         riverIndexes,
		ErrorHandler:                errorHandler{w.log},
		Middleware: []rivertype.Middleware{&masking{}, &counting{metrics: w.metrics}, &tracing{tracer: w.tracer},
			&noting{Worker: w}, &endings{}},
		Logger:   riverLogger(w.log, w.cfg.riverLevel),
		TestOnly: w.cfg.fast,
	})
}
