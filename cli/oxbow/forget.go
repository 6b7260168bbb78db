package main

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
)

// restorable is how long a forgotten memory can be restored.
const restorable = 30 * 24 * time.Hour

func newForgetCommand(a *app) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "forget USER ID",
		Short: "Hide a memory from recall; for 30 days it can be restored",
		Args:  cobra.ExactArgs(2),
		RunE: a.onMemory(func(ctx context.Context, d *database, userID string, id uuid.UUID) error {
			if err := d.client.Forget(ctx, userID, id, reason); err != nil {
				return err
			}
			m, err := d.client.Get(ctx, userID, id)
			if err != nil && !errors.Is(err, oxbow.ErrSealed) { // forgetting does not require reading the text
				return err
			}
			a.printf("Forgotten. Until %s \"oxbow restore\" takes it back; then it is erased.\n",
				m.ForgottenAt.Add(restorable).UTC().Format(time.DateOnly))
			return nil
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the history")
	return cmd
}

func newRestoreCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "restore USER ID",
		Short: "Take a forget back",
		Args:  cobra.ExactArgs(2),
		RunE: a.onMemory(func(ctx context.Context, d *database, userID string, id uuid.UUID) error {
			if err := d.client.Restore(ctx, userID, id); err != nil {
				return err
			}
			a.printf("Restored.\n")
			return nil
		}),
	}
}

// onMemory runs f on the memory that the two arguments identify.
func (a *app) onMemory(f func(ctx context.Context, d *database, userID string, id uuid.UUID) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		id, err := idArgument(args[1])
		if err != nil {
			return err
		}
		d, err := a.connect(cmd.Context())
		if err != nil {
			return err
		}
		defer d.close()
		return f(cmd.Context(), d, args[0], id)
	}
}
