package pattern

import (
	"iter"
	"slices"
	"strconv"
)

// Text is a tokenized text.
type Text struct {
	String string
	Tokens []Token
	Han    int // number of tokens that are Chinese characters
	g      *Grammar
	starts bits // the lists of which an entry may begin in the text
}

// Match is a match of an entry of a list: the tokens [Start, End).
type Match struct {
	Start, End int
	Value      string // of the entry or its list
	Captures   []Capture
}

// Capture is a part of a match that has a name.
type Capture struct {
	Name, Value string
	Start, End  int // tokens
}

// Get returns the capture of a name; ok is false if there is none.
func (m *Match) Get(name string) (c Capture, ok bool) {
	i := slices.IndexFunc(m.Captures, func(c Capture) bool { return c.Name == name })
	if i < 0 {
		return Capture{}, false
	}
	return m.Captures[i], true
}

// Read tokenizes a text.
func (g *Grammar) Read(text string) *Text {
	g.load()
	t := &Text{String: text, Tokens: tokens(text), g: g, starts: g.starts[0]}
	kinds := make([]id, 0, 8)
	for i := range t.Tokens {
		k := &t.Tokens[i]
		k.id = g.words[k.Lower]
		switch {
		case k.Han:
			t.Han++
			if _, ok := g.digits[k.id]; ok && k.id != 0 {
				k.also = numeralOnly
			}
		case k.Mark:
		case isDigit(rune(k.Lower[0])):
			k.also = numeralOnly
		default:
			from := len(kinds)
			kinds = g.kinds(k, kinds)
			k.also = kinds[from:len(kinds):len(kinds)]
		}
		if k.id != 0 {
			t.starts.add(&g.starts[k.id])
		}
		for _, n := range k.also {
			t.starts.add(&g.starts[n])
		}
	}
	return t
}

var numeralOnly = []id{numeral}

// kinds appends the kinds of a word.
func (g *Grammar) kinds(k *Token, kinds []id) []id {
	if k.Capital {
		kinds = append(kinds, capitalized)
	}
	for _, n := range g.stemLengths {
		if n > len(k.Lower) {
			break
		}
		if stem, ok := g.stems[k.Lower[:n]]; ok {
			kinds = append(kinds, stem)
		}
	}
	for _, n := range g.endingLengths {
		if n >= len(k.Lower) {
			break
		}
		if ending, ok := g.endings[k.Lower[len(k.Lower)-n:]]; ok {
			kinds = append(kinds, ending)
		}
	}
	return kinds
}

// Has reports whether an entry of a list matches anywhere.
func (t *Text) Has(list string) bool {
	_, ok := t.Find(list)
	return ok
}

// HasIn reports whether an entry of a list matches within the tokens [from, to).
func (t *Text) HasIn(list string, from, to int) bool {
	s := t.section(list)
	if s == nil {
		return false
	}
	r := run{t: t, lo: max(from, 0), hi: min(to, len(t.Tokens))}
	for i := r.lo; i < r.hi; i++ {
		if _, ok := r.match(s, i); ok {
			return true
		}
	}
	return false
}

// Find returns the first match of a list.
func (t *Text) Find(list string) (Match, bool) {
	for m := range t.All(list) {
		return m, true
	}
	return Match{}, false
}

// All returns the longest match of a list at each token at which one begins.
func (t *Text) All(list string) iter.Seq[Match] {
	return func(yield func(Match) bool) {
		s := t.section(list)
		if s == nil {
			return
		}
		r := run{t: t, hi: len(t.Tokens)}
		for i := range t.Tokens {
			if m, ok := r.match(s, i); ok && !yield(m) {
				return
			}
		}
	}
}

// At returns the longest match of a list that begins at the i-th token.
func (t *Text) At(list string, i int) (Match, bool) {
	s := t.section(list)
	if s == nil || i < 0 || i >= len(t.Tokens) {
		return Match{}, false
	}
	r := run{t: t, hi: len(t.Tokens)}
	return r.match(s, i)
}

// Len returns the number of tokens in the longest match of a list at the i-th token, or 0.
func (t *Text) Len(list string, i int) int {
	m, ok := t.At(list, i)
	if !ok {
		return 0
	}
	return m.End - i
}

// around is how many tokens before something a pattern about it may begin.
const around = 16

// Around returns the first match of a list of which ~ stands for the tokens [from, to).
func (t *Text) Around(list string, from, to int) (Match, bool) {
	s := t.section(list)
	if s == nil {
		return Match{}, false
	}
	r := run{t: t, hi: len(t.Tokens), from: from, to: to, around: true}
	for i := max(0, from-around); i <= from; i++ {
		if m, ok := r.match(s, i); ok && m.End >= to {
			return m, true
		}
	}
	return Match{}, false
}

// section returns the list of a name; nil where no entry of it can match.
func (t *Text) section(name string) *section {
	s := t.g.sections[name]
	if s == nil {
		panic("no list is named " + name)
	}
	if !t.starts.has(s.number) {
		return nil
	}
	return s
}

// number reads the number at the i-th token: digits, or Chinese numerals below a hundred.
func (t *Text) number(i, hi int) (n, end int, ok bool) {
	if i >= hi || !t.Tokens[i].is(numeral) {
		return 0, 0, false
	}
	if !t.Tokens[i].Han {
		n, err := strconv.Atoi(t.Tokens[i].Lower)
		return n, i + 1, err == nil && n < 1e9
	}
	tens := -1 // what stood before "ten"
	for ; i < hi; i++ {
		digit, isDigit := t.g.digits[t.Tokens[i].id]
		switch {
		case !t.Tokens[i].Han || !isDigit:
			return n + max(tens, 0), i, true
		case digit == 10 && tens < 0:
			tens, n = 10*max(n, 1), 0
		case digit == 10 || n > 0:
			return n + max(tens, 0), i, true
		default:
			n = digit
		}
	}
	return n + max(tens, 0), i, true
}

// Slice returns the part of the text that consists of the tokens [from, to).
func (t *Text) Slice(from, to int) string {
	if from >= to {
		return ""
	}
	return t.String[t.Tokens[from].Start:t.Tokens[to-1].End]
}
