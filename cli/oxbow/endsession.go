package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
)

func endSessionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "end-session USER SESSION",
		Short: "End a conversation so that it is processed immediately",
		Long: `End a conversation. A worker extracts memories from its messages immediately, then reflects on them. Ending it
again changes nothing. A new message reopens the session, unless the settings forbid that.`,
		Example: `  oxbow end-session ada chat-7`,
		Args:    cobra.ExactArgs(2),
		RunE: a.onUser(func(ctx context.Context, u *user, args []string) error {
			open, err := u.client.EndSession(ctx, u.id, args[0])
			var invalid *oxbow.InvalidError
			switch {
			case errors.As(err, &invalid) && invalid.Field == "session_id":
				return fmt.Errorf("user %q has no session %q", u.id, args[0])
			case err != nil:
				return err
			case !open:
				u.printf("The session has already ended.\n")
			default:
				u.printf("The session has ended. A worker now extracts memories from it and reflects on them.\n")
			}
			return nil
		}),
	}
}
