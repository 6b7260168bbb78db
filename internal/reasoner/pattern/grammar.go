package pattern

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// id identifies a word, or a kind of word that patterns name by a sign.
type id int32

const (
	anyWord     id = iota // "."; also the id of a word that no pattern has
	capitalized           // Aa
	numeral               // #
	firstWord             // the ids of words, of stems ("climb*") and of endings ("*ing") begin here
)

// Grammar holds lists whose entries are patterns. It reads its files when it is first used, and does not change after
// that.
type Grammar struct {
	files    fs.FS
	once     sync.Once
	lists    *Lists
	ids      map[string]id
	pairs    map[[2]id]id   // the ids of two words, one after the other
	stems    map[string]id  // the ids of "climb*" by climb
	endings  map[string]id  // of "*ing" by ing
	digits   map[string]int // the values of Chinese numerals
	sections map[string]*section
	inline   map[string]*section // lists that stand in patterns, such as "a|b", by their text
	sets     map[string][]id     // the ids of those of single words, also by their text
	begins   map[*rule][]id      // the ids that rules may begin with; only anyWord: anything
	values   map[string]*valueKind
	starts   []big.Int // by id: the numbers of the lists of which an entry may begin with it
	mistakes []error
}

// section is a list, ready to be matched. Sections share their rules and hold them in slices: maps would take several
// times the memory.
type section struct {
	name   string // empty: it stands in a pattern
	rules  []*rule
	first  []id    // the ids that entries may begin with, sorted; anyWord: anything
	begun  []*rule // the entry that begins with the id at the same index of first
	mask   uint64  // has bit n % 64 for each id of first: a cheap test before the search
	keys   []id    // any text in which an entry matches has one of these
	paired bool    // some of keys are pairs
	ready  bool
	number int // its bit in starts
}

// beginning returns the entries that begin with an id.
func (s *section) beginning(n id) []*rule {
	from, found := slices.BinarySearch(s.first, n)
	if !found {
		return nil
	}
	to := from + 1
	for to < len(s.first) && s.first[to] == n {
		to++
	}
	return s.begun[from:to]
}

// rule is an entry of a section.
type rule struct {
	elements []element
	value    string
	needs    [][]id // a matching text has at least one id of each set
}

// isWords reports whether the entry consists of words alone.
func (r *rule) isWords() bool {
	return len(r.elements) == 1 && (r.elements[0].kind == literal || r.elements[0].kind == oneOf)
}

// New returns a grammar of the files *.txt of a directory. It panics on its first use if they contain mistakes; a test
// calls Check.
func New(files fs.FS) *Grammar { return &Grammar{files: files} }

func (g *Grammar) load() {
	g.once.Do(func() {
		if err := g.compile(); err != nil {
			panic(err)
		}
	})
}

// Check reads the files and returns all mistakes in them.
func Check(files fs.FS) error { return New(files).compile() }

// Lists reads the lists as they are in the files.
func (g *Grammar) Lists() *Lists { return MustReadLists(g.files) }

func (g *Grammar) compile() (err error) {
	if g.lists, err = ReadLists(g.files); err != nil {
		return err
	}
	g.ids, g.pairs, g.digits = map[string]id{}, map[[2]id]id{}, map[string]int{}
	g.stems, g.endings = map[string]id{}, map[string]id{}
	g.sections, g.values = map[string]*section{}, map[string]*valueKind{}
	g.inline, g.sets, g.begins = map[string]*section{}, map[string][]id{}, map[*rule][]id{}
	if g.lists.byName["numeral"] != nil {
		for digit, value := range g.lists.Map("numeral") {
			if g.digits[digit], err = strconv.Atoi(value); err != nil {
				g.mistakes = append(g.mistakes, fmt.Errorf("list numeral: %s: %w", digit, err))
			}
		}
	}
	for _, name := range g.lists.Names() {
		_, _ = g.section(name) // a list that names itself is among the mistakes
	}
	g.starts = make([]big.Int, g.size())
	for i, name := range g.lists.Names() {
		s := g.sections[name]
		s.number = i
		for _, n := range s.first {
			g.starts[n].SetBit(&g.starts[n], i, 1)
		}
	}
	g.lists, g.inline, g.sets, g.begins, g.values = nil, nil, nil, nil, nil // needed only to compile
	return errors.Join(g.mistakes...)
}

// size returns the number of ids.
func (g *Grammar) size() int { return int(firstWord) + len(g.ids) + len(g.pairs) }

// id returns the id of a word in lower case, of a stem or of an ending.
func (g *Grammar) id(word string) id {
	n, ok := g.ids[word]
	if !ok {
		n = id(g.size())
		g.ids[word] = n
		if stem, ok := strings.CutSuffix(word, "*"); ok {
			g.stems[stem] = n
		} else if ending, ok := strings.CutPrefix(word, "*"); ok {
			g.endings[ending] = n
		}
	}
	return n
}

