package pattern

import (
	"slices"
	"strconv"
	"strings"
)

// run matches patterns with a part of a text.
type run struct {
	t        *Text
	lo, hi   int // the tokens that are looked at
	around   bool
	from, to int // of what ~ stands for
	captures []Capture
}

// match returns the longest match of a section that begins at the i-th token.
func (r *run) match(s *section, i int) (best Match, ok bool) {
	if !r.begins(s, i) {
		return best, false
	}
	var few [4]found
	for _, f := range r.walk(s, s.root, i, few[:0]) {
		if f.end > best.End {
			best, ok = Match{Start: i, End: f.end, Value: f.value}, true
		}
	}
	s.mayBegin(&r.t.Tokens[i], func(rule *rule) {
		r.captures = r.captures[:0]
		if end, matches := r.elements(rule.elements, i); matches && end > i && end > best.End {
			best, ok = Match{Start: i, End: end, Value: rule.value, Captures: slices.Clone(r.captures)}, true
		}
	})
	return best, ok
}

// mayBegin calls try with the entries of more than words that may begin with a token.
func (s *section) mayBegin(k *Token, try func(*rule)) {
	each := func(rules []*rule) {
		for _, rule := range rules {
			try(rule)
		}
	}
	if len(s.first) > 0 {
		each(s.first[k.id])
		for _, n := range k.also {
			each(s.first[n])
		}
	}
	each(s.open)
}

// begins reports whether an entry of a section may begin at the i-th token.
func (r *run) begins(s *section, i int) bool {
	k, starts := &r.t.Tokens[i], r.t.g.starts
	begins := func(n id) bool { return s.number < 0 && s.starts[n] || s.number >= 0 && starts[n].has(s.number) }
	return begins(0) || begins(k.id) || slices.ContainsFunc(k.also, begins)
}

// found is an end of a match within a pattern.
type found struct {
	end         int
	name, value string
}

// all returns the ends of all matches of a section that begin at the i-th token, the longest first.
func (r *run) all(s *section, i int, ends []found) []found {
	if i >= r.hi || !r.begins(s, i) {
		return ends
	}
	ends = r.walk(s, s.root, i, ends)
	s.mayBegin(&r.t.Tokens[i], func(rule *rule) {
		before := len(r.captures)
		if end, ok := r.elements(rule.elements, i); ok {
			f := found{end: end, name: s.name, value: rule.value}
			if rule.pass && len(r.captures) > before {
				f.name, f.value = r.captures[before].Name, r.captures[before].Value
			}
			at := len(ends)
			for at > 0 && ends[at-1].end < end {
				at--
			}
			ends = slices.Insert(ends, at, f)
		}
		r.captures = r.captures[:before]
	})
	return ends
}

// walk appends the ends of entries of words alone, the longest first.
func (r *run) walk(s *section, node int32, i int, ends []found) []found {
	if i == r.hi {
		return ends
	}
	k := &r.t.Tokens[i]
	for at := -1; at < len(k.also); at++ {
		n := k.id
		if at >= 0 {
			n = k.also[at]
		}
		if n == 0 {
			continue
		}
		to, ok := r.t.g.next[uint64(node)<<32|uint64(n)]
		if !ok {
			continue
		}
		ends = r.walk(s, to, i+1, ends)
		if rule := r.t.g.ends[to]; rule != nil {
			ends = append(ends, found{end: i + 1, name: s.name, value: rule.value})
		}
	}
	return ends
}

