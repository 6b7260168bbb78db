package document

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/oneline"
)

// maxTitle is the length, in characters, to which a heading is shortened in a path, because every chunk below it repeats
// the path.
const maxTitle = 100

// outline collects a text by its headings.
type outline struct {
	chunks []Chunk
	titles [6]string // current headings, by level
	text   strings.Builder
	body   bool // the section has more than headings
	paths  int  // bytes of the chunks' paths
}

// heading begins a section at a level from 1 to 6. line is the heading as written in the text. A
// section that has only its heading continues with this one.
func (o *outline) heading(level int, title, line string) {
	if o.body {
		o.end()
	}
	title = strings.ToValidUTF8(title[:min(len(title), utf8.UTFMax*(maxTitle+1))], "")
	o.titles[level-1] = oneline.Shorten(strings.Join(strings.Fields(title), " "), maxTitle)
	clear(o.titles[level:])
	o.text.WriteString(line)
}

func (o *outline) add(text string) {
	o.body = o.body || strings.TrimSpace(text) != ""
	o.text.WriteString(text)
}

// end closes the section.
func (o *outline) end() {
	if text := tidy(o.text.String()); strings.TrimSpace(text) != "" {
		path := o.path()
		o.chunks = append(o.chunks, Chunk{Text: text, Heading: path})
		o.paths += len(path)
	}
	o.text.Reset()
	o.body = false
}

// check returns an error if ctx has ended, or an *Error if a file of that many bytes has too many sections.
func (o *outline) check(ctx context.Context, bytes int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return checkChunks(len(o.chunks), MaxChunks, o.paths, bytes)
}

// checkChunks returns an *Error if there are too many chunks, or if their headings are out of proportion to the bytes
// that they were made from.
func checkChunks(chunks, most, headings, bytes int) error {
	switch {
	case chunks > most:
		return Errorf("has more than %d chunks: split it, or choose a larger chunk size", most)
	case headings > 2*bytes+1<<16:
		return Errorf("has headings that, repeated with each chunk, are more than twice as long as its text: " +
			"choose a larger chunk size, or shorten them")
	}
	return nil
}

// path joins the current headings, "Guide > Setup".
func (o *outline) path() string {
	var path []string
	for _, title := range o.titles {
		if title != "" {
			path = append(path, title)
		}
	}
	return strings.Join(path, " > ")
}
