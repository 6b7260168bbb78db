package importv1

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/store"
)

// commit runs a transaction that advances the import to next.
func (v *importer) commit(ctx context.Context, next Report, work func(pgx.Tx, *Report) error) error {
	err := v.transaction(ctx, v.conn, func(tx pgx.Tx) error {
		if err := work(tx, &next); err != nil || v.options.DryRun {
			return err
		}
		if err := store.WriteSetting(ctx, tx, settingKey, next); err != nil {
			return err
		}
		failpoint.Reach(failpoint.ImportWritten)
		return nil
	})
	if err == nil {
		failpoint.Reach(failpoint.ImportCommitted)
		v.report = next
	}
	return err
}

// transaction runs a transaction with the settings that an import needs.
func (v *importer) transaction(ctx context.Context, conn *pgx.Conn, work func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		// origin: see the trigger that keeps applications from inserting traits. The search path
		// finds the types of the extension vector in any schema. Rows come in index order, whatever
		// the table's statistics say. A generic plan keeps foreign keys to the memories from being
		// planned again for each row, which takes ten times as long as the lookup.
		_, err := tx.Exec(ctx, `
			select set_config('oxbow.origin', 'import', true), set_config('work_mem', '64MB', true),
			  set_config('enable_seqscan', 'off', true),
			       set_config('enable_bitmapscan', 'off', true), set_config('jit', 'off', true),
			       set_config('plan_cache_mode', 'force_generic_plan', true),
			       (select set_config('search_path', 'pg_catalog, ' || quote_ident(n.nspname) || ', pg_temp', true)
			          from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector')`)
		if err != nil {
			return err
		}
		return work(tx)
	})
}

// batchResult is the result of a transaction.
type batchResult struct {
	rows int64
	last *uuid.UUID

	// counted in the stage of memories
	totals                        totals
	adopted, vectors, vectorsLeft int64
}

// walk processes the rows that satisfy a condition, one batch per transaction, and then moves to
// the next stage. It splits a batch that PostgreSQL rejects until the rejected row is alone, and
// rejects that row.
func (v *importer) walk(ctx context.Context, where string, work func(context.Context, pgx.Tx, string,
	*Report) (batchResult, error)) error {
	if v.source.conn != nil { // the same as for the target's transactions
		if _, err := v.source.conn.Exec(ctx, `set enable_seqscan = off; set enable_bitmapscan = off`); err != nil {
			return sourceError(err, v.source.name)
		}
	}
	most, first, tries := v.batch, v.batch, 0
	if v.report.Stage == StageMemories {
		first = firstBatch
	}
	if v.report.Stage == StageFinish && v.source.conn == nil {
		most, first = math.MaxInt32, math.MaxInt32
	}
	size := min(most, first)
	for {
		stage := v.report.Stage
		total := v.report.Rows
		if where != "" {
			total = v.report.Related
		}
		if v.options.Progress != nil {
			v.options.Progress(stage, min(v.report.Looked, total), total)
		}
		if size == v.batch && stage == StageMemories && v.pair(ctx, size) {
			continue
		}
		next := v.report.clone()
		var page batchResult
		err := v.commit(ctx, next, func(tx pgx.Tx, next *Report) (err error) {
			rows, err := v.rows(ctx, tx, next, where, size)
			if err != nil {
				return err
			}
			if page, err = work(ctx, tx, rows, next); err != nil {
				return err
			}
			next.add(page)
			if page.rows < int64(size) {
				return v.end(ctx, tx, next)
			}
			return nil
		})
		pg := new(pgconn.PgError)
		switch {
		case err == nil && v.report.Stage != stage && stage == StageMemories:
			return v.analyze(ctx)
		case err == nil && v.report.Stage != stage, err == nil && v.options.DryRun && page.rows < int64(size):
			return nil
		case err == nil:
			if stage == StageMemories && size == firstBatch {
				if err := v.analyze(ctx); err != nil {
					return err
				}
			}
			size, tries = min(size*2, most), 0
		case !errors.As(err, &pg):
			return v.explain(err)
		case pg.Code == "23505" && !v.careful: // unique_violation
			v.careful = true
		case (pg.Code == "40P01" || pg.Code == "40001") && tries < maxTries: // deadlock_detected, serialization_failure
			tries++
		case !store.IsDataError(err) && !strings.HasPrefix(pg.Code, "23"):
			return v.explain(err)
		case size > 1:
			size = max(1, size/8)
		default:
			if err := v.refuseNext(ctx, where, pg); err != nil {
				return err
			}
		}
	}
}

