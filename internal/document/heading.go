package document

import "strings"

// outline collects a text by its headings.
type outline struct {
	chunks []Chunk
	titles [6]string // current headings, by level
	text   strings.Builder
	body   bool // the section has more than headings
}

// heading begins a section at a level from 1 to 6. line is the heading as written in the text. A
// section that has only its heading continues with this one.
func (o *outline) heading(level int, title, line string) {
	if o.body {
		o.end()
	}
	o.titles[level-1] = strings.Join(strings.Fields(title), " ")
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
		o.chunks = append(o.chunks, Chunk{Text: text, Heading: o.path()})
	}
	o.text.Reset()
	o.body = false
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
