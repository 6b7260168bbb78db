package main

import (
	"context"

	"github.com/spf13/cobra"
)

func whyCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why USER ID",
		Short: "Explain why something is known, why it is kept, and when it fades",
		Long: `Explain a memory, a trait, an adjustment, an instruction, a skill or an intention in sentences: where it is
from, what it rests on, why it is still kept, who used it, and when it fades. The sentences are in the
user's language, English or Chinese.`,
		Example: `  oxbow why ada 0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c1`,
		Args:    cobra.ExactArgs(2),
	}
	a.jsonFlag(cmd.Flags())
	cmd.RunE = a.onUser(func(ctx context.Context, u *user, args []string) error {
		id, err := idArgument(args[0])
		if err != nil {
			return err
		}
		reasons, err := u.client.Why(ctx, u.id, id)
		if err != nil {
			return err
		}
		return u.output(reasons, func() {
			for _, r := range reasons {
				u.printf("%s\n", r.Sentence)
			}
		})
	})
	return cmd
}
