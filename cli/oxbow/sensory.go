package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/oneline"
)

func sensoryCommand(a *app) *cobra.Command {
	limit := 20
	cmd := &cobra.Command{
		Use:   "sensory USER",
		Short: "Show a user's latest sensory input, and texts that recur in it",
		Long: `Show a user's sensory stream: the latest items, newest first, and the candidates, which are texts that recur
within the retention period. The setting "sensory" has the retention (3 days) and the number of repetitions
(3).

Applications insert into oxbow.sensory. A worker records candidates within a minute. The stream is never
embedded or recalled.`,
		Example: `  oxbow sensory ada
  oxbow sensory 林 --limit 100 --json`,
		Args: cobra.ExactArgs(1),
		RunE: a.onUser(func(ctx context.Context, u *user, _ []string) error {
			latest, err := u.client.Sensory(ctx, u.id, limit)
			if err != nil {
				return err
			}
			candidates, err := u.client.SensoryCandidates(ctx, u.id, limit)
			if err != nil {
				return err
			}
			return u.output(struct {
				Latest     []oxbow.SensoryItem      `json:"latest"`
				Candidates []oxbow.SensoryCandidate `json:"candidates"`
			}{latest, candidates}, func() { u.printSensory(latest, candidates) })
		}),
	}
	limitFlag(cmd.Flags(), &limit, "maximum number of items, and of candidates")
	a.jsonFlag(cmd.Flags())
	return cmd
}

func (u *user) printSensory(latest []oxbow.SensoryItem, candidates []oxbow.SensoryCandidate) {
	second := func(at time.Time) string { return format(at, secondLayout, u.zone) }
	if len(latest) == 0 {
		u.say("The sensory stream of user %q is empty.", u.id)
	} else {
		t := u.table("at", "kind", "~content")
		for _, item := range latest {
			t.add(second(item.At), item.Kind, oneline.Shorten(item.Content, 200))
		}
		t.print()
	}
	if len(candidates) == 0 {
		return
	}
	u.printf("\nCandidates\n\n")
	t := u.table("#times", "first", "last", "~content")
	for _, c := range candidates {
		t.add(fmt.Sprint(c.Times), second(c.FirstAt), second(c.LastAt), oneline.Shorten(c.Content, 200))
	}
	t.print()
}
