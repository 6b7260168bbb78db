package document

import (
	"context"
	"regexp"
	"strings"
)

var (
	atxHeading = regexp.MustCompile(`^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
	underline  = regexp.MustCompile(`^ {0,3}(=+|-+)[ \t]*$`)
	fenceOpen  = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})")
	// code, quotes, lists, tables
	noParagraph = regexp.MustCompile(`^(?: {4}|\t| {0,3}(?:>|[-+*][ \t]|\d{1,9}[.)][ \t]|\|))`)
)

// maxHeading is the longest line, in bytes, that can be a heading. A longer one is a paragraph.
const maxHeading = 1000

// readMarkdown splits a text at its headings. The text keeps its markup.
func readMarkdown(ctx context.Context, content []byte) ([]Chunk, error) {
	text, err := decode(content)
	if err != nil {
		return nil, err
	}
	var o outline
	text = lineEnds.Replace(text)
	rest := frontMatter(text, &o)
	fence := ""                     // of the enclosing code block
	begin := len(rest) == len(text) // whether the line before, if any, is blank or a heading
	for more := true; more; {
		if err := o.check(ctx, len(content)); err != nil {
			return nil, err
		}
		var line string
		line, rest, more = strings.Cut(rest, "\n")
		short := len(line) <= maxHeading
		mark := fenceOpen.FindStringSubmatch(line)
		after := false
		switch {
		case fence != "":
			if mark != nil && strings.HasPrefix(mark[1], fence) && strings.Trim(line, " \t"+fence[:1]) == "" {
				fence = ""
			}
			o.add(line + "\n")
		case mark != nil:
			fence = mark[1]
			o.add(line + "\n")
		case short && atxHeading.MatchString(line):
			m := atxHeading.FindStringSubmatch(line)
			o.heading(len(m[1]), m[2], line+"\n")
			after = true
		case short && begin && more && strings.TrimSpace(line) != "" && !noParagraph.MatchString(line) && underlined(rest):
			var under string
			under, rest, more = strings.Cut(rest, "\n")
			level := 1
			if strings.Contains(under, "-") {
				level = 2
			}
			o.heading(level, line, line+"\n"+under+"\n")
		default:
			o.add(line + "\n")
			after = strings.TrimSpace(line) == ""
		}
		begin = after
	}
	o.end()
	return o.chunks, o.check(ctx, len(content))
}

// underlined reports whether the first line of a text makes the line above it a heading.
func underlined(text string) bool {
	line, _, _ := strings.Cut(text, "\n")
	return len(line) <= maxHeading && underline.MatchString(line)
}

// frontMatter copies the block of settings at the beginning of a text, whose lines can look like
// headings, and returns what follows it.
func frontMatter(text string, o *outline) string {
	first, rest, more := strings.Cut(text, "\n")
	if !more || strings.TrimRight(first, " \t") != "---" {
		return text
	}
	for more {
		var line string
		line, rest, more = strings.Cut(rest, "\n")
		if end := strings.TrimRight(line, " \t"); end == "---" || end == "..." {
			o.add(strings.TrimSuffix(text[:len(text)-len(rest)], "\n") + "\n")
			return rest
		}
	}
	return text
}
