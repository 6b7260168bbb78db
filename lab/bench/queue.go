package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/worker"
)

// nothing is a worker of embed jobs that does nothing.
type nothing struct {
	river.WorkerDefaults[jobs.EmbedArgs]
}

func (*nothing) Work(context.Context, *river.Job[jobs.EmbedArgs]) error { return nil }

// queue compares the jobs a second of our worker with those of a bare River client with the same queue. The jobs name
// memories that do not exist: our worker looks them up, for up to 128 jobs at a time; River's does nothing.
func queue(b *bench) {
	n, d := b.sized(20_000), b.database("bench_queue")
	work := func(name string, during func(do func())) variant {
		return variant{name, func() float64 {
			d.exec("truncate oxbow.river_job")
			d.exec(`
				insert into oxbow.river_job (kind, queue, max_attempts, args)
				select 'embed', 'embed', 25, jsonb_build_object('user_id', 'user-' || i % 200, 'ids', gen_random_uuid())
				  from generate_series(1, $1) i`, n)
			d.exec("vacuum analyze oxbow.river_job")
			d.exec("checkpoint")
			during(func() {
				b.until(d, "not exists (select from oxbow.river_job where kind = 'embed' and finalized_at is null)")
			})
			return float64(n) / ask[float64](d, `
				select extract(epoch from max(finalized_at) - min(attempted_at))::float8
				  from oxbow.river_job where kind = 'embed'`)
		}}
	}
	const workers = 2
	r := b.compare(fmt.Sprintf("%d waiting jobs, %d at a time", n, workers), "a second",
		work("bare River", func(do func()) { bareRiver(d, workers, do) }),
		work("ours", func(do func()) { b.working(d, worker.Config{Concurrency: workers}, do) }))
	b.atLeast("embed jobs that find nothing, a second / no-op jobs of a bare River client", 0.70, r.ratio(1, 0))
}

// bareRiver runs a client of River during do.
func bareRiver(d database, workers int, do func()) {
	known := river.NewWorkers()
	river.AddWorker(known, &nothing{})
	client := must.Get(river.NewClient(riverpgxv5.New(d.Pool), &river.Config{
		Schema: "oxbow", Workers: known, Logger: slog.New(slog.DiscardHandler),
		Queues: map[string]river.QueueConfig{
			jobs.QueueEmbed: {MaxWorkers: workers, FetchCooldown: 2 * time.Millisecond,
				FetchPollInterval: 100 * time.Millisecond},
		},
	}))
	must.OK(client.Start(context.WithoutCancel(d.ctx)))
	defer func() { must.OK(client.Stop(context.WithoutCancel(d.ctx))) }()
	do()
}
