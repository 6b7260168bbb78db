// Package importv1 imports the memory table of Oxbow version 1.
package importv1

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// The stages of Run, in order.
const (
	StagePrepare  = "prepare"
	StageMemories = "memories"
	StageEvidence = "evidence"
	StageFinish   = "finish"
	StageDone     = "done"
)

const (
	settingKey = "import_v1"
	// defaultBatch is the number of rows per transaction. A killed import repeats its
	// unfinished batches.
	defaultBatch = 50_000
	// firstBatch is the number of rows in the first transaction. Without statistics on the empty
	// tables, PostgreSQL checks references in a way that is slow for many rows.
	firstBatch = 2_000
	// maxRejections is how many rejected rows are listed. All are counted.
	maxRejections = 1000
	// lockPatience is how long an import waits for another to end: the last statement of a killed
	// import may still be running.
	lockPatience = 15 * time.Second
	// maxTries is how often a batch is tried after conflicts with other sessions.
	maxTries = 5
)

// Options configures Run. The zero value reads public.embeddings of the same database.
type Options struct {
	// Source is a connection to the database that holds the table. Nothing else may use it.
	// Default: the same database.
	Source *pgx.Conn
	// Table is the table's name, including its schema. Default: public.embeddings.
	Table string
	// Types maps further types, or overrides known ones: {"preference": Fact}.
	Types map[string]store.MemoryType
	// ImportanceScale is the highest importance in the table, 1 or 10. Default: 10 if any value is
	// above 1, else 1.
	ImportanceScale float64
	// KeepVectors imports the vectors. They must come from the database's model, of which Run can
	// check only the dimension.
	KeepVectors bool
	// DryRun checks every row and writes nothing.
	DryRun bool
	// Again reads the whole table again after a completed import, for rows added since. It also
	// restores rows erased since.
	Again bool
	// Batch is the number of rows per transaction. Default: 50,000.
	Batch int
	// Progress is called after each transaction with the stage's finished rows and its total.
	Progress func(stage string, done, total int64)
}

