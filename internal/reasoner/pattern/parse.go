package pattern

import (
	"fmt"
	"strconv"
	"strings"
)

// kind is the kind of an element of a pattern.
type kind uint8

const (
	literal     kind = iota // these words
	words                   // an entry of a list
	number                  // a number, in digits or Chinese numerals
	anyToken                // any word or character
	gap                     // some words or characters, not across a mark
	value                   // a value of a kind
	it                      // what the pattern is tried around
	clauseStart             // ^
	clauseEnd               // $
	textStart               // ^^
	textEnd                 // $$
	look                    // what follows or precedes, which stays
	opens                   // a capture begins
	closes                  // and ends
	fork                    // one of several branches, each up to the end of the pattern
)

// element is a part of a pattern.
type element struct {
	kind     kind
	ids      []id     // of literal
	list     *section // of words, look
	min, max int      // how often words or anyToken stand; how wide a gap is, in characters; the range of a number
	not      bool     // of look
	behind   bool
	name     string // of a capture
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
	return g.parseFields(fields)
}

// cutFields cuts a pattern at spaces outside parentheses, braces and quotation marks.
func cutFields(text string) (fields []string, err error) {
	depth, from, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(' || c == '{':
			depth++
		case c == ')' || c == '}':
			depth--
		case c == ' ' && depth == 0:
			if i > from {
				fields = append(fields, text[from:i])
			}
			from = i + 1
		}
	}
	if depth != 0 || quoted {
		return nil, fmt.Errorf("a bracket or quotation mark is open")
	}
	if from < len(text) {
		fields = append(fields, text[from:])
	}
	return fields, nil
}

