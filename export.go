package oxbow

import (
	"context"
	"io"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// ImportOptions say how Import reads a file.
type ImportOptions = store.ImportOptions

// ImportReport is what an Import did.
type ImportReport = store.ImportReport

// Import stores the memories of a file of JSON Lines, which may be compressed with gzip; in the same transaction it
// enqueues their jobs. All of it is stored or nothing: a line that cannot be stored is an *InvalidError with its Line,
// unless the options skip it. Reading a file again adds nothing.
//
// A line is an object with the members user, content, and if known id, session, seq, speaker, role, at (RFC 3339); or
// any column of oxbow.memories by its name. It is an episode unless memory_type says otherwise. An id that is a UUID
// becomes the memory's, any other one its external_id. Lines of type "question" are passed over. A user of whom
// nothing is known gets the time zone of the offset, if all of the user's times (at) have the same. What ExportUser wrote
// is read back whole, by the owner of the schema or the worker; an oxbow_app login may import memories.
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

// ExportReport is what an ExportUser wrote.
type ExportReport = store.ExportReport

// ExportUser writes everything of a user as JSON Lines, as it is at one moment: memories with all their versions,
// forgotten ones and traits, history, links, sources, sessions, messages, the user's settings. Import reads it back, with
// ImportOptions.Traits, ids included, so that the same is recalled. Left out is what the worker makes again (vectors,
// search terms), what waits for it (uses to be counted, memories to be reflected on), and the sensory stream, which is raw and
// gone in days.
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
