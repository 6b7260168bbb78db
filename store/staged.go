package store

import (
	"context"
	"errors"
	"io"

	"github.com/google/uuid"
)

var (
	// ErrImportGone reports that parts of a staged file are missing: the user was erased while it arrived.
	ErrImportGone = errors.New("the user was erased while the import arrived: send it again")
	// ErrImportLimit reports that too much is staged for the user.
	ErrImportLimit = errors.New("too much is being imported for the user: try again when other imports have ended")
)

// maxStaged limits what is staged for a user, in bytes. What a killed server left behind stays for an hour.
const maxStaged = 2 << 30

// StagedFile is the file of an import that arrives slowly. Its parts wait in the database, so that no transaction
// stays open while it arrives.
type StagedFile struct {
	UserID string
	ID     uuid.UUID
	Parts  int
}

// NewStagedFile returns a file without parts.
func NewStagedFile(userID string) (*StagedFile, error) {
	id, err := uuid.NewV7()
	return &StagedFile{UserID: userID, ID: id}, err
}

// Add stores the next part, of at most 1 MiB. db should be a transaction of its own.
func (f *StagedFile) Add(ctx context.Context, db DB, content []byte) error {
	staged, err := CollectOne[struct {
		Bytes   int64
		Follows bool
	}](ctx, db, `
		select coalesce(sum(octet_length(content)), 0) as bytes,
		       coalesce(bool_or(import_id = $2 and part = $3), false) as follows
		  from oxbow.import_parts where user_id = $1`, f.UserID, f.ID, f.Parts)
	switch {
	case err != nil:
		return err
	case f.Parts > 0 && !staged.Follows: // a rest would not be the whole file, and would outlive the erasure
		return ErrImportGone
	case staged.Bytes+int64(len(content)) > maxStaged:
		return ErrImportLimit
	}
	f.Parts++
	_, err = run(ctx, db, "stage a part of an import", `
		insert into oxbow.import_parts (user_id, import_id, part, content) values ($1, $2, $3, $4)`,
		f.UserID, f.ID, f.Parts, content)
	return err
}

// Delete deletes the parts.
func (f *StagedFile) Delete(ctx context.Context, db DB) error {
	if f.Parts == 0 {
		return nil
	}
	_, err := run(ctx, db, "delete the parts of an import",
		`delete from oxbow.import_parts where user_id = $1 and import_id = $2`, f.UserID, f.ID)
	return err
}

// Reader returns a reader of the file. It reads from db, one part at a time.
func (f *StagedFile) Reader(ctx context.Context, db DB) io.Reader {
	return &stagedReader{ctx: ctx, db: db, file: f}
}

type stagedReader struct {
	ctx  context.Context
	db   DB
	file *StagedFile
	part int // that was read last
	rest []byte
}

func (r *stagedReader) Read(p []byte) (n int, err error) {
	for len(r.rest) == 0 {
		if r.part == r.file.Parts {
			return 0, io.EOF
		}
		r.part++
		r.rest, err = CollectOne[[]byte](WithMeter(r.ctx, nil), r.db, `
			select content from oxbow.import_parts where user_id = $1 and import_id = $2 and part = $3`,
			r.file.UserID, r.file.ID, r.part)
		if errors.Is(err, ErrNotFound) {
			err = ErrImportGone
		}
		if err != nil {
			return 0, err
		}
	}
	n = copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
