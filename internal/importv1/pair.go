package importv1

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oxbow-memory/oxbow/store"
)

// lockWait is how long a batch waits for a lock held by the other batch of its pair before both are
// rolled back.
const lockWait = 10 * time.Second

// pair stores two batches at the same time, each on its own connection, and commits them in order,
// so that an import killed in between resumes from a recorded position. If it returns false, it
// stored nothing or only the first batch, and the caller stores a single batch.
func (v *importer) pair(ctx context.Context, size int) bool {
	if v.second == nil || v.second.IsClosed() {
		return false
	}
	between, ok := v.boundary(ctx, size)
	if !ok {
		return false
	}
	first, second, ahead := v.report.clone(), Report{}, v.report
	ahead.After, ahead.Looked = between, v.report.Looked+int64(size)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stored := make(chan error, 1) // by the first batch
	done := make(chan error, 1)   // with the second batch
	go func() {
		done <- v.batchOn(ctx, v.second, ahead, size, func(tx pgx.Tx, page batchResult) error {
			select {
			case err := <-stored:
				switch {
				case err != nil:
					return err
				case first.After != between: // the table has changed since
					return errors.New("rows lie between the two batches")
				}
			case <-ctx.Done():
				return ctx.Err()
			}
			second = first.clone()
			second.add(page)
			return store.WriteSetting(ctx, tx, settingKey, second)
		})
	}()
	err := v.batchOn(ctx, v.conn, v.report, size, func(tx pgx.Tx, page batchResult) error {
		first.add(page)
		return store.WriteSetting(ctx, tx, settingKey, first)
	})
	if err == nil {
		v.report = first
	}
	stored <- err
	if secondly := <-done; err != nil || secondly != nil {
		// lock_not_available
		if pg := new(pgconn.PgError); errors.As(errors.Join(err, secondly), &pg) && pg.Code == "55P03" {
			v.closeSecond(ctx) // the two block each other
		}
		return false
	}
	v.report = second
	return true
}

// boundary returns the id of the last row of the next batch. ok is false if fewer than size rows
// are left.
func (v *importer) boundary(ctx context.Context, size int) (id uuid.UUID, ok bool) {
	err := v.reading().QueryRow(ctx, fmt.Sprintf(`select s.id from %s s where s.id > '%s' order by s.id offset %d
		limit 1`,
		v.source.table, v.report.After, size-1)).Scan(&id)
	return id, err == nil
}

// batchOn stores the rows after the position in the report, and passes the result to write.
func (v *importer) batchOn(ctx context.Context, conn *pgx.Conn, at Report, size int,
	write func(pgx.Tx, batchResult) error) error {
	return v.transaction(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select set_config('lock_timeout', $1, true)`,
			fmt.Sprint(lockWait.Milliseconds())); err != nil {
			return err
		}
		rows, err := v.rows(ctx, tx, &at, "", size)
		if err != nil {
			return err
		}
		page, err := v.memories(ctx, tx, rows, &at)
		switch {
		case err != nil:
			return err
		case page.last == nil:
			return errors.New("no rows are left")
		}
		return write(tx, page)
	})
}
