package pdf

import (
	"io"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ledongthuc/pdf"

	"github.com/oxbow-memory/oxbow/internal/document"
)

// matrix is [a b c d e f] of PDF: it maps (x, y) to (ax + cy + e, bx + dy + f).
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

// then returns the matrix that applies m and then n.
func (m matrix) then(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

func shift(x, y float64) matrix { return matrix{1, 0, 0, 1, x, y} }

// state is the graphics state that PDF's operators q and Q save and restore.
type state struct {
	ctm                                matrix
	font                               *font
	size, leading, scale, space, wordy float64
}

// pen follows a page's operators and collects the text in drawing order. It inserts a space, a line
// end or a blank line where the position jumps, since a PDF need not contain any.
type pen struct {
	state
	reader     *reader
	stack      []state
	text       strings.Builder
	last       rune // the last character of text
	line, here matrix
	moved      bool       // since the last text, other than by drawing it
	end        [2]float64 // end of the last text
	height     float64    // height of the last text
}

// draw executes the operators of a stream, or of a list of streams. It panics if they are too long or take too long.
func (p *pen) draw(stream, resources pdf.Value, depth int) {
	unpacked := measure(stream)
	for i := range stream.Len() {
		unpacked += measure(stream.Index(i))
	}
	if unpacked > maxStream {
		panic(document.Errorf("is a PDF with a page of more than %d MiB of operators", maxStream>>20))
	}
	pdf.Interpret(stream, func(stack *pdf.Stack, operator string) {
		if p.reader.ctx.Err() != nil {
			panic(p.reader.ctx.Err())
		}
		args := make([]pdf.Value, stack.Len())
		for i := len(args) - 1; i >= 0; i-- {
			args[i] = stack.Pop()
		}
		if operator == "Do" && len(args) == 1 {
			p.form(resources.Key("XObject").Key(args[0].Name()), resources, depth)
			return
		}
		p.operate(operator, args, resources)
	})
}

// measure returns the number of bytes of a stream after unpacking, at most maxStream+1. The library keeps what it has
// not yet interpreted in memory, so a small file could need gigabytes.
func measure(stream pdf.Value) int64 {
	if stream.Kind() != pdf.Stream {
		return 0
	}
	n, _ := io.Copy(io.Discard, io.LimitReader(stream.Reader(), maxStream+1)) // a broken rest is reported when it is read
	return n
}

// form draws a form that a page refers to by name.
func (p *pen) form(form, resources pdf.Value, depth int) {
	if form.Key("Subtype").Name() != "Form" || depth > maxDepth {
		return
	}
	if own := form.Key("Resources"); !own.IsNull() {
		resources = own
	}
	before := p.state
	if m := form.Key("Matrix"); m.Len() == 6 {
		p.ctm = matrixOf(func(i int) pdf.Value { return m.Index(i) }).then(p.ctm)
	}
	p.draw(form, resources, depth+1)
	p.state = before
}

func matrixOf(arg func(int) pdf.Value) (m matrix) {
	for i := range m {
		m[i] = arg(i).Float64()
	}
	return m
}

// operands maps each supported operator to its number of operands.
var operands = map[string]int{
	"cm": 6, "Tf": 2, "TL": 1, "Tz": 1, "Tc": 1, "Tw": 1, "Td": 2, "TD": 2, "Tm": 6, "Tj": 1, "TJ": 1, "'": 1, "\"": 3,
}

func (p *pen) operate(operator string, args []pdf.Value, resources pdf.Value) {
	if need := operands[operator]; len(args) < need {
		return // as viewers do
	} else if need > 0 {
		args = args[len(args)-need:]
	}
	number := func(i int) float64 { return args[i].Float64() }
	switch operator {
	case "q":
		if len(p.stack) < maxStates {
			p.stack = append(p.stack, p.state)
		}
	case "Q":
		if n := len(p.stack); n > 0 {
			p.state, p.stack = p.stack[n-1], p.stack[:n-1]
		}
	case "cm":
		p.ctm = matrixOf(func(i int) pdf.Value { return args[i] }).then(p.ctm)
	case "BT":
		p.line, p.here, p.moved = identity, identity, true
	case "Tf":
		p.font, p.size = p.reader.font(resources.Key("Font").Key(args[0].Name())), number(1)
	case "TL":
		p.leading = number(0)
	case "Tz":
		p.scale = number(0) / 100
	case "Tc":
		p.space = number(0)
	case "Tw":
		p.wordy = number(0)
	case "Td":
		p.next(number(0), number(1))
	case "TD":
		p.leading = -number(1)
		p.next(number(0), number(1))
	case "Tm":
		p.line = matrixOf(func(i int) pdf.Value { return args[i] })
		p.here, p.moved = p.line, true
	case "T*":
		p.next(0, -p.leading)
	case "Tj":
		p.show(args[0].RawString())
	case "'":
		p.next(0, -p.leading)
		p.show(args[0].RawString())
	case "\"":
		p.wordy, p.space = number(0), number(1)
		p.next(0, -p.leading)
		p.show(args[2].RawString())
	case "TJ":
		for i := range args[0].Len() {
			if part := args[0].Index(i); part.Kind() == pdf.String {
				p.show(part.RawString())
			} else {
				p.kern(-part.Float64() / 1000)
			}
		}
	}
}

// next moves to another line or to another position in this one.
func (p *pen) next(x, y float64) {
	p.line = shift(x, y).then(p.line)
	p.here, p.moved = p.line, true
}

// kern moves within a line by a fraction of the font size. TeX sets spaces this way.
func (p *pen) kern(distance float64) {
	p.here = shift(distance*p.size*p.scale, 0).then(p.here)
	if distance > 0.18 {
		p.gap(" ", rune(0))
	}
}

// show adds the text of a string.
func (p *pen) show(raw string) {
	text, width := p.font.decode(raw, p.size, p.space, p.wordy)
	if p.reader.bytes += len(text); p.reader.bytes > maxText {
		panic(document.Errorf("is a PDF with more than %d MiB of text", maxText>>20))
	}
	at := p.here.then(p.ctm)
	p.here = shift(width*p.scale, 0).then(p.here)
	if text != "" {
		first, _ := utf8.DecodeRuneInString(text)
		if p.moved {
			p.gap(p.between(at), first)
		}
		p.text.WriteString(text)
		p.last, _ = utf8.DecodeLastRuneInString(text)
		p.moved = false
		p.height = p.size * math.Hypot(at[2], at[3])
	}
	end := p.here.then(p.ctm)
	p.end = [2]float64{end[4], end[5]}
}

// between returns the separator that a reader sees between the last text and the text at a
// position.
func (p *pen) between(at matrix) string {
	size := math.Hypot(at[0], at[1])
	if p.last == 0 || size == 0 {
		return ""
	}
	x, y := at[4]-p.end[0], at[5]-p.end[1]
	along, across := (x*at[0]+y*at[1])/size, math.Abs(y*at[0]-x*at[1])/size
	height := max(math.Abs(p.height), math.Abs(p.size)*math.Hypot(at[2], at[3]))
	switch {
	case across > 1.8*height:
		return "\n\n"
	case across > 0.5*height, along < -2*height:
		return "\n"
	case along > 0.15*height && (p.font.measured() || along > 0.3*height):
		return " "
	}
	return ""
}

// gap adds a space or line ends, unless one is already there or it would separate Chinese
// characters.
func (p *pen) gap(between string, next rune) {
	switch {
	case between == "", p.last == 0, between == " " && (unicode.IsSpace(p.last) || unicode.IsSpace(next)):
		return
	case between == " " && wide(p.last) && (next == 0 || wide(next)):
		return
	}
	p.text.WriteString(between)
	p.last, _ = utf8.DecodeLastRuneInString(between)
}

// wide reports whether r belongs to a script without spaces between words.
func wide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) ||
		r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xff60
}
