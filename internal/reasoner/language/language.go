// Package language has the words and patterns of English and Chinese that the reasoner of rules reads by, as data:
// *.txt, in the language of package pattern.
package language

import (
	"embed"

	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

//go:embed *.txt
var files embed.FS

var grammar = pattern.New(files)

// Read takes a text apart.
func Read(text string) *pattern.Text { return grammar.Read(text) }

// Lists returns the lists as the files have them.
func Lists() *pattern.Lists { return grammar.Lists() }
