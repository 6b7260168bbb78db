package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/worker"
)

func reembedCommand(a *app) *cobra.Command {
	var flags workFlags
	cmd := &cobra.Command{
		Use:   "reembed",
		Short: "Change the embedding model without downtime",
		Long: `Change the database's embedding model to the given one, while applications and workers run.

All memories are embedded with the new model into a second table, which then replaces the first. An
interrupted run continues when the command is started again with the same model. Afterwards, restart the
workers and the applications with the new model; until then, new memories are found by full-text search only.

Connect as the owner of the tables, and not through a pooler in transaction mode.`,
		Example: `  oxbow reembed --embedding-provider openai --embedding-model text-embedding-3-small \
    --embedding-dimension 1536`,
		RunE: a.needsDatabase(func(cmd *cobra.Command, _ []string) error {
			bar, waiting := a.progress("reembed", 0), ""
			cfg := flags.config(a.databaseURL, a.logger())
			result, err := worker.Reembed(cmd.Context(), cfg, func(now worker.ReembedProgress) {
				if now.Resumed && now.Round == 1 && bar.total == 0 {
					bar.say("Continuing an interrupted reembed.")
				}
				phase := "reembed"
				if now.Round > 1 {
					phase = fmt.Sprintf("reembed, round %d", now.Round) // memories that arrived meanwhile
				}
				bar.phase(phase, now.Total)
				before := waiting
				if waiting = ""; now.Waiting != nil {
					waiting = sentence(now.Waiting)
				}
				if waiting != before && waiting != "" {
					bar.say("Waiting: %s", waiting)
				}
				bar.set(min(now.Looked, now.Total))
			})
			bar.end()
			if cmd.Context().Err() != nil {
				a.say("Run the same command to continue.")
			}
			if errors.Is(err, worker.ErrSameModel) {
				a.printf("Nothing to do: %s.\n", err)
				return nil
			}
			if err == nil {
				a.printReembedded(result)
			}
			return err
		}),
	}
	flags.embedding.add(cmd.Flags())
	flags.addConcurrency(cmd.Flags())
	return cmd
}

func (a *app) printReembedded(r worker.ReembedResult) {
	a.printf("Changed the model from %s to %s: %s computed.\n", r.From, r.To, count(r.Made, "vector"))
	if r.Refused > 0 {
		a.printf("The provider rejected %s; full-text search still finds their memories.\n", count(r.Refused, "text"))
	}
	if r.Left > 0 {
		a.printf("%s arrived meanwhile; a worker with the new model embeds them.\n", count(r.Left, "memory"))
	}
	a.printf("Restart workers and applications with the new model.\n")
}
