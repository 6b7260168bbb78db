package document

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// read reads a file as the client does, into chunks of the default size.
func read(t *testing.T, name, given, content string) ([]Chunk, error) {
	t.Helper()
	mediaType, err := MediaType(name, given, []byte(content))
	if err != nil {
		return nil, err
	}
	return Read(t.Context(), mediaType, []byte(content), Splitting{Size: DefaultSize, Overlap: 100})
}

func mustRead(t *testing.T, name, content string) []Chunk {
	t.Helper()
	chunks, err := read(t, name, "", content)
	require.NoError(t, err)
	return chunks
}

func texts(chunks []Chunk) []string {
	all := []string{}
	for _, c := range chunks {
		all = append(all, c.Text)
	}
	return all
}

func TestMediaType(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, given, content, want string }{
		{"a.txt", "", "x", Text}, {"A.MD", "", "x", Markdown}, {"a/b.htm", "", "x", HTML}, {"a.pdf", "", "x", PDF},
		{"notes", "", "just words", Text}, {"notes", "", "<!doctype html><p>x", HTML}, {"a.txt", "", "%PDF-1.7\n", PDF},
		{"a.rst", "", "Title\n=====", Text}, {"a", "text/x-markdown", "x", Markdown}, {"a.md", "text/csv", "x", Text},
		{"a", "text/html; charset=UTF-8", "x", HTML}, {"a", "application/xhtml+xml", "x", HTML},
	} {
		got, err := MediaType(c.name, c.given, []byte(c.content))
		require.NoError(t, err, "%+v", c)
		require.Equal(t, c.want, got, "%+v", c)
	}
	for given, says := range map[string]string{
		"text/html; charset=gbk": "its encoding must be UTF-8",
		"application/zip":        "expected text, Markdown, HTML or PDF",
		";":                      "expected a media type",
	} {
		_, err := MediaType("a", given, []byte("x"))
		require.ErrorContains(t, err, says)
	}
	_, err := MediaType("a.docx", "", []byte("PK\x03\x04 and so on"))
	require.ErrorContains(t, err, "the file is of the type application/zip")
}

func TestUnreadableFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, content, says string }{
		{"a.txt", "", "is empty"},
		{"a.txt", " \n\u3000\n", "has no text"},
		{"a.md", "first\nCaf\xe9", "is not encoded as UTF-8 (byte 0xE9 in line 2)"},
		{"a.html", "<p>\xd6\xd0\xce\xc4</p>", "is not encoded as UTF-8"},
		{"a.txt", "\xff\xfeh\x00i\x00", "is encoded as UTF-16 instead of UTF-8"},
		{"a.txt", "text\x00more", "is binary"},
		{"a.txt", strings.Repeat("\x01\x02ab", 10), "is binary"},
		{"a.html", "<script>only()</script>", "has no text"},
		{"a.pdf", "plain text", "cannot be read as application/pdf: the program does not import a reader for it"},
	} {
		_, err := read(t, c.name, "", c.content)
		var unreadable *Error
		require.ErrorAs(t, err, &unreadable, "%q", c.content)
		require.ErrorContains(t, err, "the file "+c.says, "%q", c.content)
	}
	_, err := Read(t.Context(), Text, make([]byte, MaxBytes+1), Splitting{Size: DefaultSize})
	require.ErrorContains(t, err, "is larger than 64 MiB")
}

func TestTextIsTidied(t *testing.T) {
	t.Parallel()
	chunks := mustRead(t, "a.txt", "\ufeffOne\u00a0two.  \r\nThree\u00ad four.\r\r\r\n\n\fFive\x1b.")
	require.Equal(t, []string{"One two.\nThree four.\n\nFive."}, texts(chunks))
}

func TestMarkdownIsCutAtHeadings(t *testing.T) {
	t.Parallel()
	chunks := mustRead(t, "a.md",
		"---\ntitle: x\n---\nBefore.\n\n# Guide\n\n## Setup ##\n\nInstall it.\n\n```sh\n# no heading\n```\n\n"+
			"Usage\n-----\n\nUse it.\n\n- a list\n---\n\n### Deep\nDown.\n# Other\nEnd.\n")
	require.Equal(t, []Chunk{
		{Text: "---\ntitle: x\n---\nBefore."},
		{Text: "# Guide\n\n## Setup ##\n\nInstall it.\n\n```sh\n# no heading\n```", Heading: "Guide > Setup"},
		{Text: "Usage\n-----\n\nUse it.\n\n- a list\n---", Heading: "Guide > Usage"},
		{Text: "### Deep\nDown.", Heading: "Guide > Usage > Deep"},
		{Text: "# Other\nEnd.", Heading: "Other"},
	}, chunks)
}

