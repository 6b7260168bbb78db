package document

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// crafted has texts for each reader that once took time or memory out of proportion to their length, or could. Each
// has about n bytes.
var crafted = map[string]map[string]func(n int) string{
	Text: {
		"one word":     func(n int) string { return strings.Repeat("y", n) },
		"spaces":       func(n int) string { return "x" + strings.Repeat(" ", n) + "y" },
		"lines":        func(n int) string { return strings.Repeat("a\n", n/2) },
		"blank lines":  func(n int) string { return "x" + strings.Repeat("\n", n) + "y" },
		"carriage":     func(n int) string { return "x" + strings.Repeat("\r \f", n/3) + "y" },
		"full stops":   func(n int) string { return strings.Repeat("。", n/3) },
		"invisible":    func(n int) string { return "x" + strings.Repeat("\u00ad", n/2) },
		"short words":  func(n int) string { return strings.Repeat("a ", n/2) },
		"quotes":       func(n int) string { return strings.Repeat("”", n/3) },
		"apostrophes":  func(n int) string { return strings.Repeat("a'", n/2) },
		"wide breaks":  func(n int) string { return strings.Repeat("\u3000\n", n/4) + "x" },
		"escape codes": func(n int) string { return "x" + strings.Repeat("\x1b", n) },
	},
	Markdown: {
		"long heading":   func(n int) string { return "# " + strings.Repeat("y", n) + "\n\nbody" },
		"long headings":  func(n int) string { return headings(n/2, 900) + strings.Repeat("text. ", n/12) },
		"short sections": func(n int) string { return headings(600, 90) + strings.Repeat("###### a\nb\n", n/11) },
		"underlined":     func(n int) string { return strings.Repeat("a\n=\n\n", n/5) },
		"long underline": func(n int) string { return "a\n" + strings.Repeat("=", n) },
		"fences":         func(n int) string { return strings.Repeat("```\n", n/4) + "x" },
		"long fence":     func(n int) string { return strings.Repeat("`", n) + "\nx" },
		"front matter":   func(n int) string { return "---\n" + strings.Repeat("a\n", n/2) },
		"marks":          func(n int) string { return strings.Repeat("# \n", n/3) + "x" },
		"closing marks":  func(n int) string { return "# a" + strings.Repeat(" #", n/2) + "\nx" },
		"brackets":       func(n int) string { return strings.Repeat("[![", n/3) },
		"quotes":         func(n int) string { return strings.Repeat("> ", n/2) },
	},
	HTML: {
		"long heading":   func(n int) string { return "<h1>" + strings.Repeat("y", n) + "</h1><p>body" },
		"words":          func(n int) string { return "<h1>" + strings.Repeat("y <i>", n/5) + "</h1><p>body" },
		"short sections": func(n int) string { return "<h1>" + strings.Repeat("y", 90) + strings.Repeat("<h6>a<p>b", n/9) },
		"paragraphs":     func(n int) string { return strings.Repeat("<p>", n/3) + "x" },
		"nested":         func(n int) string { return strings.Repeat("<div>", n/5) + "x" },
		"nested lists":   func(n int) string { return strings.Repeat("<ul><li>", n/8) + "x" },
		"nested ends":    func(n int) string { return strings.Repeat("<div>", 1000) + strings.Repeat("</a>", n/4) + "x" },
		"tables":         func(n int) string { return strings.Repeat("<table><tr><td>", n/15) + "x" },
		"bold": func(n int) string { // a tree repeats each of these in each paragraph
			var b strings.Builder
			b.WriteString("<p>")
			for i := range 500 {
				fmt.Fprintf(&b, "<b id=%d>", i)
			}
			return b.String() + strings.Repeat("</p><p>x", n/8)
		},
		"misnested":    func(n int) string { return strings.Repeat("<a><b></a></b>", n/14) + "x" },
		"attributes":   func(n int) string { return "<p " + numbers(n-10, " ") + ">x" },
		"one value":    func(n int) string { return `<p title="` + strings.Repeat("&amp;", n/5) + `">x` },
		"entities":     func(n int) string { return strings.Repeat("&NotEqualTilde;", n/15) },
		"ampersands":   func(n int) string { return strings.Repeat("&", n) },
		"comments":     func(n int) string { return strings.Repeat("<!--", n/4) + "-->x" },
		"open tags":    func(n int) string { return "x" + strings.Repeat("<", n) },
		"spaces":       func(n int) string { return "<pre>x" + strings.Repeat(" ", n) + "y" },
		"empty spaces": func(n int) string { return "x" + strings.Repeat(" <i> </i>", n/9) },
		"hidden":       func(n int) string { return strings.Repeat("<p hidden>x", n/11) + "<div>x" },
		"selects":      func(n int) string { return strings.Repeat("<select><option>", n/16) + "</select>x" },
		"svg":          func(n int) string { return strings.Repeat("<svg><title>", n/12) },
	},
}

