package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// fadeYears is the number of years in which the command looks for the days on which a weight falls below a level.
const fadeYears = 100

// weighed is the output of weight.
type weighed struct {
	Memory oxbow.Memory         `json:"memory"`
	Weight store.Weight         `json:"weight"`
	Log    []store.WeightChange `json:"log"`
	Curve  []point              `json:"curve"`
	Levels []fade               `json:"levels"`
}

// point is a point of the curve.
type point struct {
	At     time.Time `json:"at"`
	Weight float64   `json:"weight"` // unclamped
}

// fade lists whether a weight is below a level: first now, then at each moment at which that changes.
type fade struct {
	Level     float64                `json:"level"`
	Crossings []store.WeightCrossing `json:"crossings"`
}

func weightCommand(a *app) *cobra.Command {
	var userID string
	limit, days := 10, 730
	cmd := &cobra.Command{
		Use:   "weight ID",
		Short: "Show the weight of a memory, what changed it, and when it fades",
		Long: `Show how much a memory matters now: its weight and the factors of it, the last events that changed it, the
curve from now on if nothing more happens to the memory, and the days on which the weight falls below each
level. The axis of the curve is logarithmic. Traits have a confidence instead: see "oxbow trait".

Without --user, search the memories of all users, which is slow in a large database.`,
		Example: `  oxbow weight 0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c1 --user ada --days 365`,
		Args:    cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	userFlag(f, &userID, "user of the memory")
	intFlag(f, &days, "days", "", 1, 36500, "days that the curve shows")
	limitFlag(f, &limit, "number of changes to show, the latest ones")
	now := momentFlag(f, "now", "compute the weight for this time, from what is stored today (default: now)")
	a.jsonFlag(f)
	cmd.RunE = a.onMemory(&userID, func(ctx context.Context, u *user, id uuid.UUID) error {
		at := now.end(u.zone)
		if at.IsZero() {
			at = time.Now()
		}
		w, err := u.weigh(ctx, id, at, days, limit)
		if err != nil {
			return err
		}
		return u.output(w, func() { u.printWeight(w) })
	})
	return cmd
}

// weigh reads the output of the command.
func (u *user) weigh(ctx context.Context, id uuid.UUID, now time.Time, days, limit int) (w weighed, err error) {
	w.Memory, err = u.client.Get(ctx, u.id, id)
	if errors.Is(err, oxbow.ErrSealed) {
		err = unseal(ctx, &w.Memory)
	}
	switch {
	case err != nil:
		return w, err
	case w.Memory.Type == oxbow.TypeTrait:
		return w, fmt.Errorf("%s is a trait, which has a confidence instead: run oxbow trait %[1]s", id)
	case !w.Memory.ForgottenAt.IsZero():
		return w, fmt.Errorf("memory %s is forgotten and has no weight until it is restored", id)
	}
	moments := make([]time.Time, plotWidth)
	for i := range moments {
		moments[i] = now.Add(time.Duration(float64(i) / (plotWidth - 1) * float64(days) * 24 * float64(time.Hour)))
	}
	return as(ctx, u.database, u.id, func(db store.DB) (weighed, error) {
		weights, err := store.Weights(ctx, db, u.id, id, moments)
		if err != nil {
			return w, err
		}
		w.Weight = weights[0]
		for _, each := range weights {
			w.Curve = append(w.Curve, point{each.At, each.Unclamped})
		}
		for _, level := range store.WeightLevels {
			crossings, err := store.WeightCrossings(ctx, db, u.id, id, level, now, fadeYears*365)
			if err != nil {
				return w, err
			}
			w.Levels = append(w.Levels, fade{level, crossings})
		}
		w.Log, err = store.WeightLog(ctx, db, u.id, id, limit)
		return w, err
	})
}

func (u *user) printWeight(w weighed) {
	m, now := w.Memory, w.Weight
	u.printf("%s\n\n", u.paragraph(m.Content))
	t := u.table("factor", "#value", "~because")
	t.add("time", number(now.Time), "last active on "+u.minute(now.ActivatedAt))
	t.add("reinforcement", number(now.Reinforcement), "stored or mentioned "+times(m.MentionCount))
	t.add("conflict", number(now.Conflict), conflictOf(now))
	t.add("importance", number(now.Importance), cmp.Or(string(m.Category), "no category"))
	t.add("momentum", number(now.Momentum), "mentions of the last days")
	t.add("strength", number(now.Strength), fmt.Sprintf("strength %.2f when last used or stored", m.Strength))
	t.add("weight", number(now.Unclamped), "the product")
	t.print()
	if len(w.Log) > 0 {
		u.printf("\n")
		t = u.table("when", "what", "#times", "#before", "#after", "by")
		for _, c := range w.Log {
			t.add(c.At, c.Cause, c.Times, number(c.Before), number(c.After), c.Actor)
		}
		t.print()
	}
	u.printf("\nIf nothing more happens to it:\n\n%s\n", u.plot(w.Curve))
	t = u.table("#below", "from")
	for _, f := range w.Levels {
		t.add(fmt.Sprintf("%.2f", f.Level), u.falls(f.Crossings))
	}
	t.print()
}

// number formats a weight or a factor of it.
func number(w float64) string { return fmt.Sprintf("%.3f", w) }

func conflictOf(w store.Weight) string {
	if w.Conflict < 1 {
		return "a later statement said the opposite"
	}
	return "nothing said the opposite"
}

// falls describes when a weight falls below a level.
func (u *user) falls(crossings []store.WeightCrossing) string {
	text, until := "", ""
	for i, c := range crossings {
		switch {
		case i == 0 && c.Below:
			text = "now"
		case c.Below:
			return joined(", again ", text+until, fmt.Sprintf("%s, in %s", u.day(c.At), count(c.Days, "day")))
		case i > 0:
			until = " until " + u.day(c.At)
		}
	}
	switch {
	case text == "":
		return fmt.Sprintf("not within %d years", fadeYears)
	case until != "":
		return fmt.Sprintf("%s%s, not again within %d years", text, until, fadeYears)
	}
	return text
}

// The size of the plot without its labels. With them it is 79 columns wide.
const (
	plotWidth  = 72
	plotHeight = 13
)

// plot draws the curve with plain characters. The axis is logarithmic; dotted lines mark the levels.
func (u *user) plot(curve []point) string {
	top, bottom := 1.0, store.WeightLevels[len(store.WeightLevels)-1]
	for _, p := range curve {
		top, bottom = max(top, p.Weight), min(bottom, p.Weight)
	}
	bottom = max(bottom, 0.01)
	scale := newLogScale(top, bottom)
	labels := map[int]string{0: fmt.Sprintf("%.2f", top), plotHeight - 1: fmt.Sprintf("%.2f", bottom)}
	rows := make([][]byte, plotHeight)
	for i := range rows {
		rows[i] = []byte(strings.Repeat(" ", plotWidth))
	}
	for _, level := range store.WeightLevels {
		row := scale.row(level)
		labels[row] = fmt.Sprintf("%.2f", level)
		for column := 1; column < plotWidth; column += 2 {
			rows[row][column] = '.'
		}
	}
	for column, p := range curve {
		rows[scale.row(p.Weight)][column] = '*'
	}
	var out strings.Builder
	for i, row := range rows {
		out.WriteString(strings.TrimRight(fmt.Sprintf("%4s | %s", labels[i], row), " ") + "\n")
	}
	fmt.Fprintf(&out, "     +%s\n", strings.Repeat("-", plotWidth+1))
	first, last := curve[0].At, curve[len(curve)-1].At
	begin, middle, end := u.day(first), u.day(first.Add(last.Sub(first)/2)), u.day(last)
	gap := (plotWidth - 3*len(begin)) / 2
	fmt.Fprintf(&out, "       %s%*s%s%*s%s\n", begin, gap, "", middle, gap, "", end)
	return out.String()
}

// logScale places weights on the rows of a plot.
type logScale struct{ top, height float64 }

func newLogScale(top, bottom float64) logScale {
	return logScale{math.Log(top), math.Log(top) - math.Log(bottom)}
}

func (s logScale) row(weight float64) int {
	share := (s.top - math.Log(max(weight, math.SmallestNonzeroFloat64))) / s.height
	return int(math.Round(min(max(share, 0), 1) * (plotHeight - 1)))
}
