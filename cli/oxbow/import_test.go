package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestImportSample(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	require.Contains(t, d.ok("import", sampleFile),
		"lives.jsonl: 120 memories added; 1 other record read; 29 lines of an evaluation ignored.")
	require.Equal(t, 120, d.number(`select count(*) from oxbow.memories`))
	require.Equal(t, 110, d.number(`select count(*) from oxbow.memories where memory_type = 'episodic'`),
		"unless the line says otherwise")
	require.Equal(t, 1, d.number(`select count(*) from oxbow.users where user_id = 'demo-zhouyun'
		and timezone = 'Etc/GMT-8'`), "from the offset of the times")
	before := d.rows()

	require.Contains(t, d.ok("import", sampleFile), "0 memories added, 120 unchanged")
	require.Equal(t, before, d.rows())
	d.work()
	require.Equal(t, []string{"Maren is allergic to walnuts."}, contents(d.recall("demo-maren", "allergic", "-n", "1")))
	require.Contains(t, d.recall("demo-zhouyun", "猫生病花了多少钱")[0].Content, "四千二")
	require.Contains(t, d.ok("recall", "demo-zhouyun", "完赛了", "-n", "1"), "2025-04-13 14:50", "as it was in Hangzhou")
}

// lines writes a file of lines and returns its name.
func lines(t *testing.T, lines ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "some.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return name
}

func TestImportBadLines(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	const good = `{"user":"ada","content":"A good line."}`
	for _, line := range []struct{ bad, says string }{
		{`{"user":"ada","content":"x","importance":7}`, `importance must be between 0 and 1, got 7`},
		{`{"user":"ada","content":" "}`, `content must not be blank, got " "`},
		{`{"user":"","content":"x"}`, `user_id must have 1 to 255 bytes, got ""`},
		{`{"user":"ada","content":"x","memory_type":"insight"}`,
			`memory_type must be fact, episodic, trait or document, got "insight"`},
		{`{"user":"ada","content":"x","memory_type":"trait"}`, `memory_type must be fact, episodic or document`},
		{`{"user":"ada","content":"x","metadata":[1]}`, `metadata must be a JSON object, got [1]`},
		{`{"user":"ada","content":"x","at":"tomorrow"}`, `at must be a time like 2025-10-12T08:00:00Z`},
		{`{"user":"ada","content":"x","valid_at":"2025-02-01T00:00:00Z","invalid_at":"2025-01-01T00:00:00Z"}`,
			`invalid_at must not be before valid_at`},
		{`{"user":"ada","content":"a\u0000b"}`, `content must not contain a NUL character`},
		{`{"user":"ada","content":"x","color":"red"}`, `color is not a field of a memory`},
		{`{"user":"ada","content":`, `must be a JSON object`},
		{`{"type":"diary","user":"ada"}`, `type must be memory, question`},
		{"{\"user\":\"ada\",\"content\":\"caf\xe9\"}", `must be valid UTF-8`},
	} {
		name := lines(t, good, line.bad, good)
		r := d.run("import", name)
		require.Equal(t, exitFailed, r.code, line.bad)
		require.Contains(t, r.err, name+": line 2: "+line.says)
		require.Contains(t, r.err, "nothing was imported from the file (--skip-bad skips invalid lines)")
		require.Empty(t, r.out)
		require.Zero(t, d.rows(), line.bad)

		skipped := d.run("import", name, "--skip-bad")
		require.Zero(t, skipped.code, skipped.err)
		require.Contains(t, skipped.err, "line 2: "+line.says, "what is left out is shown")
		require.Contains(t, skipped.out, "2 memories added; 1 invalid line skipped.")
		require.Contains(t, d.ok("erase", "ada", "--yes"), `Erased user "ada"`)
	}
	many := lines(t, append([]string{good}, strings.Split(strings.Repeat("{\n", 50), "\n")...)...)
	r := d.run("import", many, "--skip-bad")
	require.Zero(t, r.code)
	require.Contains(t, r.err, "… and 30 more invalid lines")
	require.Contains(t, r.out, "1 memory added; 50 invalid lines skipped.")
}

