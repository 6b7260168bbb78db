package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/documents"
	_ "github.com/oxbow-memory/oxbow/documents/pdf" // reads PDF files
)

// refused is the result for a file that cannot be read; for another, it is a documents.Report.
type refused struct {
	Path  string `json:"path"`
	Error string `json:"error"`
}

func ingestCommand(a *app) *cobra.Command {
	file := documents.NewFile{ChunkSize: 1000}
	var overlap int
	cmd := &cobra.Command{
		Use:   "ingest FILE... --user USER",
		Short: "Store the text of files as memories of type document",
		Long: `Read text, Markdown, HTML and PDF files of up to 64 MiB, split their text into chunks, and store each chunk as
a memory of type document. "-" is standard input and requires --name. Text must be UTF-8.

A file is identified by its path as given, or by --name. Ingesting it again replaces it in one transaction:
chunks that still exist keep their memories, and the others are erased. An unchanged file is left as it is.

A file that cannot be read changes nothing and does not stop the others.`,
		Example: `  oxbow ingest handbook.pdf notes/*.md --user ada
  curl -s https://example.com/guide | oxbow ingest - --name guide --media-type text/html --user ada`,
		Args: cobra.MinimumNArgs(1),
	}
	f := cmd.Flags()
	userFlag(f, &file.UserID, "user of the files (required)")
	f.StringVar(&file.Path, "name", "", "path or URL that identifies the file (default: the path as given)")
	f.StringVar(&file.MediaType, "media-type", "",
		"text/plain, text/markdown, text/html or application/pdf (default: from the name or the content)")
	intFlag(f, &file.ChunkSize, "chunk-size", "", 100, 20000, "characters per chunk at most")
	f.IntVar(&overlap, "overlap", 0,
		"characters of a chunk that the next may repeat, in whole sentences (default: a tenth of --chunk-size)")
	objectFlag(f, &file.Metadata, "metadata", "metadata of the files, a JSON object")
	a.jsonFlag(f)
	run := a.onDatabase(func(ctx context.Context, d *database, files []string) error {
		if f.Changed("overlap") {
			file.Overlap = &overlap
		}
		return d.ingest(ctx, files, file)
	})
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		if file.UserID == "" {
			return usagef("--user is required")
		}
		if file.Path != "" && len(files) > 1 {
			return usagef("--name accepts one file, got %d", len(files))
		}
		for _, name := range files {
			if name == "-" && file.Path == "" {
				return usagef("standard input requires --name")
			}
		}
		return run(cmd, files)
	}
	return cmd
}

// ingest continues after a file that cannot be read and stops at any other error.
func (d *database) ingest(ctx context.Context, files []string, file documents.NewFile) (err error) {
	reports, failed, named := []any{}, 0, file.Path
	for _, name := range files {
		if named == "" {
			file.Path = filepath.ToSlash(filepath.Clean(name))
		}
		var report documents.Report
		report, err = d.ingestFile(ctx, name, file)
		unreadable, bad := errors.AsType[*unreadableError](err)
		if bad && len(files) == 1 && !d.json {
			return err
		}
		if bad {
			failed++
			d.say("oxbow: %s", printable(err.Error()))
			reports = append(reports, refused{file.Path, printable(unreadable.Error())})
			err = nil
			continue
		}
		if err != nil {
			break
		}
		reports = append(reports, report)
		if !d.json {
			d.printf("%s: %s\n", printable(report.Path), ingestSummary(report))
		}
	}
	if d.json {
		err = errors.Join(err, d.printJSON(reports))
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("cannot ingest %d of %s", failed, count(len(files), "file"))
	}
	return err
}

// unreadableError is an error in a file, as opposed to one in the database.
type unreadableError struct{ error }

func (e *unreadableError) Unwrap() error { return e.error }

func (d *database) ingestFile(ctx context.Context, name string, file documents.NewFile) (documents.Report, error) {
	in, _, err := d.open(ctx, name)
	if err != nil {
		return documents.Report{}, &unreadableError{err}
	}
	defer in.Close()
	content := &countingReader{Reader: in}
	file.Content = content
	report, err := documents.Ingest(ctx, d.client, file)
	if _, bad := errors.AsType[*documents.Error](err); bad || content.err != nil && ctx.Err() == nil {
		err = &unreadableError{err}
	}
	return report, err
}

// ingestSummary returns the result for a file as a sentence.
func ingestSummary(r documents.Report) string {
	chunks := count(r.Chunks, "chunk")
	switch {
	case r.Unchanged:
		return chunks + ", unchanged"
	case r.Kept+r.Removed == 0:
		return chunks
	}
	return fmt.Sprintf("%s: %s new, %s kept; %s erased",
		chunks, thousands(r.Added), thousands(r.Kept), thousands(r.Removed))
}

func filesCommand(a *app) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "files USER",
		Short: "List a user's ingested files, or erase one",
		Long: `List a user's ingested files. --delete erases a file with the memories of its chunks and everything that
refers to them.`,
		Example: `  oxbow files ada
  oxbow files ada --delete notes/trip.md`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&path, "delete", "", "erase the file with this `path`, as the list shows it")
	a.jsonFlag(cmd.Flags())
	exclude(cmd.Flags(), "delete", "json")
	cmd.RunE = a.onUser(func(ctx context.Context, u *user, _ []string) error {
		if cmd.Flags().Changed("delete") {
			erased, err := documents.Delete(ctx, u.client, u.id, path)
			if err == nil {
				u.printf("Erased %s with %s.\n", printable(path), count(erased, "memory"))
			}
			return err
		}
		files, err := documents.Files(ctx, u.client, u.id)
		if err != nil {
			return err
		}
		return u.output(files, func() { u.printFiles(files) })
	})
	return cmd
}

func (u *user) printFiles(files []documents.File) {
	if len(files) == 0 {
		u.say("User %q has no ingested files.", u.id)
		return
	}
	t := u.table("path", "type", "#bytes", "#chunks", "#chunk size", "ingested")
	for _, f := range files {
		var settings struct {
			ChunkSize json.Number `json:"chunk_size"`
		}
		_ = json.Unmarshal(f.Settings, &settings) // other programs may have written anything
		t.add(f.Path, f.MediaType, f.Bytes, f.Chunks, settings.ChunkSize.String(), f.UpdatedAt)
	}
	t.print()
}
