// Package wording checks texts that a language model writes, before they become memories, traits or summaries.
package wording

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

var (
	// A full stop counts after four letters, since shorter words may be abbreviations.
	latinEnd = regexp.MustCompile(`(?:[!?]|[\p{L}\d]{4}\.)["')\]]*\s+\p{Lu}`)
	cjkEnd   = regexp.MustCompile(`[。！？][”」』）]*\s*[^\s”」』）]`)
)

// Sentence checks the content of a trait: one short sentence that is not an instruction.
func Sentence(text string) (string, error) {
	text, err := Statement(text, reasoner.MaxWording)
	if err == nil && (latinEnd.MatchString(text) || cjkEnd.MatchString(text)) {
		return "", errors.New("it has more than one sentence")
	}
	return text, err
}

// Statement checks that a text is one line of at most most characters, says something, and is not
// an instruction.
func Statement(text string, most int) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case !strings.ContainsFunc(text, says):
		return "", errors.New("it says nothing")
	case len([]rune(text)) > most:
		return "", fmt.Errorf("it has more than %d characters", most)
	case strings.ContainsFunc(text, oneline.Unprintable):
		return "", errors.New("it has a line break or another control character")
	case Instructs(text):
		return "", errors.New("it reads as an instruction")
	}
	return text, nil
}

func says(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// instructions matches the usual ways to address a model from within its data, after NFKC, in lower
// case and without invisible characters. It decides little: a model that obeys an instruction can
// only propose, and proposals carry no numbers.
var instructions = regexp.MustCompile(`\b(?:ignore|disregard|override|bypass)\b.{0,40}` +
	`\b(?:above|previous|prior|preceding|earlier|instructions?|rules?|prompts?|schema)\b` +
	`|\bforget\b.{0,30}\b(?:instructions?|rules?|prompts?)\b` +
	`|\b(?:set|raise|change|increase|put)\b.{0,30}\bconfidence\b` +
	`|\bconfidence\b\W{0,3}(?:to|is|=|of|at|score)\W{0,3}(?:\d|one|max)` +
	`|\b(?:system|developer) (?:prompt|message|instructions?)\b` +
	`|\byou are (?:now |no longer )?(?:an? )?(?:ai|assistant|language model|chatbot|gpt)\b` +
	`|\b(?:return|output|respond with|answer with|reply with) (?:only |the following )?(?:json|this)\b` +
	`|(?:忽略|无视|無視|不要理会|不要理會|忘记|忘掉|绕过).{0,12}` +
	`(?:以上|上述|上面|之前|前面|先前|指令|指示|规则|規則|提示)` +
	`|置信度|信心值|系统提示|系統提示|提示词` +
	`|(?:输出|返回|回复|回答).{0,4}json`)

// Instructs reports whether a text addresses the model.
func Instructs(text string) bool {
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, norm.NFKC.String(text))
	return instructions.MatchString(strings.Join(strings.Fields(strings.ToLower(text)), " "))
}

// otherScripts are the scripts whose presence in a text shows that it is mixed with another
// language.
var otherScripts = []struct {
	name  string
	table *unicode.RangeTable
}{
	{"Chinese characters", unicode.Han}, {"Hiragana", unicode.Hiragana}, {"Hangul", unicode.Hangul},
	{"Cyrillic letters", unicode.Cyrillic},
	{"Greek letters", unicode.Greek}, {"Arabic letters", unicode.Arabic}, {"Hebrew letters", unicode.Hebrew},
	{"Thai letters", unicode.Thai},
	{"Devanagari letters", unicode.Devanagari},
}

// latinPhrase matches more than a single name in a text of another script.
var latinPhrase = regexp.MustCompile(`\p{Latin}[\p{Latin}'’-]*[\s,;:]+\p{Latin}`)

// Translated returns the reason if the scripts of a text show that its language differs from that
// of all texts in from, and "" otherwise. It cannot distinguish languages of one script.
func Translated(text string, from []string) string {
	mixed := false
	for _, script := range otherScripts {
		if !hasScript(text, script.table) {
			continue
		}
		mixed = true
		if !slices.ContainsFunc(from, func(s string) bool { return hasScript(s, script.table) }) {
			return fmt.Sprintf("it has %s, and what it was drawn from has none", script.name)
		}
	}
	if mixed || !hasScript(text, unicode.Latin) || slices.ContainsFunc(from, latin) {
		return ""
	}
	return "it is in Latin letters, and what it was drawn from is not"
}

// latin reports whether a text has a phrase in Latin letters. In a text of another script a single
// name does not count.
func latin(text string) bool {
	for _, script := range otherScripts {
		if hasScript(text, script.table) {
			return latinPhrase.MatchString(text)
		}
	}
	return hasScript(text, unicode.Latin)
}

func hasScript(text string, script *unicode.RangeTable) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(script, r) })
}
