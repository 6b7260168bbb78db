// Package documents reads files (text, Markdown and HTML), splits their text into chunks, and stores the chunks as
// memories:
//
//	report, err := documents.Ingest(ctx, client, documents.NewFile{UserID: "ann", Path: "guide.md", Content: file})
//
// A client bound to a transaction (oxbow.Client.WithTx) ingests in that transaction. To read PDF files as well, import
// package documents/pdf.
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

// MaxBytes is the maximum size of a file: 64 MiB.
const MaxBytes = document.MaxBytes

// ErrNoFile reports that the user has no file with that path. Test for it with errors.Is.
var ErrNoFile = store.ErrNoFile

// NewFile is a file to ingest. UserID, Path and Content are required.
type NewFile struct {
	// UserID is the owner of the file, 1 to 255 bytes.
	UserID string
	// Path identifies the file, 1 to 1024 bytes: a path or a URL. A file replaces an earlier one with the same path.
	Path string
	// MediaType is text/plain, text/markdown, text/html or application/pdf; other text types are read as
	// text/plain. Default: detected from the extension of Path, otherwise from Content.
	MediaType string
	// Content is the file, at most MaxBytes; it is read to the end. Text must be UTF-8.
	Content io.Reader
	// Metadata describes the file: any value that encodes to a JSON object.
	Metadata any
	// ChunkSize is the maximum length of a chunk, 100 to 20,000 characters. Default: 1000.
	ChunkSize int
	// Overlap is the maximum number of characters, in whole sentences, that a chunk repeats from the end of
	// the previous one: 0 to half of ChunkSize. Default: a tenth of ChunkSize.
	Overlap *int
	// MaxChunks is the maximum number of chunks of a file. Default, and upper limit: 100,000.
	MaxChunks int
}

// Report is the result of Ingest.
type Report struct {
	FileID    uuid.UUID `json:"file_id"`
	Path      string    `json:"path"`
	MediaType string    `json:"media_type"`
	Bytes     int64     `json:"bytes"`
	// Unchanged reports that the file was already ingested with the same content and settings; nothing was done.
	Unchanged bool `json:"unchanged"`
	Chunks    int  `json:"chunks"`  // chunks of the file
	Added     int  `json:"added"`   // new chunks
	Kept      int  `json:"kept"`    // unchanged chunks, which keep their memories
	Removed   int  `json:"removed"` // chunks that the file no longer has, which are erased
}

// File is an ingested file.
type File = store.File

// Error reports a file that cannot be read: it is empty, binary, broken, encrypted, too large or not UTF-8, or it
// contains no text.
type Error = document.Error

