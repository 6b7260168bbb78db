package pages_test

import (
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// messages returns the texts of a language.
func messages(t *testing.T, language string) map[string]string {
	t.Helper()
	found := map[string]string{}
	names, err := filepath.Glob("messages_*" + language + ".json")
	require.NoError(t, err)
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &found))
	}
	return found
}

var verb = regexp.MustCompile(`%[a-z]`)

func TestLanguagesHaveTheSameTexts(t *testing.T) {
	t.Parallel()
	en, zh := messages(t, "en"), messages(t, "zh")
	require.ElementsMatch(t, slices.Collect(maps.Keys(en)), slices.Collect(maps.Keys(zh)))
	for key, text := range en {
		forms := strings.Split(text, "|")
		require.Equal(t, verb.FindAllString(forms[len(forms)-1], -1), verb.FindAllString(zh[key], -1), key)
		require.NotEmpty(t, text+zh[key], key)
	}
}

// Each text that a template or the program names exists.
func TestTextsExist(t *testing.T) {
	t.Parallel()
	en := messages(t, "en")
	names, err := filepath.Glob("*/*.html")
	require.NoError(t, err)
	programs, err := filepath.Glob("*.go")
	require.NoError(t, err)
	used := 0
	for _, name := range append(names, programs...) {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`\.[TN]\(? ?"([a-zA-Z_-]*[a-zA-Z])"`).FindAllSubmatch(text, -1) {
			require.NotEmpty(t, en[string(m[1])], "%s: %s", name, m[1])
			used++
		}
	}
	require.Greater(t, used, 100)
}

// Whatever the log of a person contains has a name.
func TestOperationsAreNamed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../openapi.json")
	require.NoError(t, err)
	var api struct {
		Paths map[string]map[string]struct {
			ID   string `json:"operationId"`
			Tags []string
		}
	}
	require.NoError(t, json.Unmarshal(text, &api))
	table, err := os.ReadFile("../../docs/mcp.md")
	require.NoError(t, err)
	var named []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllSubmatch(table, -1) {
		named = append(named, string(m[1]))
	}
	require.Greater(t, len(named), 20)
	for _, path := range api.Paths {
		for _, o := range path {
			if !slices.Contains(o.Tags, "operators") && !slices.Contains(o.Tags, "health") {
				named = append(named, o.ID)
			}
		}
	}
	texts := messages(t, "en")
	for _, name := range named {
		require.NotEmpty(t, texts["operation_"+name], name)
	}
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	b := s.visitor(t)
	for accepted, want := range map[string]string{"": "en", "de": "en", "zh-CN,en;q=0.5": "zh", "en-GB,zh;q=0.5": "en"} {
		require.Contains(t, b.get(t, "/login", "Accept-Language", accepted).text, `<html lang="`+want+`"`, accepted)
	}
	chosen := b.post(t, "/language", url.Values{"language": {"zh"}, "next": {"/login?next=%2Ffacts"}})
	require.Equal(t, "/login?next=%2Ffacts", chosen.path)
	require.Contains(t, chosen.text, `<html lang="zh"`)
	b.post(t, "/language", url.Values{"language": {"none"}})
	require.Contains(t, b.get(t, "/login").text, `<html lang="en"`, "unknown languages are ignored")
}
