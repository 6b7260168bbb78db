package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

func forgetCommand(a *app) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "forget USER ID",
		Short: "Hide a memory from recall, and erase it after 30 days",
		Args:  cobra.ExactArgs(2),
		RunE: a.onUser(func(ctx context.Context, u *user, args []string) error {
			id, err := idArgument(args[0])
			if err != nil {
				return err
			}
			said := "Already forgotten"
			m, _ := u.client.Get(ctx, u.id, id) // Forget reports an unknown memory
			if m.ForgottenAt.IsZero() {
				said = "Forgotten"
				if err := u.client.Forget(ctx, u.id, id, reason); err != nil {
					return err
				}
				m, err = u.client.Get(ctx, u.id, id)
				if err != nil && !errors.Is(err, oxbow.ErrSealed) { // forgetting does not require reading the text
					return err
				}
			}
			u.printf("%s. \"oxbow restore\" can restore it until %s.\n", said,
				format(m.ForgottenAt.Add(store.Restorable), time.DateOnly, time.UTC))
			return nil
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason for the history")
	return cmd
}

func restoreCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "restore USER ID",
		Short: "Restore a forgotten memory",
		Args:  cobra.ExactArgs(2),
		RunE: a.onUser(func(ctx context.Context, u *user, args []string) error {
			id, err := idArgument(args[0])
			if err != nil {
				return err
			}
			if err := u.client.Restore(ctx, u.id, id); err != nil {
				return err
			}
			u.printf("Restored.\n")
			return nil
		}),
	}
}
