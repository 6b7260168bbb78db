package sqlcode

import (
	_ "embed"
	"io/fs"
	"regexp"
	"sync"
)

// Needs is needs.sql: the query that lists the rights that a role needs in order to run statements, and whether it has
// them.
//
//go:embed needs.sql
var Needs string

var (
	grant = regexp.MustCompile(`(?m)^call oxbow\.grant_(app|worker|operator)\(([^)]*)\);`)
	name  = regexp.MustCompile(`\w+`)
)

// Need is a row of Needs: a right on a function or a table.
type Need struct {
	Name string
	What string    // execute, select, insert, update or delete
	Held bool      // by the role
	Via  []*string // the objects that need it; nil for a statement
}

// Calls returns, as statements for Needs, a call of each function that a group role may call.
func Calls(role string) (statements []string) {
	for _, function := range allowed()[role] {
		statements = append(statements, "oxbow."+function+"()")
	}
	return statements
}

var allowed = sync.OnceValue(func() map[string][]string {
	files, err := fs.Glob(FS, "code/*.sql")
	if err != nil {
		panic(err) // only an invalid pattern fails
	}
	var texts []string
	for _, file := range files {
		text, err := fs.ReadFile(FS, file)
		if err != nil {
			panic(err) // the files are embedded
		}
		texts = append(texts, string(text))
	}
	return Granted(texts...)
})

// Granted returns the functions that the SQL files let each group role call.
func Granted(texts ...string) map[string][]string {
	granted := map[string][]string{}
	for _, text := range texts {
		for _, m := range grant.FindAllStringSubmatch(text, -1) {
			functions := name.FindAllString(m[2], -1)
			granted["oxbow_"+m[1]] = append(granted["oxbow_"+m[1]], functions...)
			if m[1] == "app" {
				granted["oxbow_worker"] = append(granted["oxbow_worker"], functions...)
			}
		}
	}
	return granted
}
