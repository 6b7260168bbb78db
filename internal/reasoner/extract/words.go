package extract

import (
	"embed"
	"io/fs"

	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

//go:embed words/*.txt
var wordFiles embed.FS

// words has the lists that the extractor reads by. docs/extraction-rules.md says how to add to them.
var words = func() *lexis.Words {
	files, err := fs.Sub(wordFiles, "words")
	if err != nil {
		panic(err)
	}
	return lexis.Must(files)
}()
