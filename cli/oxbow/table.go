package main

import (
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"
	"golang.org/x/term"
)

// table is a list printed in columns. Widths are in terminal cells: a Chinese character takes two.
type table struct {
	out     io.Writer
	columns int            // width of the terminal; 0: not a terminal
	zone    *time.Location // of the times in cells
	header  []string
	kind    []byte // of each column, a mark of newTable or 0
	lines   int    // of a long text
	rows    [][]string
}

// The marks of columns in newTable.
const (
	numbers = '#' // aligned at the right
	text    = '~' // wrapped to fit a terminal
	narrow  = '|' // wrapped to narrowText everywhere
)

const (
	gap        = 2  // between columns
	minText    = 24 // least width of the text column
	narrowText = 30
	textRows   = 3   // lines of a long text shown per row
	cutText    = 300 // width of a long text that is not written to a terminal
)

// newTable returns a table with the named columns, each with an optional mark.
func newTable(out io.Writer, zone *time.Location, columns ...string) *table {
	t := &table{out: out, columns: width(out), zone: zone, lines: textRows}
	for _, name := range columns {
		var kind byte
		if strings.ContainsRune("#~|", rune(name[0])) {
			kind, name = name[0], name[1:]
		}
		t.header, t.kind = append(t.header, name), append(t.kind, kind)
	}
	return t
}

func (a *app) table(columns ...string) *table  { return newTable(a.out, time.UTC, columns...) }
func (u *user) table(columns ...string) *table { return newTable(u.out, u.zone, columns...) }

// add adds a row, with each value as shown formats it.
func (t *table) add(cells ...any) {
	row := make([]string, len(cells))
	for i, v := range cells {
		row[i] = shown(v, t.zone)
		if t.kind[i] == narrow {
			row[i] = joinLines(wrap(row[i], narrowText, textRows))
		}
	}
	t.rows = append(t.rows, row)
}

// print writes the table without columns that are empty in every row. On a terminal it fits the width; a table that
// cannot becomes one paragraph per row. Elsewhere a row is one line, and a long text is cut.
func (t *table) print() {
	if column := slices.Index(t.kind, text); t.columns == 0 && column >= 0 {
		for _, row := range t.rows {
			row[column] = displaywidth.TruncateString(row[column], cutText, "…")
		}
	} else if column >= 0 {
		room := t.room(column)
		if room < minText {
			t.printParagraphs(column)
			return
		}
		for _, row := range t.rows {
			row[column] = joinLines(wrapIndented(row[column], room, t.lines))
		}
	}
	keep, widths := t.filled(), make([]int, len(t.header))
	rows := append([][]string{t.header}, t.rows...)
	for _, row := range rows {
		for column, cell := range row {
			for line := range strings.SplitSeq(cell, "\n") {
				widths[column] = max(widths[column], places(line))
			}
		}
	}
	var out strings.Builder
	for i, row := range rows {
		for more, line := true, 0; more; line++ {
			var cells strings.Builder
			more = false
			for _, column := range keep {
				lines := strings.Split(row[column], "\n")
				more = more || line+1 < len(lines)
				cell := ""
				if line < len(lines) {
					cell = lines[line]
				}
				space := strings.Repeat(" ", widths[column]-places(cell))
				if t.kind[column] == numbers {
					cell, space = space+cell, ""
				}
				cells.WriteString(cell + space + strings.Repeat(" ", gap))
			}
			out.WriteString(strings.TrimRight(cells.String(), " ") + "\n")
		}
		if i == 0 {
			rule := -gap
			for _, column := range keep {
				rule += widths[column] + gap
			}
			out.WriteString(strings.Repeat("─", rule) + "\n")
		}
	}
	_, _ = io.WriteString(t.out, out.String())
}

// room returns the width that the other columns leave for a text column.
func (t *table) room(column int) int {
	left := t.columns
	for _, other := range t.filled() {
		if other == column {
			continue
		}
		widest := places(t.header[other])
		for _, row := range t.rows {
			for line := range strings.Lines(row[other]) {
				widest = max(widest, places(strings.TrimSpace(line)))
			}
		}
		left -= widest + gap
	}
	return left
}

// printParagraphs writes each row as its text, followed by the other columns with their names.
func (t *table) printParagraphs(column int) {
	var out strings.Builder
	for i, row := range t.rows {
		if i > 0 {
			out.WriteString("\n")
		}
		indent := strings.Repeat(" ", len(row[column])-len(strings.TrimLeft(row[column], " ")))
		var facts []string
		for other, value := range row {
			if other != column && value != "" {
				facts = append(facts, joined(" ", t.header[other], strings.ReplaceAll(value, "\n", " ")))
			}
		}
		lines := wrapIndented(row[column], t.columns, t.lines)
		lines = append(lines, wrapIndented(indent+"  "+strings.Join(facts, "; "), t.columns, 2*textRows)...)
		out.WriteString(joinLines(lines) + "\n")
	}
	_, _ = io.WriteString(t.out, out.String())
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

// wrap breaks a line into lines of at most width cells, between words and between characters of scripts without
// spaces. It returns at most most lines; a text that does not fit ends with "…".
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

// wrapIndented is wrap, with the text's own indent before every line.
func wrapIndented(text string, width, most int) []string {
	plain := strings.TrimLeft(text, " ")
	indent := text[:len(text)-len(plain)]
	lines := wrap(plain, max(width-len(indent), minText), most)
	for i := range lines {
		lines[i] = indent + lines[i]
	}
	return lines
}

// paragraph wraps a text to the width of the terminal. Elsewhere it is one line.
func (a *app) paragraph(text string) string {
	if columns := width(a.out); columns > 0 {
		return joinLines(wrap(printable(text), columns, 1000))
	}
	return printable(text)
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