func TestHTMLShowsWhatAReaderSees(t *testing.T) {
	t.Parallel()
	chunks := mustRead(t, "a.html", `<html><head><title>T</title><style>p{}</style></head><body><h1>The
		guide</h1><p>Fish &amp; chips &lt;b&gt;.</p><p>Three<br>four <b>bold</b>word.</p><script>evil()</script><p `+
		`hidden>no</p>
		<h2>Setup</h2><ul><li>one</li><li><p>two</p></li></ul><table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td>2</td>`+
		`</tr></table>
		<pre>x  y
  z</pre>中文<span>段落</span></body></html>`)
	require.Equal(t, []Chunk{
		{Text: "The guide\n\nFish & chips <b>.\n\nThree\nfour boldword.", Heading: "The guide"},
		{Text: "Setup\n\n- one\n- two\n\nk | v\n1 | 2\n\nx  y\n  z\n\n中文段落", Heading: "The guide > Setup"},
	}, chunks)
}

// Sizes count characters. A chunk ends with a sentence if possible, and does not begin with a full
// stop.
func TestChineseIsSplitAtSentences(t *testing.T) {
	t.Parallel()
	sentence := "今天天气很好，我们一起去公园散步，“你喜欢吗？”她问。"
	text := strings.Repeat(sentence, 100)
	chunks, err := Splitting{Size: 200, Overlap: 60}.split(t.Context(), []Chunk{{Text: text}})
	require.NoError(t, err)
	require.Greater(t, len(chunks), 13)
	for i, c := range chunks {
		n := utf8.RuneCountInString(c.Text)
		require.LessOrEqual(t, n, 200)
		require.NotContains(t, "。？”，", string([]rune(c.Text)[:1]))
		if i < len(chunks)-1 {
			require.Greater(t, n, 150, "chunks are filled")
			require.Regexp(t, `[。”]$`, c.Text)
			end := string([]rune(c.Text)[n-5:])
			require.Contains(t, chunks[i+1].Text, end, "the next repeats the end")
		}
	}
}

func TestSplittingLosesNothing(t *testing.T) {
	t.Parallel()
	squeeze := strings.NewReplacer(" ", "", "\n", "", "\t", "")
	for name, text := range map[string]string{
		"paragraphs":  strings.Repeat("One sentence. Another one, with a clause; and so on!\nA line.\n\n", 60),
		"one word":    strings.Repeat("abcdefghij", 300),
		"no marks":    strings.Repeat("天气很好我们一起去", 300),
		"tabs":        strings.Repeat("a\t", 1500),
		"brackets":    strings.Repeat(")", 1500),
		"full stops":  strings.Repeat("。", 1500),
		"ellipses":    strings.Repeat("他说……然后走了。", 200),
		"mixed":       strings.Repeat("He said “你好。”and left. 他们 went to 北京! ", 100),
		"long spaces": "a" + strings.Repeat(" ", 3000) + "b" + strings.Repeat("\n", 300) + "c",
	} {
		chunks, err := Splitting{Size: 100}.split(t.Context(), []Chunk{{Text: text, Page: 3, Heading: "H"}})
		require.NoError(t, err, name)
		var all strings.Builder
		for _, c := range chunks {
			require.LessOrEqual(t, utf8.RuneCountInString(c.Text), 100, name)
			require.False(t, strings.ContainsAny(c.Text, marks), name)
			require.Equal(t, 3, c.Page)
			require.Equal(t, "H", c.Heading)
			all.WriteString(c.Text)
		}
		require.Equal(t, squeeze.Replace(text), squeeze.Replace(all.String()), name)
	}
}

func TestSplittingStopsWhenCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Splitting{Size: 100}.split(ctx, []Chunk{{Text: "x"}})
	require.ErrorIs(t, err, context.Canceled)
}

func FuzzRead(f *testing.F) {
	f.Add("a.md", "# A\n```\n# b\n\nC\n===\n---\n")
	f.Add("a.html", "<h1>a<table><td><li><p>b</h1><pre>\n")
	f.Add("a.txt", "。”）\u3000a.\t\n")
	f.Fuzz(func(t *testing.T, name, content string) {
		mediaType, err := MediaType(name, "", []byte(content))
		if err != nil {
			return
		}
		chunks, err := Read(t.Context(), mediaType, []byte(content), Splitting{Size: 100, Overlap: 50})
		if err != nil {
			return
		}
		for _, c := range chunks {
			require.True(t, utf8.ValidString(c.Text))
			require.NotEmpty(t, strings.TrimSpace(c.Text))
			require.LessOrEqual(t, utf8.RuneCountInString(c.Text), 100)
		}
	})
}
