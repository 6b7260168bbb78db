package main

import (
	"context"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
)

func mergeCommand(a *app) *cobra.Command {
	var content string
	cmd := &cobra.Command{
		Use:   "merge USER ID ID...",
		Short: "Merge memories that say the same into one",
		Args:  cobra.MinimumNArgs(3),
		RunE: a.onUser(func(ctx context.Context, u *user, args []string) error {
			ids := make([]uuid.UUID, len(args))
			for i, arg := range args {
				var err error
				if ids[i], err = idArgument(arg); err != nil {
					return err
				}
			}
			id, err := u.client.Merge(ctx, u.id, ids, content)
			if err != nil {
				return err
			}
			u.printf("Merged %d memories into %s.\n", len(ids), id)
			return nil
		}),
	}
	cmd.Flags().StringVar(&content, "content", "", "text of the merged memory (default: the text of the last)")
	return cmd
}

func unmergeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "unmerge USER ID",
		Short: "Make the originals of a merged memory current again",
		Args:  cobra.ExactArgs(2),
		RunE: a.onUser(func(ctx context.Context, u *user, args []string) error {
			id, err := idArgument(args[0])
			if err != nil {
				return err
			}
			originals, err := u.client.Unmerge(ctx, u.id, id)
			if err != nil {
				return err
			}
			u.printf("%d memories are current again.\n", len(originals))
			return nil
		}),
	}
}
