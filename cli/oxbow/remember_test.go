package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
)

func TestRememberAndRecall(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	walnuts := d.ok("remember", "ada", "Ada is allergic to walnuts.", "--importance", "0.9", "--category", "identity",
		"--external-id", "allergy", "--metadata", `{"context":"personal","by":{"name":"Ada"}}`)
	_, err := uuid.Parse(walnuts)
	require.NoError(t, err, "the id is printed, and nothing else")
	require.Equal(t, walnuts, d.ok("remember", "ada", "Ada is allergic to walnuts.", "--external-id", "allergy"),
		"stored once")
	d.ok("remember", "ada", "Ada rowed to the island.", "--type", "episodic", "--at", "2025-03-01 08:30", "--session",
		"s1", "--seq", "-4", "--speaker", "Ada", "--agent", "coach")
	require.Equal(t, -4, d.number(`select seq from oxbow.memories where session_id = 's1'`))
	d.ok("remember", "林", "林下周去京都看樱花。", "--type", "episodic")
	piped := d.input("第一行\n第二行：船叫白鹭。\n", "remember", "林", "-")
	require.Zero(t, piped.code, piped.err)

	r := d.run("recall", "ada", "walnuts")
	require.Zero(t, r.code)
	require.Empty(t, r.out)
	require.Equal(t, "Nothing found: 2 memories of user \"ada\" are not embedded yet. Is a worker running (oxbow work)?\n",
		r.err)
	d.work()

	found := d.recall("ada", "What is she allergic to?")
	require.NotEmpty(t, found)
	require.Equal(t, walnuts, found[0].ID.String())
	require.InDelta(t, 0.9, found[0].Importance, 1e-9)
	require.Equal(t, oxbow.CategoryIdentity, found[0].Category)
	require.Equal(t, map[string]any{"name": "Ada"}, found[0].Metadata["by"])
	require.Equal(t, []string{"林下周去京都看樱花。"}, contents(d.recall("林", "去京都做什么", "--limit", "1")))
	require.Equal(t, "第一行\n第二行：船叫白鹭。", d.recall("林", "船叫什么", "-n", "1")[0].Content)

	island := []string{"Ada rowed to the island."}
	require.Equal(t, island, contents(d.recall("ada", "Ada", "--type", "episodic,document")))
	require.Equal(t, island, contents(d.recall("ada", "Ada", "--agent", "coach")))
	require.Len(t, d.recall("ada", "Ada", "--context", "personal,work"), 1)
	require.Len(t, d.recall("ada", "Ada", "--metadata", `{"by":{"name":"Ada"}}`), 1)
	require.Equal(t, time.Date(2025, 3, 1, 8, 30, 0, 0, time.UTC), d.recall("ada", "island",
		"--words-only")[0].ValidAt.UTC())
}

func TestRecallForPeople(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	d.ok("remember", "ada", "The boat\nis \x1b[31mred\x1b[0m.", "--at", "2025-03-01")
	d.ok("remember", "ada", "那条船是红色的，叫白鹭。", "--type", "episodic", "--speaker", "林", "--at", "2025-03-02")
	d.work()

	lines := strings.Split(d.ok("recall", "ada", "boat 船"), "\n")
	require.Len(t, lines, 4, "names, a line, and two memories")
	require.Equal(t, []string{"score", "when", "type", "who", "memory", "id"}, strings.Fields(lines[0]))
	table := strings.Join(lines, "\n")
	require.Contains(t, table, "The boat is [31mred [0m.", "on one line, and without what a terminal would obey")
	require.NotContains(t, table, "\x1b")
	require.Contains(t, table, "2025-03-02 00:00  episodic  林   那条船是红色的，叫白鹭。")
	require.Equal(t, places(before(t, table, "The boat")), places(before(t, table, "那条船")), "aligned")

	explained := d.ok("recall", "ada", "boat", "--explain")
	require.Regexp(t, `^1\. \d\.\d{3}  2025-03-01 00:00\n   The boat is`, explained)
	require.Regexp(t, `words \d+\.\d+, rank 1; vector (\d+\.\d+, rank \d+|–); recency \+\d+\.\d %, importance \+7\.5 %`,
		explained)

	for says, args := range map[string][]string{
		`user "eve" has no memories`:                                {"recall", "eve", "boat"},
		`no memory of user "ada" matches the query and its filters`: {"recall", "ada", "boat", "--agent", "nobody"},
		`no memory of user "ada" matches the query`:                 {"recall", "ada", "zzyzx", "--words-only"},
	} {
		r := d.run(args...)
		require.Zero(t, r.code)
		require.Contains(t, r.err, says)
		require.Empty(t, r.out)
		require.Equal(t, "[]\n", d.run(append(args, "--json")...).out)
	}
}

