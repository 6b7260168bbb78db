package document

import "strings"

// outline gathers a text under its headings.
type outline struct {
	chunks []Chunk
	titles [6]string // the headings above, by level
	text   strings.Builder
	body   bool // text has more than headings
}

// heading begins a section at a level from 1 to 6; line is how it stands in the text.
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

// end closes the section. One that is nothing but its heading goes on with the next.
func (o *outline) end() {
	if text := tidy(o.text.String()); strings.TrimSpace(text) != "" {
		o.chunks = append(o.chunks, Chunk{Text: text, Heading: o.path()})
	}
	o.text.Reset()
	o.body = false
}

// path is the headings above, "Guide > Setup".
func (o *outline) path() string {
	var path []string
	for _, title := range o.titles {
		if title != "" {
			path = append(path, title)
		}
	}
	return strings.Join(path, " > ")
}
