package pattern

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// kind is the kind of an element of a pattern.
type kind uint8

const (
	literal kind = iota // these words, one after the other
	oneOf               // one of these words
	words               // entries of a list
	number              // a number, in digits or Chinese numerals
	gap                 // some words or characters, not across a mark
	value               // a value of a kind
	it                  // what the pattern is tried around
	test                // a condition, which takes no tokens
	opens               // a capture begins
	closes              // and ends
	fork                // one of several branches, each up to the end of the pattern
)

// element is a part of a pattern.
type element struct {
	kind     kind
	not      bool     // of test: it must not hold
	min, max int      // how often words stand; how wide a gap is, in characters; the range of a number
	ids      []id     // of literal; of oneOf: sorted
	list     *section // of words; of test: what follows or precedes
	*detail           // of value, test, closes and fork
}

// detail has the fields that few elements need.
type detail struct {
	name     string // of a capture; of a test: its sign
	value    *valueKind
	branches [][]element // of fork
}

const (
	many     = 99 // how often something is repeated at most
	widest   = 99 // how many characters a gap of any width has at most
	perWord  = 2  // a word counts as so many characters
	plainGap = 3  // how many words ".." is
)

// parse reads a pattern.
func (g *Grammar) parse(text string) ([]element, error) {
	fields, err := cutFields(text)
	if err != nil {
		return nil, err
	}
	var elements []element
	for _, f := range slices.Backward(fields) { // the last first, so that a fork holds all that follows it
		if elements, err = g.parseField(f, elements); err != nil {
			return nil, err
		}
	}
	return elements, nil
}

// cutFields cuts a pattern at spaces outside parentheses, braces and quotation marks.
func cutFields(text string) (fields []string, err error) {
	depth, from, quoted := 0, 0, false
	for i := 0; i <= len(text); i++ {
		switch {
		case i == len(text) || text[i] == ' ' && depth == 0 && !quoted:
			if i > from {
				fields = append(fields, text[from:i])
			}
			from = i + 1
		case text[i] == '"':
			quoted = !quoted
		case quoted:
		case text[i] == '(' || text[i] == '{':
			depth++
		case text[i] == ')' || text[i] == '}':
			depth--
		}
	}
	if depth != 0 || quoted {
		return nil, errors.New("a bracket or quotation mark is open")
	}
	return fields, nil
}

