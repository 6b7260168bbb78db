package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// Links between the documents lead to existing files and headings.
func TestLinks(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	documents, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, documents)
	checked := 0
	for _, document := range append(documents, filepath.Join(root, "README.md")) {
		for _, m := range link.FindAllStringSubmatch(read(t, document), -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			target := document
			if file != "" {
				target = filepath.Join(filepath.Dir(document), file)
			}
			text := read(t, target)
			if anchor != "" {
				require.Contains(t, anchors(text), anchor, "%s links to %s", document, m[1])
			}
			checked++
		}
	}
	require.Positive(t, checked)
}

func read(t *testing.T, file string) string {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// anchors returns GitHub's anchors of the headings.
func anchors(markdown string) (found []string) {
	for _, m := range heading.FindAllStringSubmatch(markdown, -1) {
		slug := notSlug.ReplaceAllString(strings.ToLower(m[1]), "")
		found = append(found, strings.ReplaceAll(slug, " ", "-"))
	}
	return found
}
