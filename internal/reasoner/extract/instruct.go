package extract

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// maxInstruction is the maximum number of characters of a sentence that is read as an instruction: longer ones are
// stories and drafts.
const maxInstruction = 240

// instructionsOf returns the standing instructions in a message of a person to an assistant. The patterns are those of
// instructions.txt.
func instructionsOf(m *reasoner.Message) (heard []reasoner.Instruction) {
	sentences, _ := split(m.Content)
	for i := range sentences {
		s := &sentences[i]
		if !s.tellsAssistant() {
			continue
		}
		n := reasoner.Instruction{Text: oneline.Of(s.text), Source: m.ID, Aspect: aspectOf(s)}
		if n.Ends = s.endsInstruction(); !n.Ends {
			n.Aspect = cmp.Or(n.Aspect, "other")
			if context := contextOf([]reading{{sentence: *s}}); context != "general" {
				n.Context = context
			}
		}
		heard = append(heard, n)
	}
	return heard
}

// AspectOf returns what an instruction is about, "other" if that is unknown.
func AspectOf(text string) string {
	s := read(text)
	if aspect := aspectOf(&s); aspect != "" {
		return aspect
	}
	return "other"
}

// aspectOf returns what an instruction is about, by the words in it: the first in the order of the aspects.
func aspectOf(s *sentence) string {
	first := ""
	for m := range s.All("instruct.aspect") {
		if first == "" || slices.Index(reasoner.InstructionAspects, m.Value) < slices.Index(reasoner.InstructionAspects, first) {
			first = m.Value
		}
	}
	return first
}

// tellsAssistant reports whether a sentence gives or ends a standing instruction.
func (s *sentence) tellsAssistant() bool {
	return utf8.RuneCountInString(s.text) <= maxInstruction && !s.instructs() && !s.quotes() &&
		(s.endsInstruction() || s.standing())
}

// standing reports whether a sentence asks the assistant for something that holds from now on.
func (s *sentence) standing() bool {
	if s.Has("instruct.about_others") || s.Has("instruct.once") || s.Has("instruct.once.zh") {
		return false
	}
	return s.Has("instruct.lasting") || s.Has("instruct.zh") && s.forAssistant() ||
		s.Has("instruct.standing") && s.imperative()
}

func (s *sentence) endsInstruction() bool {
	return s.Has("instruct.end") && !s.Has("instruct.about_others") && !s.Has("instruct.once") && s.forAssistant()
}

// forAssistant reports whether a Chinese sentence can be meant for an assistant: it is about answers, or names who gives
// them. 以后要坚持跑步 is a resolution of the person's. An English sentence is judged by its verbs.
func (s *sentence) forAssistant() bool {
	return !s.chinese() || !s.Has("instruct.resolves") && (s.Has("instruct.answers") || aspectOf(s) != "")
}

// imperative reports whether a clause of the sentence asks an assistant to do something.
func (s *sentence) imperative() bool {
	for i := range s.Tokens {
		if i > 0 && !s.Tokens[i-1].Mark && s.Len("instruct.standing", 0) != i {
			continue
		}
		at := i
		for {
			n := max(s.Len("instruct.ask", at), s.Len("instruct.standing", at), s.Len("instruct.not", at))
			if n == 0 {
				break
			}
			at += n
		}
		if s.Len("instruct.verb", at) > 0 {
			return true
		}
	}
	return false
}

// toAssistant reports whether a person in the conversation speaks to an assistant, and not to another person.
func toAssistant(messages []reasoner.Message) bool {
	named := false
	for i := range messages {
		if messages[i].Role == "assistant" {
			return true
		}
		named = named || speakerOf(&messages[i]) != ""
	}
	return !named
}

// hear adds the instructions in the new messages to an extraction.
func hear(x *reasoner.Extraction, messages []reasoner.Message) {
	if !toAssistant(messages) {
		return
	}
	for i := range messages {
		if m := &messages[i]; m.New && speaks(m) && strings.TrimSpace(m.Content) != "" {
			x.Intentions = append(x.Intentions, intentionsOf(m)...)
			if p, ok := procedureOf(m); ok {
				x.Procedures = append(x.Procedures, p)
				continue
			}
			x.Instructions = append(x.Instructions, instructionsOf(m)...)
		}
	}
}
