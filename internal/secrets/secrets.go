// Package secrets finds credentials, payment card numbers, keys and tokens, and numbers that identify a person or an
// account, in English and Chinese text. It decides by prefixes, checksums, entropy and the words around a value, not by
// meaning, and prefers to miss a secret over marking harmless texts: at most one text in a thousand.
//
// It misses secrets that are spelled out or spread over several texts, passwords that read like ordinary words unless
// the sentence says plainly that they are one, and most numbers of other countries.
package secrets

import (
	"cmp"
	"slices"
	"strings"
)

// Kind is what a secret is.
type Kind string

// The kinds.
const (
	Credential Kind = "credential" // a password, PIN, one-time code or card verification code
	Card       Kind = "card"       // a payment card number with a valid check digit
	Key        Kind = "key"        // an API key, token, private key or connection string
	Identity   Kind = "identity"   // a US social security, Chinese identity (with check digit) or passport number
	Account    Kind = "account"    // an IBAN with a valid checksum
)

// Finding is a secret in a text.
type Finding struct {
	Kind       Kind
	Start, End int // bytes of the text
}

// Find returns the secrets of a text in order. They do not overlap. It is safe for concurrent use.
func Find(text string) []Finding {
	s := scan{text: text}
	s.fold()
	s.run()
	if len(s.found) == 0 {
		return nil
	}
	slices.SortFunc(s.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	})
	found := s.found[:1]
	for _, f := range s.found[1:] {
		if last := &found[len(found)-1]; f.Start >= last.End {
			found = append(found, f)
		} else {
			last.End = max(last.End, f.End)
		}
	}
	for i := range found {
		found[i].Start, found[i].End = s.place(found[i].Start), s.place(found[i].End)
	}
	return found
}

// Any reports whether a text contains a secret.
func Any(text string) bool { return len(Find(text)) > 0 }

// Kinds returns the kinds of findings, each once, in alphabetical order.
func Kinds(found []Finding) []Kind {
	var kinds []Kind
	for _, f := range found {
		kinds = append(kinds, f.Kind)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// Mask returns a text with each secret replaced by its kind in brackets.
func Mask(text string) string {
	found := Find(text)
	if len(found) == 0 {
		return text
	}
	var b strings.Builder
	last := 0
	for _, f := range found {
		b.WriteString(text[last:f.Start])
		b.WriteString("[" + string(f.Kind) + "]")
		last = f.End
	}
	b.WriteString(text[last:])
	return b.String()
}

// scan is the state of one search.
type scan struct {
	text   string
	folded string // text with full-width characters replaced by ASCII ones
	lower  string // folded, with lower-case ASCII letters
	places []int  // the byte of text for each byte of folded; nil: the same
	runEnd int    // where the current run of characters of tokens ends
	found  []Finding
}

func (s *scan) add(kind Kind, start, end int) { s.found = append(s.found, Finding{kind, start, end}) }

func (s *scan) place(i int) int {
	if s.places == nil {
		return i
	}
	return s.places[i]
}

// fold replaces full-width characters (U+FF01 to U+FF5E) and ideographic spaces.
func (s *scan) fold() {
	s.folded = s.text
	if strings.Contains(s.text, "\xef\xbc") || strings.Contains(s.text, "\xef\xbd") ||
		strings.Contains(s.text, "\u3000") {
		folded := make([]byte, 0, len(s.text))
		s.places = make([]int, 0, len(s.text)+1)
		for i, r := range s.text {
			switch {
			case 0xFF01 <= r && r <= 0xFF5E:
				folded, s.places = append(folded, byte(r-0xFF01+'!')), append(s.places, i)
			case r == 0x3000:
				folded, s.places = append(folded, ' '), append(s.places, i)
			default:
				for k := range runeBytes(s.text[i:]) {
					folded, s.places = append(folded, s.text[i+k]), append(s.places, i+k)
				}
			}
		}
		s.places = append(s.places, len(s.text))
		s.folded = string(folded)
	}
	s.lower = lowerASCII(s.folded)
}

// run looks at the start of each word and number once.
func (s *scan) run() {
	t := s.folded
	for i := 0; i < len(t); {
		b := t[i]
		switch {
		case isDigit(b) && (i == 0 || !isAlnum(t[i-1])):
			s.number(i)
		case b == '-' && strings.HasPrefix(t[i:], "-----BEGIN "):
			i = s.privateKey(i)
			continue
		case b == '-' && strings.HasPrefix(t[i:], "-u ") && i > 0 && t[i-1] == ' ':
			s.option(i)
		case b == ':' && strings.HasPrefix(t[i:], "://"):
			s.address(i)
		case b == ':' || b == '=':
			s.assignment(i)
		case b == '@':
			s.login(i)
		}
		if nounStarts[s.lower[i]] && (b >= 0x80 || i == 0 || !isLetter(t[i-1])) {
			s.credential(i)
		}
		if isAlnum(b) && (i == 0 || !isAlnum(t[i-1])) {
			for s.runEnd = max(s.runEnd, i); s.runEnd < len(t) && isToken(t[s.runEnd]); {
				s.runEnd++
			}
			if s.runEnd-i >= shortestToken {
				s.token(i, min(s.runEnd, i+longestToken))
			}
			if isLetter(b) && i+3 < len(t) && isLetter(t[i+1]) && isDigit(t[i+2]) && isDigit(t[i+3]) {
				s.iban(i)
			}
		}
		i++
	}
}

// before reports whether one of the words is within n bytes before i, on the same line.
func (s *scan) before(i, n int, list []string) bool {
	around := s.lower[max(0, i-n):i]
	around = around[strings.LastIndexByte(around, '\n')+1:]
	return slices.ContainsFunc(list, func(w string) bool {
		k := strings.LastIndex(around, w)
		return k >= 0 && (w[0] >= 0x80 || !isLetter(byteAt(around, k-1)) && !isLetter(byteAt(around, k+len(w))))
	})
}

// after reports whether one of the words follows i, after spaces.
func (s *scan) after(i int, list []string) bool {
	rest := strings.TrimLeft(s.lower[i:], " ")
	return slices.ContainsFunc(list, func(w string) bool { return strings.HasPrefix(rest, w) })
}
