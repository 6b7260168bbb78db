package worker

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// The values of the label outcome: how a job ended.
const (
	outcomeCompleted = "completed"
	outcomeSnoozed   = "snoozed" // waits for a provider, a model or a limit; does not count as an attempt
	outcomeFailed    = "failed"  // will be retried
	outcomeDiscarded = "discarded"
	outcomeCancelled = "cancelled"
	outcomePanicked  = "panicked"
)

// metrics are the metrics of this process. No label identifies a user or the content of a memory. The
// collector adds the gauges of the database.
type metrics struct {
	registry *prometheus.Registry

	jobs         *prometheus.CounterVec
	jobDuration  *prometheus.HistogramVec
	jobWait      *prometheus.HistogramVec
	embedLag     prometheus.Histogram
	embedded     prometheus.Counter
	refused      prometheus.Counter
	messages     prometheus.Counter
	extracted    prometheus.Counter
	unextracted  prometheus.Counter
	calls        *prometheus.CounterVec
	callDuration *prometheus.HistogramVec
	tokens       *prometheus.CounterVec
	overspent    prometheus.Counter
	cycles       *prometheus.CounterVec
	traits       *prometheus.CounterVec
	weights      *prometheus.CounterVec
}

// Bucket bounds of the histograms, in seconds.
var (
	fromMilliseconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	waitingTimes     = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15, 60, 300, 900, 3600, 21600}
)

func newMetrics() *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	register := promauto.With(m.registry)
	counter := func(name, help string) prometheus.Counter {
		return register.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return register.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histograms := func(name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
		return register.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}, labels)
	}
	m.jobs = counters("oxbow_jobs_total", "Jobs that this worker ran.", "kind", "outcome")
	m.jobDuration = histograms("oxbow_job_duration_seconds", "Run time of a job.", fromMilliseconds, "kind")
	m.jobWait = histograms("oxbow_job_wait_seconds", "Time from when a job was due until a worker took it.",
		waitingTimes, "kind")
	m.embedLag = register.NewHistogram(prometheus.HistogramOpts{Name: "oxbow_embed_lag_seconds",
		Buckets: waitingTimes,
		Help:    "Time from the start of the transaction that stored the memories until they were recallable, one observation per job."})
	m.embedded = counter("oxbow_memories_embedded_total", "Memories embedded by embed jobs.")
	m.refused = counter("oxbow_memories_refused_total", "Memories whose text the provider refused.")
	m.messages = counter("oxbow_messages_extracted_total", "Messages processed by extraction.")
	m.extracted = counter("oxbow_memories_extracted_total", "Memories that extraction created or changed.")
	m.unextracted = counter("oxbow_message_failures_total",
		"Invalid answers of the extractor, counted per message and attempt.")
	m.calls = counters("oxbow_provider_calls_total", "Calls of the embedder, reasoner, extractor, summarizer and reviewer.",
		"provider", "model", "operation", "outcome")
	m.callDuration = histograms("oxbow_provider_call_duration_seconds", "Duration of a call.", fromMilliseconds,
		"provider", "model", "operation")
	m.tokens = counters("oxbow_provider_tokens_total", "Tokens used by language models.", "model", "operation",
		"direction")
	m.overspent = counter("oxbow_spending_limits_total",
		"Times that a job was postponed because its user had spent the day's tokens.")
	m.cycles = counters("oxbow_reflection_cycles_total", "Reflection cycles.", "kind")
	m.traits = counters("oxbow_traits_total", "Traits that reflection changed.", "change")
	m.weights = counters("oxbow_weight_events_total", "Changes of weights and levels of memories, and merges.", "event")
	register.NewGauge(prometheus.GaugeOpts{Name: "oxbow_build_info",
		Help: "1, with the version of the program.", ConstLabels: buildLabels()}).Set(1)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.expect()
	return m
}

// expect creates the series that alarms use at zero, so that the first event is an increase.
func (m *metrics) expect() {
	for _, kind := range jobs.Names(everyKind) {
		for _, outcome := range []string{outcomeCompleted, outcomeSnoozed, outcomeFailed, outcomeDiscarded,
			outcomeCancelled, outcomePanicked} {
			m.jobs.WithLabelValues(kind, outcome)
		}
	}
	m.Weighed(store.WeightEvents{})
	for _, kind := range []string{"reflection", "review"} {
		m.cycles.WithLabelValues(kind)
	}
	for _, change := range []string{"created", "updated", "dissolved"} {
		m.traits.WithLabelValues(change)
	}
}

