package rules

import (
	"embed"
	"io/fs"

	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

//go:embed lists/*.txt
var listFiles embed.FS

// lists has the words that the rules read by, besides the vocabulary. docs/reasoner-rules.md says how to add to them.
var lists = func() *lexis.Words {
	files, err := fs.Sub(listFiles, "lists")
	if err != nil {
		panic(err)
	}
	return lexis.Must(files)
}()
