package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/documents"
	"github.com/oxbow-memory/oxbow/store"
)

type ingestFlags struct {
	user, name, mediaType, metadata string
	chunkSize, overlap              int
	json                            bool
}

// ingested is the result for one file.
type ingested struct {
	documents.Report
	Error string `json:"error,omitempty"`
}

func newIngestCommand(a *app) *cobra.Command {
	var flags ingestFlags
	cmd := &cobra.Command{
		Use:   "ingest FILE... --user USER",
		Short: "Read files, and store their text as memories of type document",
		Long: `Read text, Markdown, HTML and PDF files of at most 64 MiB, cut their text into chunks, and store each as a memory of type
document. "-" is standard input, which needs a --name. Text is UTF-8.

A file is known by its path as it is given, or by --name. Ingested again, it replaces what it was, in one transaction: chunks
that are still there keep their memories, the others are erased. An unchanged file is left as it is.

A file that cannot be read changes nothing; the others are ingested all the same.`,
		Example: `  oxbow ingest handbook.pdf notes/*.md --user ada
  curl -s https://example.com/guide | oxbow ingest - --name https://example.com/guide --media-type text/html --user ada`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error { return a.ingest(cmd, files, &flags) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.user, "user", "", "whose files they are (required)")
	f.StringVar(&flags.name, "name", "", "the path or address to know the file by, for one file (default: as it is given)")
	f.StringVar(&flags.mediaType, "media-type", "", "text/plain, text/markdown, text/html or application/pdf (default: by the name, else by the content)")
	f.IntVar(&flags.chunkSize, "chunk-size", 1000, "how many characters a chunk has at most, 100 to 20000")
	f.IntVar(&flags.overlap, "overlap", 0, "how many characters of a chunk's end the next may repeat, in whole sentences (default: a tenth of --chunk-size)")
	f.StringVar(&flags.metadata, "metadata", "", "a JSON object, of the files")
	f.BoolVar(&flags.json, "json", false, "print a JSON array")
	f.Lookup("overlap").DefValue = ""
	return cmd
}

func (a *app) ingest(cmd *cobra.Command, files []string, flags *ingestFlags) error {
	if err := flags.check(files); err != nil {
		return err
	}
	file := documents.NewFile{UserID: flags.user, MediaType: flags.mediaType, ChunkSize: flags.chunkSize}
	if cmd.Flags().Changed("overlap") {
		file.Overlap = &flags.overlap
	}
	var err error
	if file.Metadata, err = jsonFlag("metadata", flags.metadata); err != nil {
		return err
	}
	ctx := cmd.Context()
	d, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer d.close()
	reports, failed, err := a.ingestFiles(ctx, d, files, file, flags)
	if flags.json {
		err = errors.Join(err, a.printJSON(reports))
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d of %s could not be ingested", failed, count(int64(len(files)), "file", "files"))
	}
	return err
}

// check checks the flags and the file names.
func (flags *ingestFlags) check(files []string) error {
	if flags.user == "" {
		return usagef("say whose files they are: --user USER")
	}
	if err := store.ValidateUserID(flags.user); err != nil {
		return usageError{fmt.Errorf("--user: %w", err)}
	}
	if flags.name != "" && len(files) > 1 {
		return usagef("--name is for one file, and there are %d", len(files))
	}
	for _, name := range files {
		if name == "-" && flags.name == "" {
			return usagef("standard input needs a name to be known by: --name NAME")
		}
	}
	if flags.chunkSize == 0 { // the client reads 0 as the default
		return usagef("--chunk-size must be between 100 and 20000, got 0")
	}
	return nil
}

// ingestFiles continues after a file that cannot be read and stops at any other error.
func (a *app) ingestFiles(ctx context.Context, d *database, files []string, file documents.NewFile, flags *ingestFlags) (reports []ingested, failed int, err error) {
	reports = []ingested{}
	for _, name := range files {
		file.Path = flags.name
		if file.Path == "" {
			file.Path = filepath.ToSlash(filepath.Clean(name))
		}
		report, err := a.ingestFile(ctx, d, name, file)
		unreadable, bad := errors.AsType[*unreadableError](err)
		if bad && len(files) == 1 && !flags.json {
			return reports, 0, err
		}
		switch {
		case bad:
			failed++
			report.Path = file.Path
			reports = append(reports, ingested{report, oneLine(unreadable.Error())})
			a.say("oxbow: %s", oneLine(err.Error()))
		case err != nil:
			return reports, failed, err
		default:
			reports = append(reports, ingested{Report: report})
			if !flags.json {
				a.printf("%s: %s\n", printable(report.Path), ingestSummary(report))
			}
		}
	}
	return reports, failed, nil
}

// unreadableError is an error in a file, as opposed to one in the database.
type unreadableError struct{ error }

func (e *unreadableError) Unwrap() error { return e.error }

func (a *app) ingestFile(ctx context.Context, d *database, name string, file documents.NewFile) (documents.Report, error) {
	in, size, err := a.open(ctx, name)
	if err != nil {
		return documents.Report{}, &unreadableError{err}
	}
	defer in.Close()
	if size > documents.MaxBytes {
		return documents.Report{}, &unreadableError{fmt.Errorf("%s: the file is larger than %d MiB, which is the most that is read", name, documents.MaxBytes>>20)}
	}
	content := &watchedReader{Reader: in}
	file.Content = content
	report, err := documents.Ingest(ctx, d.client, file)
	if _, bad := errors.AsType[*documents.Error](err); bad || content.err != nil && ctx.Err() == nil {
		err = &unreadableError{err}
	}
	return report, err
}

// watchedReader keeps the read error, to tell it from an error in the database.
type watchedReader struct {
	io.Reader
	err error
}

func (r *watchedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// ingestSummary returns the result for a file as a sentence.
func ingestSummary(r documents.Report) string {
	chunks := count(int64(r.Chunks), "chunk", "chunks")
	switch {
	case r.Unchanged:
		return fmt.Sprintf("unchanged, %s", chunks)
	case r.Kept+r.Removed == 0:
		return chunks
	}
	return fmt.Sprintf("%s, of which %s new and %s kept; %s erased", chunks, thousands(int64(r.Added)), thousands(int64(r.Kept)), thousands(int64(r.Removed)))
}