// headings returns six headings, one below the other, of a number of bytes in total, in lines of at most width bytes.
func headings(n, width int) string {
	var b strings.Builder
	for level := 1; level <= 6; level++ {
		fmt.Fprintf(&b, "%s %s\n", strings.Repeat("#", level), strings.Repeat("h", min(n/6, width)))
	}
	return b.String()
}

func numbers(n int, separator string) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%x%s", i, separator)
	}
	return b.String()
}

// No text takes memory, or makes chunks, out of proportion to its length. Texts of a reader without cases fail.
func TestReadingIsInProportion(t *testing.T) {
	require.ElementsMatch(t, slices.Collect(maps.Keys(readers)), slices.Collect(maps.Keys(crafted)))
	const size = 1 << 20
	for mediaType, texts := range crafted {
		for name, text := range texts {
			t.Run(mediaType+"/"+name, func(t *testing.T) {
				content := []byte(text(size))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				chunks, err := Read(t.Context(), mediaType, content, Splitting{Size: MinSize, Overlap: MinSize / 2})
				runtime.ReadMemStats(&after)
				if err != nil {
					require.IsType(t, &Error{}, err)
				}
				kept := 0
				for _, c := range chunks {
					kept += len(c.Text) + len(c.Heading)
				}
				require.Less(t, kept, 5*size)
				require.LessOrEqual(t, len(chunks), MaxChunks)
				require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(300*size))
			})
		}
	}
}

// The heading of a section is part of its text, so nothing is lost where the path is shortened.
func TestLongHeadingsAreShortened(t *testing.T) {
	t.Parallel()
	title := strings.Repeat("标题 ", 300)
	chunks := mustRead(t, "a.html", "<h1>"+title+"</h1><h2>Setup</h2><p>Text.")
	all := strings.Join(texts(chunks), " ")
	require.Equal(t, 300, strings.Count(all, "标题"))
	require.Contains(t, all, "Text.")
	for _, c := range chunks {
		require.Equal(t, string([]rune(title)[:maxTitle])+"… > Setup", c.Heading)
	}
	chunks = mustRead(t, "a.md", "# "+strings.Repeat("y", 3_000_000)+"\n\nbody")
	require.Greater(t, len(chunks), 3000)
	for _, c := range chunks {
		require.Empty(t, c.Heading, "so long a line is a paragraph")
	}
}

func TestTooManySections(t *testing.T) {
	t.Parallel()
	for says, content := range map[string]string{
		"has headings that, repeated with each chunk": headings(600, 90) + strings.Repeat("###### a\nb\n", 10_000),
		"has more than 100000 chunks":                 strings.Repeat("# a\nb\n", MaxChunks+1),
	} {
		_, err := read(t, "a.md", "", content)
		require.ErrorContains(t, err, says)
	}
	_, err := Read(t.Context(), Text, []byte(strings.Repeat("word ", 21*MaxChunks)), Splitting{Size: MinSize})
	require.ErrorContains(t, err, "choose a larger chunk size")
	_, err = read(t, "a.html", "", "<p title="+strings.Repeat("x", maxToken)+">y")
	require.ErrorContains(t, err, "more than 4 MiB")
}

// ending is a context that ends after it was asked n times.
type ending struct {
	context.Context
	n int
}

func (e *ending) Err() error {
	if e.n--; e.n < 0 {
		return context.Canceled
	}
	return nil
}

// Every reader, and the splitter after it, stops when its context ends in the middle of a file.
func TestReadingStops(t *testing.T) {
	t.Parallel()
	for mediaType := range readers {
		content := []byte(strings.Repeat("A sentence of a text.\n\n", 100_000))
		steps := &ending{t.Context(), 1 << 30}
		_, err := Read(steps, mediaType, content, Splitting{Size: DefaultSize})
		require.NoError(t, err)
		asked := 1<<30 - steps.n
		require.GreaterOrEqual(t, asked, 4, "the splitter asks once a block")
		for _, n := range []int{0, 1, asked / 2, asked - 1} {
			_, err := Read(&ending{t.Context(), n}, mediaType, content, Splitting{Size: DefaultSize})
			require.ErrorIs(t, err, context.Canceled, "%s after %d of %d", mediaType, n, asked)
		}
	}
}