// elements matches the elements of a pattern from the i-th token on, and returns where they end.
func (r *run) elements(e []element, i int) (end int, ok bool) {
	if len(e) == 0 {
		return i, true
	}
	tokens, first, rest := r.t.Tokens, &e[0], e[1:]
	switch first.kind {
	case literal:
		for _, n := range first.ids {
			if i >= r.hi || !tokens[i].is(n) {
				return 0, false
			}
			i++
		}
	case words, anyToken:
		return r.repeat(first, rest, i, 0)
	case number:
		n, end, isNumber := r.t.number(i, r.hi)
		if !isNumber || n < first.min || n > first.max {
			return 0, false
		}
		return r.captured(Capture{"number", strconv.Itoa(n), i, end}, rest, end)
	case gap:
		for width := 0; ; i++ {
			if end, ok := r.elements(rest, i); ok {
				return end, true
			}
			if i >= r.hi || tokens[i].Mark {
				return 0, false
			}
			if width += tokens[i].width(); width > first.max {
				return 0, false
			}
		}
	case value:
		return r.value(first, rest, i)
	case it:
		if !r.around || i != r.from {
			return 0, false
		}
		i = r.to
	case clauseStart:
		ok = i == r.lo || tokens[i-1].Mark
	case clauseEnd:
		ok = i == r.hi || tokens[i].Mark
	case textStart:
		ok = i == r.lo
	case textEnd:
		ok = i == r.hi || !slices.ContainsFunc(tokens[i:r.hi], func(k Token) bool { return !k.Mark })
	case look:
		ok = first.not != r.looks(first, i)
	case opens:
		return r.captured(Capture{Start: i, End: -1}, rest, i)
	case closes:
		return r.closed(first.name, rest, i)
	case fork:
		for _, branch := range first.branches {
			before := len(r.captures)
			if end, ok := r.elements(branch, i); ok {
				return end, true
			}
			r.captures = r.captures[:before]
		}
		return 0, false
	}
	switch first.kind {
	case clauseStart, clauseEnd, textStart, textEnd, look:
		if !ok {
			return 0, false
		}
	}
	return r.elements(rest, i)
}

// captured matches the rest of a pattern after a capture.
func (r *run) captured(c Capture, rest []element, i int) (end int, ok bool) {
	before := len(r.captures)
	r.captures = append(r.captures, c)
	if end, ok = r.elements(rest, i); !ok {
		r.captures = r.captures[:before]
	}
	return end, ok
}

// closed ends the capture that was opened last. Its value is that of the word or number in it, else its text.
func (r *run) closed(name string, rest []element, i int) (end int, ok bool) {
	at := len(r.captures) - 1
	for r.captures[at].End >= 0 {
		at--
	}
	before := r.captures[at]
	c := &r.captures[at]
	c.Name, c.End = name, i
	if inner := r.captures[at+1:]; len(inner) == 1 {
		c.Value = inner[0].Value
	} else if i > c.Start {
		c.Value = strings.ToLower(r.t.Slice(c.Start, i))
	}
	if end, ok = r.elements(rest, i); !ok {
		r.captures[at] = before
	}
	return end, ok
}

// repeat matches an element that may stand several times, as often as possible.
func (r *run) repeat(e *element, rest []element, i, n int) (end int, ok bool) {
	if n < e.max && i < r.hi {
		if e.kind == anyToken {
			if !r.t.Tokens[i].Mark {
				if end, ok := r.repeat(e, rest, i+1, n+1); ok {
					return end, true
				}
			}
		} else if r.begins(e.list, i) {
			for _, f := range r.all(e.list, i, nil) {
				before := len(r.captures)
				if f.value != "" {
					r.captures = append(r.captures, Capture{f.name, f.value, i, f.end})
				}
				if end, ok := r.repeat(e, rest, f.end, n+1); ok {
					return end, true
				}
				r.captures = r.captures[:before]
			}
		}
	}
	if n < e.min {
		return 0, false
	}
	return r.elements(rest, i)
}

// looks reports whether a list matches from the i-th token on, or, looking behind, up to it.
func (r *run) looks(e *element, i int) bool {
	if !e.behind {
		return len(r.all(e.list, i, nil)) > 0
	}
	for j := i - 1; j >= r.lo && j >= i-around; j-- {
		if slices.ContainsFunc(r.all(e.list, j, nil), func(f found) bool { return f.end == i }) {
			return true
		}
	}
	return false
}

func (k *Token) is(n id) bool {
	return k.id == n || slices.Contains(k.also, n)
}

func (k *Token) width() int {
	if k.Han {
		return 1
	}
	return perWord
}
