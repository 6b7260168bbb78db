package pattern

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
)

// id identifies a word or a kind of word. Zero is any word that no list has.
type id int32

// The kinds of words that patterns name by a sign.
const (
	capitalized id = iota + 1 // Aa
	numeral                   // #
	firstWord                 // the ids of words begin here
)

// bits is a set of lists.
type bits [16]uint64

func (b *bits) set(i int)      { b[i/64] |= 1 << (i % 64) }
func (b *bits) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b *bits) add(o *bits) {
	for i := range b {
		b[i] |= o[i]
	}
}

// Grammar holds lists whose entries are patterns. It reads its files when it is first used, and does not change after
// that.
type Grammar struct {
	files fs.FS
	once  sync.Once

	lists          *Lists
	words          map[string]id
	stems, endings map[string]id // "climb*", "*ing"
	stemLengths    []int         // ascending
	endingLengths  []int
	starts         []bits     // by id: the lists of which an entry may begin with it
	digits         map[id]int // the values of Chinese numerals
	sections       map[string]*section
	numbered       int
	next           map[uint64]int32 // from a node of the tree of words and an id to the next node
	ends           []*rule          // by node: the entry that ends there
	values         map[string]*valueKind
}

// section is a list, ready to be matched.
type section struct {
	name    string
	number  int // its bit; -1: none, it stands only in patterns
	root    int32
	longest int            // how many tokens an entry of words alone has at most
	first   map[id][]*rule // the other entries by what they begin with
	open    []*rule        // those that may begin with anything
	starts  map[id]bool    // what its entries begin with
	rules   []*rule        // all of them
	state   int            // 0: to be compiled, 1: being compiled, 2: compiled
}

// rule is an entry of a section.
type rule struct {
	elements []element
	value    string
	pass     bool // it is one number, whose value it takes
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

func (g *Grammar) compile() error {
	lists, err := ReadLists(g.files)
	if err != nil {
		return err
	}
	g.lists = lists
	g.words, g.stems, g.endings = map[string]id{}, map[string]id{}, map[string]id{}
	g.starts = make([]bits, firstWord)
	g.digits, g.sections = map[id]int{}, map[string]*section{}
	g.next, g.ends = map[uint64]int32{}, []*rule{nil}
	g.values = map[string]*valueKind{}
	var mistakes []error
	names := lists.Names()
	for _, name := range names {
		g.sections[name] = g.newSection(name)
	}
	if digits := lists.byName["numeral"]; digits != nil {
		for _, e := range digits.entries {
			n := 0
			if _, err := fmt.Sscan(e.value, &n); err != nil {
				mistakes = append(mistakes, fmt.Errorf("%s: %s is no number", e.place, e.value))
			}
			g.digits[g.word(e.text)] = n
		}
	}
	for _, name := range names {
		mistakes = append(mistakes, g.compileList(name)...)
	}
	for _, m := range []struct {
		of      map[string]id
		lengths *[]int
	}{{g.stems, &g.stemLengths}, {g.endings, &g.endingLengths}} {
		for text := range m.of {
			if !slices.Contains(*m.lengths, len(text)) {
				*m.lengths = append(*m.lengths, len(text))
			}
		}
		slices.Sort(*m.lengths)
	}
	return errors.Join(mistakes...)
}

// newSection returns an empty section, numbered if it has a name.
func (g *Grammar) newSection(name string) *section {
	s := &section{name: name, number: -1, root: g.node(), first: map[id][]*rule{}, starts: map[id]bool{}}
	if name != "" {
		if g.numbered == 64*len(bits{}) {
			panic("too many lists of patterns")
		}
		s.number = g.numbered
		g.numbered++
	} else {
		s.state = 2
	}
	return s
}

func (g *Grammar) node() int32 {
	g.ends = append(g.ends, nil)
	return int32(len(g.ends) - 1)
}

// word returns the id of a word in lower case.
func (g *Grammar) word(text string) id { return g.idIn(g.words, text) }

func (g *Grammar) idIn(words map[string]id, text string) id {
	n, ok := words[text]
	if !ok {
		n = id(len(g.starts))
		words[text] = n
		g.starts = append(g.starts, bits{})
	}
	return n
}

// compileList compiles a list, after those that it names.
func (g *Grammar) compileList(name string) (mistakes []error) {
	s, l := g.sections[name], g.lists.byName[name]
	switch {
	case s == nil:
		return []error{fmt.Errorf("no list is named %s", name)}
	case s.state == 2:
		return nil
	case s.state == 1:
		return []error{fmt.Errorf("%s: list %s names itself", l.place, name)}
	}
	s.state = 1
	for _, e := range l.entries {
		text := e.text
		if l.template != "" {
			text = strings.ReplaceAll(l.template, "%", text)
		}
		value := e.value
		if value == "" {
			value = l.value
		}
		elements, err := g.parse(text)
		if err == nil {
			err = g.add(s, elements, value)
		}
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s: %s: %w", e.place, e.text, err))
		}
	}
	s.state = 2
	return mistakes
}

