package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
)

func newEndSessionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "end-session USER SESSION",
		Short: "End a conversation: extract from it at once, and reflect",
		Long: `End a conversation: a worker extracts at once from what was said in it, and reflects then. A session that ended already stays as
it is; a further message opens it again, unless the settings refuse that.`,
		Example: `  oxbow end-session ada chat-7`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer d.close()
			open, err := d.client.EndSession(cmd.Context(), args[0], args[1])
			var invalid *oxbow.InvalidError
			switch {
			case errors.As(err, &invalid) && invalid.Field == "session_id":
				return fmt.Errorf("user %q has no session %q", args[0], args[1])
			case err != nil:
				return err
			case !open:
				a.printf("It had ended already.\n")
			default:
				a.printf("Ended. A worker extracts from it at once, and reflects then.\n")
			}
			return nil
		},
	}
}
