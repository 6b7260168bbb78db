package sensitive

import (
	"slices"
	"strings"
	"unicode"
)

// characterList is the Chinese list, a tree of characters.
type characterList struct{ root node }

// node is where the characters on the way to it lead.
type node struct {
	next map[rune]*node
	ends []ending
}

// ending is an entry up to a gap, or all of it.
type ending struct {
	category string
	rest     [][]rune // what follows, each part up to maxDistance characters behind the one before
	start    []rune   // what came before
}

// maxDistance is how many characters may stand for "…".
const maxDistance = 6

// clauseBreak stands where a clause ends.
const clauseBreak = '\n'

func readChinese(list string) *characterList {
	l := &characterList{}
	readList(list, func(section, line string) {
		for entry := range strings.FieldsSeq(line) {
			for _, text := range alternatives(entry) {
				l.add(section, text)
			}
		}
	})
	return l
}

// alternatives writes out each {a|b}.
func alternatives(entry string) []string {
	before, rest, ok := strings.Cut(entry, "{")
	if !ok {
		return []string{entry}
	}
	inner, after, ok := strings.Cut(rest, "}")
	if !ok {
		panic("sensitive: a brace is open in " + entry)
	}
	var all []string
	for middle := range strings.SplitSeq(inner, "|") {
		for _, end := range alternatives(after) {
			all = append(all, before+middle+end)
		}
	}
	return all
}

func (l *characterList) add(category, text string) {
	parts := strings.Split(text, "…")
	e := ending{category: category, start: plain(parts[0])}
	for _, part := range parts[1:] {
		e.rest = append(e.rest, plain(part))
	}
	if len(e.start) == 0 {
		panic("sensitive: an empty entry in " + category)
	}
	n := &l.root
	for _, r := range e.start {
		if n.next == nil {
			n.next = map[rune]*node{}
		}
		if n.next[r] == nil {
			n.next[r] = &node{}
		}
		n = n.next[r]
	}
	n.ends = append(n.ends, e)
}

// find returns the category of the first entry in a text that is not within a harmless one.
func (l *characterList) find(text []rune) (category string, ok bool) {
	var spared []span
	looked := false // for what is spared
	for i := range text {
		l.at(text, i, func(e ending, to int) {
			if e.category == harmless {
				return
			}
			if !looked {
				spared, looked = l.spared(text), true
			}
			if !(span{i, to}).within(spared) {
				category, ok = e.category, true // a longer one says more
			}
		})
		if ok {
			return category, true
		}
	}
	return "", false
}

func (l *characterList) spared(text []rune) []span {
	var spans []span
	for i := range text {
		l.at(text, i, func(e ending, to int) {
			if e.category == harmless {
				spans = append(spans, span{i, to})
			}
		})
	}
	return spans
}

// at calls found with each entry that begins at a position, the shortest first, and with where it ends.
func (l *characterList) at(text []rune, i int, found func(e ending, to int)) {
	n := &l.root
	for j := i; j < len(text); {
		n = n.next[text[j]]
		if n == nil {
			return
		}
		j++
		for _, e := range n.ends {
			if to, ok := reach(text, j, e.rest); ok && wholeWords(text, i, to) {
				found(e, to)
			}
		}
	}
}

// reach tells whether the parts follow within their distance and within the clause, and where the last one ends.
func reach(text []rune, at int, parts [][]rune) (to int, ok bool) {
	if len(parts) == 0 {
		return at, true
	}
	for n := at; n <= at+maxDistance && n+len(parts[0]) <= len(text); n++ {
		if n > at && text[n-1] == clauseBreak {
			break
		}
		if slices.Equal(text[n:n+len(parts[0])], parts[0]) {
			if to, ok := reach(text, n+len(parts[0]), parts[1:]); ok {
				return to, true
			}
		}
	}
	return 0, false
}

// wholeWords tells that a part of a text does not begin or end within a Latin word or a number.
func wholeWords(text []rune, from, to int) bool {
	return !(from > 0 && alphanumeric(text[from-1]) && alphanumeric(text[from])) &&
		!(to < len(text) && alphanumeric(text[to-1]) && alphanumeric(text[to]))
}

func alphanumeric(r rune) bool { return latin(r) || ('0' <= r && r <= '9') }

// characters takes from a plain text what is between its characters, except one space between other words, and a
// clauseBreak where a clause ends; but characters that stand one by one belong together whatever is between them. It
// returns nothing for a text without Chinese characters.
func characters(rs []rune) []rune {
	if !slices.ContainsFunc(rs, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		return nil
	}
	text := make([]rune, 0, len(rs))
	alone := false // the last piece is one character
	for i := 0; i < len(rs); {
		from, ends := i, false
		for i < len(rs) && !piece(rs[i]) {
			ends = ends || clauseEnd(rs[i])
			i++
		}
		start := i
		for i < len(rs) && piece(rs[i]) {
			i++
		}
		if start == i {
			break
		}
		one := i-start == 1 && unicode.Is(unicode.Han, rs[start])
		if len(text) > 0 && start > from {
			switch last := text[len(text)-1]; {
			case ends && !(alone && one):
				text = append(text, clauseBreak)
			case latin(last) && latin(rs[start]):
				text = append(text, ' ')
			}
		}
		text, alone = append(text, rs[start:i]...), one
	}
	return text
}

func piece(r rune) bool {
	return unicode.Is(unicode.Han, r) || alphanumeric(r) || (r > unicode.MaxASCII && unicode.IsLetter(r))
}
