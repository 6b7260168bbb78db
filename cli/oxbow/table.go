package main

import (
	"bytes"
	"io"
	"os"
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
	rows   [][]string
}

// newTable takes the names of the columns; a column of numbers has a "#" before its name.
func newTable(columns ...string) *table {
	t := &table{}
	for _, name := range columns {
		plain := strings.TrimPrefix(name, "#")
		t.header = append(t.header, plain)
		t.right = append(t.right, plain != name)
	}
	return t
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// print writes the table without spaces at the ends of lines. Columns in which no row has anything are left out.
func (t *table) print(w io.Writer) error {
	var keep []int
	for column := range t.header {
		for _, row := range t.rows {
			if row[column] != "" {
				keep = append(keep, column)
				break
			}
		}
	}
	pick := func(cells []string) []string {
		picked := make([]string, len(keep))
		for i, column := range keep {
			picked[i] = cells[column]
		}
		return picked
	}
	align := make(tw.Alignment, len(keep))
	for i, column := range keep {
		align[i] = tw.AlignLeft
		if t.right[column] {
			align[i] = tw.AlignRight
		}
	}
	var out bytes.Buffer
	writer := tablewriter.NewTable(&out,
		tablewriter.WithRendition(tw.Rendition{
			Borders: tw.BorderNone,
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off, ShowHeader: tw.On},
				Lines:      tw.Lines{ShowHeaderLine: tw.On},
			},
		}),
		tablewriter.WithPadding(tw.Padding{Right: "  ", Overwrite: true}),
		tablewriter.WithAlignment(align),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithTrimSpace(tw.Off),
	)
	writer.Header(pick(t.header))
	for _, row := range t.rows {
		if err := writer.Append(pick(row)); err != nil {
			return err
		}
	}
	if err := writer.Render(); err != nil {
		return err
	}
	for line := range strings.Lines(out.String()) {
		if _, err := io.WriteString(w, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
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