// before returns the part of a line that precedes a text.
func before(t *testing.T, table, text string) string {
	t.Helper()
	at := strings.Index(table, text)
	require.GreaterOrEqual(t, at, 0)
	return table[strings.LastIndex(table[:at], "\n")+1 : at]
}

func TestSupersedeAndAsOf(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	old := d.ok("remember", "ada", "Ada works in Delft.", "--at", "2020-09-01", "--metadata", `{"context":"work"}`)
	d.work()
	current := d.ok("remember", "ada", "Ada works in Lund.", "--supersedes", old, "--at", "2025-05-05", "--reason",
		"a new job")
	require.NotEqual(t, old, current)
	d.work()

	ask := func(args ...string) []string {
		return contents(d.recall(append([]string{"ada", "where does Ada work"}, args...)...))
	}
	require.Equal(t, []string{"Ada works in Lund."}, ask())
	for _, then := range []string{"2024", "2025-04", "2025-05-04", "2025-05-04T23:00:00Z", "2025-05-04 23:00"} {
		require.Equal(t, []string{"Ada works in Delft."}, ask("--as-of", then), then)
	}
	for _, then := range []string{"2025", "2025-05", "2025-05-05", "2025-05-05T00:00:00Z"} {
		require.Equal(t, []string{"Ada works in Lund."}, ask("--as-of", then), then)
	}
	require.Empty(t, ask("--believed-as-of", "2020"), "nothing was known then")
	d.exec(`insert into oxbow.users (user_id, timezone) values ('ada', 'Asia/Tokyo')`)
	require.Equal(t, []string{"Ada works in Delft."}, ask("--as-of", "2025-05-05 08:59"), "in the user's zone")
	require.Equal(t, []string{"Ada works in Lund."}, ask("--as-of", "2025-05-05 09:00"))
	require.Contains(t, d.ok("recall", "ada", "work", "--as-of", "2024"), "until 2025-05-05")

	text := d.ok("show", old)
	require.Contains(t, text, "Ada works in Delft.")
	require.Contains(t, text, "by "+current)
	require.Regexp(t, `changed to +1 +cli +Ada works in Lund\. +a new job`, text)
	require.Regexp(t, `embedded +yes`, text)
	require.Contains(t, text, "embed")
	require.Equal(t, map[string]any{"context": "work"}, decoded[details](t,
		d.ok("show", current, "--user", "ada", "--json")).Memory.Metadata)

	r := d.run("remember", "ada", "Ada works in Turku.", "--supersedes", old)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, current, "the newer version is named")
}

