package pattern

import (
	"fmt"
	"strconv"
	"strings"
)

// valueKind describes the values of a kind and where they end. A list that does not exist is nil.
type valueKind struct {
	most      int         // how long it is at most, in characters; a word counts as two
	not, only *section    // what it does not begin with, and what it does
	skip, cut *section    // what is left out before it, and off its end
	ends      [2]*section // what follows values of all kinds, and of this one
}

// valueKind returns the kind that the lists [value.NAME], [value.NAME.only] and [value.NAME.end] describe, and
// [value.skip], [value.cut] and [value.end] for all kinds.
func (g *Grammar) valueKind(name string) (*valueKind, error) {
	if k := g.values[name]; k != nil {
		return k, nil
	}
	head := g.lists.byName["value."+name]
	if head == nil {
		return nil, fmt.Errorf("list value.%s, which describes the value, does not exist", name)
	}
	most, err := strconv.Atoi(head.value)
	if err != nil {
		return nil, fmt.Errorf("the value of list value.%s is not its greatest length: %w", name, err)
	}
	k := &valueKind{most: most}
	g.values[name] = k
	list := func(name string) (s *section) {
		if err == nil && g.lists.byName[name] != nil {
			s, err = g.section(name)
		}
		return s
	}
	k.not, k.only = list("value."+name), list("value."+name+".only")
	k.skip, k.cut = list("value.skip"), list("value.cut")
	k.ends = [2]*section{list("value.end"), list("value." + name + ".end")}
	return k, err
}

// value matches a value from the i-th token on: as much as the text has if it ends the pattern, else up to where the
// rest of the pattern matches.
func (r *run) value(e *element, rest []element, i int) (end int, ok bool) {
	k := e.value
	for n := r.at(k.skip, i); n > 0; n = r.at(k.skip, i) {
		i += n
	}
	most, width := i, 0
	for most < r.hi && !r.t.Tokens[most].Mark && (most == i || r.at(k.ends[0], most)+r.at(k.ends[1], most) == 0) {
		if width += r.t.Tokens[most].width(); width > k.most {
			if len(rest) == 0 {
				return 0, false
			}
			break
		}
		most++
	}
	first := i + 1
	if len(rest) == 0 {
		first = max(first, most)
	}
	for end := first; end <= most; end++ {
		to := end
		for n := r.cut(k, i, to); n > 0; n = r.cut(k, i, to) {
			to -= n
		}
		if to == i || !r.is(k, i, to) {
			continue
		}
		before := len(r.captures)
		r.captures = append(r.captures, Capture{e.name, strings.ToLower(r.t.Slice(i, to)), i, to})
		if end, ok := r.elements(rest, end); ok {
			return end, true
		}
		r.captures = r.captures[:before]
	}
	return 0, false
}

// at returns the length of the longest match of a list at the i-th token.
func (r *run) at(s *section, i int) int {
	if all := r.all(s, i); len(all) > 0 {
		return all[0].End - i
	}
	return 0
}

// cut returns the length to remove from the end of a value, which keeps at least a token.
func (r *run) cut(k *valueKind, from, to int) int {
	for n := 1; n <= 4 && to-n > from; n++ {
		if r.at(k.cut, to-n) == n {
			return n
		}
	}
	return 0
}

// is reports whether the tokens [from, to) are a value of a kind.
func (r *run) is(k *valueKind, from, to int) bool {
	inner := run{t: r.t, lo: from, hi: to, from: -1}
	return inner.at(k.not, from) == 0 && (k.only == nil || inner.at(k.only, from) > 0)
}
