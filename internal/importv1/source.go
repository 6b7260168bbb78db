package importv1

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// source is the memory table of version 1 and how its columns are read.
type source struct {
	conn *pgx.Conn // to another database; nil if the table is in the same one
	// For messages and for the recorded position: schema.table, prefixed with the database if that
	// is another.
	name    string
	table   string // quoted
	read    []column
	columns map[string]string // name: type
	unread  []string          // columns that the import does not read
	vectors bool              // vectors are read too
}

// column is a column as the statements use it.
type column struct {
	name, kind string // as in sourceColumns
	sql        string // expression that reads it from table s, or from the row n that superseded it
}

// sourceColumns are the columns to read, with the names they have had, newest first. A column that
// the table lacks is null.
var sourceColumns = []struct {
	name, kind string
	from       []string
	of         string // s, or n
}{
	{"user_id", "text", []string{"user_id"}, "s"},
	{"memory_type", "text", []string{"memory_type"}, "s"},
	{"content", "text", []string{"content"}, "s"},
	{"metadata", "jsonb", []string{"metadata", "metadata_"}, "s"},
	{"created_at", "timestamptz", []string{"created_at"}, "s"},
	{"updated_at", "timestamptz", []string{"updated_at"}, "s"},
	{"valid_at", "timestamptz", []string{"valid_at", "valid_from"}, "s"},
	{"invalid_at", "timestamptz", []string{"invalid_at", "valid_until"}, "s"},
	{"expired_at", "timestamptz", []string{"expired_at"}, "s"},
	{"superseded_by", "uuid", []string{"superseded_by"}, "s"},
	{"next_id", "uuid", []string{"id"}, "n"},
	{"next_valid_at", "timestamptz", []string{"valid_at", "valid_from"}, "n"},
	{"next_created_at", "timestamptz", []string{"created_at"}, "n"},
	{"version", "bigint", []string{"version"}, "s"},
	{"access_count", "bigint", []string{"access_count"}, "s"},
	{"last_accessed_at", "timestamptz", []string{"last_accessed_at"}, "s"},
	{"importance", "double precision", []string{"importance"}, "s"},
	{"session_id", "text", []string{"session_id"}, "s"},
	{"sessions", "text[]", []string{"source_episode_ids"}, "s"},
	{"trait_subtype", "text", []string{"trait_subtype"}, "s"},
	{"trait_stage", "text", []string{"trait_stage"}, "s"},
	{"trait_confidence", "double precision", []string{"trait_confidence"}, "s"},
	{"trait_context", "text", []string{"trait_context"}, "s"},
	{"trait_parent_id", "uuid", []string{"trait_parent_id"}, "s"},
	{"trait_reinforcement_count", "bigint", []string{"trait_reinforcement_count"}, "s"},
	{"trait_contradiction_count", "bigint", []string{"trait_contradiction_count"}, "s"},
	{"trait_last_reinforced", "timestamptz", []string{"trait_last_reinforced"}, "s"},
	{"trait_first_observed", "timestamptz", []string{"trait_first_observed"}, "s"},
	{"trait_window_start", "timestamptz", []string{"trait_window_start"}, "s"},
	{"trait_window_end", "timestamptz", []string{"trait_window_end"}, "s"},
	{"trait_derived_from", "text", []string{"trait_derived_from"}, "s"},
}

// requiredColumns are the columns that a table must have, besides id.
var requiredColumns = []string{"user_id", "memory_type", "content"}

// casts maps the wanted type and a column's PostgreSQL type to the expression that converts it.
// Times without a zone are in UTC.
var casts = map[string]map[string]string{
	"text":   {"text": "%s::text", "varchar": "%s::text", "bpchar": "%s::text", "uuid": "%s::text"},
	"text[]": {"_text": "%s", "_varchar": "%s::text[]", "_uuid": "%s::text[]"},
	"uuid":   {"uuid": "%s"},
	"jsonb":  {"jsonb": "%s", "json": "%s::jsonb"},
	"timestamptz": {"timestamptz": "%s", "timestamp": "(%s at time zone 'UTC')",
		"date": "(%s::timestamp at time zone 'UTC')"},
	"bigint": {"int8": "%s", "int4": "%s::bigint", "int2": "%s::bigint"},
	"double precision": {"float8": "%s", "float4": "%s::double precision", "numeric": "%s::double precision",
		"int8": "%s::double precision", "int4": "%s::double precision", "int2": "%s::double precision"},
	"real[]": {"vector": "%s::real[]", "halfvec": "%s::real[]", "_float4": "%s", "_float8": "%s::real[]"},
}

