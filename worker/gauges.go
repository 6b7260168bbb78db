package worker

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/oxbow-memory/oxbow/internal/gauges"
	"github.com/oxbow-memory/oxbow/jobs"
)

const (
	// gaugesAge is how long the database's gauges are cached, so that several scrapers cause one query.
	gaugesAge = 5 * time.Second
	// gaugesTime limits how long a scrape waits for the database.
	gaugesTime = 8 * time.Second
)

// collector collects the gauges of the database, the pool and the providers at each scrape.
type collector struct {
	worker *Worker

	mu   sync.Mutex
	read time.Time
	last gauges.Gauges
	err  error
}

var gaugeDescs []*prometheus.Desc // every result of gauge

func gauge(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(name, help, labels, nil)
	gaugeDescs = append(gaugeDescs, d)
	return d
}

var (
	descDatabaseUp = gauge("oxbow_database_up",
		"1 if the database returned its gauges, otherwise 0, and they are omitted.")
	descQueue = gauge("oxbow_queue_jobs",
		"Unfinished and discarded jobs; at most 100,000 of each state are counted.", "kind", "state")
	descQueueDue     = gauge("oxbow_queue_oldest_due_seconds", "How long the oldest waiting job has been due.", "kind")
	descEmbedBacklog = gauge("oxbow_embed_backlog_seconds", "Age of the oldest memories that wait to be embedded.")
	descInbox        = gauge("oxbow_inbox_memories", "Memories waiting for reflection, at most 100,000.")
	descInboxAge     = gauge("oxbow_inbox_oldest_seconds",
		"How long the oldest memory has been waiting for reflection.")
	descMessages = gauge("oxbow_messages_waiting", "Messages waiting for extraction, at most 100,000.")
	descFailing  = gauge("oxbow_messages_failing", "Waiting messages with failed attempts.")
	descRows     = gauge("oxbow_table_rows", "Live rows of a table and its partitions, by PostgreSQL's statistics.",
		"table")
	descDead     = gauge("oxbow_table_dead_rows", "Dead rows not yet vacuumed, by PostgreSQL's statistics.", "table")
	descLed      = gauge("oxbow_leader", "1 if a worker is the leader, which starts periodic jobs.")
	descProblems = gauge("oxbow_consistency_problems",
		"Contradictions of traits and memories that the last round of consistency_check found.")
	descLevels = gauge("oxbow_memories_by_level",
		"Facts and episodes of which so much is kept, estimated from a sample.", "level")
	descWeights = gauge("oxbow_memories_by_weight",
		"Facts and episodes that weigh less than that, estimated from a sample.", "below")
	descPeriod = gauge("oxbow_job_period_seconds",
		"Time between two runs of a periodic kind of jobs, by its schedule.", "kind")
	descSucceeded = gauge("oxbow_job_success_age_seconds", "How long ago a periodic kind of jobs last succeeded.",
		"kind")
	descTransaction = gauge("oxbow_oldest_transaction_seconds",
		"Age of the oldest transaction that the worker's login can see.")

	descProviderUp = gauge("oxbow_provider_up", "0 if the last call found the provider down, otherwise 1.",
		"provider", "model")
	descProviderFailing = gauge("oxbow_provider_failures", "Consecutive calls that found the provider down.",
		"provider", "model")

	descConnections   = gauge("oxbow_pool_connections", "Connections of the worker's pool.", "state")
	descPoolMax       = gauge("oxbow_pool_max_connections", "Maximum size of the pool.")
	descAcquires      = gauge("oxbow_pool_acquires_total", "Connections acquired from the pool.")
	descAcquireTime   = gauge("oxbow_pool_acquire_seconds_total", "Time spent acquiring connections.")
	descAcquiresEmpty = gauge("oxbow_pool_empty_acquires_total", "Acquisitions that had to wait for a connection.")
)

// Describe implements prometheus.Collector.
func (g *collector) Describe(into chan<- *prometheus.Desc) {
	for _, d := range gaugeDescs {
		into <- d
	}
}

// Collect implements prometheus.Collector.
func (g *collector) Collect(into chan<- prometheus.Metric) {
	is := func(d *prometheus.Desc, value float64, labels ...string) {
		into <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	counts := func(d *prometheus.Desc, value float64) {
		into <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, value)
	}
	g.worker.collectProviders(is)
	s := g.worker.pool.Stat()
	is(descConnections, float64(s.AcquiredConns()), "acquired")
	is(descConnections, float64(s.IdleConns()), "idle")
	is(descConnections, float64(s.ConstructingConns()), "constructing")
	is(descPoolMax, float64(s.MaxConns()))
	counts(descAcquires, float64(s.AcquireCount()))
	counts(descAcquireTime, s.AcquireDuration().Seconds())
	counts(descAcquiresEmpty, float64(s.EmptyAcquireCount()))

	now, err := g.database()
	is(descDatabaseUp, number(err == nil))
	if err == nil {
		collectDatabase(now, is)
	}
}

func (w *Worker) collectProviders(is func(*prometheus.Desc, float64, ...string)) {
	for _, p := range []struct {
		provider, model string
		status          jobs.ProviderStatus
	}{{"embedder", w.embedder.Model(), w.provider.Status()},
		{"reasoner", w.reasoner.Name(), w.reasonerState.Status()}} {
		is(descProviderUp, number(!p.status.Down()), p.provider, p.model)
		is(descProviderFailing, float64(p.status.Failures), p.provider, p.model)
	}
}

func collectDatabase(now gauges.Gauges, is func(*prometheus.Desc, float64, ...string)) {
	due := map[string]float64{}
	for _, kind := range jobs.Names(everyKind) {
		due[kind] = 0
	}
	for _, q := range now.Queue {
		is(descQueue, float64(q.Jobs), q.Kind, q.State)
		due[q.Kind] = max(due[q.Kind], q.DueSeconds)
	}
	for kind, seconds := range due {
		is(descQueueDue, seconds, kind)
	}
	for _, kind := range jobs.Kinds() {
		if row, known := now.Schedules[kind.Name]; known && kind.Periodic() {
			is(descPeriod, period(kind, row).Seconds(), kind.Name)
			is(descSucceeded, max(time.Since(row.SucceededAt), 0).Seconds(), kind.Name)
		}
	}
	is(descEmbedBacklog, now.EmbedSeconds())
	is(descInbox, float64(now.Inbox))
	is(descInboxAge, now.InboxSeconds)
	is(descMessages, float64(now.Messages))
	is(descFailing, float64(now.FailingMessages))
	for _, t := range now.Tables {
		is(descRows, float64(t.Live), t.Table)
		is(descDead, float64(t.Dead), t.Table)
	}
	is(descLed, number(now.Led))
	is(descProblems, float64(now.Inconsistencies))
	for _, l := range now.Levels {
		is(descLevels, l.Memories, l.Name)
	}
	for _, b := range now.Weights {
		is(descWeights, b.Memories, b.Name)
	}
	is(descTransaction, now.TransactionSeconds)
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// database returns the database's gauges, at most gaugesAge old.
func (g *collector) database() (gauges.Gauges, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Since(g.read) < gaugesAge {
		return g.last, g.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), gaugesTime)
	defer cancel()
	g.last, g.err = gauges.Read(ctx, g.worker.pool)
	g.read = time.Now()
	if g.err != nil {
		g.worker.log.WarnContext(ctx, "cannot read the metrics of the database", "error", g.err)
	}
	return g.last, g.err
}
