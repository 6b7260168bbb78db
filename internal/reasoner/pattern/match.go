package pattern

import (
	"slices"
	"strconv"
	"strings"
)

// run matches patterns with the tokens [lo, hi) of a text.
type run struct {
	t        *Text
	lo, hi   int
	from, to int // the tokens of which ~ stands; from is -1 without any
	captures []Capture
}

// match returns the longest match of a section that begins at the i-th token.
func (r *run) match(s *section, i int) (best Match, ok bool) {
	for _, n := range r.t.Tokens[i].ids {
		if r.t.g.starts[n].Bit(s.number) == 0 {
			continue // faster than a search
		}
		for _, rule := range s.beginning(n) {
			if r.t.lacks(rule.needs) {
				continue
			}
			r.captures = r.captures[:0]
			if end, matches := r.elements(rule.elements, i); matches && end > i && end > best.End {
				best, ok = Match{i, end, rule.value, slices.Clone(r.captures)}, true
			}
		}
	}
	return best, ok
}

// all returns the matches of a section that begin at the i-th token, the longest first, each as a capture.
func (r *run) all(s *section, i int) (all []Capture) {
	if s == nil || i >= r.hi {
		return nil
	}
	before := len(r.captures)
	for _, n := range r.t.Tokens[i].ids {
		if s.mask&(1<<(n%64)) == 0 {
			continue
		}
		for _, rule := range s.beginning(n) {
			if end, ok := r.elements(rule.elements, i); ok {
				c := Capture{s.name, rule.value, i, end}
				if len(rule.elements) == 1 && rule.elements[0].kind == number && c.Value == "" {
					c = r.captures[before]
				}
				at := len(all)
				for at > 0 && all[at-1].End < end {
					at--
				}
				all = slices.Insert(all, at, c)
			}
			r.captures = r.captures[:before]
		}
	}
	return all
}

// elements matches the elements of a pattern from the i-th token on, and returns where they end. Captures of an attempt
// that failed may be left: the caller drops them before it tries something else.
func (r *run) elements(e []element, i int) (end int, ok bool) {
	if len(e) == 0 {
		return i, true
	}
	first, rest := &e[0], e[1:]
	switch first.kind {
	case literal:
		for _, n := range first.ids {
			if i >= r.hi || !slices.Contains(r.t.Tokens[i].ids, n) {
				return 0, false
			}
			i++
		}
	case oneOf:
		if i >= r.hi || !slices.ContainsFunc(r.t.Tokens[i].ids, first.has) {
			return 0, false
		}
		i++
	case words:
		return r.repeat(first, rest, i, 0)
	case number:
		n, end, ok := r.t.number(i, r.hi)
		if !ok || n < first.min || n > first.max {
			return 0, false
		}
		r.captures = append(r.captures, Capture{"number", strconv.Itoa(n), i, end})
		i = end
	case gap:
		return r.gap(first, rest, i)
	case value:
		return r.value(first, rest, i)
	case it:
		if i != r.from {
			return 0, false
		}
		i = r.to
	case test:
		if r.holds(first, i) == first.not {
			return 0, false
		}
	case opens:
		r.captures = append(r.captures, Capture{Start: i, End: -1})
	case closes:
		return r.closed(first.name, rest, i)
	case fork:
		before := len(r.captures)
		for _, branch := range first.branches {
			if end, ok := r.elements(branch, i); ok {
				return end, true
			}
			r.captures = r.captures[:before]
		}
		return 0, false
	}
	return r.elements(rest, i)
}

// gap matches as few tokens as possible.
func (r *run) gap(e *element, rest []element, i int) (end int, ok bool) {
	before := len(r.captures)
	for width := 0; ; i++ {
		if end, ok := r.elements(rest, i); ok {
			return end, true
		}
		r.captures = r.captures[:before]
		if i >= r.hi || r.t.Tokens[i].Mark {
			return 0, false
		}
		if width += r.t.Tokens[i].width(); width > e.max {
			return 0, false
		}
	}
}

// closed ends the capture that was opened last. Its value is that of the word or number in it, else its text.
func (r *run) closed(name string, rest []element, i int) (end int, ok bool) {
	at := len(r.captures) - 1
	for r.captures[at].End >= 0 {
		at--
	}
	c := Capture{name, strings.ToLower(r.t.Slice(r.captures[at].Start, i)), r.captures[at].Start, i}
	if inner := r.captures[at+1:]; len(inner) == 1 {
		c.Value = inner[0].Value
	}
	r.captures[at] = c
	if end, ok = r.elements(rest, i); !ok {
		r.captures[at].End = -1
	}
	return end, ok
}

// repeat matches entries of a list, as often as possible; n are matched already.
func (r *run) repeat(e *element, rest []element, i, n int) (end int, ok bool) {
	before := len(r.captures)
	if n < e.max {
		for _, c := range r.all(e.list, i) {
			if c.Value != "" {
				r.captures = append(r.captures, c)
			}
			if end, ok := r.repeat(e, rest, c.End, n+1); ok {
				return end, true
			}
			r.captures = r.captures[:before]
		}
	}
	if n < e.min {
		return 0, false
	}
	return r.elements(rest, i)
}

// holds reports whether a condition holds before the i-th token.
func (r *run) holds(e *element, i int) bool {
	switch e.name {
	case "^":
		return i == r.lo || r.t.Tokens[i-1].Mark
	case "$":
		return i == r.hi || r.t.Tokens[i].Mark
	case "^^":
		return i == r.lo
	case "$$":
		return !slices.ContainsFunc(r.t.Tokens[i:r.hi], func(k Token) bool { return !k.Mark })
	case ">":
		return len(r.all(e.list, i)) > 0
	}
	for j := i - 1; j >= max(r.lo, i-around); j-- {
		if slices.ContainsFunc(r.all(e.list, j), func(c Capture) bool { return c.End == i }) {
			return true
		}
	}
	return false
}

// has reports whether n is one of the words.
func (e *element) has(n id) bool {
	_, found := slices.BinarySearch(e.ids, n)
	return found
}

func (k *Token) width() int {
	if k.Han {
		return 1
	}
	return perWord
}
