package sensitive

import (
	"slices"
	"strings"
)

// wordList is the English list. Its entries are found by their first word: a whole one, or a stem or an ending of each
// length that there is.
type wordList struct {
	whole, stems, endings     map[string][]entry
	stemLengths, endingLength []int // ascending
}

// entry is an expression of the list without its first word.
type entry struct {
	category string
	rest     []element
}

// element is a place in an entry.
type element struct {
	whole    map[string]bool
	stems    []string
	endings  []string
	optional bool
	gap      bool // up to maxGap words
	end      bool // no word: the clause ends
}

// maxGap is how many words may stand for "..".
const maxGap = 3

func readEnglish(list string) *wordList {
	l := &wordList{whole: map[string][]entry{}, stems: map[string][]entry{}, endings: map[string][]entry{}}
	names := map[string]string{}
	readList(list, func(section, line string) {
		if name, words, ok := strings.Cut(line, " = "); ok && section == "" {
			names[name] = words
			return
		}
		for text := range strings.SplitSeq(line, ",") {
			l.add(section, strings.Fields(text), names)
		}
	})
	l.stemLengths, l.endingLength = lengths(l.stems), lengths(l.endings)
	return l
}

func lengths(m map[string][]entry) []int {
	var found []int
	for text := range m {
		if !slices.Contains(found, len(text)) {
			found = append(found, len(text))
		}
	}
	slices.Sort(found)
	return found
}

func (l *wordList) add(category string, words []string, names map[string]string) {
	if len(words) == 0 {
		panic("sensitive: an empty entry in " + category)
	}
	e := entry{category: category}
	for _, w := range words[1:] {
		e.rest = append(e.rest, readElement(w, names))
	}
	first := readElement(words[0], names)
	for text := range first.whole {
		l.whole[text] = append(l.whole[text], e)
	}
	for _, text := range first.stems {
		l.stems[text] = append(l.stems[text], e)
	}
	for _, text := range first.endings {
		l.endings[text] = append(l.endings[text], e)
	}
	if first.optional {
		l.add(category, words[1:], names)
	}
}

func readElement(text string, names map[string]string) element {
	switch text {
	case "..":
		return element{gap: true}
	case "$":
		return element{end: true}
	}
	e := element{whole: map[string]bool{}}
	text, e.optional = strings.CutSuffix(text, "?")
	for w := range strings.SplitSeq(text, "|") {
		switch {
		case strings.HasPrefix(w, "@"):
			named := readElement(names[w], names)
			for w := range named.whole {
				e.whole[w] = true
			}
		case strings.HasSuffix(w, "*"):
			e.stems = append(e.stems, strings.TrimSuffix(w, "*"))
		case strings.HasPrefix(w, "*"):
			e.endings = append(e.endings, strings.TrimPrefix(w, "*"))
		default:
			e.whole[w] = true
		}
	}
	return e
}

// find returns the category of the first entry in a text that is not within a harmless one.
func (l *wordList) find(text []word) (category string, ok bool) {
	var spared []span
	looked := false // for what is spared
	for i, w := range text {
		found := func(e entry) bool {
			if e.category == harmless {
				return false
			}
			to, fits := match(text, i+1, e.rest)
			if !fits {
				return false
			}
			if !looked {
				spared, looked = l.spared(text), true
			}
			category = e.category
			return !span{i, to}.within(spared)
		}
		if l.starting(w.text, found) || (w.deciphered != "" && l.starting(w.deciphered, found)) {
			return category, true
		}
		if w.joined != "" && l.starting(w.joined, func(e entry) bool { return len(e.rest) == 0 && found(e) }) {
			return category, true
		}
	}
	return "", false
}

// starting calls found with each entry that the word may begin, until it returns true.
func (l *wordList) starting(text string, found func(entry) bool) bool {
	if slices.ContainsFunc(l.whole[text], found) {
		return true
	}
	for _, n := range l.stemLengths {
		if n > len(text) {
			break
		}
		if slices.ContainsFunc(l.stems[text[:n]], found) {
			return true
		}
	}
	for _, n := range l.endingLength {
		if n > len(text) {
			break
		}
		if slices.ContainsFunc(l.endings[text[len(text)-n:]], found) {
			return true
		}
	}
	return false
}

// inside finds an entry of one word anywhere in letters that were set apart.
func (l *wordList) inside(letters string) (category string, ok bool) {
	const longest = 20 // more than any entry of one word
	single := func(e entry) bool {
		category = e.category
		return len(e.rest) == 0 && e.category != harmless
	}
	for i := range len(letters) {
		for j := i + 3; j <= min(i+longest, len(letters)); j++ {
			if slices.ContainsFunc(l.whole[letters[i:j]], single) || slices.ContainsFunc(l.stems[letters[i:j]], single) {
				return category, true
			}
		}
	}
	return "", false
}

// spared returns where harmless entries are. They do not reach over the end of a clause.
func (l *wordList) spared(text []word) []span {
	var spans []span
	for i, w := range text {
		l.starting(w.text, func(e entry) bool {
			if e.category != harmless {
				return false
			}
			to, fits := match(text, i+1, e.rest)
			if fits && !slices.ContainsFunc(text[i:to-1], func(w word) bool { return w.ends }) {
				spans = append(spans, span{i, to})
			}
			return false
		})
	}
	return spans
}

// match tells whether the words from a position on fit the elements, and where those that do end.
func match(text []word, at int, elements []element) (to int, ok bool) {
	if len(elements) == 0 {
		return at, true
	}
	e, rest := &elements[0], elements[1:]
	switch {
	case e.end:
		if at < len(text) && !text[at-1].ends {
			return 0, false
		}
		return match(text, at, rest)
	case e.gap:
		for n := at; n <= min(at+maxGap, len(text)); n++ {
			if to, ok := match(text, n, rest); ok {
				return to, true
			}
		}
		return 0, false
	}
	if at < len(text) && e.fits(text[at].text) {
		if to, ok := match(text, at+1, rest); ok {
			return to, true
		}
	}
	if e.optional {
		return match(text, at, rest)
	}
	return 0, false
}

func (e *element) fits(text string) bool {
	return e.whole[text] ||
		slices.ContainsFunc(e.stems, func(stem string) bool { return strings.HasPrefix(text, stem) }) ||
		slices.ContainsFunc(e.endings, func(ending string) bool { return strings.HasSuffix(text, ending) })
}
