package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSnippets(t *testing.T) {
	t.Parallel()
	markdown := "# Title\n\n<!-- not run: takes minutes -->\n```sh\nmake demo\n```\ntext\n" +
		"```sql\nselect 1;\n\nselect 2;\n```\n\n" +
		"<!-- as: oxbow_app -->\n\n```sql\ntable t;\n```\n<!-- interrupt after: is ready -->\n```sh\nserve\n```\n" +
		"````text\n```\ninside\n```\n````\n"
	found, err := snippets("a.md", markdown)
	require.NoError(t, err)
	require.Equal(t, []snippet{
		{file: "a.md", line: 4, lang: "sh", text: "make demo\n", notRun: "takes minutes"},
		{file: "a.md", line: 8, lang: "sql", text: "select 1;\n\nselect 2;\n"},
		{file: "a.md", line: 16, lang: "sql", text: "table t;\n", as: "oxbow_app"},
		{file: "a.md", line: 20, lang: "sh", text: "serve\n", interruptAfter: "is ready"},
		{file: "a.md", line: 23, lang: "text", text: "```\ninside\n```\n"},
	}, found)
	require.True(t, found[4].shown())
	require.False(t, found[0].shown())
}

func TestSnippetsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ markdown, message string }{
		"unclosed":         {"```sql\nselect 1;\n", "a.md:1: the fence is not closed"},
		"unknown language": {"text\n```bash\nls\n```\n", `a.md:2: the language "bash"`},
		"misspelt comment": {"<!-- notrun: x -->\n```sh\nls\n```\n", `unknown word "notrun"`},
		"no reason":        {"<!-- not run: -->\n```sh\nls\n```\n", "is none of"},
		"another comment":  {"<!-- hello -->\n```sh\nls\n```\n", "is none of"},
		"unknown role":     {"<!-- as: postgres -->\n```sql\nselect 1;\n```\n", "only as oxbow_app"},
		"js as a role":     {"<!-- as: oxbow_app -->\n```js\n1\n```\n", "only sql"},
		"interrupted sql":  {"<!-- interrupt after: x -->\n```sql\nselect 1;\n```\n", "only sh"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := snippets("a.md", test.markdown)
			require.ErrorContains(t, err, test.message)
		})
	}
}

// Most snippets are run: few have a comment that prevents it.
func TestFewAreNotRun(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"README.md", "docs/sql.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", file))
		require.NoError(t, err)
		found, err := snippets(file, string(text))
		require.NoError(t, err)
		run, not := 0, 0
		for _, s := range found {
			switch {
			case s.shown():
			case s.notRun != "":
				not++
			default:
				run++
			}
		}
		require.Greater(t, run, 4*not, "%s: %d snippets are run, %d not", file, run, not)
	}
}

func TestStatements(t *testing.T) {
	t.Parallel()
	found, err := statements("-- one; two\nselect 'a;''b', \"c;d\" /* e;\nf */, 1; begin; set local x = 'y';\n" +
		"do $$ begin; end $$;select $q$ $$;$$ $q$;\n;-- the end\n")
	require.NoError(t, err)
	require.Equal(t, []string{
		`select 'a;''b', "c;d"  , 1`,
		"begin",
		"set local x = 'y'",
		"do $$ begin; end $$",
		"select $q$ $$;$$ $q$",
	}, found)

	_, err = statements("select 1; select 2 -- without")
	require.ErrorContains(t, err, `no semicolon after "select 2"`)
	_, err = statements("do $$ begin;")
	require.ErrorContains(t, err, "$$ is not closed")
}

func TestIsQuery(t *testing.T) {
	t.Parallel()
	require.True(t, isQuery("SELECT\n1"))
	require.True(t, isQuery("with x as (select 1) table x"))
	require.False(t, isQuery("insert into t select 1"))
	require.False(t, isQuery("begin"))
}
