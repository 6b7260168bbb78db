package main

import (
	"fmt"
	"html"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// The picture's measures, in pixels. Two panels with separate date axes are stacked, because the first months are dense
// and the following years sparse.
const (
	width       = 1080.0
	left, right = 52.0, 108.0 // of the plots: the numbers, and the names of the stages
	plotWidth   = width - left - right
	plotHeight  = 300.0
	strip       = 34.0 // below a plot: a trend, which has no confidence
	firstTop    = 104.0
	secondTop   = firstTop + plotHeight + strip + 74
	secondMax   = 0.72 // the confidence at the top of the second panel, its maximum
	height      = secondTop + plotHeight*secondMax + 60
)

// A class for each colour, with another for dark surroundings. The ground is drawn too, so that it
// is readable on any page.
const style = `
text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328; }
.title { font-size: 19px; font-weight: 600; }
.quiet { fill: #59636e; font-size: 12px; }
.ground { fill: #ffffff; }
.band { fill: #1f6f8b; }
.line { stroke: #d1d9e0; stroke-width: 1; }
.boundary { stroke: #8c959f; stroke-width: 1; stroke-dasharray: 2 3; }
.curve { fill: none; stroke: #0b4f6c; stroke-width: 2.5; stroke-linejoin: round; }
.jump { stroke: #0b4f6c; stroke-width: 1.5; stroke-dasharray: 3 3; }
.gone { fill: none; stroke: #8c959f; stroke-width: 2; stroke-dasharray: 1 5; stroke-linecap: round; }
.watch { fill: #0b4f6c; fill-opacity: 0.25; }
.leader { stroke: #8c959f; stroke-width: 1; }
.for { fill: #0a6e4f; }
.against { fill: #b8400b; }
.time { fill: #59636e; }
.rule { fill: #5b3fa8; }
.number { fill: #ffffff; font-size: 10px; font-weight: 700; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .quiet { fill: #9198a1; }
  .ground { fill: #0d1117; }
  .band { fill: #4fb3d4; }
  .line { stroke: #30363d; }
  .boundary { stroke: #656c76; }
  .curve, .jump { stroke: #79c7e3; }
  .gone, .leader { stroke: #656c76; }
  .watch { fill: #79c7e3; }
  .for { fill: #3fb98a; }
  .against { fill: #ff9466; }
  .time { fill: #9198a1; }
  .rule { fill: #b39dfa; }
  .number { fill: #0d1117; }
}
`

// bands are the stages by confidence, with how much of the band's colour each has.
var bands = []struct {
	stage    lifecycle.Stage
	from, to float64
	opacity  float64
}{
	{lifecycle.Core, 0.85, 1, 0.26},
	{lifecycle.Established, 0.60, 0.85, 0.18},
	{lifecycle.Emerging, 0.30, 0.60, 0.11},
	{lifecycle.Candidate, 0.05, 0.30, 0.05},
	{lifecycle.Dissolved, 0, 0.05, 0},
}

type panel struct {
	top, max float64 // the upper edge, and the confidence there
	from, to time.Time
	months   int // between two dates of the axis
	trend    bool
}

func (p panel) x(at time.Time) float64 {
	return left + plotWidth*float64(at.Sub(p.from))/float64(p.to.Sub(p.from))
}

func (p panel) y(c float64) float64 { return p.top + plotHeight*(p.max-min(c, p.max)) }

func (p panel) holds(at time.Time) bool { return !at.Before(p.from) && at.Before(p.to) }

func date(year int, month time.Month) time.Time {
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

// picture draws the story as an SVG.
func picture(moments []moment) string {
	var b strings.Builder
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" role="img" `+
			`aria-labelledby="title description">`+"\n", width, height)
	fmt.Fprintf(&b, "<title id=\"title\">The life of a trait: %s</title>\n", traitName)
	b.WriteString("<desc id=\"description\">Its confidence over five years, with the stages as bands. " +
		"The table below the picture has the same numbers.</desc>\n")
	fmt.Fprintf(&b, "<style>%s</style>\n", style)
	fmt.Fprintf(&b, `<rect class="ground" width="%.0f" height="%.0f" rx="8"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<text class="title" x="%.0f" y="38">“%s”: how sure Oxbow is, over five years</text>`+"\n", left,
		traitName)
	legend(&b)
	for _, p := range []panel{
		{firstTop, 1, date(2020, 1), date(2022, 1), 3, true},
		{secondTop, secondMax, date(2022, 1), date(2026, 1), 6, false},
	} {
		p.draw(&b, moments)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func legend(b *strings.Builder) {
	x := left + 7
	for _, l := range []struct{ class, text string }{
		{"for", "speaks for it"}, {"against", "speaks against it"}, {"rule", "a rule or a review"}, {"time",
			"time alone"},
	} {
		fmt.Fprintf(b, `<circle class="%s" cx="%.0f" cy="64" r="7"/><text class="quiet" x="%.0f" y="68">%s</text>`+"\n",
			l.class, x, x+12, l.text)
		x += 42 + 7*float64(len(l.text))
	}
}

func (p panel) draw(b *strings.Builder, moments []moment) {
	p.axes(b)
	for i, m := range moments {
		end := p.to
		if i+1 < len(moments) {
			end = moments[i+1].at
		}
		p.segment(b, m, end)
	}
	for i, m := range moments {
		if p.holds(m.at) {
			p.point(b, i+1, m)
		}
	}
}

func (p panel) axes(b *strings.Builder) {
	bottom := p.y(0)
	for _, band := range bands {
		if band.from >= p.max {
			continue
		}
		fmt.Fprintf(b, `<rect class="band" fill-opacity="%.2f" x="%.0f" y="%.1f" width="%.0f" height="%.1f"/>`+"\n",
			band.opacity, left, p.y(band.to), plotWidth, p.y(band.from)-p.y(band.to))
		fmt.Fprintf(b, `<text x="%.0f" y="%.1f">%s</text>`+"\n", width-right+10, (p.y(band.from)+p.y(band.to))/2+4.5,
			band.stage)
		if band.from > 0 {
			fmt.Fprintf(b, `<line class="boundary" x1="%.0f" x2="%.0f" y1="%.1f" y2="%.1f"/>`+"\n", left, width-right,
				p.y(band.from), p.y(band.from))
			fmt.Fprintf(b, `<text class="quiet" x="%.0f" y="%.1f" text-anchor="end">%.2f</text>`+"\n", left-8,
				p.y(band.from)+4, band.from)
		}
	}
	if p.max == 1 {
		fmt.Fprintf(b, `<text class="quiet" x="%.0f" y="%.1f" text-anchor="end">1</text>`+"\n", left-8, p.y(1)+4)
	}
	if p.trend {
		fmt.Fprintf(b, `<text x="%.0f" y="%.1f">trend</text>`+"\n", width-right+10, bottom+strip/2+4.5)
		bottom += strip
	}
	fmt.Fprintf(b, `<line class="line" x1="%.0f" x2="%.0f" y1="%.1f" y2="%.1f"/>`+"\n", left, width-right, bottom,
		bottom)
	for at := p.from; !at.After(p.to); at = at.AddDate(0, p.months, 0) {
		fmt.Fprintf(b, `<line class="line" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`+"\n", p.x(at), p.x(at), bottom,
			bottom+5)
		fmt.Fprintf(b, `<text class="quiet" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", p.x(at), bottom+20,
			at.Format("Jan 2006"))
	}
}

// segment draws how confidence fades from one moment to the next, and the jump at the moment.
func (p panel) segment(b *strings.Builder, m moment, end time.Time) {
	from := m.at
	if from.Before(p.from) {
		from = p.from
	}
	if end.After(p.to) {
		end = p.to
	}
	if !from.Before(end) && !p.holds(m.at) {
		return
	}
	switch m.after.Stage {
	case lifecycle.Trend:
		y := p.y(0) + strip/2
		fmt.Fprintf(b, `<rect class="watch" x="%.1f" y="%.1f" width="%.1f" height="6"/>`+"\n", p.x(from), y-3,
			p.x(end)-p.x(from))
		return
	case lifecycle.Dissolved:
		fmt.Fprintf(b, `<line class="gone" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`+"\n", p.x(from), p.x(end),
			p.y(0.02), p.y(0.02))
		return
	case "":
		return
	}
	if before := traittest.Policies.ConfidenceAt(m.before, m.at); before > 0 && p.holds(m.at) &&
		m.before.Stage != lifecycle.Dissolved {
		fmt.Fprintf(b, `<line class="jump" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`+"\n", p.x(m.at), p.x(m.at),
			p.y(before), p.y(m.after.Confidence))
	}
	b.WriteString(`<polyline class="curve" points="`)
	for at := from; at.Before(end); at = at.Add(7 * 24 * time.Hour) {
		fmt.Fprintf(b, "%.1f,%.1f ", p.x(at), p.y(traittest.Policies.ConfidenceAt(m.after, at)))
	}
	fmt.Fprintf(b, "%.1f,%.1f\"/>\n", p.x(end), p.y(traittest.Policies.ConfidenceAt(m.after, end)))
}

// point draws a moment's number, and its label.
func (p panel) point(b *strings.Builder, n int, m moment) {
	x, y := p.x(m.at), p.y(m.after.Confidence)
	if m.after.Stage == "" || m.after.Stage == lifecycle.Trend {
		y = p.y(0) + strip/2
	}
	anchor := "start"
	if m.label.end {
		anchor = "end"
	}
	if m.label.dy < -20 || m.label.dy > 20 {
		fmt.Fprintf(b, `<line class="leader" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`+"\n", x, x, y, y+m.label.dy+4)
	}
	fmt.Fprintf(b, `<circle class="%s" cx="%.1f" cy="%.1f" r="7.5"/>`, class(m), x, y)
	fmt.Fprintf(b, `<text class="number" x="%.1f" y="%.1f" text-anchor="middle">%d</text>`, x, y+3.6, n)
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", x+m.label.dx, y+m.label.dy, anchor,
		html.EscapeString(m.label.text))
}

func class(m moment) string {
	switch lifecycle.Kind(m.event) {
	case lifecycle.Contradicted:
		return "against"
	case lifecycle.Promoted, lifecycle.Revised:
		return "rule"
	case lifecycle.Decayed, lifecycle.Dissolution:
		return "time"
	}
	return "for"
}