// Run imports the memory table of version 1 into the database of conn. It runs four stages in
// transactions of many rows and records its progress in each, so that a killed import resumes where
// it stopped. Nothing else may use conn, and its login must see all users. Rows that Oxbow rejects
// are counted and do not stop the import.
func Run(ctx context.Context, conn *pgx.Conn, o Options) (Report, error) {
	begun := time.Now()
	v := &importer{conn: conn, options: o, types: maps.Clone(defaultTypes), batch: o.Batch}
	maps.Copy(v.types, o.Types)
	if v.batch <= 0 {
		v.batch = defaultBatch
	}
	if s := o.ImportanceScale; s != 0 && s != 1 && s != 10 {
		return v.report, store.Invalid("importance_scale", s, "must be 1 or 10")
	}
	for from, to := range o.Types {
		if from == "" || from != strings.ToLower(strings.TrimSpace(from)) || !slices.Contains(store.MemoryTypes(), to) {
			return v.report, store.Invalid("type", from+"="+string(to),
				"must map a lower-case name to fact, episodic, trait or document")
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

// importer is a running import.
type importer struct {
	conn    *pgx.Conn
	options Options
	second  *pgx.Conn // for a second concurrent batch; nil if there is none
	source  *source
	copying sync.Mutex // serialises reads from source
	types   map[string]store.MemoryType
	batch   int
	careful bool // some of the rows may already be stored
	model   store.EmbeddingModel
	report  Report
}

// alone keeps other imports out until release is called. It waits up to lockPatience for a running import.
func (v *importer) alone(ctx context.Context) error {
	for begun := time.Now(); ; {
		var got bool
		if err := v.conn.QueryRow(ctx,
			`select pg_try_advisory_lock(hashtextextended('oxbow.import_v1', 0))`).Scan(&got); err != nil {
			return store.Explain(err)
		}
		if got {
			return nil
		}
		if time.Since(begun) > lockPatience {
			return errors.New("another import of version 1 is running on this database")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (v *importer) release(ctx context.Context) {
	// A connection that broke has released the lock.
	_, _ = v.conn.Exec(context.WithoutCancel(ctx), `select pg_advisory_unlock(hashtextextended('oxbow.import_v1', 0))`)
}

func (v *importer) run(ctx context.Context) (err error) {
	if v.source, err = openSource(ctx, v.conn, v.options); err != nil {
		return err
	}
	if _, err := v.conn.Exec(ctx, functionsSQL); err != nil {
		return fmt.Errorf("prepare the import: %w", store.Explain(err))
	}
	if err := v.resume(ctx); err != nil || v.report.Already {
		return err
	}
	if !v.options.DryRun {
		v.openSecond(ctx)
		defer v.closeSecond(ctx)
	}
	for v.report.Stage != StageDone {
		switch v.report.Stage {
		case StagePrepare:
			err = v.prepare(ctx)
		case StageMemories:
			err = v.walk(ctx, "", v.memories)
			if err == nil && v.options.DryRun {
				return nil
			}
		case StageEvidence: // may have no rows
			err = v.walk(ctx, v.source.related(traitTypes(v.types)), v.related)
		case StageFinish:
			err = v.walk(ctx, "", v.verify)
		default:
			err = fmt.Errorf("setting %q: unknown stage %q", settingKey, v.report.Stage)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// openSecond opens a second connection with the same login. It only saves time: without it, batches
// run one after the other.
func (v *importer) openSecond(ctx context.Context) {
	conn, err := pgx.ConnectConfig(ctx, v.conn.Config())
	if err != nil {
		return
	}
	v.second = conn
	if _, err := conn.Exec(ctx, functionsSQL); err != nil {
		v.closeSecond(ctx)
	}
}

func (v *importer) closeSecond(ctx context.Context) {
	if v.second != nil {
		_ = v.second.Close(context.WithoutCancel(ctx)) // nothing of it is needed
		v.second = nil
	}
}

// resume reads the progress of an earlier run.
func (v *importer) resume(ctx context.Context) error {
	v.report = Report{Source: v.source.name, Stage: StagePrepare, Types: []Type{}, Rejected: map[string]int64{},
		Rejections: []Rejection{},
		Orphans:    map[string]int64{}, Unread: append([]string{},
			v.source.unread...), DryRun: v.options.DryRun, KeepVectors: v.options.KeepVectors, Started: time.Now()}
	if v.options.DryRun {
		return v.checkModel(ctx, v.conn)
	}
	var before Report
	if err := store.ReadSetting(ctx, v.conn, settingKey, &before); err != nil {
		return err
	}
	switch {
	case before.Stage == "":
	case before.Stage == StageDone && !v.options.Again && before.Source == v.source.name:
		v.report, v.report.Already = before, true
		return nil
	case before.Stage == StageDone:
		v.careful = v.careful || before.Source == v.source.name
	case before.Source != v.source.name:
		return fmt.Errorf(
			"an import of %s is unfinished, in stage %s: finish it first, or abandon it with delete from "+
				"oxbow.settings where key = '%s'",
			before.Source, before.Stage, settingKey)
	case before.KeepVectors != v.options.KeepVectors:
		return fmt.Errorf("the unfinished import started %s: continue it the same way",
			map[bool]string{true: "with keeping vectors", false: "without keeping vectors"}[before.KeepVectors])
	default:
		v.report, v.report.Resumed = before, true
	}
	return v.checkModel(ctx, v.conn)
}

// checkModel returns an error if the vectors cannot be kept.
func (v *importer) checkModel(ctx context.Context, db store.DB) error {
	if !v.options.KeepVectors {
		return nil
	}
	model, err := store.CurrentModel(ctx, db)
	if err != nil {
		return err
	}
	if strings.HasPrefix(model.Model, "local-") {
		return fmt.Errorf(
			"cannot keep the vectors: the database has vectors of %s, a built-in model; first switch to the model that "+
				"computed the old ones, with oxbow reembed", model)
	}
	if v.model.Model == "" {
		v.model = model
	}
	if v.model != model {
		return fmt.Errorf("cannot keep the vectors: the database's model has changed to %s", model)
	}
	return nil
}

// reading returns the connection to the database that holds the table.
func (v *importer) reading() *pgx.Conn { return cmp.Or(v.source.conn, v.conn) }

// prepare counts the rows and collects what the import needs to know about the whole table.
func (v *importer) prepare(ctx context.Context) error {
	next := v.report.clone()
	next.ImportanceScale = v.options.ImportanceScale
	scale := "null::boolean"
	if next.ImportanceScale == 0 {
		scale = v.source.tenfold()
	}
	var tenfold *bool
	err := v.reading().QueryRow(ctx, fmt.Sprintf(`select count(*), %s, count(*) filter (where %s) from %s s`,
		scale, v.source.related(traitTypes(v.types)), v.source.table)).Scan(&next.Rows, &tenfold, &next.Related)
	switch {
	case err != nil && store.IsDataError(err):
		return fmt.Errorf("%w: cannot determine the scale of importance, because some metadata is unreadable: "+
			"set it with --importance-scale 1 or 10",
			sourceError(err, v.source.name))
	case err != nil:
		return sourceError(err, v.source.name)
	case next.ImportanceScale == 0 && tenfold != nil && *tenfold:
		next.ImportanceScale = 10
	case next.ImportanceScale == 0:
		next.ImportanceScale = 1
	}
	next.Stage = StageMemories
	return v.commit(ctx, next, func(pgx.Tx, *Report) error { return nil })
}
