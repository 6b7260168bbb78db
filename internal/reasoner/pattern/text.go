package pattern

import (
	"iter"
	"math/big"
	"slices"
	"strconv"
)

// Text is a tokenized text.
type Text struct {
	String string
	Tokens []Token
	Han    int // number of tokens that are Chinese characters
	g      *Grammar
	has    []uint64 // the ids of the tokens, and of two in a row, a bit each
	starts big.Int  // the numbers of the lists of which an entry may begin in the text
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
	t := &Text{String: text, Tokens: tokens(text), g: g}
	t.has = make([]uint64, g.size()/64+1)
	ids := make([]id, 0, 3*len(t.Tokens))
	for i := range t.Tokens {
		k := &t.Tokens[i]
		if k.Han {
			t.Han++
		}
		from := len(ids)
		ids = g.countsAs(k, ids)
		k.ids = ids[from:len(ids):len(ids)]
		for _, n := range k.ids {
			t.has[n/64] |= 1 << (n % 64)
			t.starts.Or(&t.starts, &g.starts[n])
			if i > 0 && n >= firstWord {
				t.addPairs(t.Tokens[i-1].ids, n)
			}
		}
	}
	return t
}

// addPairs records the pairs that the word n forms with the preceding word.
func (t *Text) addPairs(before []id, n id) {
	for _, m := range before {
		if m < firstWord {
			continue
		}
		if pair, ok := t.g.pairs[[2]id{m, n}]; ok {
			t.has[pair/64] |= 1 << (pair % 64)
		}
	}
}

// lacks reports whether the text has none of the ids of one of the sets.
func (t *Text) lacks(sets [][]id) bool {
sets:
	for _, ids := range sets {
		for _, n := range ids {
			if t.has[n/64]&(1<<(n%64)) != 0 {
				continue sets
			}
		}
		return true
	}
	return false
}

// countsAs appends the ids of a token: of its word and of the kinds of word that it is.
func (g *Grammar) countsAs(k *Token, ids []id) []id {
	if n, ok := g.ids[k.Lower]; ok {
		ids = append(ids, n)
	}
	_, isDigit := g.digits[k.Lower]
	switch {
	case k.Mark:
		return ids
	case isDigit || '0' <= k.Lower[0] && k.Lower[0] <= '9':
		ids = append(ids, numeral)
	case !k.Han:
		if k.Capital {
			ids = append(ids, capitalized)
		}
		for n := 1; n <= len(k.Lower); n++ {
			if stem, ok := g.stems[k.Lower[:n]]; ok {
				ids = append(ids, stem)
			}
			if ending, ok := g.endings[k.Lower[n:]]; ok {
				ids = append(ids, ending)
			}
		}
	}
	return append(ids, anyWord)
}

// Has reports whether an entry of a list matches anywhere.
func (t *Text) Has(list string) bool {
	_, ok := t.Find(list)
	return ok
}

// HasIn reports whether an entry of a list matches within the tokens [from, to).
func (t *Text) HasIn(list string, from, to int) bool {
	r, s := t.run(list)
	r.lo, r.hi = max(from, 0), min(to, r.hi)
	for i := r.lo; s != nil && i < r.hi; i++ {
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
		r, s := t.run(list)
		for i := 0; s != nil && i < r.hi; i++ {
			if m, ok := r.match(s, i); ok && !yield(m) {
				return
			}
		}
	}
}

// At returns the longest match of a list that begins at the i-th token.
func (t *Text) At(list string, i int) (Match, bool) {
	r, s := t.run(list)
	if s == nil || i < 0 || i >= r.hi {
		return Match{}, false
	}
	return r.match(s, i)
}

// Len returns the number of tokens in the longest match of a list at the i-th token, or 0.
func (t *Text) Len(list string, i int) int {
	m, _ := t.At(list, i)
	return m.End - m.Start
}

// around is how many tokens before something a pattern about it may begin.
const around = 16

// Around returns the first match of a list of which ~ stands for the tokens [from, to).
func (t *Text) Around(list string, from, to int) (Match, bool) {
	r, s := t.run(list)
	if s == nil {
		return Match{}, false
	}
	r.from, r.to = from, to
	for i := max(0, from-around); i <= from && i < r.hi; i++ {
		if m, ok := r.match(s, i); ok && m.End >= to {
			return m, true
		}
	}
	return Match{}, false
}

// run returns a run over the text and a list; nil where no entry of the list can match.
func (t *Text) run(list string) (run, *section) {
	s := t.g.sections[list]
	if s == nil {
		panic("no list is named " + list)
	}
	if t.starts.Bit(s.number) == 0 {
		return run{}, nil
	}
	return run{t: t, hi: len(t.Tokens), from: -1}, s
}

// number reads the number at the i-th token: digits, or Chinese numerals below a hundred.
func (t *Text) number(i, hi int) (n, end int, ok bool) {
	if i >= hi || !slices.Contains(t.Tokens[i].ids, numeral) {
		return 0, 0, false
	}
	if !t.Tokens[i].Han {
		n, err := strconv.Atoi(t.Tokens[i].Lower)
		return n, i + 1, err == nil && n < 1e9
	}
	tens := 0
	for ; i < hi; i++ {
		digit, isDigit := t.g.digits[t.Tokens[i].Lower]
		switch {
		case isDigit && digit == 10 && tens == 0:
			tens, n = 10*max(n, 1), 0
		case isDigit && digit < 10 && n == 0:
			n = digit
		default:
			return n + tens, i, true
		}
	}
	return n + tens, i, true
}

// Slice returns the part of the text that consists of the tokens [from, to).
func (t *Text) Slice(from, to int) string {
	if from >= to {
		return ""
	}
	return t.String[t.Tokens[from].Start:t.Tokens[to-1].End]
}
