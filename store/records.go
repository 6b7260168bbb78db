package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// derived lists the tables that an export omits. The worker rebuilds them from the memories, they
// queue work for it, they hold the raw sensory stream of the last days, or they hold keys and
// sessions of the server, its answers to repeated requests, and imports that are under way.
var derived = []string{"memory_vectors", "memory_vectors_next", "indexed_vectors", "vector_slots", "memory_terms",
	"memory_term_stats", "embedding_refusals",
	"reflection_inbox", "activity", "extractions", "sensory", "sensory_candidates", "entities", "entity_mentions",
	"entity_edges", "communities", "api_keys", "page_sessions", "api_answers", "open_erasures", "import_parts"}

// recordTables returns the tables of an export other than memories: every other table with a
// user_id, so that new tables are included. Tables that others reference come first.
func recordTables(ctx context.Context, db DB) ([]string, error) {
	return Collect[string](ctx, db, `
		select c.relname::text
		from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'user_id' and not a.attisdropped
		where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
		  and c.relname <> 'memories' and c.relname <> all ($1)
		order by not exists (select from pg_constraint f where f.contype = 'f' and f.confrelid = c.oid
		  and f.conrelid <> c.oid),
		         c.relname = 'messages', c.relname`, derived) // inserting a message creates its session
}

// insertRecords inserts the records of one table from the temporary table. Columns missing from all
// records get their defaults, because the export may be older than the column.
func insertRecords(ctx context.Context, tx pgx.Tx, table string) error {
	columns, err := Collect[string](ctx, tx, `
		select a.attname::text from pg_attribute a
		where a.attrelid = ('oxbow.' || quote_ident($1))::regclass and a.attnum > 0 and not a.attisdropped
		  and a.attgenerated = '' and a.attname <> 'stored_at' -- by which an erasure finds older rows
		  and exists (select from oxbow_import i where i.record_table = $1 and i.record ? a.attname)
		order by a.attnum`, table)
	if err != nil {
		return err
	}
	unknown, err := Collect[struct { // the import would lose members that are not columns
		Line int
		Key  string
	}](ctx, tx, `
		select i.n as line, key from oxbow_import i, jsonb_object_keys(i.record) key
		where i.record_table = $1 and key <> all ($2) order by i.n limit 1`, table, columns)
	if err != nil {
		return err
	}
	if len(unknown) > 0 {
		return &InvalidError{Index: -1, Line: unknown[0].Line, Field: unknown[0].Key, Rule: "is not a column of " + table}
	}
	odd, err := Collect[struct { // programs could not read them; only nights are planned for never
		Line         int
		Field, Value string
	}](ctx, tx, `
		select i.n as line, a.attname as field, i.record ->> a.attname as value
		from oxbow_import i, pg_attribute a
		where i.record_table = $1 and $1 <> 'nights' and a.attrelid = ('oxbow.' || quote_ident($1))::regclass
		  and a.atttypid = 'timestamptz'::regtype and a.attnum > 0
		  and (i.record ->> a.attname)::timestamptz not between '0001-01-01 00:00:00+00' and '9999-12-31 23:59:59.999999+00'
		order by i.n limit 1`, table)
	if err != nil {
		return fmt.Errorf("import the lines of type %s: %w", table, err)
	}
	if len(odd) > 0 {
		return &InvalidError{Index: -1, Line: odd[0].Line, Field: odd[0].Field, Value: odd[0].Value,
			Rule: "must be in the years 1 to 9999"}
	}
	values := make([]string, len(columns))
	for i, c := range columns {
		columns[i] = pgx.Identifier{c}.Sanitize()
		values[i] = "r." + columns[i]
	}
	// A memory that is full again has no original beside it.
	kept := "true"
	if table == "memory_archive" {
		kept = `not exists (select from oxbow.memories m where m.user_id = r.user_id and m.memory_type = r.memory_type
			and m.id = r.memory_id and m.level = 'full')`
	}
	into := pgx.Identifier{"oxbow", table}.Sanitize()
	_, err = tx.Exec(ctx, fmt.Sprintf(
		`insert into %s (%s) overriding system value
		 select %s from oxbow_import i, jsonb_populate_record(null::%s, i.record) r
		 where i.record_table = $1 and %s order by i.n on conflict do nothing`,
		into, strings.Join(columns, ", "), strings.Join(values, ", "), into, kept), table)
	if code(err) == "23503" { // foreign_key_violation
		return fmt.Errorf("import the lines of type %s: they refer to a memory that is neither in the file nor in the "+
			"database: %w",
			table, err)
	}
	if err != nil {
		return fmt.Errorf("import the lines of type %s: %w", table, Explain(err))
	}
	return nil
}