// openSource finds the table and checks its columns.
func openSource(ctx context.Context, target *pgx.Conn, o Options) (*source, error) {
	s := &source{conn: o.Source, vectors: o.KeepVectors}
	db := cmp.Or(s.conn, target)
	table := cmp.Or(o.Table, "public.embeddings")
	var oid uint32
	var schema, name, kind, database string
	err := db.QueryRow(ctx, `
		select c.oid, n.nspname, c.relname, c.relkind::text, current_database()
		  from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = to_regclass($1)`,
		table).Scan(&oid, &schema, &name, &kind, &database)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, store.Invalid("table", table, "must be an existing table that this login can see")
	case err != nil:
		return nil, sourceError(err, table)
	case schema == "oxbow" && s.conn == nil:
		return nil, store.Invalid("table", table, "must be the table of version 1, not one of Oxbow's own")
	case kind != "r" && kind != "p" && kind != "m":
		return nil, store.Invalid("table", table, "must be a table")
	}
	s.name, s.table = schema+"."+name, pgx.Identifier{schema, name}.Sanitize()
	if s.conn != nil {
		cfg := s.conn.Config()
		s.name = fmt.Sprintf("%s:%d/%s %s", cfg.Host, cfg.Port, database, s.name)
	}
	var unique bool
	err = db.QueryRow(ctx, `
		select exists (select from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
		                where i.indrelid = $1 and i.indisunique and i.indnkeyatts = 1 and i.indpred is null
		                  and a.attname = 'id')`, oid).Scan(&unique)
	if err != nil {
		return nil, sourceError(err, table)
	}
	if err := s.readColumns(ctx, db, oid); err != nil {
		return nil, err
	}
	if !unique {
		return nil,
			fmt.Errorf("%s has no unique index on id, which an import needs to resume: create one",
				s.name)
	}
	return s, nil
}

func (s *source) readColumns(ctx context.Context, db *pgx.Conn, oid uint32) error {
	found, err := store.Collect[struct{ Name, Type string }](ctx, db, `
		select a.attname::text as name, case when t.typtype = 'e' then 'text' when b.typname is not null then b.typname
		         else t.typname end::text as type
		  from pg_attribute a join pg_type t on t.oid = a.atttypid left join pg_type b on b.oid = t.typbasetype
		 where a.attrelid = $1 and a.attnum > 0 and not a.attisdropped order by a.attnum`, oid)
	if err != nil {
		return sourceError(err, s.name)
	}
	s.columns = make(map[string]string, len(found))
	for _, c := range found {
		s.columns[c.Name] = c.Type
	}
	if s.columns["id"] != "uuid" {
		return s.wrongColumn("id", "uuid")
	}
	used := map[string]bool{"id": true, "content_hash": true, "embedding": true}
	for _, c := range sourceColumns {
		read := column{name: c.name, kind: c.kind, sql: "null::" + c.kind}
		var there []string
		for _, from := range c.from {
			if s.columns[from] == "" {
				continue
			}
			cast, ok := casts[c.kind][s.columns[from]]
			if !ok {
				return s.wrongColumn(from, c.kind)
			}
			used[from] = true
			there = append(there, fmt.Sprintf(cast, c.of+"."+pgx.Identifier{from}.Sanitize()))
		}
		switch len(there) {
		case 0:
			if slices.Contains(requiredColumns, c.name) {
				return s.wrongColumn(c.name, c.kind)
			}
		case 1:
			read.sql = there[0]
		default:
			read.sql = "coalesce(" + strings.Join(there, ", ") + ")"
		}
		if c.of == "n" && s.columns["superseded_by"] == "" {
			read.sql = "null::" + c.kind
		}
		s.read = append(s.read, read)
	}
	embedding := column{name: "embedding", kind: "real[]", sql: "null::real[]"}
	if s.vectors {
		cast, ok := casts["real[]"][s.columns["embedding"]]
		if !ok {
			return s.wrongColumn("embedding", "vector, halfvec, real[] or double precision[] to keep vectors,")
		}
		embedding.sql = fmt.Sprintf(cast, "s.embedding")
	}
	s.read = append(s.read, embedding)
	for _, c := range found {
		if !used[c.Name] {
			s.unread = append(s.unread, c.Name)
		}
	}
	return nil
}