// section returns a list, and compiles it first if need be.
func (g *Grammar) section(name string) (*section, error) {
	l, s := g.lists.byName[name], g.sections[name]
	switch {
	case l == nil:
		return nil, fmt.Errorf("no list is named %s", name)
	case s != nil && !s.ready:
		return nil, fmt.Errorf("%s: list %s names itself", l.place, name)
	case s != nil:
		return s, nil
	}
	s = &section{name: name}
	g.sections[name] = s
	for _, e := range l.entries {
		text := e.text
		if l.template != "" {
			text = strings.ReplaceAll(l.template, "%", text)
		}
		elements, err := g.parse(text)
		if err == nil {
			err = s.add(g, elements, cmp.Or(e.value, l.value))
		}
		if err != nil {
			g.mistakes = append(g.mistakes, fmt.Errorf("%s: %s: %w", e.place, e.text, err))
		}
	}
	g.finish(s)
	return s, nil
}

// add adds an entry to a section. The entries of a list that is an entry itself become entries of the section.
func (s *section) add(g *Grammar, elements []element, value string) error {
	if len(elements) == 1 && elements[0].kind == words && elements[0].min == 1 && elements[0].max == 1 {
		for _, r := range elements[0].list.rules {
			if value != "" && value != r.value {
				same := g.begins[r]
				r = &rule{r.elements, value, r.needs}
				g.begins[r] = same
			}
			s.rules = append(s.rules, r)
		}
		return nil
	}
	ids := map[id]bool{}
	if begin(elements, ids) {
		return errors.New("the pattern may match nothing")
	}
	if ids[anyWord] {
		ids = map[id]bool{anyWord: true}
	}
	r := &rule{slices.Clone(elements), value, g.needs(elements)}
	s.rules = append(s.rules, r)
	g.begins[r] = slices.Collect(maps.Keys(ids))
	return nil
}

// finish makes a section ready after its last entry.
func (g *Grammar) finish(s *section) {
	s.rules = slices.Clone(s.rules) // without spare capacity
	starts, size := map[id][]*rule{}, 0
	for _, r := range s.rules {
		for _, n := range g.begins[r] {
			at := len(starts[n])
			if r.isWords() {
				at = 0 // of two matches of the same length, that of words alone counts
			}
			starts[n] = slices.Insert(starts[n], at, r)
			s.mask |= 1 << (n % 64)
			size++
		}
	}
	s.first, s.begun = make([]id, 0, size), make([]*rule, 0, size)
	for _, n := range slices.Sorted(maps.Keys(starts)) {
		for _, r := range starts[n] {
			s.first, s.begun = append(s.first, n), append(s.begun, r)
		}
	}
	keys := map[id]bool{}
	for _, r := range s.rules {
		s.paired = g.key(r.elements, keys) || s.paired
	}
	s.keys = slices.Sorted(maps.Keys(keys))
	s.ready = true
}

// maxNeeds bounds the sets of ids that a rule needs.
const maxNeeds = 3

// needs returns sets of ids, the smallest first. A text that the elements match has at least one id of each set. An
// alternative that begins with two words has the id of the pair, so most rules that begin with a frequent word are
// ruled out.
func (g *Grammar) needs(elements []element) (sets [][]id) {
	for i, e := range elements {
		var ids []id
		paired := false
		switch {
		case e.kind == fork:
			return smallest(sets) // it holds the rest of the pattern
		case e.kind == literal:
			key := map[id]bool{}
			paired = g.key(elements[i:i+1], key)
			ids = slices.Collect(maps.Keys(key))
		case e.kind == oneOf:
			ids = e.ids
		case e.kind == words && e.min > 0:
			ids, paired = e.list.keys, e.list.paired
		}
		if len(ids) > 0 && ids[0] != anyWord && (i > 0 || paired) {
			sets = append(sets, ids)
		}
	}
	return smallest(sets)
}

func smallest(sets [][]id) [][]id {
	slices.SortStableFunc(sets, func(a, b []id) int { return cmp.Compare(len(a), len(b)) })
	return sets[:min(len(sets), maxNeeds)]
}

// key adds the id of the two words with which elements begin to ids, or else all ids with which they may begin.
func (g *Grammar) key(elements []element, ids map[id]bool) (paired bool) {
	first := elements[0]
	if first.kind != literal || len(first.ids) == 1 || min(first.ids[0], first.ids[1]) < firstWord {
		begin(elements, ids)
		return false
	}
	pair := [2]id(first.ids)
	n, ok := g.pairs[pair]
	if !ok {
		n = id(g.size())
		g.pairs[pair] = n
	}
	ids[n] = true
	return true
}

// begin adds to ids those with which elements may begin, and reports whether they may match nothing.
func begin(elements []element, ids map[id]bool) (empty bool) {
	for _, e := range elements {
		switch e.kind {
		case literal:
			ids[e.ids[0]] = true
			return false
		case oneOf:
			for _, n := range e.ids {
				ids[n] = true
			}
			return false
		case number:
			ids[numeral] = true
			return false
		case value, it:
			ids[anyWord] = true
			return false
		case gap:
			ids[anyWord] = true
		case words:
			for _, n := range e.list.first {
				ids[n] = true
			}
			if e.min > 0 {
				return false
			}
		case fork:
			for _, branch := range e.branches {
				empty = begin(branch, ids) || empty
			}
			return empty
		}
	}
	return true
}
