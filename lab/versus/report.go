package main

import (
	"fmt"
	"slices"
	"strings"
)

// metric is a column of the table.
type metric struct {
	name   string
	format string
	less   bool // less is better
	value  func(f figures) float64
}

var metrics = []metric{
	{"recall@5", "%.3f", false, func(f figures) float64 { return f.recall5 }},
	{"recall@10", "%.3f", false, func(f figures) float64 { return f.recall10 }},
	{"hit@10", "%.3f", false, func(f figures) float64 { return f.hit10 }},
	{"precision@10", "%.3f", false, func(f figures) float64 { return f.precision }},
	{"adds/s", "%.0f", false, func(f figures) float64 { return f.adds }},
	{"search p50 ms", "%.1f", true, func(f figures) float64 { return f.p50 }},
	{"search p95 ms", "%.1f", true, func(f figures) float64 { return f.p95 }},
	{"bytes/memory", "%.0f", true, func(f figures) float64 { return f.bytes }},
	{"memory MB", "%.0f", true, func(f figures) float64 { return f.memory }},
}

// lost is a figure of a rival that is better than Oxbow's.
type lost struct{ set, rival, metric, theirs, ours string }

// report holds the medians of the rounds.
type report struct {
	run   *run
	rows  map[cell][]float64 // a value for each metric
	lost  []lost
	cells int // compared
}

func (r *run) report(results map[cell][]figures) report {
	rep := report{run: r, rows: map[cell][]float64{}}
	for at, rounds := range results {
		for _, m := range metrics {
			var values []float64
			for _, f := range rounds {
				values = append(values, m.value(f))
			}
			slices.Sort(values)
			rep.rows[at] = append(rep.rows[at], (values[(len(values)-1)/2]+values[len(values)/2])/2)
		}
	}
	for _, s := range r.sets {
		for _, v := range r.rivals {
			if v.name == ours {
				continue
			}
			for i, m := range metrics {
				theirs, own := rep.rows[cell{s.name, v.name}][i], rep.rows[cell{s.name, ours}][i]
				rep.cells++
				if theirs != own && (theirs > own) != m.less {
					rep.lost = append(rep.lost, lost{s.name, v.name, m.name, fmt.Sprintf(m.format, theirs),
						fmt.Sprintf(m.format, own)})
				}
			}
		}
	}
	return rep
}

// table returns the table of a set as Markdown.
func (rep report) table(s *set) string {
	var b strings.Builder
	b.WriteString("| |")
	for _, m := range metrics {
		b.WriteString(" " + m.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(metrics)) + "\n")
	for _, v := range rep.run.rivals {
		b.WriteString("| " + v.about + " |")
		for i, m := range metrics {
			fmt.Fprintf(&b, " "+m.format+" |", rep.rows[cell{s.name, v.name}][i])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// text is what the run prints: the tables and the lost cells.
func (rep report) text() string {
	var b strings.Builder
	for _, s := range rep.run.sets {
		fmt.Fprintf(&b, "\n%s\n%s", s.name, rep.table(s))
	}
	fmt.Fprintf(&b, "\nOxbow is better or equal in %d of %d cells. Lost:\n", rep.cells-len(rep.lost), rep.cells)
	for _, l := range rep.lost {
		fmt.Fprintf(&b, "  %-14s %-12s %-14s %s against %s\n", l.set, l.rival, l.metric, l.theirs, l.ours)
	}
	return b.String()
}
