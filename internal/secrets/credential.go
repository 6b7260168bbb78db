package secrets

import (
	"embed"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

//go:embed words.txt
var wordFile embed.FS

// noun is a name of a kind of secret.
type noun struct {
	word string
	list string // of words.txt
}

var (
	words = pattern.MustReadLists(wordFile)

	// separators holds the separators by their first byte, the longest first.
	separators = func() (by [256][]string) {
		for _, sep := range slices.Concat(words.List("separators"), words.List("tentative"), signs) {
			by[sep[0]] = append(by[sep[0]], sep)
		}
		for i := range by {
			slices.SortStableFunc(by[i], func(a, b string) int { return len(b) - len(a) })
		}
		return by
	}()
	signs     = []string{"=>", "->", ":=", "==", "=", ":"}
	tentative = words.List("tentative")
	resumed   = words.List("resumed")
	reversed  = words.List("reversed")
	remarks   = words.List("remarks")
	scopes    = words.List("scopes")
	measures  = words.List("measures")
	logins    = words.List("logins")
	vague     = words.List("vague")
	ordinary  = func() map[string]bool {
		all := map[string]bool{}
		for _, w := range words.List("ordinary") {
			all[w] = true
		}
		return all
	}()

	// nouns holds the names by their first byte, the longest first; nounStarts says which bytes begin one.
	nouns, nounStarts = func() (by [256][]noun, starts [256]bool) {
		for _, list := range nounLists {
			for _, w := range words.List(list) {
				by[w[0]] = append(by[w[0]], noun{w, list})
				starts[w[0]] = true
			}
		}
		for i := range by {
			slices.SortStableFunc(by[i], func(a, b noun) int { return len(b.word) - len(a.word) })
		}
		return by, starts
	}()
)

// nounLists are the lists of names; they differ in what counts as a value.
var nounLists = []string{"passwords", "passes", "pins", "combinations", "codes", "answers", "keys", "schemes", "papers"}

const (
	scopeBytes = 48 // of a remark between a name and the separator
	valueBytes = 200
)

// credential looks for a name of a secret at i, and for its value behind it or before it.
func (s *scan) credential(i int) {
	for _, n := range nouns[s.lower[i]] {
		if !strings.HasPrefix(s.lower[i:], n.word) {
			continue
		}
		end := i + len(n.word)
		if n.word[len(n.word)-1] < 0x80 && end < len(s.lower) && (isAlnum(s.lower[end]) || s.lower[end] == '_') {
			if plural := n.list == "passwords" || n.list == "codes" || n.list == "keys"; plural && strings.HasPrefix(s.lower[end:], "s") && !isLetter(byteAt(s.lower, end+1)) {
				end++ // passwords
			} else {
				continue
			}
		}
		if from, to, ok := s.value(n, end); ok {
			s.add(kindOf(n), from, to)
		} else if from, to, ok := s.valueBefore(n, i); ok {
			s.add(kindOf(n), from, to)
		}
		return
	}
}

func kindOf(n noun) Kind {
	switch n.list {
	case "keys", "schemes":
		return Key
	case "papers":
		return Identity
	}
	return Credential
}

func byteAt(text string, i int) byte {
	if i < 0 || i >= len(text) {
		return ' '
	}
	return text[i]
}

// value returns the value that follows a name, which ends at i.
func (s *scan) value(n noun, i int) (from, to int, ok bool) {
	if byteAt(s.lower, i) == '@' { // the place of a password in an address
		return 0, 0, false
	}
	k := s.skip(i, " \t\"'`”’*_)]")
	if from, to, sep := s.separated(k); sep != "" {
		if from, to, ok = s.accept(n, from, to, sep); ok || sep != "to" {
			return from, to, ok
		}
	}
	// the value may follow without a separator, and a remark may stand between the name and the separator
	if from, to := s.word(k); to > from && s.follows(n, i, k, s.folded[from:to], to) {
		return from, to, true
	}
	if byteAt(s.lower, k) == '?' || byteAt(s.lower, k) == ',' {
		return s.resume(n, k+1)
	}
	if k == i && byteAt(s.lower, i) < 0x80 || !s.startsScope(k) {
		return 0, 0, false
	}
	limit := min(len(s.lower), k+scopeBytes)
	for j := k; j < limit; j++ {
		switch b := s.lower[j]; {
		case b == '?' || b == ',':
			return s.resume(n, j+1)
		case b == '\n' || b == '!' || b == ';':
			return 0, 0, false
		case b == ' ' || b >= 0x80 || b == ':' || b == '=':
			at := j
			if b == ' ' {
				at++
			}
			if from, to, sep := s.separated(at); sep != "" && sep != "to" {
				from, to, ok = s.accept(n, from, to, sep)
				return from, to, ok && !strings.HasPrefix(s.lower[to:], " and ") && !strings.HasPrefix(s.lower[to:], " but ")
			}
		}
	}
	return 0, 0, false
}

// startsScope reports whether a remark on the name begins at i.
func (s *scan) startsScope(i int) bool {
	if byteAt(s.lower, i) >= 0x80 { // Chinese has no spaces: a few characters may follow
		return true
	}
	return slices.ContainsFunc(scopes, func(w string) bool {
		next := byteAt(s.lower, i+len(w))
		return strings.HasPrefix(s.lower[i:], w) && (next == ' ' || next == ':')
	})
}

// separated returns the separator at i and the value behind it.
func (s *scan) separated(i int) (from, to int, separator string) {
	rest := s.lower[i:]
	for _, sep := range separators[byteAt(s.lower, i)] {
		if !strings.HasPrefix(rest, sep) {
			continue
		}
		end := i + len(sep)
		if isLetter(sep[len(sep)-1]) && isAlnum(byteAt(s.lower, end)) {
			continue
		}
		from = s.skip(end, " \t:=")
		from, to = s.word(from)
		return from, to, sep
	}
	return 0, 0, ""
}

// skip returns the first byte from i on that is none of the given ones, or the place after valueBytes of them.
func (s *scan) skip(i int, bytes string) int {
	for end := min(len(s.folded), i+valueBytes); i < end && strings.IndexByte(bytes, s.folded[i]) >= 0 &&
		s.folded[i] < 0x80; {
		i++
	}
	return i
}

// quotes lists opening quotation marks, each with the closing one.
var quotes = [][2]string{{`"`, `"`}, {"'", "'"}, {"`", "`"}, {"“", "”"}, {"「", "」"}, {"『", "』"}, {"‘", "’"},
	{"**", "**"}, {"《", "》"}}

// word returns the word at i: what is quoted, or ASCII up to a space.
func (s *scan) word(i int) (from, to int) {
	t := s.folded
	for _, q := range quotes {
		if strings.HasPrefix(t[i:], q[0]) {
			from = i + len(q[0])
			if n := strings.Index(t[from:min(len(t), from+valueBytes)], q[1]); n > 0 {
				return from, from + n
			}
		}
	}
	to = i
	for to < len(t) && to < i+valueBytes && isVisible(t[to]) && !s.endsClause(to) {
		to++
	}
	for to > i && strings.IndexByte(".,;:!?)]}>\"'`", t[to-1]) >= 0 {
		to--
	}
	if byteAt(t, to) == '!' && strings.ContainsAny(t[i:to], "0123456789") {
		to++ // more likely part of a password than an exclamation
	}
	return i, to
}

// endsClause reports whether a full-width comma or the like is at i.
func (s *scan) endsClause(i int) bool {
	return s.place(i+1)-s.place(i) > 1 && strings.IndexByte(",;:?", s.folded[i]) >= 0
}

// isQuoted reports whether a value stands in quotation marks.
func (s *scan) isQuoted(from int) bool {
	return slices.ContainsFunc(quotes, func(q [2]string) bool { return strings.HasSuffix(s.folded[:from], q[0]) })
}

// isNamed reports whether an ordinary looking word is a value: after a sign, or where the clause ends behind it.
func (s *scan) isNamed(value string, to int, separator string) bool {
	if len(value) < 4 || strings.ContainsAny(value, "'’") {
		return false
	}
	lower := strings.ToLower(value)
	if separator == "==" { // a comparison
		return false
	}
	if !isLetter(separator[len(separator)-1]) {
		return separator[0] < 0x80 || isASCIILetters(value)
	}
	for _, ending := range []string{"ed", "ing", "ly", "able", "ible", "ful", "less"} {
		if strings.HasSuffix(lower, ending) {
			return false
		}
	}
	rest := s.lower[to:]
	ends := rest == "" || rest[0] >= 0x80 || strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, ",") ||
		strings.HasPrefix(rest, ";") || strings.HasPrefix(rest, "\n") || strings.HasPrefix(rest, "!") ||
		strings.HasPrefix(rest, " and ") || strings.HasPrefix(rest, " but ")
	return ends && !slices.Contains(tentative, separator)
}

