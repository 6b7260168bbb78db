package document

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Elements whose text is not shown, elements set apart from the text around them, and elements without an end tag.
var (
	unseen = map[atom.Atom]bool{
		atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Head: true, atom.Svg: true,
		atom.Title: true,
		atom.Math:  true, atom.Iframe: true, atom.Object: true, atom.Audio: true, atom.Video: true, atom.Canvas: true,
		atom.Select: true, atom.Textarea: true,
	}
	apart = map[atom.Atom]string{
		atom.P: "\n\n", atom.Div: "\n", atom.Section: "\n\n", atom.Article: "\n\n", atom.Header: "\n\n",
		atom.Footer: "\n\n", atom.Main: "\n\n", atom.Nav: "\n\n", atom.Aside: "\n\n", atom.Blockquote: "\n\n",
		atom.Pre: "\n\n", atom.Figure: "\n\n", atom.Figcaption: "\n",
		atom.Ul: "\n", atom.Ol: "\n", atom.Li: "\n", atom.Dl: "\n", atom.Dt: "\n", atom.Dd: "\n",
		atom.Table: "\n\n", atom.Caption: "\n", atom.Tr: "\n", atom.Hr: "\n\n", atom.Form: "\n\n", atom.Address: "\n\n",
		atom.Details: "\n\n", atom.Summary: "\n", atom.Fieldset: "\n\n",
	}
	empty = map[atom.Atom]bool{
		atom.Area: true, atom.Base: true, atom.Br: true, atom.Col: true, atom.Embed: true, atom.Hr: true, atom.Img: true,
		atom.Input: true, atom.Link: true, atom.Meta: true, atom.Param: true, atom.Source: true, atom.Track: true,
		atom.Wbr: true,
	}
	levels = map[atom.Atom]int{atom.H1: 1, atom.H2: 2, atom.H3: 3, atom.H4: 4, atom.H5: 5, atom.H6: 6}
)

// The limits of a page: the longest tag or text between two tags, in bytes, and the depth to which elements are
// followed.
const (
	maxToken = 4 << 20
	maxDepth = 512
)

