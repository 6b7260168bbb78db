package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is what a run has measured.
type Report struct {
	Machine  Machine   `json:"machine"`
	Seed     uint64    `json:"seed"`
	Sections []Section `json:"sections"`
}

// Missed names the promises that were not kept: section, table and row.
func (r Report) Missed() (missed []string) {
	for _, s := range r.Sections {
		for _, t := range s.Tables {
			for _, row := range t.Rows {
				if slices.ContainsFunc(row, func(c Cell) bool { return strings.HasSuffix(string(c), " "+verdict(false)) }) {
					missed = append(missed, fmt.Sprintf("%s: %s", s.Name, row[0]))
				}
			}
		}
	}
	return missed
}

// Section is what was measured of one subject. The load averages are those of a minute, of the whole machine.
type Section struct {
	Name       string    `json:"name"`
	Began      time.Time `json:"began"`
	LoadBefore string    `json:"load_before"`
	LoadAfter  string    `json:"load_after"`
	Seconds    float64   `json:"seconds"`
	Error      string    `json:"error,omitempty"` // why it has not all of its tables
	Tables     []Table   `json:"tables"`
}

// Table has rows in columns under a title.
type Table struct {
	Title   string   `json:"title"`
	Columns []string `json:"columns"`
	Rows    [][]Cell `json:"rows"`
}

// Cell is a text or a number, as it is printed.
type Cell string

// MarshalJSON makes numbers of numbers.
func (c Cell) MarshalJSON() ([]byte, error) {
	if _, err := strconv.ParseFloat(string(c), 64); err == nil && json.Valid([]byte(c)) {
		return []byte(c), nil
	}
	return json.Marshal(string(c))
}

// add adds a row; the first is that of the columns.
func (t *Table) add(cells ...string) {
	if t.Columns == nil {
		t.Columns = cells
		return
	}
	row := make([]Cell, len(cells))
	for i, c := range cells {
		row[i] = Cell(c)
	}
	t.Rows = append(t.Rows, row)
}

func (t *Table) print(out io.Writer) {
	fmt.Fprintf(out, "\n%s\n", t.Title)
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "  "+strings.Join(t.Columns, "\t"))
	for _, row := range t.Rows {
		fmt.Fprint(w, "  ")
		for i, c := range row {
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprint(w, string(c))
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // a writer of results has nobody to tell
}

// quantile returns the value below which the given share of the values lies.
func quantile[T ~int64 | ~float64](values []T, share float64) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

func median[T ~int64 | ~float64](values []T) T { return quantile(values, 0.5) }

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond)) }

// verdict compares a number with what is promised.
func verdict(ok bool) string {
	if ok {
		return "reached"
	}
	return "missed"
}
