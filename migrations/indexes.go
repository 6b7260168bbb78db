package migrations

import (
	"regexp"

	sqlcode "github.com/oxbow-memory/oxbow/sql"
)

// Index is an index of a migrated database. Rest identifies it even if its name changed, as when a
// table is replaced.
type Index struct {
	Table, Name string
	Rest        string // the end of its definition: "USING …" or "PRIMARY KEY (…)"
}

var (
	indexLine      = regexp.MustCompile(`(?ms)^CREATE (?:UNIQUE )?INDEX (\S+) ON (?:ONLY )?oxbow\.(\S+) (USING .*?);$`)
	constraintLine = regexp.MustCompile(
		`(?m)^ALTER TABLE ONLY oxbow\.(\S+)\n    ADD CONSTRAINT (\S+) ((?:PRIMARY KEY|UNIQUE) .*);$`)
)

// Indexes returns the indexes that the migrations create.
func Indexes() (all []Index) {
	for _, m := range indexLine.FindAllStringSubmatch(sqlcode.Schema, -1) {
		all = append(all, Index{Table: m[2], Name: m[1], Rest: m[3]})
	}
	for _, m := range constraintLine.FindAllStringSubmatch(sqlcode.Schema, -1) {
		all = append(all, Index{Table: m[1], Name: m[2], Rest: m[3]})
	}
	return all
}
