package main

import (
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// workFlags are the flags of commands that run jobs.
type workFlags struct {
	embedding embeddingFlags
	reasoner  reasonerFlags
	cfg       worker.Config
}

func (w *workFlags) add(f *pflag.FlagSet) {
	w.embedding.add(f)
	w.reasoner.add(f, &w.cfg)
	w.addConcurrency(f)
	f.BoolVar(&w.cfg.WebhookPrivate, "webhook-private", false,
		"let webhooks have private and local addresses (OXBOW_WEBHOOK_PRIVATE)")
	env(f, "webhook-private", "OXBOW_WEBHOOK_PRIVATE")
	w.cfg.StopTimeout = 30 * time.Second
	durationFlag(f, &w.cfg.StopTimeout, "stop-timeout", time.Millisecond, "how long to wait for running jobs at shutdown")
	addressFlag(f, &w.cfg.HealthAddr, "health-addr", "serve /healthz and /readyz there, such as 127.0.0.1:8080")
	addressFlag(f, &w.cfg.MetricsAddr, "metrics-addr",
		"serve /metrics, /healthz and /readyz there, such as 127.0.0.1:9464")
	env(f, "metrics-addr", "OXBOW_METRICS_ADDR")
}

func (w *workFlags) addConcurrency(f *pflag.FlagSet) {
	intFlag(f, &w.cfg.Concurrency, "concurrency", "", 1, 1000,
		"embedding requests at once; default: the number of CPUs, at least 2 and at most 4, or 8 for a remote provider")
}

// config returns the worker's configuration.
func (w *workFlags) config(dsn string, log *slog.Logger) worker.Config {
	cfg := w.cfg
	cfg.Embedding = w.embedding.cfg
	if w.reasoner.now != nil {
		w.reasoner.complete(&cfg)
	}
	cfg.DatabaseURL, cfg.Logger = dsn, log
	return cfg
}

func workCommand(a *app) *cobra.Command {
	var flags workFlags
	var untilIdle bool
	cmd := &cobra.Command{
		Use:   "work",
		Short: "Run a worker: embed memories, reflect on them, maintain the database",
		Long: `Run a worker. It processes the jobs that memories cause, and the periodic ones (see "oxbow jobs").

Any number of workers may run, on any number of machines. The first interrupt lets running jobs finish, for up
to --stop-timeout. A second one ends the process at once; another worker takes over its jobs when their
timeouts have passed, after minutes.

Traces are sent as OTLP over HTTP to the endpoint in OpenTelemetry's variables, such as
OTEL_EXPORTER_OTLP_ENDPOINT.`,
		RunE: a.needsDatabase(func(cmd *cobra.Command, _ []string) error {
			ctx, log := cmd.Context(), a.logger()
			if !untilIdle {
				log = a.serviceLogger()
			}
			stopTracing, err := startTracing(ctx, a.serviceLogger())
			if err != nil {
				return err
			}
			defer stopTracing()
			w, err := worker.New(ctx, flags.config(a.databaseURL, log))
			if err != nil {
				return err
			}
			defer w.Close()
			if err := seeAll(ctx, w.Pool(), cmd.CommandPath()); err != nil {
				return err
			}
			if !untilIdle {
				return w.Run(ctx)
			}
			bar := a.progress("jobs left", 0)
			defer bar.end()
			return w.RunUntilIdle(ctx, func(left store.Backlog) { bar.set(left.Now) })
		}),
	}
	flags.add(cmd.Flags())
	cmd.Flags().BoolVar(&untilIdle, "until-idle", false, "exit when no job is due; fail if a job has to wait")
	cmd.Flags().BoolVar(&flags.cfg.PollOnly, "poll-only", false, "do not use LISTEN, for poolers in transaction mode")
	return cmd
}
