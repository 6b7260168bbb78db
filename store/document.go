package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// File is an ingested file. Its chunks are memories.
type File struct {
	ID          uuid.UUID       `json:"id"`
	Path        string          `json:"path"`
	MediaType   string          `json:"media_type"`
	Bytes       int64           `json:"bytes"`
	ContentHash string          `json:"content_hash"` // SHA-256, hexadecimal
	Settings    json.RawMessage `json:"settings"`     // how it was parsed and split
	Chunks      int             `json:"chunks"`       // the number of chunks that still exist
	Metadata    json.RawMessage `json:"metadata"`
	CreatedAt   time.Time       `json:"created_at"`
	UpdatedAt   time.Time       `json:"updated_at"` // when a changed version was last ingested
}

// FileChunk is a part of a file's text and its location.
type FileChunk struct {
	Content string
	Page    int    // from 1; 0 if the file has no pages
	Heading string // "" if it has none
}

// Ingested counts the chunks that an ingest added, kept and removed.
type Ingested struct {
	FileID    uuid.UUID
	Unchanged bool
	Added     int
	Kept      int
	Removed   int
}

// ValidatePath returns an *InvalidError unless path is a valid path: 1 to 1024 bytes of text.
func ValidatePath(path string) error {
	if len(path) < 1 || len(path) > maxName {
		return Invalid("path", path, "must have 1 to 1024 bytes")
	}
	return text("path", path)
}

const selectFiles = `
	select f.id, f.path, f.media_type, f.bytes, f.content_hash, f.settings,
	       (select count(*) from oxbow.document_chunks c where c.user_id = f.user_id and c.file_id = f.id) as chunks,
	       f.metadata, f.created_at, f.updated_at
	  from oxbow.document_files f where f.user_id = $1`

// Files returns a user's files, ordered by path.
func Files(ctx context.Context, db DB, userID string) ([]File, error) {
	return Collect[File](ctx, db, selectFiles+` order by f.path`, userID)
}

// SameFile returns the user's file with the path, content, type, settings and metadata of f, or ErrNotFound.
func SameFile(ctx context.Context, db DB, userID string, f File) (File, error) {
	return CollectOne[File](ctx, db, selectFiles+` and f.path = $2 and f.content_hash = $3 and f.media_type = $4
		and f.settings = $5::jsonb and f.metadata = $6::jsonb`,
		userID, f.Path, f.ContentHash, f.MediaType, f.Settings, f.Metadata)
}

// Ingest stores a file's chunks and replaces existing ones. It uses the fields Path, MediaType,
// Bytes, ContentHash, Settings and Metadata of f.
func Ingest(ctx context.Context, db DB, userID string, f File, chunks []FileChunk) (Ingested, error) {
	contents, metadata := make([]string, len(chunks)), make([]string, len(chunks))
	for i, c := range chunks {
		known := map[string]any{}
		if c.Page > 0 {
			known["page"] = c.Page
		}
		if c.Heading != "" {
			known["heading"] = c.Heading
		}
		encoded, err := json.Marshal(known)
		if err != nil {
			return Ingested{}, err
		}
		contents[i], metadata[i] = c.Content, string(encoded)
	}
	return CollectOne[Ingested](ctx, db, `
		select file_id, unchanged, added, kept, removed
		  from oxbow.ingest_file(user_id => $1, path => $2, contents => $3, chunk_metadata => $4::text[]::jsonb[],
		       media_type => $5, bytes => $6, content_hash => $7, settings => $8, metadata => $9)`,
		userID, f.Path, contents, metadata, f.MediaType, f.Bytes, f.ContentHash, f.Settings, f.Metadata)
}

// DeleteFile erases a file and the memories of its chunks, and returns the number of memories
// erased. It returns ErrNoFile if the user has no file at path.
func DeleteFile(ctx context.Context, db DB, userID, path string) (int64, error) {
	return CollectOne[int64](ctx, db, `select oxbow.delete_file(user_id => $1, path => $2)`, userID, path)
}
