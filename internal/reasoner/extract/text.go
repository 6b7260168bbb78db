package extract

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

// maxRead is the maximum number of bytes read of a message. Longer messages contain documents.
const maxRead = 8 << 10

// sentence is a sentence of a message.
type sentence struct {
	*pattern.Text
	text   string
	words  int         // of Latin letters, and numbers
	found  []attribute // once looked is true
	looked bool

	thirdPerson bool // its verb was in the third person, so it is not of the past: "reads"
}

// read tokenizes a sentence.
func read(text string) sentence {
	s := sentence{Text: language.Read(text), text: text}
	for i := range s.Tokens {
		if k := &s.Tokens[i]; !k.Mark && !k.Han {
			s.words++
		}
	}
	return s
}

// chinese reports whether a sentence is read as Chinese.
func (s *sentence) chinese() bool { return s.Han > 0 && s.Han >= s.words }

// asks reports whether a sentence ends with a question mark.
func (s *sentence) asks() bool {
	return strings.HasSuffix(s.text, "?") || strings.HasSuffix(s.text, "？")
}

// closers are the marks that may follow the end of a sentence.
const closers = "\"'”’」』）)】~～*"

var (
	code     = regexp.MustCompile("(?s)```.*?(```|$)")
	brackets = regexp.MustCompile(`\[[^]]*\]`)
	ends     = regexp.MustCompile("\n|; |[.!?。！？；…][!?.。！？…" + regexp.QuoteMeta(closers) + "]*")
)

// split returns the sentences of a message, and the notes about its attachments ("[image: a red bicycle]"). It leaves
// out code and quotations.
func split(content string) (sentences []sentence, attached string) {
	text := code.ReplaceAllString(cutAt(content, maxRead), "\n")
	var notes []string
	text = brackets.ReplaceAllStringFunc(text, func(note string) string {
		if language.Read(cutAt(note, 16)).Len("attachment", 0) == 0 {
			return note
		}
		notes = append(notes, note)
		return ""
	})
	start := 0
	cut := func(end int) {
		if s := strings.TrimSpace(text[start:end]); s != "" && !strings.HasPrefix(s, ">") {
			sentences = append(sentences, read(s))
		}
		start = end
	}
	for _, m := range ends.FindAllStringIndex(text, -1) {
		if text[m[0]:m[1]] != "." || endsAt(text, start, m[0]) {
			cut(m[1])
		}
	}
	cut(len(text))
	return sentences, strings.Join(notes, " ")
}

// endsAt reports whether the full stop at i ends a sentence, and not an initial, an abbreviation, or a part of a number
// or an address.
func endsAt(text string, start, i int) bool {
	if i+1 < len(text) && text[i+1] != ' ' && text[i+1] != '\n' && text[i+1] < utf8.RuneSelf {
		return false
	}
	word := text[start+strings.LastIndexAny(text[start:i], " \n(")+1 : i]
	return len(word) != 1 && language.Read(word).Len("abbreviation", 0) == 0 || word == "I"
}

// cutAt returns the first n bytes of text, or fewer: no character is cut.
func cutAt(text string, n int) string {
	if n >= len(text) {
		return text
	}
	for i := range min(n, utf8.UTFMax) { // only invalid UTF-8 has no start within this distance
		if utf8.RuneStart(text[n-i]) {
			return text[:n-i]
		}
	}
	return text[:n]
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func lastRune(text string) rune {
	r, _ := utf8.DecodeLastRuneInString(text)
	return r
}