// add adds an entry to a section. The entries of a list that is an entry itself become entries of the section.
func (g *Grammar) add(s *section, elements []element, value string) error {
	if len(elements) == 0 {
		return errors.New("the pattern is empty")
	}
	only := elements[0]
	if len(elements) == 1 && only.kind == words && only.min == 1 && only.max == 1 {
		for _, r := range only.list.rules {
			if err := g.add(s, r.elements, cmp.Or(value, r.value)); err != nil {
				return err
			}
		}
		return nil
	}
	r := &rule{elements: elements, value: value, pass: value == "" && len(elements) == 1 && only.kind == number}
	s.rules = append(s.rules, r)
	if len(elements) == 1 && only.kind == literal {
		g.addWords(s, only.ids, r)
		return nil
	}
	ids, open, empty := first(elements)
	switch {
	case empty:
		return errors.New("the pattern may match nothing")
	case open:
		s.open = append(s.open, r)
		g.begins(s, 0)
		return nil
	}
	for n := range ids {
		s.first[n] = append(s.first[n], r)
		g.begins(s, n)
	}
	return nil
}

// addWords adds an entry of words alone to the tree.
func (g *Grammar) addWords(s *section, ids []id, r *rule) {
	at := s.root
	for _, n := range ids {
		key := uint64(at)<<32 | uint64(n)
		to, ok := g.next[key]
		if !ok {
			to = g.node()
			g.next[key] = to
		}
		at = to
	}
	g.ends[at] = r
	g.begins(s, ids[0])
	s.longest = max(s.longest, len(ids))
}

// begins notes that an entry of s may begin with n; 0: with anything.
func (g *Grammar) begins(s *section, n id) {
	s.starts[n] = true
	if s.number >= 0 {
		g.starts[n].set(s.number)
	}
}

// first returns the ids with which elements may begin; open means any. empty reports whether they may match nothing.
func first(elements []element) (ids map[id]bool, open, empty bool) {
	ids = map[id]bool{}
	for i := range elements {
		e := &elements[i]
		switch e.kind {
		case literal:
			ids[e.ids[0]] = true
			return ids, open, false
		case number:
			ids[numeral] = true
			return ids, open, false
		case words:
			maps.Copy(ids, e.list.starts)
			open = open || len(e.list.open) > 0
			if e.min > 0 {
				return ids, open, false
			}
		case fork:
			all := true
			for _, branch := range e.branches {
				more, isOpen, isEmpty := first(branch)
				for n := range more {
					ids[n] = true
				}
				open, all = open || isOpen, all && !isEmpty
			}
			return ids, open, !all
		case gap:
			open = true
		case anyToken, value, it:
			return ids, true, false
		}
	}
	return ids, open, true
}

// Lists returns the lists as the files have them.
func (g *Grammar) Lists() *Lists {
	g.load()
	return g.lists
}
