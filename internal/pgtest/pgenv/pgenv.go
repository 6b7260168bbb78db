// Package pgenv clears the variables that PostgreSQL's clients read, such as PGPORT, when a test program starts. Tests
// and the programs that they start must not depend on them.
package pgenv

import (
	"os"
	"strings"
)

func init() {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "PG") {
			_ = os.Unsetenv(name) // fails only for invalid names
		}
	}
}
