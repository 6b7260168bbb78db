package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/documents"
)

func newFilesCommand(a *app) *cobra.Command {
	var deleted string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "files USER",
		Short: "List the files that were ingested, or erase one with its memories",
		Long: `List the files of a user that were ingested. --delete erases the one of a path, as the list shows it, with the memories of its
chunks and whatever refers to them.`,
		Example: `  oxbow files ada
  oxbow files ada --delete notes/trip.md`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer d.close()
			if cmd.Flags().Changed("delete") {
				return a.deleteFile(cmd.Context(), d, args[0], deleted)
			}
			return a.files(cmd.Context(), d, args[0], asJSON)
		},
	}
	cmd.Flags().StringVar(&deleted, "delete", "", "the path of the file to erase")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	cmd.MarkFlagsMutuallyExclusive("delete", "json")
	return cmd
}

func (a *app) files(ctx context.Context, d *database, userID string, asJSON bool) error {
	files, err := documents.Files(ctx, d.client, userID)
	if err != nil {
		return err
	}
	if asJSON {
		if files == nil {
			files = []documents.File{}
		}
		return a.printJSON(files)
	}
	if len(files) == 0 {
		a.say("No file of user %q was ingested.", userID)
		return nil
	}
	location, err := d.location(ctx, userID)
	if err != nil {
		return err
	}
	t := newTable("path", "type", "#bytes", "#chunks", "#chunk size", "ingested")
	for _, f := range files {
		var settings struct {
			ChunkSize json.Number `json:"chunk_size"`
		}
		_ = json.Unmarshal(f.Settings, &settings) // other programs may have written anything
		t.add(printable(f.Path), f.MediaType, thousands(f.Bytes), thousands(int64(f.Chunks)), settings.ChunkSize.String(), showTime(f.UpdatedAt, location))
	}
	return t.print(a.out)
}

func (a *app) deleteFile(ctx context.Context, d *database, userID, path string) error {
	erased, err := documents.Delete(ctx, d.client, userID, path)
	if err != nil {
		return err
	}
	a.printf("%s is erased, with %s.\n", printable(path), count(erased, "memory", "memories"))
	return nil
}
