package importv1

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// memories stores rows as memories.
func (v *importer) memories(ctx context.Context, tx pgx.Tx, rows string, next *Report) (page batchResult, err error) {
	if v.options.KeepVectors {
		_, err := tx.Exec(ctx, `select pg_advisory_xact_lock_shared(hashtextextended('oxbow.embedding', 0))`)
		if err != nil {
			return page, err
		}
		if err := v.checkModel(ctx, tx); err != nil {
			return page, err
		}
	}
	// Few rows have a newer version: look each up instead of joining all.
	if _, err := tx.Exec(ctx,
		`select set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`); err != nil {
		return page, err
	}
	kinds := kindSQL(v.types)
	sql := insertSQL(rows, kinds, next.ImportanceScale, v.careful)
	if v.options.DryRun {
		sql = dryRunSQL(rows, kinds)
	}
	var users []string
	var traits []uuid.UUID
	if err := tx.QueryRow(ctx, sql, pgx.QueryExecModeExec).Scan(&page.rows, &page.last, &page.totals, &users,
		&traits); err != nil {
		return page, err
	}
	if v.options.DryRun {
		return page, nil
	}
	if len(traits) > 0 {
		if _, err := tx.Exec(ctx, adoptSQL, users, traits); err != nil {
			return page, fmt.Errorf("adopt traits: %w", err)
		}
		page.adopted = int64(len(traits))
	}
	if v.options.KeepVectors {
		var kept, had int64
		if err := tx.QueryRow(ctx, fmt.Sprintf(vectorsSQL, rows, kinds, v.model.Dimension),
			pgx.QueryExecModeExec).Scan(&kept, &had); err != nil {
			return page, fmt.Errorf("keep vectors: %w", err)
		}
		page.vectors, page.vectorsLeft = kept, had-kept
	}
	return page, nil
}

// totals counts the rows of a statement that ends with totalsSQL.
type totals struct {
	Types []struct {
		Type
		Orphans int64 `json:"orphans"`
	} `json:"types"`
	Reasons []struct {
		Reason string `json:"reason"`
		Rows   int64  `json:"rows"`
	} `json:"reasons"`
	Made     []Type      `json:"made"`
	Examples []Rejection `json:"examples"`
}

// add adds the result of a batch to the report.
func (r *Report) add(page batchResult) {
	if r.Looked += page.rows; page.last != nil {
		r.After = *page.last
	}
	r.Adopted, r.Vectors, r.VectorsLeft = r.Adopted+page.adopted, r.Vectors+page.vectors, r.VectorsLeft+page.vectorsLeft
	stored := map[string]int64{}
	for _, m := range page.totals.Made {
		stored[m.From] = m.Rows
	}
	for _, t := range page.totals.Types {
		sum := r.of(t.From)
		fresh := stored[t.From]
		sum.To = t.To
		sum.Rows, sum.Rejected, sum.New, sum.Existing = sum.Rows+t.Rows, sum.Rejected+t.Rejected, sum.New+fresh,
			sum.Existing+t.Rows-t.Rejected-fresh
		if t.Orphans > 0 {
			r.Orphans["superseded_by"] += t.Orphans
		}
	}
	for _, c := range page.totals.Reasons {
		r.Rejected[c.Reason] += c.Rows
	}
	for _, e := range page.totals.Examples {
		r.reject(e)
	}
}

// related stores the relations between rows.
func (v *importer) related(ctx context.Context, tx pgx.Tx, rows string, next *Report) (page batchResult, err error) {
	// Few rows match, so scanning and sorting all may be faster than using the index.
	if _, err := tx.Exec(ctx, `select set_config('enable_seqscan', 'on', true)`); err != nil {
		return page, err
	}
	_, err = tx.Exec(ctx, `create temporary table oxbow_v1_related on commit drop as `+fmt.Sprintf(readSQL, rows,
		kindSQL(v.types))+` select * from read`,
		pgx.QueryExecModeExec)
	if err != nil {
		return page, err
	}
	if _, err := tx.Exec(ctx,
		`select set_config('enable_seqscan', 'off', true); analyze pg_temp.oxbow_v1_related`); err != nil {
		return page, err
	}
	err = tx.QueryRow(ctx,
		`select count(*), (select id from pg_temp.oxbow_v1_related order by id desc limit 1)
		   from pg_temp.oxbow_v1_related`).Scan(&page.rows, &page.last)
	if err != nil {
		return page, err
	}
	for _, step := range relatedSteps {
		var made, orphans int64
		if err := tx.QueryRow(ctx, step.sql).Scan(&made, &orphans); err != nil {
			return page, fmt.Errorf("%s: %w", step.name, err)
		}
		*step.made(next) += made
		if orphans > 0 {
			next.Orphans[step.name] += orphans
		}
	}
	return page, nil
}

// verify looks up the memory of each row.
func (v *importer) verify(ctx context.Context, tx pgx.Tx, rows string, next *Report) (page batchResult, err error) {
	// Only three columns are read: joining whole tables is faster than going row by row.
	if _, err := tx.Exec(ctx, `select set_config('enable_seqscan', 'on', true)`); err != nil {
		return page, err
	}
	var found []struct {
		From  string `json:"from"`
		Rows  int64  `json:"rows"`
		Found int64  `json:"found"`
	}
	err = tx.QueryRow(ctx, fmt.Sprintf(verifySQL, rows, kindSQL(v.types)), pgx.QueryExecModeExec).Scan(&page.rows,
		&page.last, &found)
	if err != nil {
		return page, err
	}
	for _, f := range found {
		next.of(f.From).Missing += f.Rows - f.Found
	}
	return page, nil
}

// repair clears references to missing memories and ends the verification: rows neither found nor
// rejected are missing.
func (v *importer) repair(ctx context.Context, tx pgx.Tx, next *Report) error {
	for i := range next.Types {
		next.Types[i].Missing = max(0, next.Types[i].Missing-next.Types[i].Rejected)
	}
	tag, err := tx.Exec(ctx, `
		update oxbow.memories m set superseded_by = null
		 where m.superseded_by is not null
		   and not exists (select from oxbow.memories n where n.user_id = m.user_id and n.id = m.superseded_by)`)
	if err != nil {
		return err
	}
	if n := tag.RowsAffected(); n > 0 {
		next.Orphans["superseded_by"] += n
	}
	return nil
}
