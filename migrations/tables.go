package migrations

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
)

var (
	// a table, or a composite type
	tableBlock = regexp.MustCompile(`(?ms)^CREATE (?:UNLOGGED )?(?:TABLE|TYPE) oxbow\.(\w+) (?:AS )?\(\n(.*?)^\)`)
	columnLine = regexp.MustCompile(`(?m)^(?:    |\t)("?[a-z]\w*"?) (.+?)(?: DEFAULT .*| NOT NULL.*| GENERATED .*)?,?$`)
	schemaName = regexp.MustCompile(`\b\w+\.`)
	dimension  = regexp.MustCompile(`\bhalfvec\(\d+\)`) // reembed changes it
)

// plainType returns a type without its schema and, of a vector, without its dimension.
func plainType(text string) string {
	return dimension.ReplaceAllString(schemaName.ReplaceAllString(text, ""), "halfvec")
}

// errTable is a difference between the tables of the database and those that the migrations create.
type errTable string

func (e errTable) Error() string { return string(e) }

// checkTables compares the tables and composite types with text, which has the form of sql/schema.sql. A database may
// have more columns and tables, such as days of the sensory stream.
func checkTables(ctx context.Context, tx pgx.Tx, text string) error {
	rows, err := tx.Query(ctx, `
		select c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod)
		from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
		where c.relnamespace = 'oxbow'::regnamespace`)
	if err != nil {
		return err
	}
	types := map[string]string{}
	var name, kind string
	if _, err := pgx.ForEachRow(rows, []any{&name, &kind}, func() error {
		types[name] = plainType(kind)
		return nil
	}); err != nil {
		return err
	}
	for _, table := range tableBlock.FindAllStringSubmatch(text, -1) {
		for _, column := range columnLine.FindAllStringSubmatch(table[2], -1) {
			name, kind := table[1]+"."+strings.Trim(column[1], `"`), plainType(column[2])
			switch found := types[name]; {
			case found == kind:
			case found == "":
				return errTable("oxbow." + name + " is missing")
			default:
				return errTable(fmt.Sprintf("oxbow.%s is %s, not %s", name, found, kind))
			}
		}
	}
	return nil
}
