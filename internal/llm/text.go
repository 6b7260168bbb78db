package llm

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxSentence is how long a trait's sentence may be, in characters.
const maxSentence = 300

var (
	// A full stop counts after a word of four letters, since shorter ones may be abbreviations.
	latinEnd = regexp.MustCompile(`(?:[!?]|[\p{L}\d]{4}\.)["')\]]*\s+\p{Lu}`)
	cjkEnd   = regexp.MustCompile(`[。！？][”」』）]*\s*[^\s”」』）]`)
)

// sentence checks what a trait may say: one short sentence, and no instruction.
func sentence(text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", errors.New("it is empty")
	case len([]rune(text)) > maxSentence:
		return "", fmt.Errorf("it has more than %d characters", maxSentence)
	case strings.ContainsFunc(text, unprintable):
		return "", errors.New("it has a line break or another control character")
	case latinEnd.MatchString(text), cjkEnd.MatchString(text):
		return "", errors.New("it has more than one sentence")
	case instructs(text):
		return "", errors.New("it reads as an instruction")
	}
	return text, nil
}

// unprintable are control characters, line and paragraph breaks, and what turns the direction of writing.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || r == unicode.ReplacementChar || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// remark makes a line of what a model says beside the point.
func remark(text string) string {
	text = strings.Map(func(r rune) rune {
		if unprintable(r) {
			return ' '
		}
		return r
	}, text)
	return beginning(strings.Join(strings.Fields(text), " "), maxSentence)
}

// instructions are the usual ways to talk to a model from within its data, after NFKC, in lower case and without invisible
// characters. They decide little: a model that obeys one can only propose, and nothing that is proposed has a number.
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
