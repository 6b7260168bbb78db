package extract

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
)

const (
	maxProcedure     = 2000 // bytes of a message that is read as a procedure
	maxProcedureName = 60   // characters
	leastSteps       = 2
)

// occasion is what the name of a skill leaves out of its situation.
var occasion = regexp.MustCompile(`^((?i)(when|whenever|every time|each time|any ?time|if) |每次|每当|每回|只要|凡是|如果|要是|当)|(的时候|时候|时|的话)$`)

// procedureOf returns the steps that a person teaches an assistant for a situation: "When I send you a receipt, first
// note the amount, then file it, and finally tell me", 我发你发票的时候,先记金额,再归档,最后告诉我. The words are those of
// instructions.txt.
func procedureOf(m *reasoner.Message) (p reasoner.Procedure, ok bool) {
	if len(m.Content) > maxProcedure {
		return p, false
	}
	t := language.Read(m.Content)
	if t.Has("instruct.about_others") || t.Has("instruct.once") || !t.Has("skill.when") {
		return p, false
	}
	from := -1 // in bytes, of the step that is being read
	for at := 0; at < len(t.Tokens); {
		n := t.Len("skill.then", at)
		if from < 0 {
			n = t.Len("skill.first", at)
		}
		if n == 0 {
			at++
			continue
		}
		start := t.Tokens[at].Start
		if from < 0 {
			p.Situation = trimmed(m.Content[:start])
		} else {
			p.Steps = append(p.Steps, trimmed(m.Content[from:start]))
		}
		at += n
		from = t.Tokens[at-1].End
	}
	if from < 0 {
		return p, false
	}
	last := m.Content[from:]
	if end := strings.IndexAny(last, ".!?。！？\n"); end >= 0 {
		last = last[:end]
	}
	p.Steps = append(p.Steps, trimmed(last))
	for _, step := range p.Steps {
		if step == "" {
			return p, false
		}
	}
	if p.Situation == "" || len(p.Steps) < leastSteps || !language.Read(p.Situation).Has("skill.when") {
		return p, false
	}
	name := strings.TrimSpace(occasion.ReplaceAllString(p.Situation, ""))
	p.Name, p.Source = oneline.Shorten(cmp.Or(name, p.Situation), maxProcedureName), m.ID
	return p, true
}

// trimmed returns a part of a message in one line, without marks and conjunctions at its ends.
func trimmed(text string) string {
	text = oneline.Of(text)
	for {
		cut := strings.Trim(text, " ,.;:-–—!，；：！、。")
		for _, word := range []string{" and", " then", "and ", "please "} {
			cut = strings.TrimSuffix(strings.TrimPrefix(cut, strings.TrimLeft(word, " ")), word)
		}
		if cut == text {
			return text
		}
		text = cut
	}
}
