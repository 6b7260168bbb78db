package main

import (
	"context"

	"github.com/spf13/cobra"
)

func verifyCommand(a *app) *cobra.Command {
	var not bool
	var reason string
	cmd := &cobra.Command{
		Use:   "verify USER ID",
		Short: "Record that a person confirmed a memory",
		Args:  cobra.ExactArgs(2),
		RunE: a.onUser(func(ctx context.Context, u *user, args []string) error {
			id, err := idArgument(args[0])
			if err != nil {
				return err
			}
			if err := u.client.Verify(ctx, u.id, id, !not, reason); err != nil {
				return err
			}
			u.printf("%s\n", map[bool]string{false: "Verified.", true: "No longer verified."}[not])
			return nil
		}),
	}
	cmd.Flags().BoolVar(&not, "not", false, "withdraw the confirmation")
	cmd.Flags().StringVar(&reason, "reason", "", "reason for the history")
	return cmd
}

func tierCommand(a *app) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "tier USER ID normal|core|system",
		Short: "Change the tier of a memory",
		Long: `Change the tier of a memory. The strength of core and system memories does not fall.
"normal" undoes a promotion by the reviewer.`,
		Args: cobra.ExactArgs(3),
		RunE: a.onUser(func(ctx context.Context, u *user, args []string) error {
			id, err := idArgument(args[0])
			if err != nil {
				return err
			}
			if err := u.client.SetTier(ctx, u.id, id, args[1], reason); err != nil {
				return err
			}
			u.printf("The tier is %s.\n", args[1])
			return nil
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason for the history")
	return cmd
}
