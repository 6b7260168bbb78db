// Package documents reads files (text, Markdown, HTML and PDF), cuts their text into chunks, and stores the chunks as
// memories through a client:
//
//	report, err := documents.Ingest(ctx, client, documents.NewFile{UserID: "ann", Path: "guide.md", Content: file})
//
// A client that is bound to a transaction (oxbow.Client.WithTx) ingests in that transaction.
package documents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/document"
	"github.com/oxbow-memory/oxbow/store"
)

// MaxBytes is the size of the largest file that Ingest reads: 64 MiB.
const MaxBytes = document.MaxBytes

// ErrNoFile reports that the user has no file of that path; for errors.Is.
var ErrNoFile = store.ErrNoFile

// NewFile is a file to ingest. UserID, Path and Content are required.
type NewFile struct {
	// UserID is the user whose file it is, 1 to 255 bytes.
	UserID string
	// Path names the file, 1 to 1024 bytes: a path or an address. A file replaces the earlier file of its path.
	Path string
	// MediaType is text/plain, text/markdown, text/html or application/pdf; other kinds of text are read as text/plain.
	// Default: by the ending of Path, else by Content.
	MediaType string
	// Content is read to its end, at most MaxBytes. Text is UTF-8.
	Content io.Reader
	// Metadata describes the file: anything that encodes to a JSON object.
	Metadata any
	// ChunkSize is the length of the longest chunk, 100 to 20,000 characters. Default: 1000.
	ChunkSize int
	// Overlap is how many characters of the end of a chunk the next may repeat, in whole sentences: 0 to half of
	// ChunkSize. Default: a tenth of ChunkSize.
	Overlap *int
}

// Report says what Ingest did with a file.
type Report struct {
	FileID    uuid.UUID `json:"file_id"`
	Path      string    `json:"path"`
	MediaType string    `json:"media_type"`
	Bytes     int64     `json:"bytes"`
	// Unchanged is true if the file was ingested before with the same content and settings; nothing was done then.
	Unchanged bool `json:"unchanged"`
	Chunks    int  `json:"chunks"`  // that the file has
	Added     int  `json:"added"`   // chunks that are new
	Kept      int  `json:"kept"`    // chunks whose text did not change; they keep their memories
	Removed   int  `json:"removed"` // chunks that the file no longer has; they are erased
}

// File is a file that was ingested.
type File = store.File

// Error is a file that cannot be read: it is empty, binary, broken, encrypted, not UTF-8, too large, or has no text.
type Error struct {
	// Problem is a sentence about the file without its name, such as "is empty".
	Problem string
}

func (e *Error) Error() string { return "the file " + e.Problem }

// Ingest reads a file, cuts its text into chunks, and stores each chunk as a memory of type document with the source
// "ingest", in the order of the file. The metadata of a memory has file_id, file_name, media_type, chunk_index (from
// 1), chunk_count and, where they are known, page and heading.
//
// A file replaces the earlier file of its path in one transaction: chunks whose text did not change keep their
// memories, the others are new, and chunks that the file no longer has are erased. If content and settings are the
// same, nothing is done. Of two calls for one path, one waits for the other.
//
// A file that cannot be read is an *Error, and a wrong value an *oxbow.InvalidError; the earlier file stays then.
func Ingest(ctx context.Context, client *oxbow.Client, f NewFile) (report Report, err error) {
	ctx, span := trace.SpanFromContext(ctx).TracerProvider().Tracer("github.com/oxbow-memory/oxbow/documents").
		Start(ctx, "oxbow.Ingest", trace.WithSpanKind(trace.SpanKindClient))
	defer func() {
		if err != nil {
			span.SetStatus(codes.Error, "failed")
		}
		span.End()
	}()
	report.Path = f.Path
	file, splitting, err := f.validate()
	if err != nil {
		return report, err
	}
	content, err := f.read()
	if err != nil {
		return report, err
	}
	hash := sha256.Sum256(content)
	file.ContentHash, file.Bytes = hex.EncodeToString(hash[:]), int64(len(content))
	if file.MediaType, err = document.MediaType(f.Path, f.MediaType, content); err != nil {
		return report, f.unreadable(err)
	}
	report.MediaType, report.Bytes = file.MediaType, file.Bytes

	ingested, err := ingestedBefore(ctx, client, f.UserID, file)
	if err != nil {
		return report, err
	}
	if ingested != nil {
		report.FileID, report.Unchanged, report.Chunks, report.Kept = ingested.ID, true, ingested.Chunks, ingested.Chunks
		return report, nil
	}
	read, err := document.Read(ctx, file.MediaType, content, splitting)
	if err != nil {
		return report, f.unreadable(err)
	}
	chunks := make([]store.FileChunk, len(read))
	for i, chunk := range read {
		chunks[i] = store.FileChunk{Content: chunk.Text, Page: chunk.Page, Heading: chunk.Heading}
	}
	err = client.InTx(ctx, f.UserID, func(tx pgx.Tx) error {
		done, err := store.Ingest(ctx, tx, f.UserID, file, chunks)
		report.FileID, report.Unchanged = done.FileID, done.Unchanged
		report.Added, report.Kept, report.Removed = done.Added, done.Kept, done.Removed
		report.Chunks = done.Added + done.Kept
		return err
	})
	return report, err
}

