package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
)

func predictCommand(a *app) *cobra.Command {
	limit := 20
	cmd := &cobra.Command{
		Use:   "predict USER",
		Short: "Show what a user will probably do, ask or need",
		Long: `Show what a user will probably do, ask or need in a period of at most 31 days, the most probable first, with the
probability from its frequency alone (base rate). It rests on the user's own recurrences and open intentions.
With --json, the ids of the memories behind each prediction too.`,
		Example: `  oxbow predict ada
  oxbow predict ada --from 2026-05-18 --until 2026-05-24`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	from := momentFlag(f, "from", "beginning of the period (default: now)")
	until := momentFlag(f, "until", "last day or moment of the period (default: a day after its beginning)")
	limitFlag(f, &limit, "number of predictions to show")
	a.jsonFlag(f)
	cmd.RunE = a.onUser(func(ctx context.Context, u *user, _ []string) error {
		predictions, err := u.client.Predict(ctx, u.id, from.begin(u.zone), until.end(u.zone), limit)
		if err != nil {
			return err
		}
		return u.output(predictions, func() {
			if len(predictions) == 0 {
				u.say("Nothing to predict for user %q: it takes something that happened on several days.", u.id)
				return
			}
			t := u.table("#probability", "#base rate", "kind", "|topic", "when", "#days", "~latest")
			for _, p := range predictions {
				t.add(p.Probability, p.BaseRate, p.Kind, p.Topic, hoursOf(p.StartsAt.In(u.zone), p.EndsAt.In(u.zone)), p.Days,
					p.Content)
			}
			t.print()
		})
	})
	return cmd
}

// hoursOf formats a period within a day.
func hoursOf(from, to time.Time) string {
	text := from.Format("Mon 2006-01-02 15:04")
	if to.After(from) {
		text += "–" + to.Format("15:04")
	}
	return text
}
