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

// table is a list printed in columns. Widths are in terminal cells: a Chinese character takes two.
type table struct {
	header []string
	right  []bool // columns with numbers
	text   int    // column wrapped to fit a terminal; -1: none
	lines  int    // lines of the text column shown per row
	rows   [][]string
}

const (
	gap      = 2  // between columns
	minText  = 24 // least width of the text column
	textRows = 3  // lines of a long text shown per row
)

// newTable returns a table with the named columns. The prefix "#" marks a column of numbers, "~"
// the column of long text.
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

// print writes the table. On a terminal it fits the width. It leaves out columns that are empty in
// every row.
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

// wrapText wraps the text column so that the table fits the terminal.
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
		indent := row[t.text][:len(row[t.text])-len(text)] // of a tree: all lines get the same indent
		lines := wrap(text, max(left-len(indent), minText), t.lines)
		for i := range lines {
			lines[i] = indent + lines[i]
		}
		row[t.text] = joinLines(lines)
	}
}

// filled returns the columns that have a value in some row.
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

// underlined trims spaces at line ends and draws a line below the header.
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

// width returns the width of a terminal in cells, or 0 if stream is not a terminal.
func width(stream any) int {
	if f, ok := stream.(*os.File); ok && terminal(f) {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
			return columns
		}
	}
	return 0
}

// places returns the width of a text in terminal cells.
func places(text string) int { return displaywidth.String(text) }

// printable turns a text into one line without control characters, which could control the
// terminal.
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

// wrap breaks a line into lines of at most width cells, between words and between characters of
// scripts without spaces. It returns at most most lines; a text that does not fit ends with "…".
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

// breakAt returns where the first line of a text ends, in bytes.
func breakAt(text string, width int) int {
	at, used, best := 0, 0, 0
	wide := false // a line may end after the previous character
	graphemes := displaywidth.StringGraphemes(text)
	for graphemes.Next() {
		value, places := graphemes.Value(), graphemes.Width()
		if at > 0 && (value == " " || wide || places == 2) && !closes(value) {
			best = at
		}
		if used+places > width && at > 0 && value != " " {
			if best == 0 {
				best = at // the word is longer than a line
			}
			return best
		}
		at, used, wide = at+len(value), used+places, places == 2
	}
	return len(text)
}

// closes reports whether value is a character that may not begin a line.
func closes(value string) bool {
	return strings.Contains("，。、；：？！）》」』”’,.;:?!)", value)
}

func joinLines(lines []string) string { return strings.Join(lines, "\n") }
