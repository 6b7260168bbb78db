package pages

import (
	"html/template"
	"math"
	"strconv"
	"time"

	"github.com/oxbow-memory/oxbow/internal/gauges"
)

// historyView is the page of what developed.
type historyView struct {
	Days      int   // of the past
	Choices   []int // of Days
	Estimated bool
	Charts    []seriesView
}

// seriesView is a chart with its numbers.
type seriesView struct {
	Name  string // of the texts op_NAME and op_NAME_lead
	Since time.Time
	Chart template.HTML
	Lines []seriesLine // empty: nothing to draw
}

// seriesLine is an entry of the legend.
type seriesLine struct {
	Class, Name, First, Last string
}

var (
	historyChoices = []int{7, 30, 90, 365}
	fadingDays     = []int{0, 30, 60, 90, 120, 180, 240, 300, 365}
)

// history shows how memories, traits and weights developed, and how weights will.
func (s *Site) history(v *visit) error {
	days, err := v.number("days", 30, 1, 3650)
	if err != nil {
		return err
	}
	h, err := gauges.ReadHistory(v.Context(), s.Operators, int(days), 31)
	if err != nil {
		return err
	}
	f, err := gauges.ReadFading(v.Context(), s.Operators, fadingDays)
	if err != nil {
		return err
	}
	page := historyView{Days: int(days), Choices: historyChoices, Estimated: h.Estimated || f.Estimated}
	for _, c := range []struct {
		name, kind string
		series     []gauges.Series
		times      []time.Time
		since      time.Time
	}{
		{"memories", "op_type", h.Memories, h.Times, time.Time{}},
		{"stages", "op_stage", h.Traits, h.Times, time.Time{}},
		{"fading", "op_weight", f.Memories, s.ahead(h.Times), time.Time{}},
		{"changes", "op_cause", h.Changes, h.Times, h.ChangesSince},
	} {
		chart := newSeriesChart(c.name, v.words.T("op_"+c.name))
		chart.times = c.times
		chart.date = func(at time.Time) string { return at.In(v.zone).Format(v.words.T("date_layout")) }
		shown := seriesView{Name: c.name}
		if c.since.After(c.times[0]) {
			shown.Since = c.since
		}
		var named []namedSeries
		for _, line := range c.series {
			if hasAny(line.Values) {
				named = append(named, namedSeries{v.words.Word(c.kind, line.Name), line.Values})
			}
		}
		shown.Chart, shown.Lines = chart.draw(named), chart.legend(named)
		page.Charts = append(page.Charts, shown)
	}
	return v.render("operator_history", page)
}

// ahead returns the times of a fading.
func (s *Site) ahead(past []time.Time) (times []time.Time) {
	for _, d := range fadingDays {
		times = append(times, past[len(past)-1].AddDate(0, 0, d))
	}
	return times
}

func hasAny(values []float64) bool {
	for _, v := range values {
		if math.Round(v) != 0 {
			return true
		}
	}
	return false
}

// seriesChart is a chart of several numbers at the same times.
type seriesChart struct {
	chart
	times []time.Time
}

// namedSeries is a number that developed, and its name in the reader's language.
type namedSeries struct {
	name   string
	values []float64
}

// newSeriesChart returns a chart that is small enough to be read on a phone.
func newSeriesChart(id, title string) *seriesChart {
	return &seriesChart{chart: chart{id: id, title: title, width: 440, height: 200}}
}

// draw draws a line for each series.
func (c *seriesChart) draw(all []namedSeries) template.HTML {
	c.from, c.to, c.value, c.max = c.times[0], c.times[len(c.times)-1], short, 1
	for i, s := range all {
		line := chartLine{class: lineClass(i)}
		var points []chartPoint
		for j, value := range s.values {
			points = append(points, chartPoint{at: c.times[j], value: value})
			c.max = max(c.max, value)
		}
		line.parts = [][]chartPoint{points}
		c.lines = append(c.lines, line)
		if c.text != "" {
			c.text += "; "
		}
		c.text += s.name + ": " + thousands(s.values[0]) + " → " + thousands(s.values[len(s.values)-1])
	}
	c.max = roundUp(c.max)
	for _, share := range []float64{0, 0.5, 1} {
		c.levels = append(c.levels, chartLevel{value: share * c.max})
	}
	return c.svg()
}

func (c *seriesChart) legend(all []namedSeries) (lines []seriesLine) {
	for i, s := range all {
		lines = append(lines, seriesLine{lineClass(i), s.name, thousands(s.values[0]), thousands(s.values[len(s.values)-1])})
	}
	return lines
}

// short formats a number of an axis: 400, 40k, 1.5M.
func short(n float64) string {
	switch {
	case n >= 1e6:
		return strconv.FormatFloat(n/1e6, 'g', 3, 64) + "M"
	case n >= 1e4:
		return strconv.FormatFloat(n/1e3, 'g', 3, 64) + "k"
	}
	return thousands(n)
}

// lineClass is the class of the nth line of a chart, of which six differ.
func lineClass(nth int) string { return "line" + strconv.Itoa(nth%6) }

// roundUp returns the next number that ends a scale well, and whose half is whole: 2, 4, 6, 8, 10, 20, 30, 40, …
func roundUp(n float64) float64 {
	for unit := 1.0; ; unit *= 10 {
		for _, factor := range []float64{2, 3, 4, 5, 6, 8, 10} {
			if n <= factor*unit && math.Mod(factor*unit, 2) == 0 {
				return factor * unit
			}
		}
	}
}
