package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
)

func conclusionsCommand(a *app) *cobra.Command {
	limit := 50
	var q oxbow.ConclusionsQuery
	cmd := &cobra.Command{
		Use:   "conclusions USER",
		Short: "Show conclusions from several memories of one topic",
		Long: `Show the conclusions that Oxbow drew from facts and episodes of one topic, the surest first: what they come
to and under which conditions, who says so, and on how many memories and conversations each rests. Conclusions
of different sources that say the opposite stand side by side. With --json, the ids of the memories too.`,
		Example: `  oxbow conclusions ada
  oxbow conclusions ada --topic do:running --versions`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	limitFlag(f, &limit, "number of conclusions to show")
	f.StringVar(&q.Topic, "topic", "", "only those of this topic")
	f.BoolVar(&q.Versions, "versions", false, "include versions that were replaced or have ended")
	a.jsonFlag(f)
	cmd.RunE = a.onUser(func(ctx context.Context, u *user, _ []string) error {
		q.Limit = limit
		conclusions, err := u.client.Conclusions(ctx, u.id, q)
		if err != nil {
			return err
		}
		return u.output(conclusions, func() {
			if len(conclusions) == 0 {
				u.say("No conclusions about user %q yet: they need several memories of one topic.", u.id)
				return
			}
			t := u.table("~conclusion", "#confidence", "#memories", "#sessions", "who", "#version", "|reason", "until")
			for _, c := range conclusions {
				t.add(c.Content, c.Confidence, len(c.Sources), c.Sessions, voicesOf(c.Voices), c.Version, c.Reason,
					u.day(c.EndedAt))
			}
			t.print()
		})
	})
	return cmd
}

// voicesOf names who says something.
func voicesOf(voices []string) string {
	names := make([]string, len(voices))
	for i, v := range voices {
		if names[i] = v; v == "" {
			names[i] = "user"
		}
	}
	return strings.Join(names, ", ")
}
