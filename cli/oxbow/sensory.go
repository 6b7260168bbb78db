package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

type sensoryFlags struct {
	limit int
	json  bool
}

func newSensoryCommand(a *app) *cobra.Command {
	var flags sensoryFlags
	cmd := &cobra.Command{
		Use:   "sensory USER",
		Short: "Show what came last in a user's sensory stream, and what came often",
		Long: `Show a user's sensory stream: what came last, the latest first, and the candidates, texts that came often within the days
that are kept. The setting "sensory" says how many days that are (3) and how often is often (3 times).

An application inserts into oxbow.sensory. A worker notes the candidates, within a minute. Nothing of the stream is
embedded or recalled.`,
		Example: `  oxbow sensory ada
  oxbow sensory 林 --limit 100 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.sensory(cmd.Context(), args[0], flags) },
	}
	f := cmd.Flags()
	f.IntVarP(&flags.limit, "limit", "n", 20, "how many of each at most, 1 to 1000")
	f.BoolVar(&flags.json, "json", false, "print a JSON object")
	return cmd
}

func (a *app) sensory(ctx context.Context, user string, flags sensoryFlags) error {
	if flags.limit < 1 || flags.limit > 1000 {
		return usagef("--limit must be between 1 and 1000, got %d", flags.limit)
	}
	d, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer d.close()
	if err := store.ValidateUserID(user); err != nil {
		return err
	}
	location, err := d.location(ctx, user)
	if err != nil {
		return err
	}
	latest, err := d.client.Sensory(ctx, user, flags.limit)
	if err != nil {
		return err
	}
	candidates, err := d.client.SensoryCandidates(ctx, user, flags.limit)
	if err != nil {
		return err
	}
	if flags.json {
		return a.printJSON(struct {
			Latest     []oxbow.SensoryItem      `json:"latest"`
			Candidates []oxbow.SensoryCandidate `json:"candidates"`
		}{latest, candidates})
	}
	if len(latest) == 0 {
		a.say("There is nothing in the sensory stream of user %q.", user)
	} else if err := a.printSensory(latest, location); err != nil {
		return err
	}
	if len(candidates) == 0 {
		return nil
	}
	a.printf("\nCandidates\n\n")
	return a.printCandidates(candidates, location)
}

func (a *app) printSensory(items []oxbow.SensoryItem, location *time.Location) error {
	t := newTable("at", "kind", "~content")
	for _, item := range items {
		t.add(second(item.At, location), printable(item.Kind), printable(store.Shorten(item.Content, 200)))
	}
	return t.print(a.out)
}

func (a *app) printCandidates(candidates []oxbow.SensoryCandidate, location *time.Location) error {
	t := newTable("#times", "first", "last", "~content")
	for _, c := range candidates {
		t.add(fmt.Sprint(c.Times), second(c.FirstAt, location), second(c.LastAt, location), printable(store.Shorten(c.Content, 200)))
	}
	return t.print(a.out)
}

// second formats a time to the second.
func second(at time.Time, location *time.Location) string {
	return at.In(location).Format(time.DateTime)
}
