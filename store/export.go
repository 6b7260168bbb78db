package store

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"
)

// ExportReport counts what an export wrote.
type ExportReport struct {
	Memories int `json:"memories"` // including old versions, forgotten memories and traits
	// Records counts everything else: settings, history, links, sources, sessions, messages and so
	// on.
	Records int `json:"records"`
}

// Export writes all data of a user as JSON Lines that Import can read. It writes the memories
// first, then the rows of every other table, except tables that are derived from them. db should be
// a transaction with a single snapshot.
func Export(ctx context.Context, db DB, userID string, w io.Writer) (ExportReport, error) {
	var report ExportReport
	tables, err := recordTables(ctx, db)
	if err != nil {
		return report, err
	}
	// Write times in UTC: RFC 3339 has no offsets with seconds, which old time zones use.
	timezone, err := CollectOne[string](ctx, db, `select current_setting('timezone')`)
	if err != nil {
		return report, err
	}
	if err := setTimezone(ctx, db, "UTC"); err != nil {
		return report, err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	report.Memories, err = exportTable(ctx, db, userID, "memories", "memory", "created_at, seq, id", out)
	if err != nil {
		return report, err
	}
	for _, table := range tables {
		n, err := exportTable(ctx, db, userID, table, table, "1", out)
		if err != nil {
			return report, err
		}
		report.Records += n
	}
	if err := out.Flush(); err != nil {
		return report, fmt.Errorf("write the export: %w", err)
	}
	return report, setTimezone(ctx, db, timezone)
}

func setTimezone(ctx context.Context, db DB, name string) error {
	_, err := Exec(ctx, db, `select set_config('timezone', $1, true)`, name)
	return err
}

// typeColumn is the name that a column "type" has in an export, where "type" names the table.
const typeColumn = "type_column"

// exportTable writes one line per row. It omits null and generated columns and, except for memories, the time at which
// a row was stored.
func exportTable(ctx context.Context, db DB, userID, table, kind, order string, out *bufio.Writer) (n int, err error) {
	rows, err := db.Query(ctx, fmt.Sprintf(`
		select (select jsonb_object_agg(key, value)
		        from jsonb_each(to_jsonb(t)
		          || jsonb_build_object('type', $2::text, $3::text, to_jsonb(t) -> 'type')) each
		        where value <> 'null' and key <> all (generated))::text
		from %[1]s t, (select array(select attname::text from pg_attribute
		  where attrelid = '%[1]s'::regclass
		    and (attgenerated <> '' or attname = 'stored_at' and $2 <> 'memory'))) g(generated)
		where user_id = $1 order by %[2]s`, pgx.Identifier{"oxbow", table}.Sanitize(), order), userID, kind, typeColumn)
	if err != nil {
		return 0, Explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		if _, err := out.Write(rows.RawValues()[0]); err != nil {
			return n, fmt.Errorf("write the export: %w", err)
		}
		if err := out.WriteByte('\n'); err != nil {
			return n, fmt.Errorf("write the export: %w", err)
		}
		n++
	}
	return n, Explain(rows.Err())
}
