package migrations

import (
	"regexp"

	sqlcode "github.com/oxbow-memory/oxbow/sql"
)

// Index is one that a migrated database has, by its name and by what makes it: the name may have
// changed, where a table was exchanged.
type Index struct {
	Table, Name string
	Rest        string // of its definition: "USING …", or "PRIMARY KEY (…)"
}

var (
	indexLine      = regexp.MustCompile(`(?m)^CREATE (?:UNIQUE )?INDEX (\S+) ON (?:ONLY )?oxbow\.(\S+) (USING .*);$`)
	constraintLine = regexp.MustCompile(`(?m)^ALTER TABLE ONLY oxbow\.(\S+)\n    ADD CONSTRAINT (\S+) ((?:PRIMARY KEY|UNIQUE) .*);$`)
)

// Indexes are those that the migrations make.
func Indexes() (all []Index) {
	for _, m := range indexLine.FindAllStringSubmatch(sqlcode.Schema, -1) {
		all = append(all, Index{Table: m[2], Name: m[1], Rest: m[3]})
	}
	for _, m := range constraintLine.FindAllStringSubmatch(sqlcode.Schema, -1) {
		all = append(all, Index{Table: m[1], Name: m[2], Rest: m[3]})
	}
	return all
}
