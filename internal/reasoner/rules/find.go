package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what a pattern is about.
type kind int

const (
	doing  kind = iota // an activity
	eating             // a taste for food or drink
	liking             // anything else that the user says they like
	self               // what the user says they are
	place
	person
	hours // of the day, days of the week
	kinds
)

var kindNames = [kinds]string{"do", "food", "like", "self", "place", "person", "time"}

// finding is a pattern that a memory shows.
type finding struct {
	kind     kind
	id       string // of the pattern within its kind
	surface  string // how the memory words it
	zh       bool
	polarity polarity
	stated   bool
	group    string
	rank     rank
	say      string // the sentence, where it does not follow from the rest
}

// finder collects what one memory shows: each pattern once, a contradiction before everything else.
type finder struct {
	v     *vocabulary
	voice voice
	named bool // the user writes "I": who is named is somebody else
	found []finding
	buf   []token
}

func (f *finder) add(n finding) {
	if n.polarity == nothing {
		return
	}
	for i, old := range f.found {
		if old.kind == n.kind && old.id == n.id {
			if old.polarity == pro && n.polarity == con {
				f.found[i] = n
			} else if old.polarity == n.polarity {
				f.found[i].stated = old.stated || n.stated
				if n.zh && len(n.surface) > len(old.surface) {
					f.found[i].surface = n.surface
				}
			}
			return
		}
	}
	f.found = append(f.found, n)
}

// maxRead is how much of a memory is read, in bytes: the beginning of a long text says what it is about.
const maxRead = 6000

// read finds the patterns of a text.
func (f *finder) read(text string) {
	if len(text) > maxRead {
		text = strings.ToValidUTF8(text[:maxRead], "")
	}
	text = withoutCaptions(text)
	for len(text) > 0 {
		var sentence string
		sentence, text = cutSentence(text)
		if hasHan(sentence) {
			f.readZh(sentence)
		} else {
			f.readEn(sentence)
		}
	}
}

// withoutCaptions leaves out what stands in square brackets, "[image: …]": nobody said it.
func withoutCaptions(text string) string {
	for {
		i := strings.Index(text, "[image")
		if i < 0 {
			return text
		}
		j := strings.IndexByte(text[i:], ']')
		if j < 0 {
			return text[:i]
		}
		text = text[:i] + text[i+j+1:]
	}
}

// longestSentence is after how many bytes a sentence without an end is cut: what is near something
// is looked at again for each thing that is found.
const longestSentence = 1000

// cutSentence cuts text after its first sentence, which keeps its mark.
func cutSentence(text string) (sentence, rest string) {
	for i, r := range text {
		if i >= longestSentence {
			return text[:i], text[i:]
		}
		switch r {
		case '。', '！', '？', '；', '\n':
			return text[:i+utf8.RuneLen(r)], text[i+utf8.RuneLen(r):]
		case '.', '!', '?', ';':
			if i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n' {
				return text[:i+1], text[i+1:]
			}
		}
	}
	return text, ""
}

func isHan(r rune) bool { return r >= 0x4e00 && r <= 0x9fff || r >= 0x3400 && r <= 0x4dbf }

func hasHan(s string) bool { return strings.IndexFunc(s, isHan) >= 0 }

// token is a word of English.
type token struct {
	lower      string
	start, end int
	capital    bool
	after      bool // a comma or another mark that ends a clause stands before it
}

// tokens appends the words of text to buf. Apostrophes and hyphens belong to words.
func tokens(text string, buf []token) []token {
	start, after := -1, false
	flush := func(end int) {
		if start >= 0 {
			raw := strings.Trim(text[start:end], "'-")
			if raw != "" {
				first, _ := utf8.DecodeRuneInString(raw)
				buf = append(buf, token{lower: strings.ToLower(raw), start: start, end: end, capital: unicode.IsUpper(first), after: after})
				after = false
			}
			start = -1
		}
	}
	for i, r := range text {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '\'', r == '-':
			if start < 0 {
				start = i
			}
		case r == '’':
			// read as an apostrophe below
			if start < 0 {
				start = i
			}
		default:
			flush(i)
			if strings.ContainsRune(",;:()[]—\"“”", r) {
				after = true
			}
		}
	}
	flush(len(text))
	return buf
}
