package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// growthGoal is the most that what a job takes may grow by with the database, as an exponent: 0 is flat, 1 as fast as the data.
const growthGoal = 0.1

const (
	fewPages   = 50.0
	littleTime = 1.0 // milliseconds
)

// reference is what everything is compared with: some computing and a commit, which have nothing to do with the data.
const reference = "reference: a commit of 100 rows, and computing"

// growth is what one thing took, by the memories in the database.
type growth struct {
	totals []int
	steps  []string // in the order in which they came
	times  map[string]map[int][]float64
	pages  map[string]map[int][]float64 // how many, of steps that one connection did alone
}

func newGrowth() *growth {
	return &growth{times: map[string]map[int][]float64{}, pages: map[string]map[int][]float64{}}
}

func (g *growth) took(step string, total int, took time.Duration) {
	if g.times[step] == nil {
		g.steps = append(g.steps, step)
		g.times[step] = map[int][]float64{}
	}
	g.times[step][total] = append(g.times[step][total], took.Seconds()*1000)
}

func (g *growth) touched(step string, total, pages int) {
	if g.pages[step] == nil {
		g.pages[step] = map[int][]float64{}
	}
	g.pages[step][total] = append(g.pages[step][total], float64(pages))
}

// jobGrowth measures each kind of job, and each step of those that look after everybody, in ever larger databases, where the
// change that causes it is the same. What grows with the database instead has an exponent above 0.
func (b *bench) jobGrowth(ctx context.Context) error {
	if b.grown == nil {
		b.grown = newGrowth()
		if err := b.atScales(ctx, b.grown.measure); err != nil {
			return err
		}
	}
	for _, t := range b.grown.tables(b.Growers) {
		b.show(t)
	}
	return nil
}

func (g *growth) tables(growers int) []Table {
	times := Table{Title: fmt.Sprintf("What the same change takes in databases of more and more memories, milliseconds, the fastest of %d, in those of the section scale if that is measured too; "+
		"the exponent of growth, by least squares, of what is left when the reference is divided out; what takes less than %.0f ms everywhere has none", growers, littleTime)}
	pages := Table{Title: "Pages of 8 kB that are touched by the same, where one connection does all of it, the fewest; as the database counts them, with those of autovacuum"}
	head := []string{"what"}
	for _, total := range g.totals {
		head = append(head, fmt.Sprintf("of %d", total))
	}
	times.add(append(head, "exponent", "promised")...)
	pages.add(append(head, "exponent", "promised")...)
	if len(g.totals) == 0 {
		return nil
	}
	for _, step := range g.steps {
		times.add(g.row(step, g.times[step], g.times[reference], "%.2f")...)
		if g.pages[step] != nil && step != reference {
			pages.add(g.row(step, g.pages[step], nil, "%.0f")...)
		}
	}
	return []Table{times, pages}
}

// row tells of a step, and, unless it is the reference itself or there was one database alone, how it grows.
func (g *growth) row(step string, costs, references map[int][]float64, format string) []string {
	cells := []string{step}
	for _, total := range g.totals {
		cells = append(cells, fmt.Sprintf(format, slices.Min(costs[total])))
	}
	if step == reference || len(g.totals) < 2 {
		return append(cells, "", "")
	}
	e := g.exponent(costs, references)
	shown := fmt.Sprintf("%.2f", e)
	if references != nil && !slices.ContainsFunc(g.totals, func(total int) bool { return slices.Min(costs[total]) >= littleTime }) {
		e, shown = 0, fmt.Sprintf("below %.0f ms", littleTime)
	}
	return append(cells, shown, fmt.Sprintf("≤ %.1f %s", growthGoal, verdict(e <= growthGoal)))
}

// exponent is the slope of the logarithm of what something costs, had the machine been as fast as in the smallest database by
// the reference, over that of the number of memories. What touches fewer pages than some, or takes a fraction of a
// millisecond, is not told from nothing; that is asked last, or it would have the slope of the reference.
func (g *growth) exponent(costs, references map[int][]float64) float64 {
	var xs, ys []float64
	for _, total := range g.totals {
		cost := max(slices.Min(costs[total]), fewPages)
		if references != nil {
			cost = max(slices.Min(costs[total])*slices.Min(references[g.totals[0]])/slices.Min(references[total]), littleTime)
		}
		xs, ys = append(xs, math.Log(float64(total))), append(ys, math.Log(cost))
	}
	mx, my := mean(xs), mean(ys)
	var over, under float64
	for i := range xs {
		over += (xs[i] - mx) * (ys[i] - my)
		under += (xs[i] - mx) * (xs[i] - mx)
	}
	return over / under
}
