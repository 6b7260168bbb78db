package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

// maxRead is how much of a message is read, in bytes. What follows is a document, and no conversation.
const maxRead = 8 << 10

// token is a word of Latin letters or digits.
type token struct {
	lower      string
	start, end int  // in the sentence
	capital    bool // it begins with a capital letter
}

// sentence is a part of a message that ends with a mark of its own.
type sentence struct {
	*pattern.Text
	text   string
	words  int // of Latin letters, and numbers
	tokens []token
	han    int         // characters of Chinese
	found  []attribute // once looked has been set
	looked bool
}

func isHan(r rune) bool { return r >= 0x3400 && r <= 0x9fff }

// chinese tells whether a sentence is to be read as Chinese.
func (s *sentence) chinese() bool { return s.Han > 0 && s.Han >= s.words }

// asks tells whether a sentence ends as a question.
func (s *sentence) asks() bool {
	return strings.HasSuffix(s.text, "?") || strings.HasSuffix(s.text, "？")
}

const (
	closers = "\"'”’」』）)】~～*"
	marks   = closers + "。！!？?；;… ，,"
)

// split takes a message apart: its sentences, and the notes that stand for what was attached to it
// ("[image: a red bicycle]"). Code and what is quoted from elsewhere are left out.
func split(content string) (sentences []sentence, attached string) {
	text := cutAt(content, maxRead)
	if strings.Contains(text, "```") {
		text = withoutCode(text)
	}
	if strings.Contains(text, "[") {
		text, attached = withoutAttachments(text)
	}
	start := 0
	cut := func(end int) {
		if s := strings.TrimSpace(text[start:end]); s != "" && !strings.HasPrefix(s, ">") {
			sentences = append(sentences, read(s))
		}
		start = end
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			switch {
			case c == '\n':
				cut(i + 1)
			case c == '!' || c == '?' || c == ';' && i+1 < len(text) && text[i+1] == ' ' || c == '.' && endsAt(text, start, i):
				i = afterMarks(text, i+1)
				cut(i)
				continue
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		switch r {
		case '。', '！', '？', '；', '…':
			i = afterMarks(text, i)
			cut(i)
		}
	}
	cut(len(text))
	return sentences, attached
}

// endsAt tells whether the full stop at i ends a sentence: no initial, no abbreviation, no number, no address.
func endsAt(text string, start, i int) bool {
	if i+1 < len(text) && text[i+1] != ' ' && text[i+1] != '\n' && text[i+1] != '.' && text[i+1] < utf8.RuneSelf && !strings.ContainsRune(closers, rune(text[i+1])) {
		return false
	}
	from := strings.LastIndexAny(text[start:i], " \n(") + 1 + start
	word := text[from:i]
	return len(word) != 1 && language.Read(word).Len("abbreviation", 0) == 0 || word == "I"
}

// afterMarks skips what belongs to the end of a sentence: more marks, and what closes quotations and brackets.
func afterMarks(text string, i int) int {
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !strings.ContainsRune("!?.。！？…", r) && !strings.ContainsRune(closers, r) {
			return i
		}
		i += n
	}
	return i
}

func withoutCode(text string) string {
	var b strings.Builder
	for i, part := range strings.Split(text, "```") {
		if i%2 == 0 {
			b.WriteString(part)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func withoutAttachments(text string) (rest, attached string) {
	var kept, notes strings.Builder
	for {
		open := strings.IndexByte(text, '[')
		if open < 0 {
			kept.WriteString(text)
			return kept.String(), notes.String()
		}
		end := strings.IndexByte(text[open:], ']')
		if end < 0 {
			kept.WriteString(text)
			return kept.String(), notes.String()
		}
		end += open + 1
		if language.Read(cutAt(text[open:end], 16)).Len("attachment", 0) > 0 {
			kept.WriteString(text[:open])
			if notes.Len() > 0 {
				notes.WriteByte(' ')
			}
			notes.WriteString(text[open:end])
		} else {
			kept.WriteString(text[:end])
		}
		text = text[end:]
	}
}

// read takes a sentence apart.
func read(text string) sentence {
	s := sentence{Text: language.Read(text), text: text, tokens: make([]token, 0, len(text)/5+1)}
	for i := range s.Tokens {
		if k := &s.Tokens[i]; !k.Mark && !k.Han {
			s.words++
		}
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(text[i:])
			if isHan(r) {
				s.han++
				i += n
				continue
			}
			if !unicode.IsLetter(r) {
				i += n
				continue
			}
		} else if !isWordByte(c) {
			i++
			continue
		}
		start := i
		for i < len(text) {
			if c := text[i]; c < utf8.RuneSelf {
				if !isWordByte(c) && (c != '\'' && c != '-' || i+1 >= len(text) || !isWordByte(text[i+1])) {
					break
				}
				i++
				continue
			}
			r, n := utf8.DecodeRuneInString(text[i:])
			if isHan(r) || r != '’' && !unicode.IsLetter(r) && !unicode.IsMark(r) {
				break
			}
			i += n
		}
		word := strings.TrimRight(text[start:i], "’'")
		first, _ := utf8.DecodeRuneInString(word)
		lower := strings.ToLower(word)
		if strings.Contains(lower, "’") {
			lower = strings.ReplaceAll(lower, "’", "'")
		}
		s.tokens = append(s.tokens, token{lower: lower, start: start, end: start + len(word), capital: unicode.IsUpper(first)})
	}
	return s
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func hasPrefixOf(text string, words []string) bool {
	for _, w := range words {
		if strings.HasPrefix(text, w) {
			return true
		}
	}
	return false
}

// phrase tells whether words follow each other in a sentence, from the i-th token on.
func phraseAt(tokens []token, i int, words []string) bool {
	if i < 0 || i+len(words) > len(tokens) {
		return false
	}
	for j, w := range words {
		if tokens[i+j].lower != w {
			return false
		}
	}
	return true
}

// phrases are found by their first word.
type phrases map[string][][]string

// phrasesIn returns the phrases of a list.
func phrasesIn(list []string) phrases {
	p := phrases{}
	for _, one := range list {
		if words := strings.Fields(one); len(words) > 0 {
			p[words[0]] = append(p[words[0]], words)
		}
	}
	return p
}

// at returns how many words the longest phrase has that begins at the i-th token; 0: none does.
func (p phrases) at(tokens []token, i int) int {
	longest := 0
	for _, words := range p[tokens[i].lower] {
		if len(words) > longest && phraseAt(tokens, i, words) {
			longest = len(words)
		}
	}
	return longest
}

func prefixOf(text string, words []string) string {
	for _, w := range words {
		if strings.HasPrefix(text, w) {
			return w
		}
	}
	return ""
}

func lastRune(text string) rune {
	if text == "" {
		return 0
	}
	r, _ := utf8.DecodeLastRuneInString(text)
	return r
}

func hasSuffixOf(text string, words []string) bool {
	for _, w := range words {
		if strings.HasSuffix(text, w) {
			return true
		}
	}
	return false
}

// charsOf returns the characters of a text.
func charsOf(text string) map[rune]bool {
	all := map[rune]bool{}
	for _, r := range text {
		all[r] = true
	}
	return all
}
