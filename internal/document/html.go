package document

import (
	"bytes"
	"context"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Elements whose text is not shown, and elements set apart from the text around them.
var (
	unseen = map[atom.Atom]bool{
		atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Head: true, atom.Svg: true,
		atom.Math: true, atom.Iframe: true, atom.Object: true, atom.Audio: true, atom.Video: true, atom.Canvas: true,
		atom.Select: true, atom.Textarea: true,
	}
	apart = map[atom.Atom]string{
		atom.P: "\n\n", atom.Div: "\n", atom.Section: "\n\n", atom.Article: "\n\n", atom.Header: "\n\n",
		atom.Footer: "\n\n", atom.Main: "\n\n", atom.Nav: "\n\n", atom.Aside: "\n\n", atom.Blockquote: "\n\n",
		atom.Pre:        "\n\n",
		atom.Figure:     "\n\n",
		atom.Figcaption: "\n", atom.Ul: "\n", atom.Ol: "\n", atom.Li: "\n", atom.Dl: "\n", atom.Dt: "\n", atom.Dd: "\n",
		atom.Table: "\n\n", atom.Caption: "\n", atom.Tr: "\n", atom.Hr: "\n\n", atom.Form: "\n\n", atom.Address: "\n\n",
		atom.Details: "\n\n", atom.Summary: "\n", atom.Fieldset: "\n\n",
	}
	levels = map[atom.Atom]int{atom.H1: 1, atom.H2: 2, atom.H3: 3, atom.H4: 4, atom.H5: 5, atom.H6: 6}
)

// readHTML returns the text that a page shows, split at its headings.
func readHTML(_ context.Context, content []byte) ([]Chunk, error) {
	text, err := decode(content)
	if err != nil {
		return nil, err
	}
	root, err := html.Parse(bytes.NewReader([]byte(text)))
	if err != nil {
		return nil, Errorf("cannot be read as HTML: %v", err)
	}
	var w pageText
	w.node(root)
	w.flush()
	w.end()
	return w.chunks, nil
}

// pageText collects the text that a page shows.
type pageText struct {
	outline
	line    strings.Builder // since the last break
	between string          // separator before the next line
	pre     int             // number of enclosing elements that keep spaces and line ends
}

const bullet = "- " // before a list item

func (w *pageText) node(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		w.words(n.Data)
		return
	case html.ElementNode:
		if unseen[n.DataAtom] || hidden(n) {
			return
		}
	case html.DocumentNode:
	default:
		return
	}
	if level := levels[n.DataAtom]; level > 0 {
		title := textOf(n)
		w.flush()
		if strings.TrimSpace(title) != "" {
			w.heading(level, title, "\n\n"+strings.Join(strings.Fields(title), " "))
			w.between = "\n\n"
		}
		return
	}
	between := apart[n.DataAtom]
	w.breakLine(between)
	switch n.DataAtom {
	case atom.Br:
		w.breakLine("\n")
	case atom.Li:
		w.line.WriteString(bullet)
	case atom.Pre:
		w.pre++
		defer func() { w.pre-- }()
	case atom.Td, atom.Th:
		if w.line.Len() > 0 {
			w.line.WriteString(" | ")
		}
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		w.node(child)
	}
	w.breakLine(between)
}

// words adds text, with each run of white space as one space.
func (w *pageText) words(text string) {
	if w.pre > 0 {
		w.line.WriteString(text)
		return
	}
	fields := strings.Fields(text)
	if len(fields) == 0 {
		if text != "" {
			w.space()
		}
		return
	}
	if strings.TrimLeft(text, " \t\r\n\f") != text {
		w.space()
	}
	w.line.WriteString(strings.Join(fields, " "))
	if strings.TrimRight(text, " \t\r\n\f") != text {
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

func hidden(n *html.Node) bool {
	for _, a := range n.Attr {
		if a.Key == "hidden" || a.Key == "aria-hidden" && a.Val == "true" {
			return true
		}
	}
	return false
}

// textOf returns the text of an element as one line.
func textOf(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	if n.Type == html.ElementNode && (unseen[n.DataAtom] || hidden(n)) {
		return ""
	}
	var text strings.Builder
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		text.WriteString(textOf(child))
	}
	return text.String()
}
