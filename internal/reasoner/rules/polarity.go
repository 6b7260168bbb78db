package rules

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

// polarity is what a clause says of something that it names.
type polarity int

const (
	pro     polarity = iota // it is so
	nothing                 // it did not take place, is only a wish, or is of somebody else
	con                     // it is so no longer, or not at all
)

var (
	proZh     = lists.List("pro.zh")
	conZh     = lists.List("con.zh")
	conTailZh = lists.List("con-tail.zh")
	todayZh   = lists.List("today.zh")
	supposed  = lists.List("supposed")
	calledOff = lists.List("called-off")
	awfulZh   = lists.List("awful.zh")
	refusedZh = lists.List("refused.zh")
	wishedZh  = lists.List("wished.zh")
	notOver   = lists.List("not-over")
	notZh     = lists.List("not.zh")
)

// nearZh is how far before something a word may stand that denies it, in characters.
const nearZh = 6

// polarityZh reads a sentence of Chinese around what it names at [at, to): the clause in which that
// stands, and whether the sentence speaks of one day only.
func polarityZh(sentence string, at, to int) polarity {
	clause, from := clauseAt(sentence, at, to)
	before, after := clause[:at-from], clause[to-from:]
	if lexis.ContainsAny(before, proZh) {
		return pro
	}
	passing := lexis.ContainsAny(sentence, todayZh)
	near := lexis.LastRunes(before, nearZh)
	if lexis.ContainsAny(near, conZh) || lexis.ContainsAny(after, conTailZh) {
		if lexis.ContainsAny(clause, supposed) || passing && !strings.Contains(clause, "再") && !strings.Contains(clause, "戒") {
			return nothing
		}
		return con
	}
	if not := lexis.LastRunes(before, 4); strings.Contains(not, "不") && endsWithLe(after) && !lexis.ContainsAny(not, notOver) {
		if passing || lexis.ContainsAny(clause, supposed) {
			return nothing
		}
		return con
	}
	if lexis.ContainsAny(after, calledOff) || lexis.ContainsAny(after, awfulZh) || lexis.ContainsAny(near, wishedZh) || beginsWithAny(sentence[from+len(clause):], refusedZh) {
		return nothing
	}
	for _, n := range notZh {
		if i := strings.LastIndex(before, n); i >= 0 && utf8.RuneCountInString(before[i+len(n):]) <= 1 {
			return nothing
		}
	}
	return pro
}

// beginsWithAny tells whether what follows a clause begins with one of some words.
func beginsWithAny(rest string, words []string) bool {
	rest = strings.TrimLeft(rest, clauseMarks)
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(rest, w) })
}

func endsWithLe(after string) bool {
	after = strings.TrimRight(after, " 啦吧啊呀。！!.~")
	return strings.HasSuffix(after, "了") && utf8.RuneCountInString(after) <= 4
}

var (
	proEn      = lists.List("pro.en")
	conEn      = lists.List("con.en")
	conAfterEn = lists.List("con-after.en")
	notEn      = lists.List("not.en")
)

// polarityEn reads the words of a clause, in lower case, around what it names at [start, end).
func polarityEn(clause []token, start, end int) polarity {
	before, after := joined(clause[:start]), joined(clause[end:])
	if hasWords(before, proEn) {
		return pro
	}
	if gaveUp(before) || strings.HasSuffix(before, " dropped ") || strings.HasSuffix(before, " ditched ") || hasWords(after, conAfterEn) || hasWords(before, notEn) && hasWords(after, []string{"anymore", "any more", "any longer"}) {
		return con
	}
	if hasWords(joined(clause[max(0, start-4):start]), notEn) {
		return nothing
	}
	if hasWords(after, []string{"cancelled", "canceled", "called off", "postponed", "looks fun", "sounds fun", "looks like fun",
		"was awful", "were awful", "was terrible", "were terrible", "was disgusting", "tasted awful", "on tv", "closed down"}) {
		return nothing
	}
	return pro
}

// gaveUp tells whether something was given up in the words before a pattern, and not for its sake:
// "ditched chess for golf".
func gaveUp(before string) bool {
	for _, p := range conEn {
		if i := wordAt(before, p); i >= 0 && !containsWord(before[i+len(p):], "for") {
			return true
		}
	}
	return false
}

// hasWords tells whether text, words with a space on either side, has one of some phrases.
func hasWords(text string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool { return containsWord(text, p) })
}

func containsWord(text, phrase string) bool { return wordAt(text, phrase) >= 0 }

// wordAt returns where a phrase stands in text, or -1.
func wordAt(text, phrase string) int {
	for from := 0; ; {
		i := strings.Index(text[from:], phrase)
		if i < 0 {
			return -1
		}
		i += from
		if text[i-1] == ' ' && text[i+len(phrase)] == ' ' { // joined begins and ends with a space
			return i
		}
		from = i + 1
	}
}

func joined(words []token) string {
	var b strings.Builder
	b.WriteByte(' ')
	for _, w := range words {
		b.WriteString(w.lower)
		b.WriteByte(' ')
	}
	return b.String()
}
