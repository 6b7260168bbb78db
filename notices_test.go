package oxbow_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// THIRD_PARTY_NOTICES.md has the license of every source that the comments of a word list name.
func TestSourcesOfWordsHaveNotices(t *testing.T) {
	t.Parallel()
	notices, err := os.ReadFile("THIRD_PARTY_NOTICES.md")
	require.NoError(t, err)
	source := regexp.MustCompile(`github\.com/[\w-]+/[\w-]+|@[a-z-]+/[a-z-]+|Princeton WordNet|Chinese Open Wordnet|Unicode CLDR`)
	checked := 0
	require.NoError(t, filepath.WalkDir("internal", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == "testdata":
			return fs.SkipDir
		case filepath.Ext(path) != ".txt":
			return nil
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var comments strings.Builder // a name may continue on the next line
		for line := range strings.Lines(string(text)) {
			if comment, ok := strings.CutPrefix(line, "#"); ok {
				comments.WriteString(strings.TrimSuffix(comment, "\n"))
			}
		}
		for _, name := range source.FindAllString(comments.String(), -1) {
			checked++
			require.Contains(t, string(notices), name, path)
		}
		return nil
	}))
	require.Greater(t, checked, 10)
}
