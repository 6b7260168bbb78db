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
// becomes the memory's, any other one its external_id. Lines of type "question" are passed over. What ExportUser wrote
// is read back whole, by the owner of the schema or the worker; an oxbow_app login may import memories.
func (c *Client) Import(ctx context.Context, r io.Reader, options ImportOptions) (ImportReport, error) {
	if err := c.check(ctx); err != nil {
		return ImportReport{}, err
	}
	if c.tx != nil {
		return store.Import(ctx, c.tx, r, options)
	}
	var report ImportReport
	err := c.inTx(ctx, pgx.TxOptions{}, func(tx pgx.Tx) (err error) {
		report, err = store.Import(ctx, tx, r, options)
		return err
	})
	return report, err
}
