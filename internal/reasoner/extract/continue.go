package extract

import (
	"strings"
)

var (
	continuanceEn = phrasesIn(words.List("continuance.en"))
	continuanceZh = words.List("continuance.zh")
	beforeStillEn = words.Set("before-still.en")
	subjectsZh    = words.List("subjects.zh")
)

// withoutContinuance returns a sentence without the words that say that something is so as before:
// "I still like tea" is "I like tea", 我还是喜欢茶 is 我喜欢茶. ok reports whether there were any.
func withoutContinuance(s *sentence) (rest string, ok bool) {
	if s.chinese() {
		subject := prefixOf(s.text, subjectsZh)
		rest := strings.TrimPrefix(s.text, subject)
		if strings.HasPrefix(rest, "还有") { // 我还有一只猫 tells of another thing
			return s.text, false
		}
		w := prefixOf(rest, continuanceZh)
		after := strings.TrimLeft(rest[len(w):], "，, ")
		if strings.HasSuffix(w, "是") { // 我还是护士 is 我是护士, but 我还是喜欢茶 is 我喜欢茶
			if is := read(subject + "是" + after); len(is.attributesOf()) > 0 {
				return is.text, true
			}
		}
		return subject + after, w != ""
	}
	var kept strings.Builder
	from := 0
	for i := 0; i < len(s.tokens); i++ {
		n := continuanceEn.at(s.tokens, i)
		if s.tokens[i].lower == "still" && (i == 0 || beforeStillEn[s.tokens[i-1].lower]) {
			n = 1
		}
		if n == 0 {
			continue
		}
		kept.WriteString(s.text[from:s.tokens[i].start])
		i += n - 1
		from = s.tokens[i].end + len(s.text[s.tokens[i].end:]) - len(strings.TrimLeft(s.text[s.tokens[i].end:], ", "))
		ok = true
	}
	kept.WriteString(s.text[from:])
	return strings.TrimRight(kept.String(), ", "), ok
}

// continuesWhat reports whether a statement that says of something that it is as before means what
// h says: it is about the same, and says no more. That something is drunk or eaten is not more than
// that it is liked.
func (s *sense) continuesWhat(h *sense) bool {
	if !s.continues || s.negated != h.negated || s.taste != h.taste || len(s.objects) == 0 {
		return false
	}
	at := 0
	for _, w := range s.words {
		if !takesEn[w] || !s.likes() {
			i := at
			for i < len(h.words) && h.words[i] != w {
				i++
			}
			if i == len(h.words) {
				return false
			}
			at = i + 1
		}
	}
	return len(s.objects) == len(h.objects) && strings.Join(s.objects, " ") == strings.Join(h.objects, " ")
}

// takesEn are the stems and words for taking what is liked.
var takesEn = words.Set("takes.en")

func (s *sense) likes() bool {
	for _, w := range s.words {
		if w == "like" {
			return true
		}
	}
	return false
}
