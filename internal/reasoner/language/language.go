// Package language contains the English and Chinese words and patterns of the rules as data: *.txt, in the language of
// package pattern.
package language

import (
	"embed"

	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

//go:embed *.txt
var files embed.FS

var grammar = pattern.New(files)

// Read tokenizes a text.
func Read(text string) *pattern.Text { return grammar.Read(text) }

// Lists returns the lists as the files have them.
func Lists() *pattern.Lists { return grammar.Lists() }