// parseField returns the elements of a field and of the rest of its pattern.
func (g *Grammar) parseField(f string, rest []element) ([]element, error) {
	inner, optional := strings.CutSuffix(f, ")?")
	if !optional {
		inner, optional = strings.CutSuffix(f, "}?")
	}
	if !optional {
		inner = f[:len(f)-1]
	}
	var branches [][]element
	switch f[0] {
	case '(':
		for alternative := range strings.SplitSeq(inner[1:], " | ") {
			branch, err := g.parse(alternative)
			if err != nil {
				return nil, err
			}
			branches = append(branches, branch)
		}
	case '{':
		branch, err := g.parseCapture(inner[1:])
		if err != nil {
			return nil, err
		}
		branches = append(branches, branch)
	default:
		e, err := g.parseElement(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		if e.kind == literal && len(rest) > 0 && rest[0].kind == literal {
			rest[0].ids = append(e.ids, rest[0].ids...)
			return rest, nil
		}
		return slices.Insert(rest, 0, e), nil
	}
	if optional {
		branches = append(branches, nil)
	}
	for i := range branches {
		branches[i] = slices.Concat(branches[i], rest)
	}
	if len(branches) == 1 {
		return branches[0], nil
	}
	return []element{{kind: fork, detail: &detail{branches: branches}}}, nil
}

// parseCapture reads "name", a value of that kind, or "name: pattern".
func (g *Grammar) parseCapture(text string) ([]element, error) {
	name, inner, ok := strings.Cut(text, ": ")
	if !ok {
		k, err := g.valueKind(name)
		return []element{{kind: value, detail: &detail{name: name, value: k}}}, err
	}
	elements, err := g.parse(inner)
	return slices.Concat([]element{{kind: opens}}, elements, []element{{kind: closes, detail: &detail{name: name}}}), err
}

// parseElement reads a field without brackets.
func (g *Grammar) parseElement(f string) (e element, err error) {
	if sign, not := strings.CutPrefix(f, "!"); len(sign) > 1 && (sign[0] == '>' || sign[0] == '<') {
		list, err := g.alternatives(sign[1:])
		return element{kind: test, not: not, list: list, detail: &detail{name: sign[:1]}}, err
	}
	switch width, isGap := strings.CutPrefix(f, ".."); {
	case f == "^", f == "$", f == "^^", f == "$$":
		return element{kind: test, detail: &detail{name: f}}, nil
	case f == "~":
		return element{kind: it}, nil
	case f == "...":
		return element{kind: gap, max: widest}, nil
	case f == "..":
		return element{kind: gap, max: plainGap * perWord}, nil
	case isGap:
		n, err := strconv.Atoi(width)
		return element{kind: gap, max: n * perWord}, err
	}
	e = element{kind: words, min: 1, max: 1}
	if last := len(f) - 1; last > 0 {
		repeatable := f[0] == '@' && f[last-1] != '.' || f[:last] == "." || f[:last] == "Aa"
		switch {
		case f[last] == '?':
			e.min, f = 0, f[:last]
		case f[last] == '*' && repeatable:
			e.min, e.max, f = 0, many, f[:last]
		case f[last] == '+' && repeatable:
			e.max, f = many, f[:last]
		}
	}
	if e.min == 1 && e.max == 1 && f[0] != '@' {
		if f[0] == '"' || !strings.Contains(f, "|") {
			return g.single(f)
		}
		if ids := g.oneOf(f); ids != nil {
			return element{kind: oneOf, ids: ids}, nil
		}
	}
	e.list, err = g.alternatives(f)
	return e, err
}

// single reads one of several alternatives: words, a kind of word, a number, or a list.
func (g *Grammar) single(f string) (e element, err error) {
	e = element{kind: literal}
	switch last := len(f) - 1; {
	case f == "":
		return e, errors.New("an alternative is empty")
	case f[0] == '@':
		e = element{kind: words, min: 1, max: 1}
		e.list, err = g.alternatives(f)
		return e, err
	case f[0] == '#':
		e = element{kind: number, max: 1e9}
		if low, high, ok := strings.Cut(f[1:], "-"); ok {
			_, err = fmt.Sscan(low+" "+high, &e.min, &e.max)
		}
		return e, err
	case f == ".":
		e.ids = []id{anyWord}
	case f == "Aa":
		e.ids = []id{capitalized}
	case last > 0 && f[0] != '"' && (f[last] == '*' || f[0] == '*'):
		e.ids = []id{g.id(f)}
	default:
		for _, t := range tokens(strings.Trim(f, `"`)) {
			e.ids = append(e.ids, g.id(t.Lower))
		}
		if len(e.ids) == 0 {
			return e, fmt.Errorf("%q has no word", f)
		}
	}
	return e, nil
}

// alternatives returns the list of "a|b|@list"; the list itself where it is the only one.
func (g *Grammar) alternatives(text string) (*section, error) {
	name, isList := strings.CutPrefix(text, "@")
	prefix, isFamily := strings.CutSuffix(name, "*")
	isList = isList && !strings.Contains(text, "|")
	if isList && !isFamily {
		return g.section(name)
	}
	if s := g.inline[text]; s != nil {
		return s, nil
	}
	alternatives := strings.Split(text, "|")
	if isList {
		alternatives = nil
		for _, name := range g.lists.Names() {
			if strings.HasPrefix(name, prefix) {
				alternatives = append(alternatives, "@"+name)
			}
		}
	}
	s := &section{}
	for _, alternative := range alternatives {
		e, err := g.single(alternative)
		if err == nil {
			err = s.add(g, []element{e}, "")
		}
		if err != nil {
			return nil, err
		}
	}
	g.finish(s)
	g.inline[text] = s
	return s, nil
}

// oneOf returns the ids of "a|b|c", or nil if an alternative is not one word. Ids take far less memory than a list.
func (g *Grammar) oneOf(text string) []id {
	if ids := g.sets[text]; ids != nil {
		return ids
	}
	var ids []id
	for alternative := range strings.SplitSeq(text, "|") {
		e, err := g.single(alternative)
		if err != nil || e.kind != literal || len(e.ids) > 1 {
			return nil
		}
		ids = append(ids, e.ids[0])
	}
	slices.Sort(ids)
	g.sets[text] = slices.Clone(ids)
	return g.sets[text]
}