func (s *source) wrongColumn(name, want string) error {
	if s.columns[name] == "" {
		return fmt.Errorf("%s has no column %s: is it the table of version 1?", s.name, name)
	}
	return fmt.Errorf("the column %s of %s must be of type %s, and is of type %s", name, s.name, want, s.columns[name])
}

// page selects the next rows after an id, in id order, under the names of sourceColumns. A narrow
// page has only the user and type of each row.
func (s *source) page(after uuid.UUID, begun bool, where string, limit int, narrow bool) string {
	list := []string{"s.id"}
	for _, r := range s.read {
		sql := r.sql
		if narrow && r.name != "user_id" && r.name != "memory_type" {
			sql = "null::" + r.kind
		}
		list = append(list, sql+" as "+r.name)
	}
	conditions := []string{"s.id is not null"}
	if begun {
		conditions = []string{fmt.Sprintf("s.id > '%s'", after)}
	}
	if where != "" {
		conditions = append(conditions, where)
	}
	// The subselect keeps expressions, which might fail, from being computed for rows outside the
	// page.
	from := fmt.Sprintf("(select s.* from %s s where %s order by s.id limit %d) s", s.table,
		strings.Join(conditions, " and "), limit)
	if limit == math.MaxInt32 {
		// All rows, in any order.
		from = fmt.Sprintf("(select s.* from %s s where %s) s", s.table, strings.Join(conditions, " and "))
	}
	if s.columns["superseded_by"] != "" && !narrow {
		from += fmt.Sprintf(" left join %s n on n.id = s.superseded_by and n.user_id = s.user_id and n.id <> s.id",
			s.table)
	}
	return fmt.Sprintf("select %s from %s", strings.Join(list, ", "), from)
}

// sql returns the expression that reads a column, for conditions.
func (s *source) sql(name string) string {
	i := slices.IndexFunc(s.read, func(r column) bool { return r.name == name })
	return s.read[i].sql
}

// related returns the condition for rows that refer to others or may be referred to; stage evidence
// reads only these. A json column may be unreadable, and a condition must not fail, so for metadata
// of type json all rows are read.
func (s *source) related(types string) string {
	if s.columns["metadata"] == "json" || s.columns["metadata_"] == "json" {
		return "true"
	}
	return fmt.Sprintf(`(%[1]s is not null or %[2]s is not null or %[3]s is not null
		or %[4]s ?| '{source_episode_ids,session_ids}'
		or %[4]s ?| '{evidence,parent_trait,child_traits}' and %[5]s in (%[6]s))`,
		s.sql("superseded_by"), s.sql("trait_parent_id"), s.sql("sessions"), s.sql("metadata"), fmt.Sprintf(lowerSQL,
			s.sql("memory_type")), types)
}

// tenfold returns the aggregate that reports whether importance goes up to 10.
func (s *source) tenfold() string {
	number := fmt.Sprintf(`case when jsonb_typeof(%[1]s -> 'importance') = 'number'
		then (%[1]s ->> 'importance')::numeric end`, s.sql("metadata"))
	return fmt.Sprintf(`bool_or(coalesce(%s::numeric, %s) between 1.000001 and 10)`, s.sql("importance"), number)
}

// stagingColumns are the columns of the temporary table that receives rows of another database.
func (s *source) stagingColumns() string {
	list := []string{"id uuid"}
	for _, r := range s.read {
		list = append(list, r.name+" "+r.kind)
	}
	return strings.Join(list, ", ")
}

// sourceError keeps PostgreSQL's message about a table that is not Oxbow's: the usual advice "run
// oxbow migrate up" would be wrong.
func sourceError(err error, table string) error { return fmt.Errorf("read %s: %w", table, err) }
