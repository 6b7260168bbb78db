package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The stages of ImportV1, in their order.
const (
	V1Prepare  = "prepare"
	V1Memories = "memories"
	V1Evidence = "evidence"
	V1Finish   = "finish"
	V1Done     = "done"
)

const (
	v1Key = "import_v1"
	// v1Batch is how many rows one transaction takes, which is what a killed import does again.
	v1Batch = 50_000
	// v1First is how many the first one takes. PostgreSQL knows nothing of a table that was empty, and looks up what rows refer to in
	// a way that becomes slow with many.
	v1First = 2_000
	// v1Examples is how many refused rows are listed; all are counted.
	v1Examples = 1000
	// v1Patience is how long an import waits for another to end: a killed one's last statement may still run.
	v1Patience = 15 * time.Second
	// v1Tries is how often a batch is tried that lost against somebody else.
	v1Tries = 5
)

// V1Options say what ImportV1 reads. The zero value reads public.embeddings of the same database.
type V1Options struct {
	// Source is a connection to the database that the table is in, and is used by nobody else. Default: the same database.
	Source *pgx.Conn
	// Table is the table, with its schema. Default: public.embeddings.
	Table string
	// Types say what becomes of further types, or of known ones: {"preference": Fact}.
	Types map[string]MemoryType
	// ImportanceScale is what the highest importance is there, 1 or 10. Default: 10 if any is above 1.
	ImportanceScale float64
	// KeepVectors takes the vectors over. They must be of the database's model; its dimension is all that can be checked.
	KeepVectors bool
	// DryRun looks at every row and writes nothing.
	DryRun bool
	// Again looks through the whole table once more after an import was done: for what came since. What was erased since
	// comes back.
	Again bool
	// Batch is how many rows one transaction takes. Default: 50,000.
	Batch int
	// Progress is called after each transaction, with the rows of the stage that are done, and how many there are.
	Progress func(stage string, done, total int64)
}

// V1Type is what became of the rows of a type.
type V1Type struct {
	From    string `json:"from"` // "unknown": of all that are not known
	To      string `json:"to,omitzero"`
	Rows    int64  `json:"rows"`    // seen
	New     int64  `json:"new"`     // stored; in a dry run, those that would be
	There   int64  `json:"there"`   // were there already
	Refused int64  `json:"refused"` // Oxbow does not take them
	// Missing are those that the verification did not find: erased, or new in the table, since they were read.
	Missing int64 `json:"missing"`
}

// V1Refusal is a row that Oxbow does not take.
type V1Refusal struct {
	ID     uuid.UUID `json:"id"`
	Reason string    `json:"reason"`
	Detail string    `json:"detail,omitzero"`
}

// V1Report is what an import has come to, over all runs of it. It is also what is written down between its transactions,
// in the setting import_v1.
type V1Report struct {
	Source  string           `json:"source"`
	Stage   string           `json:"stage"` // the one to go on with; done: none
	After   uuid.UUID        `json:"after,omitzero"`
	Rows    int64            `json:"rows"`    // in the table, when the import began
	Looked  int64            `json:"looked"`  // of the stage
	Types   []V1Type         `json:"types"`   // by From
	Refused map[string]int64 `json:"refused"` // how many, by reason
	// Refusals are the first thousand of them.
	Refusals []V1Refusal `json:"refusals"`
	Unread   []string    `json:"unread"` // columns that are left behind
	// ImportanceScale is what importance is divided by.
	ImportanceScale float64 `json:"importance_scale"`
	KeepVectors     bool    `json:"keep_vectors"`
	Vectors         int64   `json:"vectors"`      // kept
	VectorsLeft     int64   `json:"vectors_left"` // of another dimension, or no good: the worker makes new ones
	Adopted         int64   `json:"traits"`       // new ones that have events now
	Related         int64   `json:"related"`      // rows with evidence, parents, versions or conversations
	Evidence        int64   `json:"evidence"`     // rows of trait_evidence
	Parents         int64   `json:"parents"`      // traits with a parent
	History         int64   `json:"history"`      // versions that a newer one supersedes
	Sources         int64   `json:"sources"`      // rows of memory_sources
	// Orphans are references to nothing, by kind. Those of superseded_by are taken out, the others are not taken over.
	Orphans map[string]int64 `json:"orphans"`
	DryRun  bool             `json:"dry_run"`
	Resumed bool             `json:"resumed"`
	// Already tells that there was nothing to do, for the import was done before.
	Already  bool          `json:"already"`
	Started  time.Time     `json:"started"`
	Finished time.Time     `json:"finished,omitzero"`
	Took     time.Duration `json:"took"` // of this run, in nanoseconds
}

