package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
)

func exportCommand(a *app) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "export USER",
		Short: "Export all data of a user as JSON Lines",
		Long: `Export all data of a user as JSON Lines, which "oxbow import --traits" reads: memories with all versions,
forgotten ones and traits, history, links, sessions, messages and settings. Data that a worker derives, and
the sensory stream, are left out.`,
		Example: `  oxbow export ada --output ada.jsonl`,
		Args:    cobra.ExactArgs(1),
		RunE: a.onUser(func(ctx context.Context, u *user, _ []string) (err error) {
			var report oxbow.ExportReport
			write := func(w io.Writer) (err error) {
				report, err = u.client.ExportUser(ctx, u.id, w)
				if err == nil && report.Memories+report.Records == 0 {
					err = fmt.Errorf("the database has no data of user %q", u.id) // an existing file stays as it is
				}
				return err
			}
			toFile := output != "" && output != "-"
			if toFile {
				err = writeFile(output, write)
			} else {
				err = write(u.out)
			}
			if err == nil && toFile {
				u.say("%s: %s and %s of user %q.", output,
					count(report.Memories, "memory"), count(report.Records, "other record"), u.id)
			}
			return err
		}),
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this `file` instead of standard output")
	return cmd
}