// parseFields reads the fields of a pattern, the last first, so that a fork holds all that follows it.
func (g *Grammar) parseFields(fields []string) ([]element, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	rest, err := g.parseFields(fields[1:])
	if err != nil {
		return nil, err
	}
	f := fields[0]
	optional := len(f) > 1 && f[len(f)-1] == '?' && strings.ContainsAny(f[len(f)-2:len(f)-1], ")}")
	if optional {
		f = f[:len(f)-1]
	}
	var branches [][]element
	switch inner := f[1:]; {
	case f[0] == '(' && f[len(f)-1] == ')':
		for alternative := range strings.SplitSeq(inner[:len(inner)-1], " | ") {
			branch, err := g.parse(alternative)
			if err != nil {
				return nil, err
			}
			branches = append(branches, branch)
		}
	case f[0] == '{' && f[len(f)-1] == '}':
		branch, err := g.parseCapture(inner[:len(inner)-1])
		if err != nil {
			return nil, err
		}
		branches = append(branches, branch)
	default:
		parsed, err := g.parseField(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		if parsed.kind == literal && len(rest) > 0 && rest[0].kind == literal {
			rest[0].ids = append(parsed.ids, rest[0].ids...)
			return rest, nil
		}
		return append([]element{parsed}, rest...), nil
	}
	if optional {
		branches = append(branches, nil)
	}
	for i := range branches {
		branches[i] = append(branches[i], rest...)
	}
	if len(branches) == 1 {
		return branches[0], nil
	}
	return []element{{kind: fork, branches: branches}}, nil
}

// parseCapture reads "name", a value of that kind, or "name: pattern".
func (g *Grammar) parseCapture(text string) ([]element, error) {
	name, inner, ok := strings.Cut(text, ": ")
	if !ok {
		k, err := g.valueKind(name)
		return []element{{kind: value, name: name, value: k}}, err
	}
	elements, err := g.parse(inner)
	return append(append([]element{{kind: opens}}, elements...), element{kind: closes, name: name}), err
}

// parseField reads a field without brackets.
func (g *Grammar) parseField(f string) (element, error) {
	for _, sign := range []struct {
		text        string
		not, behind bool
	}{{"!>", true, false}, {"!<", true, true}, {">", false, false}, {"<", false, true}} {
		if inner, ok := strings.CutPrefix(f, sign.text); ok && inner != "" {
			list, err := g.alternatives(inner)
			return element{kind: look, list: list, not: sign.not, behind: sign.behind}, err
		}
	}
	switch f {
	case "^":
		return element{kind: clauseStart}, nil
	case "$":
		return element{kind: clauseEnd}, nil
	case "^^":
		return element{kind: textStart}, nil
	case "$$":
		return element{kind: textEnd}, nil
	case "~":
		return element{kind: it}, nil
	case "...":
		return element{kind: gap, max: widest}, nil
	}
	if width, ok := strings.CutPrefix(f, ".."); ok {
		n, err := plainGap, error(nil)
		if width != "" {
			n, err = strconv.Atoi(width)
		}
		return element{kind: gap, max: n * perWord}, err
	}
	e := element{min: 1, max: 1}
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
	if f == "." {
		e.kind = anyToken
		return e, nil
	}
	if e.min == 1 && e.max == 1 {
		if one, ok, err := g.single(f); ok || err != nil {
			return one, err
		}
	}
	var err error
	e.kind = words
	e.list, err = g.alternatives(f)
	return e, err
}

// single reads a field without alternatives or lists: words, a kind of word, a number.
func (g *Grammar) single(f string) (e element, ok bool, err error) {
	switch {
	case f[0] == '"':
		return g.literal(strings.Trim(f, `"`))
	case strings.ContainsRune(f, '|') || f[0] == '@':
		return e, false, nil
	case f[0] == '#':
		e = element{kind: number, min: 0, max: 1e9}
		if low, high, ok := strings.Cut(f[1:], "-"); ok {
			_, err = fmt.Sscan(low+" "+high, &e.min, &e.max)
		}
		return e, true, err
	case f == "Aa":
		return element{kind: literal, ids: []id{capitalized}}, true, nil
	case len(f) > 1 && f[len(f)-1] == '*':
		return element{kind: literal, ids: []id{g.idIn(g.stems, f[:len(f)-1])}}, true, nil
	case len(f) > 1 && f[0] == '*':
		return element{kind: literal, ids: []id{g.idIn(g.endings, f[1:])}}, true, nil
	}
	return g.literal(f)
}

func (g *Grammar) literal(text string) (element, bool, error) {
	e := element{kind: literal}
	for _, t := range tokens(text) {
		e.ids = append(e.ids, g.word(t.Lower))
	}
	if len(e.ids) == 0 {
		return e, false, fmt.Errorf("%q has no word", text)
	}
	return e, true, nil
}

// alternatives returns the list of "a|b|@list"; the list itself where it is the only one.
func (g *Grammar) alternatives(text string) (*section, error) {
	if name, ok := strings.CutPrefix(text, "@"); ok && !strings.Contains(text, "|") {
		if strings.HasSuffix(name, ".*") {
			return g.family(name[:len(name)-1])
		}
		if mistakes := g.compileList(name); len(mistakes) > 0 {
			return nil, mistakes[0]
		}
		return g.sections[name], nil
	}
	s := g.newSection("")
	for alternative := range strings.SplitSeq(text, "|") {
		if alternative == "" {
			return nil, fmt.Errorf("an alternative is empty")
		}
		e, ok, err := g.single(alternative)
		if err == nil && !ok {
			e = element{kind: words, min: 1, max: 1}
			e.list, err = g.alternatives(alternative)
		}
		if err == nil {
			err = g.add(s, []element{e}, "")
		}
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// family returns a list with the entries of all lists whose names begin with a prefix.
func (g *Grammar) family(prefix string) (*section, error) {
	s := g.newSection("")
	for _, name := range g.lists.Names() {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		list, err := g.alternatives("@" + name)
		if err == nil {
			err = g.add(s, []element{{kind: words, min: 1, max: 1, list: list}}, "")
		}
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}