func buildLabels() prometheus.Labels {
	labels := prometheus.Labels{"version": "unknown", "revision": "unknown", "go": "unknown"}
	if info, ok := debug.ReadBuildInfo(); ok {
		labels["go"] = info.GoVersion
		if info.Main.Version != "" {
			labels["version"] = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				labels["revision"] = s.Value
			}
		}
	}
	return labels
}

// Embedded implements jobs.Observer.
func (m *metrics) Embedded(memories, refused int) {
	m.embedded.Add(float64(memories))
	m.refused.Add(float64(refused))
}

// Extracted implements jobs.Observer.
func (m *metrics) Extracted(messages, memories int) {
	m.messages.Add(float64(messages))
	m.extracted.Add(float64(memories))
}

// ExtractionFailed implements jobs.Observer.
func (m *metrics) ExtractionFailed(messages int) { m.unextracted.Add(float64(messages)) }

// Weighed implements jobs.Observer.
func (m *metrics) Weighed(events store.WeightEvents) {
	for event, n := range map[string]int{"mentioned": events.Mentioned, "used": events.Used, "negated": events.Negated,
		"compressed": events.Compressed, "raised": events.Raised, "merged": events.Merged} {
		m.weights.WithLabelValues(event).Add(float64(n))
	}
}

// Overspent implements jobs.Observer.
func (m *metrics) Overspent() { m.overspent.Inc() }

// Reflected implements jobs.Observer.
func (m *metrics) Reflected(o jobs.Outcome) {
	kind := "reflection"
	if o.Review {
		kind = "review"
	}
	m.cycles.WithLabelValues(kind).Inc()
	for change, n := range map[string]int{"created": o.Created, "updated": o.Updated, "dissolved": o.Dissolved} {
		m.traits.WithLabelValues(change).Add(float64(n))
	}
}

// called records a call of a provider.
func (m *metrics) called(c call, outcome string, took time.Duration) {
	m.calls.WithLabelValues(c.provider, c.model, c.operation, outcome).Inc()
	m.callDuration.WithLabelValues(c.provider, c.model, c.operation).Observe(took.Seconds())
}

// used records the tokens of a call of a language model.
func (m *metrics) used(u reasoner.Usage) {
	m.tokens.WithLabelValues(u.Model, u.Purpose, "prompt").Add(float64(u.PromptTokens))
	m.tokens.WithLabelValues(u.Model, u.Purpose, "completion").Add(float64(u.CompletionTokens))
}

// counting counts the outcomes of jobs. It is the outermost middleware, so that it sees what River sees.
type counting struct {
	river.MiddlewareDefaults
	*metrics
}

func (c *counting) Work(ctx context.Context, job *rivertype.JobRow, work func(context.Context) error) error {
	return toOutcome(ctx, job, work, c.begun(job))
}

// toOutcome runs a job and calls ended with its outcome, even if it panics.
func toOutcome(ctx context.Context, job *rivertype.JobRow, work func(context.Context) error,
	ended func(outcome string)) (err error) {
	outcome := outcomePanicked
	defer func() { ended(outcome) }()
	err = work(ctx)
	outcome = jobOutcome(job, err)
	return err
}

// begun records the start of a job, and returns a function that records its end.
func (m *metrics) begun(job *rivertype.JobRow) (ended func(outcome string)) {
	begun := time.Now()
	m.jobWait.WithLabelValues(job.Kind).Observe(max(begun.Sub(job.ScheduledAt), 0).Seconds())
	return func(outcome string) {
		now := time.Now()
		m.jobs.WithLabelValues(job.Kind, outcome).Inc()
		m.jobDuration.WithLabelValues(job.Kind).Observe(now.Sub(begun).Seconds())
		if outcome == outcomeCompleted && job.Kind == (jobs.EmbedArgs{}).Kind() {
			m.embedLag.Observe(max(now.Sub(job.CreatedAt), 0).Seconds())
		}
	}
}

func jobOutcome(job *rivertype.JobRow, err error) string {
	switch {
	case err == nil:
		return outcomeCompleted
	case errors.As(err, new(*rivertype.JobSnoozeError)):
		return outcomeSnoozed
	case errors.As(err, new(*rivertype.JobCancelError)):
		return outcomeCancelled
	case job.Attempt >= job.MaxAttempts:
		return outcomeDiscarded
	}
	return outcomeFailed
}
