package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// variant is one side of a comparison. It returns its measurement of one round.
type variant struct {
	name    string
	measure func() float64
}

// results are the measurements of a comparison, by variant and round.
type results [][]float64

func (r results) median(variant int) float64 { return quantile(r[variant], 0.5) }

// ratio is the median of the rounds' ratios: a round in which the machine was busy slows both sides.
func (r results) ratio(of, to int) float64 {
	ratios := make([]float64, len(r[of]))
	for i := range ratios {
		ratios[i] = r[of][i] / r[to][i]
	}
	return quantile(ratios, 0.5)
}

// compare measures variants in turns, in alternating order, and prints a table of their medians and of their ratios to
// the first. The first round warms up and does not count. Without a title the rows continue the table before.
func (b *bench) compare(title, unit string, variants ...variant) results {
	const name = "%-44s"
	measured := make(results, len(variants))
	for round := range b.rounds + 1 {
		for i := range variants {
			if round%2 == 1 {
				i = len(variants) - 1 - i
			}
			if m := variants[i].measure(); round > 0 {
				measured[i] = append(measured[i], m)
			}
		}
	}
	if title != "" {
		b.table(title, fmt.Sprintf(name, ""), unit, "of the first")
	}
	for i, v := range variants {
		b.row(fmt.Sprintf(name, v.name), measured.median(i), measured.ratio(i, 0))
	}
	return measured
}

// table begins a table, whose columns are at least 12 wide.
func (b *bench) table(title string, columns ...any) {
	fmt.Fprintf(b.out, "\n%s\n", title)
	b.row(columns...)
}

func (b *bench) row(cells ...any) {
	line := ""
	for _, c := range cells {
		if f, ok := c.(float64); ok {
			c = fmt.Sprintf("%.2f", f)
		}
		line += fmt.Sprintf("  %-12v", c)
	}
	fmt.Fprintln(b.out, strings.TrimRight(line, " "))
}

// promise is a row of the page. The worst of several measurements with one name counts.
type promise struct {
	what, goal string
	measured   float64
	kept       bool
}

func (p promise) verdict() string {
	if p.kept {
		return "kept"
	}
	return "missed"
}

// atMost compares a measured number with the promised maximum.
func (b *bench) atMost(what string, goal, measured float64) {
	b.promise(promise{what, fmt.Sprintf("≤ %g", goal), measured, measured <= goal},
		func(old float64) bool { return measured > old })
}

// atLeast compares a measured number with the promised minimum.
func (b *bench) atLeast(what string, goal, measured float64) {
	b.promise(promise{what, fmt.Sprintf("≥ %g", goal), measured, measured >= goal},
		func(old float64) bool { return measured < old })
}

func (b *bench) promise(p promise, worse func(than float64) bool) {
	i := slices.IndexFunc(b.promises, func(old promise) bool { return old.what == p.what })
	if i < 0 {
		b.promises = append(b.promises, p)
	} else if worse(b.promises[i].measured) {
		b.promises[i] = p
	}
}

// quantile returns the value below which the given share of the values lies, or 0 if there are none.
func quantile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

func msSince(start time.Time) float64 { return time.Since(start).Seconds() * 1000 }

// together runs clients concurrently.
func together(clients int, work func(client int)) {
	var group errgroup.Group
	for client := range clients {
		group.Go(func() error { return must.Try(func() { work(client) }) })
	}
	must.OK(group.Wait())
}
