package llm

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

// maxStatement is the maximum length of a memory, in characters.
const maxStatement = 1000

var (
	// A full stop counts after four letters, since shorter words may be abbreviations.
	latinEnd = regexp.MustCompile(`(?:[!?]|[\p{L}\d]{4}\.)["')\]]*\s+\p{Lu}`)
	cjkEnd   = regexp.MustCompile(`[。！？][”」』）]*\s*[^\s”」』）]`)
)

// sentence checks the content of a trait: one short sentence that is not an instruction.
func sentence(text string) (string, error) {
	text, err := statement(text, reasoner.MaxWording)
	if err == nil && (latinEnd.MatchString(text) || cjkEnd.MatchString(text)) {
		return "", errors.New("it has more than one sentence")
	}
	return text, err
}

// statement checks that a text is one line of at most most characters, says something, and is not
// an instruction.
func statement(text string, most int) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case !strings.ContainsFunc(text, says):
		return "", errors.New("it says nothing")
	case len([]rune(text)) > most:
		return "", fmt.Errorf("it has more than %d characters", most)
	case strings.ContainsFunc(text, oneline.Unprintable):
		return "", errors.New("it has a line break or another control character")
	case instructs(text):
		return "", errors.New("it reads as an instruction")
	}
	return text, nil
}

func says(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

func visible(r rune) bool { return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) }

// short cuts a text that a note quotes.
func short(text string) string { return oneline.Shorten(text, 40) }

// references matches what a model may refer by.
var references = regexp.MustCompile(`^([A-Za-z]?[0-9]{1,6}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?$`)

// quote returns a reference for a reason, which is logged. A model may write a message instead of its reference, and no
// text of a user may be logged.
func quote(ref string) string {
	if !references.MatchString(ref) {
		ref = "…"
	}
	return `"` + ref + `"`
}

// remark turns a model's comment into one line.
func remark(text string) string { return oneline.Shorten(oneline.Of(text), reasoner.MaxWording) }

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

// instructs reports whether a text addresses the model.
func instructs(text string) bool {
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, norm.NFKC.String(text))
	return instructions.MatchString(strings.Join(strings.Fields(strings.ToLower(text)), " "))
}

// folded normalises a text for comparison: NFKC, lower case, single spaces, no closing punctuation.
func folded(text string) string {
	text = strings.Join(strings.Fields(strings.ToLower(norm.NFKC.String(text))), " ")
	return strings.TrimRight(text, " .!?。")
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

// translated returns the reason if the scripts of a text show that its language differs from that
// of all texts in from, and "" otherwise. It cannot distinguish languages of one script.
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
