package main

import (
	"cmp"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/worker"
)

func newJobsCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "List the kinds of jobs and their schedules",
		Long: `List the kinds of jobs. A periodic kind shows its schedule, its next run, and when the last one began, how long it took and how it
ended. The others run when something causes them.

To change a schedule, write a row; running workers follow it within seconds. It is an interval or a cron expression in UTC:

  insert into oxbow.job_schedules (kind, schedule) values ('consistency_check', '30 3 * * *')
  on conflict (kind) do update set schedule = excluded.schedule;

The schedule null is the program's own again.`,
		Example: "  oxbow jobs\n  oxbow jobs run sweep",
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer d.close()
			kinds, err := worker.Kinds(cmd.Context(), d.pool)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(kinds)
			}
			return a.printKinds(kinds)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(newJobsRunCommand(a))
	return cmd
}

func (a *app) printKinds(kinds []worker.KindStatus) error {
	t := newTable("KIND", "QUEUE", "SCHEDULE", "NEXT RUN", "LAST RUN", "TOOK", "ENDED")
	for _, k := range kinds {
		took := ""
		if k.LastSeconds != nil {
			took = time.Duration(*k.LastSeconds * float64(time.Second)).Round(time.Millisecond).String()
		}
		t.add(k.Kind, k.Queue, cmp.Or(k.Schedule, "-"), clock(k.NextRunAt), clock(k.LastRunAt), took, k.LastOutcome)
	}
	return t.print(a.out)
}

func clock(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.UTC().Format("2006-01-02 15:04:05Z")
}

func newJobsRunCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "run KIND",
		Short: "Run a periodic job now",
		Long: `Enqueue a job of a periodic kind that is due now. A worker runs it; "oxbow jobs" shows how it ended. If one is due or running
already, none is added.`,
		Example: "  oxbow jobs run consistency_check",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer d.close()
			id, running, err := worker.RunNow(cmd.Context(), d.pool, args[0])
			if unknown, ok := errors.AsType[*worker.UnknownKindError](err); ok {
				return usageError{unknown}
			}
			if err != nil {
				return err
			}
			if running {
				a.printf("Job %d of kind %s is due or running already.\n", id, args[0])
				return nil
			}
			a.printf("Enqueued job %d of kind %s.\n", id, args[0])
			return nil
		},
	}
}
