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

// readMarkdown splits a text at its headings. The text keeps its markup.
func readMarkdown(_ context.Context, content []byte) ([]Chunk, error) {
	text, err := decode(content)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(lineEnds.Replace(text), "\n")
	var o outline
	fence := "" // of the enclosing code block
	for i := frontMatter(lines, &o); i < len(lines); i++ {
		line := lines[i]
		mark := fenceOpen.FindStringSubmatch(line)
		switch {
		case fence != "":
			if mark != nil && strings.HasPrefix(mark[1], fence) && strings.Trim(line, " \t"+fence[:1]) == "" {
				fence = ""
			}
			o.add(line + "\n")
		case mark != nil:
			fence = mark[1]
			o.add(line + "\n")
		case atxHeading.MatchString(line):
			m := atxHeading.FindStringSubmatch(line)
			o.heading(len(m[1]), m[2], line+"\n")
		case i+1 < len(lines) && underline.MatchString(lines[i+1]) &&
			strings.TrimSpace(line) != "" && !noParagraph.MatchString(line) &&
			(i == 0 || strings.TrimSpace(lines[i-1]) == "" || atxHeading.MatchString(lines[i-1])):
			level := 1
			if strings.Contains(lines[i+1], "-") {
				level = 2
			}
			o.heading(level, line, line+"\n"+lines[i+1]+"\n")
			i++
		default:
			o.add(line + "\n")
		}
	}
	o.end()
	return o.chunks, nil
}

// frontMatter copies the block of settings at the beginning of a text, whose lines can look like
// headings. It returns the number of the first line after the block.
func frontMatter(lines []string, o *outline) int {
	if strings.TrimRight(lines[0], " \t") != "---" {
		return 0
	}
	for i := 1; i < len(lines); i++ {
		if end := strings.TrimRight(lines[i], " \t"); end == "---" || end == "..." {
			o.add(strings.Join(lines[:i+1], "\n") + "\n")
			return i + 1
		}
	}
	return 0
}