// Files returns the files of a user in the order of their paths.
func Files(ctx context.Context, client *oxbow.Client, userID string) (files []File, err error) {
	err = client.InTx(ctx, userID, func(tx pgx.Tx) error {
		files, err = store.Files(ctx, tx, userID)
		return err
	})
	return files, err
}

// Delete erases a file with the memories of its chunks, and returns how many memories it erased. It cannot be undone,
// but the file can be ingested again. ErrNoFile if the user has no file of that path.
func Delete(ctx context.Context, client *oxbow.Client, userID, path string) (erased int64, err error) {
	err = client.InTx(ctx, userID, func(tx pgx.Tx) error {
		erased, err = store.DeleteFile(ctx, tx, userID, path)
		return err
	})
	return erased, err
}

// validate refuses what cannot be stored, before anything is read.
func (f *NewFile) validate() (store.File, document.Splitting, error) {
	file := store.File{Path: f.Path, Metadata: json.RawMessage("{}")}
	if err := store.ValidateUserID(f.UserID); err != nil {
		return file, document.Splitting{}, err
	}
	if err := store.ValidatePath(f.Path); err != nil {
		return file, document.Splitting{}, err
	}
	if f.Content == nil {
		return file, document.Splitting{}, &oxbow.InvalidError{Index: -1, Field: "content", Rule: "must be given"}
	}
	metadata, err := store.ValidateMetadata(f.Metadata)
	if err != nil {
		return file, document.Splitting{}, err
	}
	if metadata != nil {
		file.Metadata = metadata
	}
	s := document.Splitting{Size: f.ChunkSize}
	if s.Size == 0 {
		s.Size = document.DefaultSize
	}
	s.Overlap = s.Size / 10
	if f.Overlap != nil {
		s.Overlap = *f.Overlap
	}
	if rule := s.SizeRule(); rule != "" {
		return file, s, &oxbow.InvalidError{Index: -1, Field: "chunk size", Value: fmt.Sprint(s.Size), Rule: rule}
	}
	if rule := s.OverlapRule(); rule != "" {
		return file, s, &oxbow.InvalidError{Index: -1, Field: "overlap", Value: fmt.Sprint(s.Overlap), Rule: rule}
	}
	file.Settings, err = json.Marshal(map[string]int{"chunk_size": s.Size, "overlap": s.Overlap,
		"reader": document.Version})
	return file, s, err
}

func (f *NewFile) read() ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(f.Content, document.MaxBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: it cannot be read: %w", f.Path, err)
	case len(content) == 0:
		return nil, f.unreadable(document.Empty())
	case len(content) > document.MaxBytes:
		return nil, f.unreadable(document.TooLarge())
	}
	return content, nil
}

// unreadable puts the path before an error of reading, and makes an *Error of an error about the file.
func (f *NewFile) unreadable(err error) error {
	if about, ok := errors.AsType[*document.Error](err); ok {
		err = &Error{Problem: about.Problem}
	}
	return fmt.Errorf("%s: %w", f.Path, err)
}

// ingestedBefore returns the file of the path if it has the same content and settings, so that it need not be read;
// else nil.
func ingestedBefore(ctx context.Context, client *oxbow.Client, userID string, file store.File) (
	same *store.File, err error,
) {
	err = client.InTx(ctx, userID, func(tx pgx.Tx) error {
		found, err := store.FileOf(ctx, tx, userID, file.Path)
		if errors.Is(err, store.ErrNoFile) {
			return nil
		}
		if err == nil && found.ContentHash == file.ContentHash && found.MediaType == file.MediaType &&
			sameJSON(found.Settings, file.Settings) && sameJSON(found.Metadata, file.Metadata) {
			same = &found
		}
		return err
	})
	return same, err
}

// sameJSON compares objects that differ in spaces and order at most.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	m, errX := json.Marshal(x)
	n, errY := json.Marshal(y)
	return errX == nil && errY == nil && string(m) == string(n)
}