// Ingest reads a file, splits its text into chunks, and stores each chunk as a memory of type document with
// the source "ingest", in the order of the file. The metadata of a memory has file_id, file_name, media_type,
// chunk_index (from 1), chunk_count and, if known, page and heading.
//
// Ingest replaces an earlier file with the same path in one transaction: unchanged chunks keep their memories,
// other chunks are added, and chunks that the file no longer has are erased. If content and settings are the
// same, it does nothing. Concurrent calls for the same path wait for each other.
//
// A file that cannot be read is an *Error, and an invalid value is an *oxbow.InvalidError. The earlier file
// then stays unchanged.
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
		return report, fmt.Errorf("%s: %w", f.Path, err)
	}
	report.MediaType, report.Bytes = file.MediaType, file.Bytes

	var same store.File
	err = client.InTx(ctx, f.UserID, func(tx pgx.Tx) (err error) {
		same, err = store.SameFile(ctx, tx, f.UserID, file)
		return err
	})
	switch {
	case err == nil:
		report.FileID, report.Unchanged, report.Chunks, report.Kept = same.ID, true, same.Chunks, same.Chunks
		return report, nil
	case !errors.Is(err, store.ErrNotFound):
		return report, err
	}
	read, err := document.Read(ctx, file.MediaType, content, splitting)
	if err != nil {
		return report, fmt.Errorf("%s: %w", f.Path, err)
	}
	chunks := make([]store.FileChunk, len(read))
	for i, chunk := range read {
		chunks[i] = store.FileChunk{Content: chunk.Text, Page: chunk.Page, Heading: chunk.Heading}
	}
	err = client.InTx(ctx, f.UserID, func(tx pgx.Tx) error {
		if err := store.Admit(ctx, tx, store.Field{Name: "path", Value: f.Path},
			store.Metadata(file.Metadata)); err != nil {
			return err
		}
		_, err := store.Screen(ctx, tx, len(chunks), func(i int) (int, []store.Field) {
			return 0, []store.Field{{Name: "content", Value: chunks[i].Content}}
		})
		if bad, ok := errors.AsType[*oxbow.InvalidError](err); ok {
			return document.Errorf("contains a secret, and the setting secrets refuses them: %s in chunk %d",
				bad.Value, bad.Index+1)
		} else if err != nil {
			return err
		}
		done, err := store.Ingest(ctx, tx, f.UserID, file, chunks)
		report.FileID, report.Unchanged = done.FileID, done.Unchanged
		report.Added, report.Kept, report.Removed = done.Added, done.Kept, done.Removed
		report.Chunks = done.Added + done.Kept
		return err
	})
	return report, err
}

// Files returns the files of a user, ordered by path.
func Files(ctx context.Context, client *oxbow.Client, userID string) (files []File, err error) {
	err = client.InTx(ctx, userID, func(tx pgx.Tx) error {
		files, err = store.Files(ctx, tx, userID)
		return err
	})
	return files, err
}

// Delete erases a file and the memories of its chunks, and returns how many memories it erased. It cannot be
// undone, but the file can be ingested again. ErrNoFile if the user has no file with that path.
func Delete(ctx context.Context, client *oxbow.Client, userID, path string) (erased int64, err error) {
	err = client.InTx(ctx, userID, func(tx pgx.Tx) error {
		erased, err = store.DeleteFile(ctx, tx, userID, path)
		return err
	})
	if err == nil {
		_, _ = client.FinishErasures(ctx, userID) // the file is deleted; the worker finishes the rest
	}
	return erased, err
}

// validate checks all fields before Content is read.
func (f *NewFile) validate() (store.File, document.Splitting, error) {
	file := store.File{Path: f.Path, Metadata: json.RawMessage("{}")}
	if err := store.ValidateUserID(f.UserID); err != nil {
		return file, document.Splitting{}, err
	}
	if err := store.ValidatePath(f.Path); err != nil {
		return file, document.Splitting{}, err
	}
	if f.Content == nil {
		return file, document.Splitting{}, store.Invalid("content", nil, "must be given")
	}
	metadata, err := store.ValidateMetadata(f.Metadata)
	if err != nil {
		return file, document.Splitting{}, err
	}
	if metadata != nil {
		file.Metadata = metadata
	}
	s := document.Splitting{Size: f.ChunkSize, MaxChunks: f.MaxChunks}
	if s.Size == 0 {
		s.Size = document.DefaultSize
	}
	s.Overlap = s.Size / 10
	if f.Overlap != nil {
		s.Overlap = *f.Overlap
	}
	if rule := s.SizeRule(); rule != "" {
		return file, s, store.Invalid("chunk_size", s.Size, rule)
	}
	if rule := s.OverlapRule(); rule != "" {
		return file, s, store.Invalid("overlap", s.Overlap, rule)
	}
	file.Settings, err = json.Marshal(map[string]int{"chunk_size": s.Size, "overlap": s.Overlap,
		"reader": document.Version})
	return file, s, err
}

func (f *NewFile) read() ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(f.Content, document.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: it cannot be read: %w", f.Path, err)
	}
	if err := document.CheckSize(len(content)); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return content, nil
}
