package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

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

// table prints rows in columns under a title.
type table struct {
	title string
	rows  [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print() {
	fmt.Printf("\n%s\n", t.title)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	for _, row := range t.rows {
		fmt.Fprintln(w, "  "+strings.Join(row, "\t"))
	}
	_ = w.Flush() // standard output has nobody to tell
}