// clone is a copy that shares nothing: what a transaction changes counts only after it has committed.
func (r V1Report) clone() V1Report {
	r.Types, r.Refusals = slices.Clone(r.Types), slices.Clone(r.Refusals)
	r.Refused, r.Orphans = maps.Clone(r.Refused), maps.Clone(r.Orphans)
	return r
}

// of returns the entry of a type.
func (r *V1Report) of(from string) *V1Type {
	i, there := slices.BinarySearchFunc(r.Types, from, func(t V1Type, from string) int { return strings.Compare(t.From, from) })
	if !there {
		r.Types = slices.Insert(r.Types, i, V1Type{From: from})
	}
	return &r.Types[i]
}

func (r *V1Report) refuse(v V1Refusal) {
	if len(r.Refusals) < v1Examples {
		r.Refusals = append(r.Refusals, v)
	}
}

// Sum adds up the types.
func (r *V1Report) Sum() (sum V1Type) {
	for _, t := range r.Types {
		sum.Rows, sum.New, sum.There, sum.Refused, sum.Missing = sum.Rows+t.Rows, sum.New+t.New, sum.There+t.There, sum.Refused+t.Refused, sum.Missing+t.Missing
	}
	return sum
}

// ImportV1 moves the memories of version 1, which are in one table, into the database that conn is connected to. It goes
// through four stages in transactions of many rows, and writes down in each how far it came: an import that was killed goes
// on where it was. conn is used by nobody else meanwhile, and its login sees all users. Rows that Oxbow does not take are
// counted, and end nothing.
func ImportV1(ctx context.Context, conn *pgx.Conn, o V1Options) (V1Report, error) {
	begun := time.Now()
	v := &v1Import{conn: conn, options: o, types: maps.Clone(v1Types), batch: o.Batch}
	maps.Copy(v.types, o.Types)
	if v.batch <= 0 {
		v.batch = v1Batch
	}
	if s := o.ImportanceScale; s != 0 && s != 1 && s != 10 {
		return v.report, invalid("importance scale", fmt.Sprint(s), "must be 1 or 10")
	}
	for from, to := range o.Types {
		if from == "" || from != strings.ToLower(strings.TrimSpace(from)) || !slices.Contains(MemoryTypes(), to) {
			return v.report, invalid("type", from+"="+string(to), "must name a type in small letters, and fact, episodic, trait or document")
		}
	}
	if err := v.alone(ctx); err != nil {
		return v.report, err
	}
	defer v.release(ctx)
	err := v.run(ctx)
	v.report.Took = time.Since(begun)
	return v.report, err
}

// v1Import is an import on its way.
type v1Import struct {
	conn    *pgx.Conn
	options V1Options
	source  *v1Source
	types   map[string]MemoryType
	batch   int
	careful bool // some of the rows may be there already
	model   EmbeddingModel
	report  V1Report
}