// isPhrase reports whether at least twelve lower-case words follow, as in a recovery phrase.
func (s *scan) isPhrase(from int) bool { return s.phraseWords(from) >= 12 }

func (s *scan) phraseWords(from int) int {
	n := 0
	for _, w := range strings.Fields(s.folded[from:min(len(s.folded), from+valueBytes)]) {
		if w = strings.TrimRight(w, ".,"); len(w) < 3 || len(w) > 8 || !isASCIILetters(w) || isUpper(w[0]) {
			break
		}
		n++
	}
	return n
}

// phraseEnd returns the end of the phrase at from.
func (s *scan) phraseEnd(from int, phrase bool) int {
	if !phrase {
		return from
	}
	end := from
	for end < len(s.folded) && end < from+valueBytes && (isLetter(s.folded[end]) || s.folded[end] == ' ') {
		end++
	}
	return end
}

// valueBefore returns the value that stands before a name: hunter2 is my password.
func (s *scan) valueBefore(n noun, i int) (from, to int, ok bool) {
	if n.list == "keys" {
		return 0, 0, false
	}
	before := strings.TrimRight(s.lower[max(0, i-64):i], " ")
	for _, w := range remarks {
		before = strings.TrimRight(strings.TrimSuffix(before, w), " ")
	}
	for _, link := range reversed {
		rest, found := strings.CutSuffix(before, link)
		if !found || rest == "" {
			continue
		}
		to = max(0, i-64) + len(strings.TrimRight(rest, " \"'`”」"))
		from = to
		for begin := max(0, from-valueBytes); from > begin && isVisible(s.folded[from-1]) &&
			strings.IndexByte("\"'`(", s.folded[from-1]) < 0; {
			from--
		}
		if value := s.folded[from:to]; to-from >= 5 && isMixed(value) && strings.ContainsAny(value, "0123456789") &&
			!strings.Contains(value, "://") {
			return from, to, true
		}
	}
	return 0, 0, false
}
