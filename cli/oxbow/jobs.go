package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/worker"
)

func jobsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "List job kinds and their schedules, or run a job",
		Long: `List the job kinds. For a periodic kind, show its schedule, its next run, and the start, duration and outcome
of its last run. Jobs of the other kinds are enqueued by inserts and by other jobs.

To change a schedule, insert a row. Running workers apply it within seconds. A schedule is an interval or a
cron expression in UTC; null restores the default.

  insert into oxbow.job_schedules (kind, schedule) values ('consistency_check', '30 3 * * *')
  on conflict (kind) do update set schedule = excluded.schedule;`,
		Example: "  oxbow jobs\n  oxbow jobs run sweep",
		RunE: a.asOperator(func(ctx context.Context, d *database, _ []string) error {
			kinds, err := worker.Kinds(ctx, d.pool)
			if err != nil {
				return err
			}
			return a.output(kinds, func() {
				t := a.table("kind", "queue", "schedule", "next run", "last run", "took", "outcome")
				for _, k := range kinds {
					took := ""
					if k.LastSeconds != nil {
						took = time.Duration(*k.LastSeconds * float64(time.Second)).Round(time.Millisecond).String()
					}
					t.add(k.Kind, k.Queue, cmp.Or(k.Schedule, "-"), utc(k.NextRunAt), utc(k.LastRunAt), took,
						k.LastOutcome)
				}
				t.print()
			})
		}),
	}
	a.jsonFlag(cmd.Flags())
	cmd.AddCommand(jobsRunCommand(a))
	return cmd
}

func utc(at *time.Time) string {
	if at == nil {
		return ""
	}
	return format(*at, secondLayout+"Z", time.UTC)
}

func jobsRunCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "run KIND",
		Short: "Run a periodic job now",
		Long: `Enqueue a job of a periodic kind, unless one is already due or running. A worker runs it; "oxbow jobs" shows
the outcome.`,
		Example: "  oxbow jobs run consistency_check",
		Args:    cobra.ExactArgs(1),
		RunE: a.asOperator(func(ctx context.Context, d *database, args []string) error {
			id, running, err := worker.RunNow(ctx, d.pool, args[0])
			if unknown, ok := errors.AsType[*worker.UnknownKindError](err); ok {
				return usageError{unknown}
			}
			if err != nil {
				return err
			}
			text := "Enqueued job %d of kind %s.\n"
			if running {
				text = "Job %d of kind %s is already due or running.\n"
			}
			d.printf(text, id, args[0])
			return nil
		}),
	}
}
