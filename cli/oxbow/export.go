package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
)

func newExportCommand(a *app) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "export USER",
		Short: "Write everything of a user as JSON Lines",
		Long: `Write everything that the database has of a user as JSON Lines, which "oxbow import --traits" reads back: memories with
all their versions, forgotten ones and traits, history, links, sessions, messages, settings. Left out is what the worker
makes again, and the sensory stream.`,
		Example: `  oxbow export ada --output ada.jsonl`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer d.close()
			return a.export(cmd.Context(), d, args[0], output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "the file to write (default: standard output)")
	return cmd
}

func (a *app) export(ctx context.Context, d *database, userID, output string) error {
	var report oxbow.ExportReport
	write := func(w io.Writer) (err error) {
		report, err = d.client.ExportUser(ctx, userID, w)
		return err
	}
	var err error
	if output == "" || output == "-" {
		err = write(a.out)
	} else {
		err = writeFile(output, write)
	}
	if err != nil {
		return err
	}
	if report.Memories+report.Records == 0 {
		a.say("The database has nothing of user %q.", userID)
		return nil
	}
	if output != "" && output != "-" {
		a.say("%s: %s and %s of user %q.", output, count(int64(report.Memories), "memory", "memories"),
			count(int64(report.Records), "other record", "other records"), userID)
	}
	return nil
}

// writeFile writes the whole file or none of it: it writes a temporary file in the same directory
// and renames it. Only the owner may read the file.
func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", name, err)
	}
	//nolint:errcheck // it is gone already when all went well
	defer os.Remove(file.Name())
	out := bufio.NewWriter(file)
	if err := write(out); err != nil {
		_ = file.Close() // the first error is the one to report
		return err
	}
	if err = out.Flush(); err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", name, err)
	}
	return nil
}
