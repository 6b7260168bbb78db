package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/worker"
)

func newReembedCommand(a *app) *cobra.Command {
	var flags workFlags
	cmd := &cobra.Command{
		Use:   "reembed",
		Short: "Change the embedding model while the system serves",
		Long: `Change the database's embedding model to the one given, while applications and workers go on.

All memories get vectors of the new model in a second table, which then takes the place of the first in a moment. It may
be interrupted at any time: started again with the same model, it goes on where it was. At the end, restart the workers
and the applications with the new model; until then new memories are found by their words.

Connect as the owner of the tables, and not through a pooler that shares connections by transaction.`,
		Example: "  oxbow reembed --embedding-provider openai --embedding-model text-embedding-3-small --embedding-dimension 1536",
		RunE: func(cmd *cobra.Command, _ []string) error {
			dsn, err := a.dsn()
			if err != nil {
				return err
			}
			cfg, err := flags.config(dsn, a.logger())
			if err != nil {
				return err
			}
			shown := reembedProgress{app: a}
			result, err := worker.Reembed(cmd.Context(), cfg, shown.report)
			shown.end()
			if errors.Is(err, worker.ErrSameModel) {
				a.printf("Nothing to do: %s.\n", err)
				return nil
			}
			if err != nil {
				return err
			}
			a.printReembedded(result)
			return nil
		},
	}
	flags.embedding.add(cmd.Flags())
	cmd.Flags().IntVar(&flags.cfg.Concurrency, "concurrency", 0, "how many calls of the provider run at once (default: the CPUs, 2 to 4; 8 for a remote provider)")
	return cmd
}

func (a *app) printReembedded(result worker.ReembedResult) {
	a.printf("The database now holds vectors of %s, before of %s: %s made.\n", result.To, result.From, count(result.Made, "vector", "vectors"))
	if result.Refused > 0 {
		a.printf("The provider refused %s; their memories are found by their words.\n", count(result.Refused, "text", "texts"))
	}
	if result.Left > 0 {
		a.printf("%s came in meanwhile; a worker with the new model embeds them.\n", count(result.Left, "memory", "memories"))
	}
	a.printf("Restart workers and applications with the new model.\n")
}

// reembedProgress shows the progress of each round in turn.
type reembedProgress struct {
	app     *app
	shown   *progress
	round   int
	waiting string
}

func (p *reembedProgress) report(now worker.ReembedProgress) {
	if p.shown == nil || p.round != now.Round {
		p.end()
		if now.Resumed && now.Round == 1 {
			p.app.say("Going on where an earlier reembed was interrupted.")
		}
		if now.Round > 1 {
			p.app.say("Once more, for what came in meanwhile.")
		}
		p.shown, p.round = p.app.progress("reembed", now.Total), now.Round
	}
	waiting := ""
	if now.Waiting != nil {
		waiting = sentence(now.Waiting)
	}
	if waiting != p.waiting && waiting != "" {
		p.shown.say("waiting: " + waiting)
	}
	p.waiting = waiting
	p.shown.set(min(now.Looked, now.Total))
}

func (p *reembedProgress) end() {
	if p.shown != nil {
		p.shown.end()
	}
}
