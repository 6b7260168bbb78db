package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// workFlags are the flags of the commands that run jobs.
type workFlags struct {
	embedding embeddingFlags
	reasoner  reasonerFlags
	cfg       worker.Config
}

func (f *workFlags) add(flags *pflag.FlagSet) {
	f.embedding.add(flags)
	f.reasoner.add(flags, &f.cfg)
	flags.IntVar(&f.cfg.Concurrency, "concurrency", 0, "how many embed jobs run at once (default: the CPUs, 2 to 4; 8 for a remote provider)")
	flags.DurationVar(&f.cfg.StopTimeout, "stop-timeout", 30*time.Second, "how long running jobs may go on when stopped")
	flags.StringVar(&f.cfg.HealthAddr, "health-addr", "", "serve /healthz and /readyz there, for example 127.0.0.1:8080")
	flags.StringVar(&f.cfg.MetricsAddr, "metrics-addr", os.Getenv("OXBOW_METRICS_ADDR"),
		"serve /metrics for Prometheus there, and /healthz and /readyz, for example 127.0.0.1:9464 ($OXBOW_METRICS_ADDR)")
	flags.Lookup("metrics-addr").DefValue = "" // keeps help the same on every machine
	flags.Lookup("concurrency").DefValue = "0" // the usage text names the default
}

// config completes the worker's configuration.
func (f *workFlags) config(dsn string, log *slog.Logger) (worker.Config, error) {
	cfg := f.cfg
	var err error
	if cfg.Embedding, err = f.embedding.config(); err == nil {
		err = f.reasoner.complete(&cfg)
	}
	cfg.DatabaseURL, cfg.Logger = dsn, log
	cfg.CheckSchema = func(ctx context.Context, db store.DB) error { return migrations.Check(ctx, db) }
	return cfg, err
}

func newWorkCommand(a *app) *cobra.Command {
	var flags workFlags
	var untilIdle bool
	cmd := &cobra.Command{
		Use:   "work",
		Short: "Work the jobs that memories cause",
		Long: `Work the jobs that memories cause: embed them, reflect on them, repair what was lost.

Any number of workers may run, on any number of machines. The first interrupt lets running jobs finish (up to
--stop-timeout); a second one ends the process at once, and another worker takes its jobs up within two minutes.

Traces are sent by OTLP over HTTP to where OpenTelemetry's variables say, such as OTEL_EXPORTER_OTLP_ENDPOINT.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dsn, err := a.dsn()
			if err != nil {
				return err
			}
			log := a.logger()
			if !untilIdle {
				log = a.serviceLogger()
			}
			cfg, err := flags.config(dsn, log)
			if err != nil {
				return err
			}
			stopTracing, err := a.startTracing(cmd.Context())
			if err != nil {
				return err
			}
			defer stopTracing()
			w, err := worker.New(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			defer w.Close()
			if err := seeAll(cmd.Context(), w.Pool(), "oxbow work"); err != nil {
				return err
			}
			if untilIdle {
				return a.workUntilIdle(cmd.Context(), w)
			}
			return w.Run(cmd.Context())
		},
	}
	flags.add(cmd.Flags())
	cmd.Flags().BoolVar(&untilIdle, "until-idle", false, "stop when nothing is left to do; fails when something has to wait")
	cmd.Flags().BoolVar(&flags.cfg.PollOnly, "poll-only", false, "do not LISTEN, for poolers that share connections by transaction")
	return cmd
}

// workUntilIdle runs the available jobs and reports progress.
func (a *app) workUntilIdle(ctx context.Context, w *worker.Worker) error {
	progress := a.progress("jobs left", 0)
	defer progress.end()
	return w.RunUntilIdle(ctx, func(left store.Backlog) { progress.set(left.Now) })
}

// serviceLogger is for commands that run for long: it adds times and logs the steps taken.
func (a *app) serviceLogger() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelInfo}))
}