// readHTML returns the text that a page shows, split at its headings. It reads tags in their order and builds no tree:
// a tree takes up to a hundred times the page's size, and copies unclosed formatting elements, such as bold, into
// every paragraph that follows.
func readHTML(ctx context.Context, content []byte) ([]Chunk, error) {
	text, err := decode(content)
	if err != nil {
		return nil, err
	}
	z := html.NewTokenizer(strings.NewReader(text))
	z.SetMaxBuf(maxToken)
	var w pageText
	for {
		kind := z.Next()
		if err := w.check(ctx, len(content)); err != nil {
			return nil, err
		}
		switch kind {
		case html.ErrorToken:
			if errors.Is(z.Err(), html.ErrBufferExceeded) {
				return nil, Errorf("has a tag or a text without tags of more than %d MiB", maxToken>>20)
			} else if !errors.Is(z.Err(), io.EOF) {
				return nil, Errorf("cannot be read as HTML: %v", z.Err())
			}
			w.pop(0)
			w.flush()
			w.end()
			return w.chunks, w.check(ctx, len(content))
		case html.TextToken:
			w.words(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			e := elementOf(name)
			for more {
				var key, value []byte
				key, value, more = z.TagAttr()
				e.hides = e.hides || string(key) == "hidden" || string(key) == "aria-hidden" && string(value) == "true"
			}
			foreign := e.tag == atom.Svg || e.tag == atom.Math // only these may close themselves
			w.start(e, kind == html.SelfClosingTagToken && foreign)
		case html.EndTagToken:
			name, _ := z.TagName()
			w.finish(elementOf(name))
		}
	}
}

// element is an open element.
type element struct {
	tag   atom.Atom // 0 if it is not known
	name  string    // if tag is 0
	hides bool      // its text is not shown
}

func elementOf(name []byte) element {
	if tag := atom.Lookup(name); tag != 0 {
		return element{tag: tag, hides: unseen[tag]}
	}
	return element{name: string(name)}
}

func (e element) is(tags ...atom.Atom) bool { return slices.Contains(tags, e.tag) }

// block reports whether an end tag of an element inside e does not end e.
func (e element) block() bool {
	return apart[e.tag] != "" || levels[e.tag] > 0 || e.is(atom.Td, atom.Th, atom.Body, atom.Html)
}

// scope reports whether tags inside e end nothing outside it.
func (e element) scope() bool {
	return e.is(atom.Table, atom.Td, atom.Th, atom.Caption, atom.Template, atom.Object, atom.Svg, atom.Math)
}

// pageText collects the text that a page shows.
type pageText struct {
	outline
	open    []element
	line    strings.Builder // since the last break
	between string          // separator before the next line
	hidden  int             // number of open elements that hide their text
	pre     int             // number of open elements that keep spaces and line ends
	level   int             // of the open heading, whose text line has
}

const bullet = "- " // before a list item

// start begins an element. closed reports that its tag also ends it.
func (w *pageText) start(e element, closed bool) {
	w.imply(e)
	if empty[e.tag] {
		if w.shows() {
			w.breakLine(apart[e.tag])
			if e.tag == atom.Br {
				w.breakLine("\n")
			}
		}
		return
	}
	if closed || len(w.open) == maxDepth {
		return
	}
	if w.shows() && !e.hides {
		w.breakLine(apart[e.tag])
		switch e.tag {
		case atom.Li:
			w.line.WriteString(bullet)
		case atom.Td, atom.Th:
			if w.line.Len() > 0 {
				w.line.WriteString(" | ")
			}
		}
		if level := levels[e.tag]; level > 0 {
			w.flush()
			w.level = level
		}
	}
	w.open = append(w.open, e)
	if e.hides {
		w.hidden++
	}
	if e.tag == atom.Pre {
		w.pre++
	}
}

// shows reports whether text is shown outside a heading.
func (w *pageText) shows() bool { return w.hidden == 0 && w.level == 0 }

// imply ends the elements that the beginning of another ends.
func (w *pageText) imply(e element) {
	switch e.tag {
	case atom.Li:
		w.popTo(func(o element) bool { return o.is(atom.Ul, atom.Ol) || o.scope() }, atom.Li)
	case atom.Dt, atom.Dd:
		w.popTo(func(o element) bool { return o.tag == atom.Dl || o.scope() }, atom.Dt, atom.Dd)
	case atom.Td, atom.Th:
		w.popTo(func(o element) bool { return o.is(atom.Tr, atom.Table, atom.Template) }, atom.Td, atom.Th)
	case atom.Tr, atom.Tbody, atom.Thead, atom.Tfoot:
		w.popTo(func(o element) bool { return o.is(atom.Table, atom.Template) }, atom.Tr, atom.Caption)
	case atom.Select, atom.Input, atom.Textarea:
		w.popTo(element.scope, atom.Select)
	case atom.Base, atom.Link, atom.Meta, atom.Title, atom.Style, atom.Script, atom.Noscript, atom.Template:
		return // parts of the head
	}
	w.endHead()
	if n := len(w.open); levels[e.tag] > 0 && n > 0 && levels[w.open[n-1].tag] > 0 {
		w.pop(n - 1)
	}
	if apart[e.tag] != "" && !e.is(atom.Tr, atom.Caption) || levels[e.tag] > 0 {
		w.popTo(element.scope, atom.P)
	}
}

// endHead ends the head of a page that does not close it.
func (w *pageText) endHead() {
	if n := len(w.open); n > 0 && w.open[n-1].tag == atom.Head {
		w.pop(n - 1)
	}
}

// popTo ends the innermost open element with one of the tags and all inside it, unless a limit is between.
func (w *pageText) popTo(limit func(element) bool, tags ...atom.Atom) bool {
	for i, o := range slices.Backward(w.open) {
		if o.is(tags...) {
			w.pop(i)
			return true
		}
		if limit(o) {
			break
		}
	}
	return false
}

// finish ends an element. An end tag that nothing begins counts only for a paragraph and a line break.
func (w *pageText) finish(e element) {
	switch {
	case levels[e.tag] > 0:
		w.popTo(element.scope, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6)
	case e.tag == atom.Body || e.tag == atom.Html: // text may follow
		w.endHead()
	case e.tag == atom.Br:
		w.start(e, false)
	case e.tag == atom.P:
		if !w.popTo(element.scope, atom.P) && w.shows() {
			w.breakLine(apart[atom.P])
		}
	default:
		limit := element.block
		if e.scope() {
			limit = func(o element) bool { return o.tag == atom.Template }
		} else if e.block() {
			limit = element.scope
		}
		for i, o := range slices.Backward(w.open) {
			if o.tag == e.tag && o.name == e.name {
				w.pop(i)
				return
			}
			if limit(o) {
				return
			}
		}
	}
}

// pop ends all open elements from the given one on.
func (w *pageText) pop(from int) {
	for _, e := range slices.Backward(w.open[from:]) {
		switch {
		case e.hides:
			w.hidden--
		case w.hidden > 0:
		case w.level > 0 && w.level == levels[e.tag]:
			w.level = 0
			w.title(levels[e.tag])
		case w.level == 0:
			w.breakLine(apart[e.tag])
		}
		if e.tag == atom.Pre {
			w.pre--
		}
	}
	w.open = w.open[:from]
}

// title begins a section with the heading that line has.
func (w *pageText) title(level int) {
	title := strings.TrimSpace(w.line.String())
	w.line.Reset()
	if title != "" {
		w.heading(level, title, "\n\n"+title)
		w.between = "\n\n"
	}
}

// words adds text, with each run of white space as one space.
func (w *pageText) words(text string) {
	if strings.TrimSpace(text) != "" {
		w.endHead()
	}
	if w.hidden > 0 {
		return
	}
	if w.pre > 0 && w.level == 0 {
		w.line.WriteString(text)
		return
	}
	blank := strings.TrimSpace(text) == ""
	if text != "" && (blank || strings.TrimLeft(text, " \t\r\n\f") != text) {
		w.space()
	}
	first := true
	for word := range strings.FieldsSeq(text) {
		if !first {
			w.line.WriteByte(' ')
		}
		w.line.WriteString(word)
		first = false
	}
	if !blank && strings.TrimRight(text, " \t\r\n\f") != text {
		w.line.WriteByte(' ')
	}
}

func (w *pageText) space() {
	if line := w.line.String(); line != "" && !strings.HasSuffix(line, " ") {
		w.line.WriteByte(' ')
	}
}

// breakLine ends the current line and sets the separator before the next, unless between is "" or
// the line is only a bullet.
func (w *pageText) breakLine(between string) {
	if between == "" || w.line.String() == bullet {
		return
	}
	w.flush()
	if len(between) > len(w.between) {
		w.between = between
	}
}

func (w *pageText) flush() {
	if line := strings.TrimRight(w.line.String(), " "); line != "" && line != strings.TrimRight(bullet, " ") {
		w.add(w.between + line)
		w.between = ""
	}
	w.line.Reset()
}
