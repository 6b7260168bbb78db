package oxbow

import (
	"context"
	"io"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// ImportOptions configures Import.
type ImportOptions = store.ImportOptions

// ImportReport says what an Import did.
type ImportReport = store.ImportReport

// Import stores the memories of a file of JSON Lines, which may be compressed with gzip, and enqueues their jobs in the
// same transaction. It stores all lines or none: a line that cannot be stored is an *InvalidError with its Line, unless
// the options skip it. Importing a file again adds nothing.
//
// A line is an object with the members user, content and, if known, id, session, seq, speaker, role and at (RFC
// 3339); or any column of oxbow.memories by its name. It is an episode unless memory_type says otherwise. An id that
// is a UUID becomes the id of the memory, any other id its external_id. Lines of type "question" are skipped. A new
// user gets the time zone of the offset if all times (at) of the user have the same. The owner of the schema or the
// worker can import what ExportUser wrote; an oxbow_app login can import memories.
func (c *Client) Import(ctx context.Context, r io.Reader, options ImportOptions) (report ImportReport, err error) {
	ctx, end := c.span(ctx, "Import")
	defer end(&err)
	if err := c.check(ctx); err != nil {
		return ImportReport{}, err
	}
	if c.tx != nil {
		if err := c.nameTrace(ctx); err != nil {
			return ImportReport{}, err
		}
		return store.Import(ctx, c.tx, r, options)
	}
	err = c.inTx(ctx, traced(ctx), func(tx pgx.Tx) (err error) {
		report, err = store.Import(ctx, tx, r, options)
		return err
	})
	return report, err
}

// ExportReport says what ExportUser wrote.
type ExportReport = store.ExportReport

// ExportUser writes a snapshot of everything of a user as JSON Lines: memories with all versions, forgotten ones and
// traits, history, links, sources, sessions, messages, settings. Import reads it back, ids included, with
// ImportOptions.Traits. It leaves out what the worker makes again (vectors, search terms), what waits for the worker
// (uses to count, memories to reflect on), and the sensory stream.
func (c *Client) ExportUser(ctx context.Context, userID string, w io.Writer) (report ExportReport, err error) {
	export := func(tx pgx.Tx) error {
		report, err = store.Export(ctx, tx, userID, w)
		return err
	}
	if c.tx != nil {
		return report, c.on(ctx, userID, export)
	}
	if err := store.ValidateUserID(userID); err != nil {
		return report, err
	}
	if err := c.check(ctx); err != nil {
		return report, err
	}
	err = c.inTx(ctx, begin("begin isolation level repeatable read, read only", userID, ""), export)
	return report, err
}
