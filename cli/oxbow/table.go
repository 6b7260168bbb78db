package main

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/clipperhouse/displaywidth"
	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"
	"golang.org/x/term"
)

// table is a list to be printed in columns. Widths are those on a screen: a Chinese character takes two places.
type table struct {
	header []string
	right  []bool // columns with numbers
	text   int    // the column that is wrapped to fit a terminal; -1: none
	lines  int    // how many lines of it a row shows
	rows   [][]string
}

const (
	gap      = 2  // between columns
	minText  = 24 // how narrow the column of text may become
	textRows = 3  // how many lines of a long text a row shows
)

// newTable takes the names of the columns; a column of numbers has a "#" before its name, the one of long text a "~".
func newTable(columns ...string) *table {
	t := &table{text: -1, lines: textRows}
	for i, name := range columns {
		plain := strings.TrimLeft(name, "#~")
		t.header = append(t.header, plain)
		t.right = append(t.right, strings.HasPrefix(name, "#"))
		if strings.HasPrefix(name, "~") {
			t.text = i
		}
	}
	return t
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// print writes the table, on a terminal as wide as that. Columns in which no row has anything are left out.
func (t *table) print(w io.Writer) error {
	if columns := width(w); columns > 0 && t.text >= 0 {
		t.wrapText(columns)
	}
	keep := t.filled()
	var out bytes.Buffer
	writer := tablewriter.NewTable(&out,
		tablewriter.WithRendition(tw.Rendition{
			Borders: tw.BorderNone,
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off, ShowHeader: tw.On},
				Lines:      tw.Lines{ShowHeaderLine: tw.Off},
			},
		}),
		tablewriter.WithPadding(tw.Padding{Right: strings.Repeat(" ", gap), Overwrite: true}),
		tablewriter.WithAlignment(t.alignment(keep)),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithTrimSpace(tw.Off),
	)
	writer.Header(pick(t.header, keep))
	for _, row := range t.rows {
		if err := writer.Append(pick(row, keep)); err != nil {
			return err
		}
	}
	if err := writer.Render(); err != nil {
		return err
	}
	_, err := io.WriteString(w, underlined(out.String()))
	return err
}

// wrapText breaks the texts so that the table is not wider than the terminal.
func (t *table) wrapText(columns int) {
	left := columns
	for column := range t.header {
		if column == t.text {
			continue
		}
		widest := 0
		for _, row := range t.rows {
			for line := range strings.Lines(row[column]) {
				widest = max(widest, places(strings.TrimSpace(line)))
			}
		}
		if widest > 0 {
			left -= max(widest, places(t.header[column])) + gap
		}
	}
	for _, row := range t.rows {
		text := strings.TrimLeft(row[t.text], " ")
		indent := row[t.text][:len(row[t.text])-len(text)] // of a tree: every line is indented alike
		lines := wrap(text, max(left-len(indent), minText), t.lines)
		for i := range lines {
			lines[i] = indent + lines[i]
		}
		row[t.text] = joinLines(lines)
	}
}

// filled are the columns in which some row has something.
func (t *table) filled() []int {
	var keep []int
	for column := range t.header {
		if slices.ContainsFunc(t.rows, func(row []string) bool { return row[column] != "" }) {
			keep = append(keep, column)
		}
	}
	return keep
}

func (t *table) alignment(keep []int) tw.Alignment {
	align := make(tw.Alignment, len(keep))
	for i, column := range keep {
		align[i] = tw.AlignLeft
		if t.right[column] {
			align[i] = tw.AlignRight
		}
	}
	return align
}

func pick(cells []string, keep []int) []string {
	picked := make([]string, len(keep))
	for i, column := range keep {
		picked[i] = cells[column]
	}
	return picked
}

// underlined takes spaces from the ends of lines, and draws a line below the first.
func underlined(table string) string {
	var lines []string
	widest := 0
	for line := range strings.Lines(table) {
		line = strings.TrimRight(line, " \n")
		lines = append(lines, line)
		widest = max(widest, places(line))
	}
	return joinLines(slices.Insert(lines, min(1, len(lines)), strings.Repeat("─", widest))) + "\n"
}

// width is how many places a line of the terminal has, 0 if stream is none.
func width(stream any) int {
	if f, ok := stream.(*os.File); ok && terminal(f) {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
			return columns
		}
	}
	return 0
}

// places is how wide a text is on a screen.
func places(text string) int { return displaywidth.String(text) }

// printable makes one line of a text, without control characters, which could do anything to a terminal.
func printable(text string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.In(r, unicode.Bidi_Control):
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(clean), " ")
}

// wrap breaks a line into lines of at most width places: between words, and between characters of a script without
// spaces. What does not fit on most lines ends with "…".
func wrap(text string, width, most int) []string {
	var lines []string
	for text != "" {
		if len(lines) == most-1 {
			return append(lines, displaywidth.TruncateString(text, width, "…"))
		}
		cut := breakAt(text, width)
		lines = append(lines, strings.TrimRight(text[:cut], " "))
		text = strings.TrimLeft(text[cut:], " ")
	}
	return lines
}

// breakAt is where the first line of a text ends, in bytes.
func breakAt(text string, width int) int {
	at, used, best := 0, 0, 0
	wide := false // the character before is one that a line may end after
	graphemes := displaywidth.StringGraphemes(text)
	for graphemes.Next() {
		value, places := graphemes.Value(), graphemes.Width()
		if at > 0 && (value == " " || wide || places == 2) && !closes(value) {
			best = at
		}
		if used+places > width && at > 0 && value != " " {
			if best == 0 {
				best = at // a word longer than a line
			}
			return best
		}
		at, used, wide = at+len(value), used+places, places == 2
	}
	return len(text)
}

// closes tells characters that do not begin a line.
func closes(value string) bool {
	return strings.Contains("，。、；：？！）》」』”’,.;:?!)", value)
}

func joinLines(lines []string) string { return strings.Join(lines, "\n") }
