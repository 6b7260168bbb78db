// Package defaults provides the default trait policies for tests and for programs without a
// database.
package defaults

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/oxbow-memory/oxbow/migrations"
)

var definition = regexp.MustCompile(`(?m)^  \('trait_(\w+)', ([0-9.]+),`)

// Traits returns the defaults of the policies named trait_… in the migrations, as JSON.
func Traits() []byte {
	text, err := fs.ReadFile(migrations.FS, "001_settings.sql")
	if err != nil {
		panic(err) // the file is embedded
	}
	var values []string
	for _, m := range definition.FindAllStringSubmatch(string(text), -1) {
		values = append(values, fmt.Sprintf("%q: %s", m[1], m[2]))
	}
	return []byte("{" + strings.Join(values, ", ") + "}")
}
