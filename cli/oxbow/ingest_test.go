package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/documents"
)

// files writes files into a new temporary directory and returns the directory.
func files(t *testing.T, contents map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range contents {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return dir
}

func TestIngest(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	dir := files(t, map[string]string{"boat.md": "# Boat\n\nThe boat is called Heron.\n\n# Crew\n\nTwo people.\n",
		"a.html": "<p>Fish &amp; chips"})
	boat, page := filepath.Join(dir, "boat.md"), filepath.Join(dir, "a.html")
	require.Equal(t, boat+": 2 chunks\n"+page+": 1 chunk", d.ok("ingest", "--user", "ada", boat, dir+"/./a.html"))
	require.Equal(t, boat+": 2 chunks, unchanged", d.ok("ingest", "--user", "ada", boat))
	d.work()
	require.Equal(t, "# Boat\n\nThe boat is called Heron.", d.recall("ada", "boat")[0].Content)

	require.NoError(t, os.WriteFile(boat, []byte("# Boat\n\nThe boat is called Heron.\n\n# Crew\n\nOne person.\n"),
		0o600))
	require.Equal(t, boat+": 2 chunks: 1 new, 1 kept; 1 erased", d.ok("ingest", "--user", "ada", boat))
	reports := decoded[[]documents.Report](t, d.ok("ingest", "--user", "ada", boat, "--chunk-size", "200", "--overlap",
		"0", "--json"))
	require.Equal(t, []int{2, 0, 2}, []int{reports[0].Chunks, reports[0].Added, reports[0].Kept})

	listed := d.ok("files", "ada")
	require.Regexp(t, `a\.html +text/html +19 +1 +1000`, listed)
	require.Regexp(t, `boat\.md +text/markdown +55 +2 +200`, listed)
	require.Len(t, decoded[[]documents.File](t, d.ok("files", "ada", "--json")), 2)
	require.Equal(t, "Erased "+boat+" with 2 memories.", d.ok("files", "ada", "--delete", boat))
	require.Equal(t, 1, d.number(`select count(*) from oxbow.memories`))
	require.Contains(t, d.run("files", "bob").err, `User "bob" has no ingested files.`)
	require.Equal(t, "[]", d.ok("files", "bob", "--json"))
}

func TestIngestOfStandardInput(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	r := d.input("# A\n\nText.", "ingest", "-", "--user", "ada", "--name", "https://example.com/a", "--media-type",
		"text/markdown")
	require.Zero(t, r.code, r.err)
	require.Equal(t, "https://example.com/a: 1 chunk\n", r.out)
	require.Equal(t, 1, d.number(`select count(*) from oxbow.memories
		where metadata @> '{"file_name": "a", "heading": "A"}'`))
}

// A bad file does not keep the other files from being ingested.
func TestIngestRefusals(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	dir := files(t, map[string]string{"good.txt": "Text.", "latin.txt": "Caf\xe9", "empty.md": ""})
	name := func(n string) string { return filepath.Join(dir, n) }
	large, err := os.Create(name("large.txt"))
	require.NoError(t, err)
	require.NoError(t, large.Truncate(65<<20))
	require.NoError(t, large.Close())
	for _, bad := range []struct {
		says string
		args []string
	}{
		{"read " + dir + ": is a directory", []string{dir}},
		{"none.txt: no such file or directory", []string{name("none.txt")}},
		{"latin.txt: the file is not encoded as UTF-8 (byte 0xE9 in line 1)",
			[]string{name("latin.txt")}},
		{"empty.md: the file is empty", []string{name("empty.md")}},
		{"large.txt: the file is larger than 64 MiB", []string{name("large.txt")}},
	} {
		r := d.run(append([]string{"ingest", "--user", "ada"}, bad.args...)...)
		require.Equal(t, exitFailed, r.code, bad.args)
		require.Contains(t, r.err, bad.says)
		require.Empty(t, r.out)
	}
	require.Contains(t, d.run("files", "ada", "--delete", "x").err, "user 'ada' has no file 'x'")
	require.Zero(t, d.number(`select (select count(*) from oxbow.memories) + (select count(*)
		from oxbow.document_files)`))

	r := d.run("ingest", "--user", "ada", dir, name("latin.txt"), name("good.txt"))
	require.Equal(t, exitFailed, r.code)
	require.Equal(t, name("good.txt")+": 1 chunk\n", r.out)
	require.Contains(t, r.err, "is a directory")
	require.Contains(t, r.err, "oxbow: cannot ingest 2 of 3 files")
	r = d.run("ingest", "--user", "ada", "--json", name("empty.md"))
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, decoded[[]refused](t, r.out)[0].Error, "the file is empty")
	require.NotContains(t, r.out, "file_id")
}
