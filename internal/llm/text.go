package llm

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/oxbow-memory/oxbow/internal/provider"
)

// How long a text may be, in characters.
const (
	maxSentence  = 300  // of a trait
	maxStatement = 1000 // of a memory
)

var (
	// A full stop counts after a word of four letters, since shorter ones may be abbreviations.
	latinEnd = regexp.MustCompile(`(?:[!?]|[\p{L}\d]{4}\.)["')\]]*\s+\p{Lu}`)
	cjkEnd   = regexp.MustCompile(`[。！？][”」』）]*\s*[^\s”」』）]`)
)

// sentence checks what a trait may say: one short sentence, and no instruction.
func sentence(text string) (string, error) {
	text, err := statement(text, maxSentence)
	if err == nil && (latinEnd.MatchString(text) || cjkEnd.MatchString(text)) {
		return "", errors.New("it has more than one sentence")
	}
	return text, err
}

// statement checks a text of at most so many characters, in one line: it says something, and is no instruction.
func statement(text string, most int) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case !strings.ContainsFunc(text, visible):
		return "", errors.New("it is empty")
	case len([]rune(text)) > most:
		return "", fmt.Errorf("it has more than %d characters", most)
	case strings.ContainsFunc(text, provider.Unprintable):
		return "", errors.New("it has a line break or another control character")
	case instructs(text):
		return "", errors.New("it reads as an instruction")
	}
	return text, nil
}

func visible(r rune) bool { return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) }

// remark makes a line of what a model says beside the point.
func remark(text string) string { return provider.Line(text, maxSentence) }

// instructions are the usual ways to talk to a model from within its data, after NFKC, in lower
// case and without invisible characters. They decide little: a model that obeys one can only
// propose, and nothing that is proposed has a number.
var instructions = regexp.MustCompile(`\b(?:ignore|disregard|override|bypass)\b.{0,40}\b(?:above|previous|prior|preceding|earlier|instructions?|rules?|prompts?|schema)\b` +
	`|\bforget\b.{0,30}\b(?:instructions?|rules?|prompts?)\b` +
	`|\b(?:set|raise|change|increase|put)\b.{0,30}\bconfidence\b|\bconfidence\b\W{0,3}(?:to|is|=|of|at|score)\W{0,3}(?:\d|one|max)` +
	`|\b(?:system|developer) (?:prompt|message|instructions?)\b|\byou are (?:now |no longer )?(?:an? )?(?:ai|assistant|language model|chatbot|gpt)\b` +
	`|\b(?:return|output|respond with|answer with|reply with) (?:only |the following )?(?:json|this)\b` +
	`|(?:忽略|无视|無視|不要理会|不要理會|忘记|忘掉|绕过).{0,12}(?:以上|上述|上面|之前|前面|先前|指令|指示|规则|規則|提示)|置信度|信心值|系统提示|系統提示|提示词` +
	`|(?:输出|返回|回复|回答).{0,4}json`)

// instructs tells whether a text talks to the model.
func instructs(text string) bool {
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, norm.NFKC.String(text))
	return instructions.MatchString(strings.Join(strings.Fields(strings.ToLower(text)), " "))
}

// folded is a text for comparing: NFKC, in lower case, with single spaces, and without what ends a sentence.
func folded(text string) string {
	text = strings.Join(strings.Fields(strings.ToLower(norm.NFKC.String(text))), " ")
	return strings.TrimRight(text, " .!?。")
}

// otherScripts are those that stand in a text of another script only where it is mixed.
var otherScripts = []struct {
	name  string
	table *unicode.RangeTable
}{
	{"Chinese characters", unicode.Han}, {"Hiragana", unicode.Hiragana}, {"Hangul", unicode.Hangul}, {"Cyrillic letters", unicode.Cyrillic},
	{"Greek letters", unicode.Greek}, {"Arabic letters", unicode.Arabic}, {"Hebrew letters", unicode.Hebrew}, {"Thai letters", unicode.Thai},
	{"Devanagari letters", unicode.Devanagari},
}

// latinPhrase is more than a name that stands in a text of another script.
var latinPhrase = regexp.MustCompile(`\p{Latin}[\p{Latin}'’-]*[\s,;:]+\p{Latin}`)

// translated says how it shows in the scripts that a text is in another language than all of the
// texts that it was drawn from, or nothing. Within one script it does not show.
func translated(text string, from []string) string {
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

// latin tells whether a text says something in Latin letters: beside other ones, more than a name.
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
