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

// reference is what everything is compared with: some computing and a commit, which have nothing to do with the data.
const reference = "reference: a commit of 100 rows, and computing"

// growth is what one thing took, by the memories in the database.
type growth struct {
	totals []int
	steps  []string // in the order in which they came
	times  map[string]map[int][]time.Duration
}

func newGrowth() *growth { return &growth{times: map[string]map[int][]time.Duration{}} }

func (g *growth) took(step string, total int, took time.Duration) {
	if g.times[step] == nil {
		g.steps = append(g.steps, step)
		g.times[step] = map[int][]time.Duration{}
	}
	g.times[step][total] = append(g.times[step][total], took)
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
	b.show(b.grown.table(b.Growers))
	return nil
}

func (g *growth) table(growers int) Table {
	out := Table{Title: fmt.Sprintf("What the same change takes in databases of more and more memories, milliseconds, the fastest of %d; "+
		"the exponent of growth, by least squares, of what is left when the reference is divided out", growers)}
	head := []string{"what"}
	if len(g.totals) == 0 {
		return out
	}
	for _, total := range g.totals {
		head = append(head, fmt.Sprintf("of %d", total))
	}
	out.add(append(head, "exponent", "promised")...)
	for _, step := range g.steps {
		cells := []string{step}
		for _, total := range g.totals {
			cells = append(cells, ms(slices.Min(g.times[step][total])))
		}
		if step == reference {
			out.add(append(cells, "", "")...)
			continue
		}
		e := g.exponent(step)
		out.add(append(cells, fmt.Sprintf("%.2f", e), fmt.Sprintf("≤ %.1f %s", growthGoal, verdict(e <= growthGoal)))...)
	}
	return out
}

// exponent is the slope of the logarithm of what a step takes, in times of the reference, over that of the number of memories.
func (g *growth) exponent(step string) float64 {
	var xs, ys []float64
	for _, total := range g.totals {
		times := float64(slices.Min(g.times[step][total])) / float64(slices.Min(g.times[reference][total]))
		xs, ys = append(xs, math.Log(float64(total))), append(ys, math.Log(times))
	}
	mx, my := mean(xs), mean(ys)
	var over, under float64
	for i := range xs {
		over += (xs[i] - mx) * (ys[i] - my)
		under += (xs[i] - mx) * (xs[i] - mx)
	}
	if under == 0 {
		return 0 // of one database
	}
	return over / under
}
