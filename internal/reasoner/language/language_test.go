package language

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

func TestFiles(t *testing.T) {
	t.Parallel()
	require.NoError(t, pattern.Check(files))
}

// Every list is used by the program or by a pattern.
func TestListsAreUsed(t *testing.T) {
	t.Parallel()
	used := map[string]bool{"numeral": true}
	sources, err := filepath.Glob("../*/*.go")
	require.NoError(t, err)
	names := regexp.MustCompile(`"([a-z]\w*(?:\.\w+)*)"`)
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		text, err := os.ReadFile(source)
		require.NoError(t, err)
		for _, m := range names.FindAllStringSubmatch(string(text), -1) {
			used[m[1]] = true
		}
	}
	data, err := filepath.Glob("*.txt")
	require.NoError(t, err)
	references := regexp.MustCompile(`@([a-z]\w*(?:\.\w+)*(?:\.\*)?)|\{([a-z]\w*)\}`)
	for _, file := range data {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range references.FindAllStringSubmatch(string(text), -1) {
			used[m[1]] = true
			used["value."+m[2]] = true
		}
	}
	for _, name := range grammar.Lists().Names() {
		kind := regexp.MustCompile(`^(value)(\.\w+)?\.(only|end|skip|cut)$`).ReplaceAllString(name, "$1$2")
		family, _, _ := strings.Cut(name, ".")
		require.True(t, used[name] || used[family+".*"] || used[kind] || kind == "value", "nothing names the list %s",
			name)
	}
}

// The program reads numbers and names from the values of these lists.
func TestValues(t *testing.T) {
	t.Parallel()
	for list, form := range map[string]string{
		"entity.kind": `^(animal|organization|person|place)$`,
		"feeling":     `^\w+ -?[\d.]+ [\d.]+$`,
		"worth":       `^(fact|identity|short_preference|skill|stable_preference|temporary) [\d.]+ [\d.]+( past)?$`,
		"worth.fact":  `^(identity|stable_preference|temporary) [\d.]+$`,
	} {
		for entry, value := range Lists().Map(list) {
			require.Regexp(t, form, value, "list %s: %s", list, entry)
		}
	}
}
