package movein

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// table is a table of another system, as it is in the database.
type table struct {
	name    string // quoted, with its schema if one was given
	columns []string
}

// table looks up a table and checks that it has the columns that a reader needs.
func (r *run) table(ctx context.Context, name string, required ...string) (table, error) {
	t := table{name: pgx.Identifier(strings.Split(name, ".")).Sanitize()}
	rows, err := r.Conn.Query(ctx, `select attname::text from pg_attribute
		where attrelid = to_regclass($1) and attnum > 0 and not attisdropped order by attnum`, t.name)
	if err == nil {
		t.columns, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if err != nil {
		return t, err
	}
	if len(t.columns) == 0 {
		return t, fmt.Errorf("there is no table %s%s", name, r.otherTables(ctx, required))
	}
	for _, c := range required {
		if !slices.Contains(t.columns, c) {
			return t, fmt.Errorf("table %s has no column %s: it is not from %s, or from another version of it", name, c,
				r.Source.Name)
		}
	}
	return t, nil
}

// otherTables names the tables that have the columns, after a colon.
func (r *run) otherTables(ctx context.Context, columns []string) string {
	rows, err := r.Conn.Query(ctx, `
		select c.oid::regclass::text from pg_class c join pg_attribute a on a.attrelid = c.oid
		 where c.relkind in ('r', 'p', 'v', 'm') and a.attname = any($1) and not a.attisdropped
		   and not c.relispartition and c.relnamespace <> 'pg_catalog'::regnamespace
		 group by c.oid having count(*) = $2 order by 1 limit 5`, columns, len(columns))
	var names []string
	if err == nil {
		names, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if err != nil || len(names) == 0 {
		return ""
	}
	return "; these have its columns: " + strings.Join(names, ", ")
}

// omitted are columns that are never read: the model of the vectors is another one.
var omitted = []string{"vector", "embedding", "search_vector"}

// list returns the columns of a select list, each after the alias.
func (t table) list(alias string) string {
	var list []string
	for _, c := range t.columns {
		if !slices.Contains(omitted, c) {
			list = append(list, alias+"."+pgx.Identifier{c}.Sanitize())
		}
	}
	return strings.Join(list, ", ")
}

// rows calls f for each row of a query, as an object.
func (r *run) rows(ctx context.Context, query string, f func(object) error, args ...any) error {
	rows, err := r.Conn.Query(ctx, "select to_json(r)::text from ("+query+") r", args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var o object
		if err := json.Unmarshal(rows.RawValues()[0], &o); err != nil {
			return err
		}
		if err := f(o); err != nil {
			return err
		}
	}
	return rows.Err()
}
