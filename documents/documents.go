package oxbow

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

	"github.com/oxbow-memory/oxbow/internal/document"
	"github.com/oxbow-memory/oxbow/store"
)

// MaxFile is how many bytes a file may have that Ingest reads: 64 MiB.
const MaxFile = document.MaxBytes

// IngestedFile is a file to be ingested. UserID, Path and Content are required.
type IngestedFile struct {
	// UserID is whose it is, 1 to 255 bytes.
	UserID string
	// Path is its name, at most 1024 bytes: a path, or an address. What is ingested under one path replaces what was.
	Path string
	// MediaType is text/plain, text/markdown, text/html or application/pdf; other kinds of text are read as text/plain.
	// Default: by the ending of Path, else by Content.
	MediaType string
	// Content is read to its end: at most 64 MiB. Text is UTF-8.
	Content io.Reader
	// Metadata is of the file: anything that encodes to a JSON object.
	Metadata any
	// ChunkSize is the most that a chunk has, 100 to 20,000 characters. Default: 1000.
	ChunkSize int
	// Overlap is how many characters of the end of a chunk the next one may repeat, in whole sentences: 0 to half of
	// ChunkSize. Default: a tenth of it.
	Overlap *int
}

// IngestReport is what became of a file.
type IngestReport struct {
	FileID    uuid.UUID `json:"file_id"`
	Path      string    `json:"path"`
	MediaType string    `json:"media_type"`
	Bytes     int64     `json:"bytes"`
	// Unchanged: the same was there, and nothing was done.
	Unchanged bool `json:"unchanged"`
	Chunks    int  `json:"chunks"`
	Added     int  `json:"added"`   // chunks that are new
	Kept      int  `json:"kept"`    // chunks whose text was there; they keep their memories
	Removed   int  `json:"removed"` // chunks that the file no longer has; they are erased
}

// File is a file whose chunks are memories.
type File = store.File

// FileError is a file that cannot be read: it is empty, binary, broken, encrypted, not UTF-8, too large, or has no text.
type FileError = document.Error

// Ingest reads a file, cuts its text into chunks, and stores each as a memory of the type Document with the source
// "ingest", in the order of the file. The metadata of a memory has file_id, file_name, media_type, chunk_index (from 1),
// chunk_count, and where they are known page and heading.
//
// A file of a path that was ingested before replaces it, in one transaction: chunks whose text was there keep their
// memories, the others are new, and what the file no longer has is erased. If file and settings are the same, nothing is
// done. Of two at once, one waits for the other. A file that cannot be read is a *FileError, and leaves what was there.
func (c *Client) Ingest(ctx context.Context, f IngestedFile) (report IngestReport, err error) {
	ctx, end := c.span(ctx, "Ingest")
	defer end(&err)
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

	known, err := c.known(ctx, f.UserID, file)
	if err != nil {
		return report, err
	}
	if known != nil {
		report.FileID, report.Unchanged, report.Chunks, report.Kept = known.ID, true, known.Chunks, known.Chunks
		return report, nil
	}
	read, err := document.Read(ctx, file.MediaType, content, splitting)
	if err != nil {
		return report, fmt.Errorf("%s: %w", f.Path, err)
	}
	chunks := make([]store.FileChunk, len(read))
	for i, chunk := range read {
		chunks[i] = store.FileChunk{Content: chunk.Text, Page: chunk.Page, Heading: chunk.Heading}
	}
	err = c.on(ctx, f.UserID, func(tx pgx.Tx) error {
		if err := c.nameTrace(ctx); err != nil {
			return err
		}
		done, err := store.Ingest(ctx, tx, f.UserID, file, chunks)
		report.FileID, report.Unchanged, report.Added, report.Kept, report.Removed = done.FileID, done.Unchanged, done.Added, done.Kept, done.Removed
		report.Chunks = done.Added + done.Kept
		return err
	})
	return report, err
}

// Files returns the files of a user in the order of their paths.
func (c *Client) Files(ctx context.Context, userID string) (files []File, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		files, err = store.Files(ctx, tx, userID)
		return err
	})
	return files, err
}

// DeleteFile erases a file with the memories of its chunks, and returns how many those were. It cannot be taken back, but
// the file can be ingested again. ErrNoFile if the user has no file of that path.
func (c *Client) DeleteFile(ctx context.Context, userID, path string) (erased int64, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		erased, err = store.DeleteFile(ctx, tx, userID, path)
		return err
	})
	return erased, err
}

// validate refuses what cannot be stored, before anything is read.
func (f *IngestedFile) validate() (store.File, document.Splitting, error) {
	file := store.File{Path: f.Path, Metadata: json.RawMessage("{}")}
	if err := store.ValidateUserID(f.UserID); err != nil {
		return file, document.Splitting{}, err
	}
	if err := store.ValidatePath(f.Path); err != nil {
		return file, document.Splitting{}, err
	}
	if f.Content == nil {
		return file, document.Splitting{}, &InvalidError{Index: -1, Field: "content", Rule: "must be given"}
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
		return file, s, &InvalidError{Index: -1, Field: "chunk size", Value: fmt.Sprint(s.Size), Rule: rule}
	}
	if rule := s.OverlapRule(); rule != "" {
		return file, s, &InvalidError{Index: -1, Field: "overlap", Value: fmt.Sprint(s.Overlap), Rule: rule}
	}
	file.Settings, err = json.Marshal(map[string]int{"chunk_size": s.Size, "overlap": s.Overlap, "reader": document.Version})
	return file, s, err
}

func (f *IngestedFile) read() ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(f.Content, document.MaxBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: it cannot be read: %w", f.Path, err)
	case len(content) == 0:
		err = document.Empty()
	case len(content) > document.MaxBytes:
		err = document.TooLarge()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return content, nil
}

// known returns the file if the same was ingested in the same way already, so that it need not be read; else nil.
func (c *Client) known(ctx context.Context, userID string, file store.File) (known *store.File, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		found, err := store.FileOf(ctx, tx, userID, file.Path)
		if errors.Is(err, store.ErrNoFile) {
			return nil
		}
		if err == nil && found.ContentHash == file.ContentHash && found.MediaType == file.MediaType &&
			sameJSON(found.Settings, file.Settings) && sameJSON(found.Metadata, file.Metadata) {
			known = &found
		}
		return err
	})
	return known, err
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