// analyze updates the statistics of the columns by which memories are found, as autovacuum would
// later. Only an owner may do so; others get a warning.
func (v *importer) analyze(ctx context.Context) error {
	if v.options.DryRun {
		return nil
	}
	_, err := v.conn.Exec(ctx,
		`analyze oxbow.memories (user_id, memory_type, id, external_id), oxbow.trait_events (user_id, trait_id, seq)`)
	return store.Explain(err)
}

// explain names the import and the stage in an error.
func (v *importer) explain(err error) error {
	return fmt.Errorf("import %s, stage %s: %w", v.source.name, v.report.Stage, store.Explain(err))
}

// end moves to the next stage.
func (v *importer) end(ctx context.Context, tx pgx.Tx, next *Report) error {
	if v.options.DryRun {
		return nil
	}
	next.After, next.Looked = uuid.Nil, 0
	switch next.Stage {
	case StageMemories:
		next.Stage = StageEvidence
	case StageEvidence:
		next.Stage = StageFinish
	case StageFinish:
		next.Stage, next.Finished = StageDone, time.Now()
		return v.repair(ctx, tx, next)
	}
	return nil
}

// rows returns the rows after the report's position, as a subselect. Rows of another database are
// first copied into a temporary table.
func (v *importer) rows(ctx context.Context, tx pgx.Tx, report *Report, where string, size int) (string, error) {
	page := v.source.page(report.After, report.Looked > 0, where, size, report.Stage == StageFinish)
	if v.source.conn == nil {
		return page, nil
	}
	_, err := tx.Exec(ctx,
		`create temporary table if not exists oxbow_v1_rows (`+v.source.stagingColumns()+`) on commit delete rows`)
	if err != nil {
		return "", err
	}
	if err := v.copyRows(ctx, tx, page); err != nil {
		return "", err
	}
	return "select * from pg_temp.oxbow_v1_rows", nil
}

// copyRows copies the rows of a query on the source.
func (v *importer) copyRows(ctx context.Context, tx pgx.Tx, page string) error {
	v.copying.Lock() // two batches may share the one connection
	defer v.copying.Unlock()
	r, w := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		_, err := v.source.conn.PgConn().CopyTo(ctx, w, "copy ("+page+") to stdout (format binary)")
		_ = w.CloseWithError(err) // nil means end of file
		sent <- err
	}()
	_, err := tx.Conn().PgConn().CopyFrom(ctx, r, "copy pg_temp.oxbow_v1_rows from stdin (format binary)")
	_ = r.CloseWithError(errors.New("the copy was cancelled")) // no more reads follow
	if from := <-sent; from != nil {
		return from // the other side's error only says that the copy was cancelled
	}
	return err
}

// refuseNext skips the next row, which PostgreSQL rejects.
func (v *importer) refuseNext(ctx context.Context, where string, why *pgconn.PgError) error {
	condition := "true"
	if v.report.Looked > 0 {
		condition = fmt.Sprintf("s.id > '%s'", v.report.After)
	}
	if where != "" {
		condition += " and " + where
	}
	// The error's text may quote the row.
	rejection := Rejection{Reason: "PostgreSQL rejects it", Detail: "SQLSTATE " + why.Code}
	var from string
	err := v.reading().QueryRow(ctx, fmt.Sprintf(`select s.id, coalesce(%s, '') from %s s where %s order by s.id
		limit 1`,
		fmt.Sprintf(lowerSQL, v.source.sql("memory_type")), v.source.table, condition)).Scan(&rejection.ID, &from)
	if err != nil {
		return sourceError(err, v.source.name)
	}
	return v.commit(ctx, v.report.clone(), func(_ pgx.Tx, next *Report) error {
		next.After = rejection.ID
		next.Looked++
		if next.Stage == StageMemories || !slices.ContainsFunc(next.Rejections,
			func(r Rejection) bool { return r.ID == rejection.ID }) {
			next.Rejected[rejection.Reason]++
			next.reject(rejection)
		}
		if next.Stage == StageMemories {
			if v.types[from] == "" {
				from = "unknown"
			}
			t := next.of(from)
			t.To = string(v.types[from])
			t.Rows++
			t.Rejected++
		}
		return nil
	})
}
