package pages

import (
	"fmt"
	"html"
	"html/template"
	"strings"
	"time"
)

// chart is a line chart of values over time, drawn as SVG. Its colours are in static/style.css.
type chart struct {
	id          string // unique in the page
	title, text string // what it shows, for those who do not see it
	from, to    time.Time
	max         float64 // the vertical axis begins at 0
	lines       []chartLine
	levels      []chartLevel           // horizontal lines with names
	now         time.Time              // a vertical line; zero: none
	nowName     string                 // its name
	date        func(time.Time) string // of the horizontal axis; nil: no axis, for a small chart in a text
	value       func(v float64) string // of the vertical axis; nil: none
	width       float64                // of the drawing, which scales; 0: 720
	height      float64                // 0: 260
}

// chartLine is a curve. It is interrupted between two of its parts.
type chartLine struct {
	class string // of the stylesheet: ahead, second, third, or ""
	area  bool   // fill what is below
	parts [][]chartPoint
	dots  []chartPoint // marked points, such as events
}

type chartPoint struct {
	at    time.Time
	value float64
	name  string // of a dot
}

type chartLevel struct {
	value float64
	name  string
}

// svg draws the chart.
func (c *chart) svg() template.HTML {
	if c.width == 0 {
		c.width, c.height = 720, 260
	}
	p := chartPen{chart: c, right: c.width - 4, top: 6, bottom: c.height - 6, left: 4}
	if c.value != nil {
		p.left = 72
	}
	if c.date != nil {
		p.right, p.top, p.bottom = c.width-16, 28, c.height-34
	}
	p.printf(`<svg class="chart" viewBox="0 0 %.0f %.0f" role="img" aria-labelledby="%s-title %[3]s-text">`, c.width,
		c.height, c.id)
	p.printf(`<title id="%s-title">%s</title><desc id="%[1]s-text">%[3]s</desc>`, c.id, html.EscapeString(c.title),
		html.EscapeString(c.text))
	p.axes()
	for _, l := range c.lines {
		p.line(l)
	}
	p.printf("</svg>")
	return template.HTML(p.String()) // the texts are escaped
}

// chartPen draws within the edges of the plot.
type chartPen struct {
	strings.Builder
	*chart
	left, right, top, bottom float64
}

func (p *chartPen) printf(format string, args ...any) { fmt.Fprintf(p, format, args...) }

func (p *chartPen) x(at time.Time) float64 {
	return p.left + (p.right-p.left)*float64(at.Sub(p.from))/max(float64(p.to.Sub(p.from)), 1)
}

func (p *chartPen) y(v float64) float64 {
	return p.bottom - (p.bottom-p.top)*min(max(v/p.max, 0), 1)
}

func (p *chartPen) text(x, y float64, anchor, text string) {
	p.printf(`<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, y, anchor, html.EscapeString(text))
}

func (p *chartPen) axes() {
	for _, l := range p.levels {
		p.printf(`<line class="level" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, p.left, p.right, p.y(l.value), p.y(l.value))
		if l.name != "" {
			p.text(p.right, p.y(l.value)-6, "end", l.name)
		}
		if p.value != nil {
			p.text(p.left-8, p.y(l.value)+4, "end", p.value(l.value))
		}
	}
	if p.date != nil {
		p.printf(`<line class="axis" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, p.left, p.right, p.bottom, p.bottom)
		p.text(p.left, p.bottom+24, "start", p.date(p.from))
		p.text(p.right, p.bottom+24, "end", p.date(p.to))
	}
	if x := p.x(p.now); !p.now.IsZero() && x >= p.left && x <= p.right {
		p.printf(`<line class="now" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, x, x, p.top, p.bottom)
		if p.date != nil {
			p.text(min(max(x, p.left+24), p.right-24), p.top-8, "middle", p.nowName)
		}
	}
}

func (p *chartPen) line(l chartLine) {
	for _, part := range l.parts {
		if len(part) == 0 {
			continue
		}
		points := make([]string, len(part))
		for i, point := range part {
			points[i] = fmt.Sprintf("%.1f,%.1f", p.x(point.at), p.y(point.value))
		}
		path := strings.Join(points, " ")
		if l.area {
			p.printf(`<polygon class="area" points="%.1f,%.1f %s %.1f,%.1f"/>`, p.x(part[0].at), p.bottom, path,
				p.x(part[len(part)-1].at), p.bottom)
		}
		p.printf(`<polyline class="curve %s" points="%s"/>`, l.class, path)
	}
	for _, d := range l.dots {
		p.printf(`<circle class="dot" cx="%.1f" cy="%.1f" r="3.5"><title>%s</title></circle>`, p.x(d.at), p.y(d.value),
			html.EscapeString(d.name))
	}
}