// alone keeps other imports away until release. One that was killed may still be working on its last statement.
func (v *v1Import) alone(ctx context.Context) error {
	for begun := time.Now(); ; {
		var got bool
		if err := v.conn.QueryRow(ctx, `select pg_try_advisory_lock(hashtextextended('oxbow.import_v1', 0))`).Scan(&got); err != nil {
			return Explain(err)
		}
		if got {
			return nil
		}
		if time.Since(begun) > v1Patience {
			return errors.New("another import of version 1 is running on this database")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (v *v1Import) release(ctx context.Context) {
	// a connection that broke has released it
	_, _ = v.conn.Exec(context.WithoutCancel(ctx), `select pg_advisory_unlock(hashtextextended('oxbow.import_v1', 0))`)
}

func (v *v1Import) run(ctx context.Context) (err error) {
	if v.source, err = openV1(ctx, v.conn, v.options); err != nil {
		return err
	}
	if _, err := v.conn.Exec(ctx, v1Functions); err != nil {
		return fmt.Errorf("prepare the import: %w", Explain(err))
	}
	if err := v.resume(ctx); err != nil || v.report.Already {
		return err
	}
	for v.report.Stage != V1Done {
		switch v.report.Stage {
		case V1Prepare:
			err = v.prepare(ctx)
		case V1Memories:
			err = v.walk(ctx, "", v.memories)
			if err == nil && v.options.DryRun {
				return nil
			}
		case V1Evidence: // there may be none
			err = v.walk(ctx, v.source.related(traitTypes(v.types)), v.related)
		case V1Finish:
			err = v.walk(ctx, "", v.verify)
		default:
			err = fmt.Errorf("the setting %q names the stage %q, which there is not", v1Key, v.report.Stage)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// resume reads how far an earlier run came.
func (v *v1Import) resume(ctx context.Context) error {
	v.report = V1Report{Source: v.source.name, Stage: V1Prepare, Types: []V1Type{}, Refused: map[string]int64{}, Refusals: []V1Refusal{},
		Orphans: map[string]int64{}, Unread: append([]string{}, v.source.unread...), DryRun: v.options.DryRun, KeepVectors: v.options.KeepVectors, Started: time.Now()}
	if v.options.DryRun {
		return v.checkModel(ctx, v.conn)
	}
	var before V1Report
	if err := readSetting(ctx, v.conn, v1Key, &before); err != nil {
		return err
	}
	switch {
	case before.Stage == "":
	case before.Stage == V1Done && !v.options.Again && before.Source == v.source.name:
		v.report, v.report.Already = before, true
		return nil
	case before.Stage == V1Done:
		v.careful = v.careful || before.Source == v.source.name
	case before.Source != v.source.name:
		return fmt.Errorf("an import of %s is in stage %s: finish it first, or give it up with delete from oxbow.settings where key = '%s'",
			before.Source, before.Stage, v1Key)
	case before.KeepVectors != v.options.KeepVectors:
		return fmt.Errorf("the import began %s: go on with the same", map[bool]string{true: "with keeping vectors", false: "without keeping vectors"}[before.KeepVectors])
	default:
		v.report, v.report.Resumed = before, true
	}
	return v.checkModel(ctx, v.conn)
}

// checkModel looks whether vectors can be kept.
func (v *v1Import) checkModel(ctx context.Context, db DB) error {
	if !v.options.KeepVectors {
		return nil
	}
	model, err := CurrentModel(ctx, db)
	if err != nil {
		return err
	}
	if strings.HasPrefix(model.Model, "local-") {
		return fmt.Errorf("vectors cannot be kept: the database's are of %s, which is Oxbow's own; choose the model that made them first, with oxbow reembed", model)
	}
	if v.model.Model != "" && v.model != model {
		return fmt.Errorf("vectors cannot be kept any more: the database's are of %s now", model)
	}
	v.model = model
	return nil
}

// prepare counts the rows and finds out what the import needs to know of all of them.
func (v *v1Import) prepare(ctx context.Context) error {
	db := v.conn
	if v.source.conn != nil {
		db = v.source.conn
	}
	next := v.report.clone()
	next.ImportanceScale = v.options.ImportanceScale
	scale := "null::boolean"
	if next.ImportanceScale == 0 {
		scale = v.source.tenfold()
	}
	var tenfold *bool
	err := db.QueryRow(ctx, fmt.Sprintf(`select count(*), %s, count(*) filter (where %s) from %s s`,
		scale, v.source.related(traitTypes(v.types)), v.source.table)).Scan(&next.Rows, &tenfold, &next.Related)
	switch {
	case err != nil && IsDataError(err):
		return fmt.Errorf("%w: what importance is measured in cannot be found out, because some metadata cannot be read: give it with --importance-scale 1 or 10",
			explainV1(err, v.source.name))
	case err != nil:
		return explainV1(err, v.source.name)
	case next.ImportanceScale == 0 && tenfold != nil && *tenfold:
		next.ImportanceScale = 10
	case next.ImportanceScale == 0:
		next.ImportanceScale = 1
	}
	next.Stage = V1Memories
	return v.commit(ctx, next, func(pgx.Tx, *V1Report) error { return nil })
}

// commit runs a transaction that brings the import to where next says.
func (v *v1Import) commit(ctx context.Context, next V1Report, work func(pgx.Tx, *V1Report) error) error {
	err := pgx.BeginFunc(ctx, v.conn, func(tx pgx.Tx) error {
		// origin: see the trigger that keeps applications from inserting traits. The types of the extension vector are found
		// wherever it was installed. Rows come in the order of an index, whatever the statistics of the table say. Foreign keys
		// to the memories are not planned anew for each row, which takes ten times as long as to look.
		_, err := tx.Exec(ctx, `
			select set_config('oxbow.origin', 'import', true), set_config('work_mem', '64MB', true), set_config('enable_seqscan', 'off', true),
			       set_config('enable_bitmapscan', 'off', true), set_config('jit', 'off', true),
			       set_config('plan_cache_mode', 'force_generic_plan', true),
			       (select set_config('search_path', 'pg_catalog, ' || quote_ident(n.nspname) || ', pg_temp', true)
			          from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector')`)
		if err != nil {
			return err
		}
		if err := work(tx, &next); err != nil || v.options.DryRun {
			return err
		}
		return writeSetting(ctx, tx, v1Key, next)
	})
	if err == nil {
		v.report = next
	}
	return err
}

// v1Page is what a transaction found.
type v1Page struct {
	rows int64
	last *uuid.UUID
}

// walk goes through the rows that fulfil a condition, a batch a transaction, and then to the next stage. A batch that
// PostgreSQL does not take is divided until the row is alone that it does not take; that one is refused.
func (v *v1Import) walk(ctx context.Context, where string, work func(context.Context, pgx.Tx, string, *V1Report) (v1Page, error)) error {
	if v.source.conn != nil { // as for the transactions here
		if _, err := v.source.conn.Exec(ctx, `set enable_seqscan = off; set enable_bitmapscan = off`); err != nil {
			return explainV1(err, v.source.name)
		}
	}
	most, first, tries := v.batch, v.batch, 0
	if v.report.Stage == V1Memories {
		first = v1First
	}
	if v.report.Stage == V1Finish && v.source.conn == nil {
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
		next := v.report.clone()
		var page v1Page
		err := v.commit(ctx, next, func(tx pgx.Tx, next *V1Report) (err error) {
			rows, err := v.rows(ctx, tx, where, size)
			if err != nil {
				return err
			}
			if page, err = work(ctx, tx, rows, next); err != nil {
				return err
			}
			next.Looked += page.rows
			if page.last != nil {
				next.After = *page.last
			}
			if page.rows < int64(size) {
				return v.end(ctx, tx, next)
			}
			return nil
		})
		pg := new(pgconn.PgError)
		switch {
		case err == nil && v.report.Stage != stage && stage == V1Memories:
			return v.analyze(ctx)
		case err == nil && v.report.Stage != stage, err == nil && v.options.DryRun && page.rows < int64(size):
			return nil
		case err == nil:
			if stage == V1Memories && size == v1First {
				if err := v.analyze(ctx); err != nil {
					return err
				}
			}
			size, tries = min(size*2, most), 0
		case !errors.As(err, &pg):
			return v.explain(err)
		case pg.Code == "23505" && !v.careful: // unique_violation
			v.careful = true
		case (pg.Code == "40P01" || pg.Code == "40001") && tries < v1Tries: // deadlock_detected, serialization_failure
			tries++
		case !IsDataError(err) && !strings.HasPrefix(pg.Code, "23"):
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

// analyze lets PostgreSQL look at the columns by which memories are found, as autovacuum does sooner or later. Only an owner
// may; others get a warning.
func (v *v1Import) analyze(ctx context.Context) error {
	if v.options.DryRun {
		return nil
	}
	_, err := v.conn.Exec(ctx, `analyze oxbow.memories (user_id, memory_type, id, external_id), oxbow.trait_events (user_id, trait_id, seq)`)
	return Explain(err)
}

// explain says of what an error is. The source's own errors are told apart, because their cause is not Oxbow's schema.
func (v *v1Import) explain(err error) error {
	return fmt.Errorf("import %s, stage %s: %w", v.source.name, v.report.Stage, Explain(err))
}

// end goes to the next stage.
func (v *v1Import) end(ctx context.Context, tx pgx.Tx, next *V1Report) error {
	if v.options.DryRun {
		return nil
	}
	next.After, next.Looked = uuid.Nil, 0
	switch next.Stage {
	case V1Memories:
		next.Stage = V1Evidence
	case V1Evidence:
		next.Stage = V1Finish
	case V1Finish:
		next.Stage, next.Finished = V1Done, time.Now()
		return v.repair(ctx, tx, next)
	}
	return nil
}

// rows returns the next rows as a subselect. Those of another database are copied into a temporary table first.
func (v *v1Import) rows(ctx context.Context, tx pgx.Tx, where string, size int) (string, error) {
	page := v.source.page(v.report.After, v.report.Looked > 0, where, size, v.report.Stage == V1Finish)
	if v.source.conn == nil {
		return page, nil
	}
	_, err := tx.Exec(ctx, `create temporary table if not exists oxbow_v1_rows (`+v.source.stagingColumns()+`) on commit delete rows`)
	if err != nil {
		return "", err
	}
	if err := v.copyRows(ctx, tx, page); err != nil {
		return "", err
	}
	return "select * from pg_temp.oxbow_v1_rows", nil
}

// copyRows copies the rows of a query over there.
func (v *v1Import) copyRows(ctx context.Context, tx pgx.Tx, page string) error {
	r, w := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		_, err := v.source.conn.PgConn().CopyTo(ctx, w, "copy ("+page+") to stdout (format binary)")
		_ = w.CloseWithError(err) // nil is the end
		sent <- err
	}()
	_, err := tx.Conn().PgConn().CopyFrom(ctx, r, "copy pg_temp.oxbow_v1_rows from stdin (format binary)")
	_ = r.CloseWithError(errors.New("the copy was given up")) // nobody reads on
	if from := <-sent; from != nil {
		return from // what the other side says of it is only that the copy was given up
	}
	return err
}

// refuseNext passes over the next row, which PostgreSQL does not take.
func (v *v1Import) refuseNext(ctx context.Context, where string, why *pgconn.PgError) error {
	db := v.conn
	if v.source.conn != nil {
		db = v.source.conn
	}
	condition := "true"
	if v.report.Looked > 0 {
		condition = fmt.Sprintf("s.id > '%s'", v.report.After)
	}
	if where != "" {
		condition += " and " + where
	}
	refusal := V1Refusal{Reason: "PostgreSQL does not take it", Detail: "SQLSTATE " + why.Code} // its text may quote the row
	var from string
	err := db.QueryRow(ctx, fmt.Sprintf(`select s.id, coalesce(%s, '') from %s s where %s order by s.id limit 1`,
		fmt.Sprintf(v1Lower, v.source.sql("memory_type")), v.source.table, condition)).Scan(&refusal.ID, &from)
	if err != nil {
		return explainV1(err, v.source.name)
	}
	return v.commit(ctx, v.report.clone(), func(_ pgx.Tx, next *V1Report) error {
		next.After = refusal.ID
		next.Looked++
		if next.Stage == V1Memories || !slices.ContainsFunc(next.Refusals, func(r V1Refusal) bool { return r.ID == refusal.ID }) {
			next.Refused[refusal.Reason]++
			next.refuse(refusal)
		}
		if next.Stage == V1Memories {
			if v.types[from] == "" {
				from = "unknown"
			}
			t := next.of(from)
			t.To = string(v.types[from])
			t.Rows++
			t.Refused++
		}
		return nil
	})
}

// memories stores rows as memories.
func (v *v1Import) memories(ctx context.Context, tx pgx.Tx, rows string, next *V1Report) (page v1Page, err error) {
	if v.options.KeepVectors {
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock_shared(hashtextextended('oxbow.embedding', 0))`); err != nil {
			return page, err
		}
		if err := v.checkModel(ctx, tx); err != nil {
			return page, err
		}
	}
	// few rows have a newer version: each is looked up, and not all of them joined
	if _, err := tx.Exec(ctx, `select set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`); err != nil {
		return page, err
	}
	kinds := v1Kind(v.types)
	sql := v1Insert(rows, kinds, next.ImportanceScale, v.careful)
	if v.options.DryRun {
		sql = v1Look(rows, kinds)
	}
	var types, reasons, examples, made []byte
	var users []string
	var traits []uuid.UUID
	if err := tx.QueryRow(ctx, sql, pgx.QueryExecModeExec).Scan(&page.rows, &page.last, &types, &reasons, &examples, &made, &users, &traits); err != nil {
		return page, err
	}
	if err := v.count(next, types, reasons, examples, made); err != nil || v.options.DryRun {
		return page, err
	}
	if len(traits) > 0 {
		if _, err := tx.Exec(ctx, v1Adopt, users, traits); err != nil {
			return page, fmt.Errorf("adopt traits: %w", err)
		}
		next.Adopted += int64(len(traits))
	}
	if v.options.KeepVectors {
		var kept, had int64
		if err := tx.QueryRow(ctx, fmt.Sprintf(v1Vectors, rows, kinds, v.model.Dimension), pgx.QueryExecModeExec).Scan(&kept, &had); err != nil {
			return page, fmt.Errorf("keep vectors: %w", err)
		}
		next.Vectors, next.VectorsLeft = next.Vectors+kept, next.VectorsLeft+had-kept
	}
	return page, nil
}

// count adds what a statement says of its rows.
func (v *v1Import) count(next *V1Report, types, reasons, examples, made []byte) error {
	var counted struct {
		types []struct {
			V1Type
			Orphans int64 `json:"orphans"`
		}
		reasons []struct {
			Reason string `json:"reason"`
			Rows   int64  `json:"rows"`
		}
		made     []V1Type
		examples []V1Refusal
	}
	for _, part := range []struct {
		raw  []byte
		into any
	}{{types, &counted.types}, {reasons, &counted.reasons}, {made, &counted.made}, {examples, &counted.examples}} {
		if err := json.Unmarshal(part.raw, part.into); err != nil {
			return fmt.Errorf("read the totals: %w", err)
		}
	}
	stored := map[string]int64{}
	for _, m := range counted.made {
		stored[m.From] = m.Rows
	}
	for _, t := range counted.types {
		sum := next.of(t.From)
		fresh := stored[t.From]
		sum.To = t.To
		sum.Rows, sum.Refused, sum.New, sum.There = sum.Rows+t.Rows, sum.Refused+t.Refused, sum.New+fresh, sum.There+t.Rows-t.Refused-fresh
		if t.Orphans > 0 {
			next.Orphans["superseded_by"] += t.Orphans
		}
	}
	for _, r := range counted.reasons {
		next.Refused[r.Reason] += r.Rows
	}
	for _, e := range counted.examples {
		next.refuse(e)
	}
	return nil
}

// related stores what rows say of others.
func (v *v1Import) related(ctx context.Context, tx pgx.Tx, rows string, next *V1Report) (page v1Page, err error) {
	// few rows are such: to look at all and to sort those may be quicker than to go by the index
	if _, err := tx.Exec(ctx, `select set_config('enable_seqscan', 'on', true)`); err != nil {
		return page, err
	}
	_, err = tx.Exec(ctx, `create temporary table oxbow_v1_related on commit drop as `+fmt.Sprintf(v1ReadSQL, rows, v1Kind(v.types))+` select * from read`,
		pgx.QueryExecModeExec)
	if err != nil {
		return page, err
	}
	if _, err := tx.Exec(ctx, `select set_config('enable_seqscan', 'off', true); analyze pg_temp.oxbow_v1_related`); err != nil {
		return page, err
	}
	err = tx.QueryRow(ctx, `select count(*), (select id from pg_temp.oxbow_v1_related order by id desc limit 1) from pg_temp.oxbow_v1_related`).Scan(&page.rows, &page.last)
	if err != nil {
		return page, err
	}
	for _, step := range v1Related {
		var made, orphans int64
		if err := tx.QueryRow(ctx, step.sql).Scan(&made, &orphans); err != nil {
			return page, fmt.Errorf("%s: %w", step.name, err)
		}
		switch step.name {
		case "evidence":
			next.Evidence += made
		case "parents":
			next.Parents += made
		case "history":
			next.History += made
		case "sources":
			next.Sources += made
		}
		if orphans > 0 {
			next.Orphans[step.name] += orphans
		}
	}
	return page, nil
}

// verify looks for the memory of each row.
func (v *v1Import) verify(ctx context.Context, tx pgx.Tx, rows string, next *V1Report) (page v1Page, err error) {
	// nothing is read but three columns: a whole table against another is quicker than row by row
	if _, err := tx.Exec(ctx, `select set_config('enable_seqscan', 'on', true)`); err != nil {
		return page, err
	}
	var types []byte
	err = tx.QueryRow(ctx, fmt.Sprintf(v1Verify, rows, v1Kind(v.types)), pgx.QueryExecModeExec).Scan(&page.rows, &page.last, &types)
	if err != nil {
		return page, err
	}
	var found []struct {
		From  string `json:"from"`
		Rows  int64  `json:"rows"`
		Found int64  `json:"found"`
	}
	if err := json.Unmarshal(types, &found); err != nil {
		return page, fmt.Errorf("read the totals: %w", err)
	}
	for _, f := range found {
		next.of(f.From).Missing += f.Rows - f.Found
	}
	return page, nil
}

// repair takes out references to memories that are not there, and ends the verification: what is missing is what was not
// found and was not refused.
func (v *v1Import) repair(ctx context.Context, tx pgx.Tx, next *V1Report) error {
	for i := range next.Types {
		next.Types[i].Missing = max(0, next.Types[i].Missing-next.Types[i].Refused)
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
