package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// result is one measurement of a rival on a set.
type result struct {
	Set                            string
	Users, Of, Memories, Questions int
	Rival                          string
	Figures                        figures
}

type results []result

// readResults reads the results of earlier runs, none if the file does not exist or has no name.
func readResults(name string) (all results) {
	text, err := os.ReadFile(name)
	if name == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	must.OK(err)
	must.OK(json.Unmarshal(text, &all))
	return all
}

func (all results) write(name string) {
	if name != "" {
		must.OK(os.WriteFile(name, must.Get(json.MarshalIndent(all, "", "\t")), 0o644))
	}
}

// metric is a column of the tables.
type metric struct {
	name   string
	format string
	less   bool // less is better
	value  func(f figures) float64
}

var metrics = []metric{
	{"recall@5", "%.3f", false, func(f figures) float64 { return f.Recall5 }},
	{"recall@10", "%.3f", false, func(f figures) float64 { return f.Recall10 }},
	{"hit@10", "%.3f", false, func(f figures) float64 { return f.Hit10 }},
	{"precision@10", "%.3f", false, func(f figures) float64 { return f.Precision }},
	{"adds/s", "%.0f", false, func(f figures) float64 { return f.Adds }},
	{"search p50 ms", "%.1f", true, func(f figures) float64 { return f.P50 }},
	{"search p95 ms", "%.1f", true, func(f figures) float64 { return f.P95 }},
	{"bytes/memory", "%.0f", true, func(f figures) float64 { return f.Bytes }},
	{"memory MB", "%.0f", true, func(f figures) float64 { return f.Memory }},
}

// found is the number of metrics of what is found, which come first; the others are of what it costs.
const found = 4

// row is a rival on a set: the median of each metric.
type row struct {
	rival   *rival
	medians []float64
	rounds  int
}

// table is a set with its rows, in the order of the rivals.
type table struct {
	result // of which only the set is used
	rows   []row
}

// lost is a figure of a rival that is better than Oxbow's.
type lost struct{ set, rival, metric, theirs, ours string }

// report is what all results show.
type report struct {
	tables []table
	lost   []lost
	cells  [2]tally // what is found, and what it costs
}

// tally counts the cells in which Oxbow was compared.
type tally struct{ won, of int }

func (all results) report() (rep report) {
	for _, r := range all {
		if !slices.ContainsFunc(rep.tables, func(t table) bool { return t.Set == r.Set }) {
			rep.tables = append(rep.tables, all.table(r))
		}
	}
	for _, t := range rep.tables {
		if t.rows[0].rival.name != ours {
			continue
		}
		for _, theirs := range t.rows[1:] {
			if theirs.rival.name == overHTTP {
				continue
			}
			for i, m := range metrics {
				a, b := theirs.medians[i], t.rows[0].medians[i]
				kind := &rep.cells[0]
				if i >= found {
					kind = &rep.cells[1]
				}
				kind.of++
				if a != b && (a > b) != m.less {
					rep.lost = append(rep.lost, lost{t.Set, theirs.rival.name, m.name, fmt.Sprintf(m.format, a),
						fmt.Sprintf(m.format, b)})
					continue
				}
				kind.won++
			}
		}
	}
	return rep
}

// table returns the medians on the set of r.
func (all results) table(r result) table {
	t := table{result: r}
	for i := range rivals {
		var rounds []figures
		for _, other := range all {
			if other.Set == r.Set && other.Rival == rivals[i].name {
				if other.Users != r.Users {
					must.OK(fmt.Errorf("the results on %s are of %d and of %d users", r.Set, r.Users, other.Users))
				}
				rounds = append(rounds, other.Figures)
			}
		}
		if rounds == nil {
			continue
		}
		a := row{rival: &rivals[i], rounds: len(rounds)}
		for _, m := range metrics {
			var values []float64
			for _, f := range rounds {
				values = append(values, m.value(f))
			}
			slices.Sort(values)
			a.medians = append(a.medians, (values[(len(values)-1)/2]+values[len(values)/2])/2)
		}
		t.rows = append(t.rows, a)
	}
	return t
}

func (t table) String() string {
	var b strings.Builder
	b.WriteString("| |")
	for _, m := range metrics {
		b.WriteString(" " + m.name + " |")
	}
	b.WriteString(" rounds |\n|---|" + strings.Repeat("---:|", len(metrics)+1) + "\n")
	for _, row := range t.rows {
		b.WriteString("| " + row.rival.about + " |")
		for i, m := range metrics {
			fmt.Fprintf(&b, " "+m.format+" |", row.medians[i])
		}
		fmt.Fprintf(&b, " %d |\n", row.rounds)
	}
	return b.String()
}

func (rep report) score() string {
	f, c := rep.cells[0], rep.cells[1]
	won, of := f.won+c.won, f.of+c.of
	return fmt.Sprintf("Oxbow is better or equal in %d of %d cells (%.0f %%): in %d of %d cells of what is found, and in %d of %d "+
		"of what it costs.", won, of, 100*float64(won)/float64(max(of, 1)), f.won, f.of, c.won, c.of)
}

// text is what the run prints: the tables and the lost cells.
func (rep report) text() string {
	var b strings.Builder
	for _, t := range rep.tables {
		fmt.Fprintf(&b, "\n%s: %d memories and %d questions of %d of %d users\n%s", t.Set, t.Memories, t.Questions,
			t.Users, t.Of, t)
	}
	fmt.Fprintf(&b, "\n%s Lost:\n", rep.score())
	for _, l := range rep.lost {
		fmt.Fprintf(&b, "  %-14s %-10s %-14s %s against %s\n", l.set, l.rival, l.metric, l.theirs, l.ours)
	}
	return b.String()
}