func TestRememberRefuses(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	id := uuid.NewString()
	for _, bad := range []struct {
		says string
		args []string
	}{
		{`content must not be blank, got " \t"`, []string{"u", " \t"}},
		{`content must not be blank, got ""`, []string{"u", "-"}},
		{`user_id must have 1 to 255 bytes, got ""`, []string{"", "x"}},
		{`user_id must have 1 to 255 bytes`, []string{strings.Repeat("u", 256), "x"}},
		{`content must be valid UTF-8, got "caf\xe9"`, []string{"u", "caf\xe9"}},
		{`content must not contain a NUL character, got "a\x00b"`, []string{"u", "a\x00b"}},
		{`user_id must be valid UTF-8, got "\xff"`, []string{"\xff", "x"}},
		{`importance must be between 0 and 1, got 1.5`, []string{"u", "x", "--importance", "1.5"}},
		{`importance must be between 0 and 1, got NaN`, []string{"u", "x", "--importance", "NaN"}},
		{`invalid_at must not be before valid_at (2025-02-01T00:00:00Z), got "2025-01-01T00:00:00Z"`,
			[]string{"u", "x", "--at", "2025-02", "--until", "2025-01"}},
		{`reference must say where the audio is: a URI or a path`, []string{"u", "x", "--modality", "audio"}},
		{`reference must not be blank or longer than 2048 bytes`, []string{"u", "x", "--reference", " "}},
		{`session_id must have at most 1024 bytes`, []string{"u", "x", "--session", strings.Repeat("s", 1025)}},
		{`user 'u' has no memory ` + id, []string{"u", "x", "--supersedes", id}},
	} {
		r := d.run(append([]string{"remember"}, bad.args...)...)
		require.Equal(t, strings.HasPrefix(bad.says, "user 'u' has"), r.code == exitFailed, r.err)
		require.NotZero(t, r.code, bad.args)
		require.Contains(t, r.err, bad.says)
		require.Empty(t, r.out)
	}
	long := d.input(strings.Repeat("长", 1<<19), "remember", "u", "-")
	require.Equal(t, exitUsage, long.code)
	require.Contains(t, long.err, "content must not be longer than 1 MiB")
	require.Contains(t, long.err, "1572864 bytes")
	require.Zero(t, d.rows(), "nothing was stored")
	require.NotEmpty(t, d.ok("remember", "u", strings.Repeat("x", 1<<10), "--importance", "0"))
	require.Zero(t, d.number(`select importance from oxbow.memories`), "zero is not the default")
}

// A command that waits for input ends when it is interrupted.
func TestInputInterrupted(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	for _, args := range [][]string{{"remember", "ada", "-"}, {"recall", "ada", "-"}, {"import", "-"}, {"eval", "-"}} {
		in, out := io.Pipe() // nothing is written to it
		ctx, interrupt := context.WithCancel(t.Context())
		var errs bytes.Buffer
		code := run(ctx, append([]string{"--database-url", d.dsn}, args...),
			&app{in: waiting{in, interrupt}, out: io.Discard, err: &errs})
		require.Equal(t, exitFailed, code)
		require.Equal(t, "oxbow: interrupted\n", errs.String())
		require.NoError(t, out.Close())
	}
	require.Zero(t, d.rows())
}

// waiting interrupts the command when it is read from.
type waiting struct {
	io.Reader
	interrupt func()
}

func (w waiting) Read(p []byte) (int, error) {
	w.interrupt()
	return w.Reader.Read(p)
}

func TestRecallRefuses(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	d.ok("remember", "ada", "Ada works in Lund.")
	d.work()
	for _, bad := range []struct {
		says string
		args []string
	}{
		{`the text to search for must not be blank`, []string{"ada", " "}},
		{`text must be valid UTF-8`, []string{"ada", "\xff"}},
	} {
		r := d.run(append([]string{"recall"}, bad.args...)...)
		require.NotZero(t, r.code, bad.args)
		require.Contains(t, r.err, bad.says)
		require.Empty(t, r.out)
	}

	other := d.run("recall", "ada", "Lund", "--embedding-dimension", "64")
	require.Equal(t, exitFailed, other.code)
	require.Contains(t, other.err, `vectors are from local-v1 with 1024 dimensions`)
	require.Contains(t, other.err, "64")
	require.Contains(t, other.err, "oxbow reembed")
	require.NotContains(t, other.err, "WithEmbedder", "that is for programs")
}

// If the provider is down, recall answers without vectors.
func TestRecallDegraded(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	d.ok("remember", "ada", "Ada works in Lund.")
	d.work()
	d.exec(`update oxbow.settings set value = '{"model": "openai:tiny", "dimension": 1024}' where key = 'embedding'`)
	r := d.run("recall", "ada", "Lund", "--json", "--embedding-provider", "openai", "--embedding-model", "tiny",
		"--embedding-dimension", "1024", "--embedding-url", "http://127.0.0.1:1/v1")
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.err, "Only words were searched: embedding with openai:tiny")
	require.Equal(t, []string{"Ada works in Lund."}, contents(decoded[[]oxbow.Result](t, r.out)))
}
