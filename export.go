package oxbow

import (
	"context"
	"io"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// ImportOptions configures Import.
type ImportOptions = store.ImportOptions

// ImportReport is the result of Import.
type ImportReport = store.ImportReport

// Import reads memories from a JSON Lines file, plain or gzip, and stores them in one transaction with their
// jobs. It stores all lines or none: an invalid line is an *InvalidError with its Line, unless the options
// skip it. Importing a file again adds nothing.
//
// A line is an object with the members user, content and, if known, id, session, seq, speaker, role and at
// (RFC 3339), or with any column of oxbow.memories by name. It is an episode unless memory_type says
// otherwise. An id that is a UUID becomes the id of the memory; any other id becomes its external_id. Lines
// of type "question" are skipped. If all times (at) of a new user have the same offset, the user gets the
// time zone of that offset.
//
// An oxbow_app login can import memories. Only the owner of the schema or the worker can import the output
// of ExportUser.
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
		return store.Import(ctx, c.tx, r, options, c.sealer)
	}
	err = c.inTx(ctx, traced(ctx), func(tx pgx.Tx) (err error) {
		report, err = store.Import(ctx, tx, r, options, c.sealer)
		return err
	})
	return report, err
}

// ExportReport is the result of ExportUser.
type ExportReport = store.ExportReport

// ExportUser writes a snapshot of a user's data as JSON Lines: memories with all versions, including
// forgotten ones and traits, history, links, sources, sessions, messages and settings. Import with
// ImportOptions.Traits restores it with the same ids. It leaves out vectors and search terms, which the
// worker makes again, data that waits for the worker (uses to count, memories to reflect on), and the
// sensory stream.
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