func TestImportWays(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	var packed bytes.Buffer
	gz := gzip.NewWriter(&packed)
	_, err := gz.Write([]byte(`{"user":"ada","id":"1","content":"The boat is called Heron."}` + "\n"))
	require.NoError(t, err)
	require.NoError(t, gz.Close())
	r := d.input(packed.String(), "import", "-", "--type", "document")
	require.Zero(t, r.code, r.err)
	require.Equal(t, "standard input: 1 memory added.\n", r.out)
	require.Equal(t, 1, d.number(`select count(*) from oxbow.memories where memory_type = 'document'
		and external_id = '1'`))

	two := lines(t, `{"user":"ada","id":"1","content":"x"}`, `{"user":"bob","id":"1","content":"y"}`)
	require.Contains(t, d.ok("import", two), "2 memories added", "an id is a user's own")
	require.Contains(t, d.ok("import", two, lines(t, `{"user":"ada","id":"2","content":"z"}`)),
		"some.jsonl: 1 memory added.")
	mixed := d.run("import", two, "--user", "eve")
	require.Equal(t, exitFailed, mixed.code)
	require.Contains(t, mixed.err, "--user would merge the memories of 2 users")
	require.Zero(t, d.number(`select count(*) from oxbow.memories where user_id = 'eve'`))
	require.Contains(t, d.ok("import", lines(t, `{"content":"no user in the line"}`), "--user", "eve"),
		"1 memory added.")
	require.Contains(t, d.ok("import", lines(t, "", `{"type":"question","user":"u","question":"q","gold":[]}`)),
		"no memories; 1 line of an evaluation ignored.")

	for says, args := range map[string][]string{
		"/no/such/file: no such file or directory": {"/no/such/file"},
		"is a directory": {t.TempDir()},
		`invalid --type "trait": expected fact, episodic or document`: {two, "--type", "trait"},
		"user_id must have 1 to 255 bytes":                            {two, "--user", strings.Repeat("u", 256)},
		"expected SOURCE..., got 0 arguments":                         {},
	} {
		r := d.run(append([]string{"import"}, args...)...)
		require.NotZero(t, r.code)
		require.Contains(t, r.err, says)
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	d.ok("import", sampleFile)
	d.work()
	all := d.ok("export", "demo-maren")
	require.Equal(t, d.number(`select count(*) from oxbow.memories where user_id = 'demo-maren'`),
		strings.Count(all, `"type": "memory"`))
	require.NotContains(t, all, "demo-zhouyun")

	name := filepath.Join(t.TempDir(), "maren.jsonl")
	r := d.run("export", "demo-maren", "-o", name)
	require.Zero(t, r.code, r.err)
	require.Empty(t, r.out)
	require.Regexp(t, `maren\.jsonl: \d+ memories and \d+ other records? of user "demo-maren"\.`, r.err)
	written, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(string(written)), all)

	require.Contains(t, d.ok("erase", "demo-maren", "--yes"), `Erased user "demo-maren"`)
	require.Contains(t, d.ok("import", name), "memories added")
	require.True(t, all == d.ok("export", "demo-maren"), "the same comes back")
	d.work()
	require.Contains(t, d.ok("show", "5b0c1f6e-3a57-4c1e-9a5b-0d3f2a9c7e10"), "new job from May")

	copied := d.input(all, "import", "-", "--user", "demo-copy")
	require.Zero(t, copied.code, copied.err)
	require.Contains(t, copied.out, "memories added")

	r = d.run("export", "nobody")
	require.Equal(t, exitFailed, r.code)
	require.Equal(t, "oxbow: the database has no data of user \"nobody\"\n", r.err)
	require.Equal(t, exitFailed, d.run("export", "nobody", "-o", name).code)
	kept, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NotEmpty(t, kept, "the file is left as it was")
	r = d.run("export", "demo-maren", "-o", "/no/such/directory/file")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "write /no/such/directory/file: no such file or directory")
}
