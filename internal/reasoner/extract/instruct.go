package extract

import (
	"cmp"
	"regexp"
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
		if utf8.RuneCountInString(s.text) > maxInstruction || s.instructs() || s.quotes() {
			continue
		}
		n := reasoner.Instruction{Text: oneline.Of(s.text), Source: m.ID, Aspect: aspectOf(s), Ends: s.endsInstruction()}
		switch {
		case n.Ends:
		case !s.standing():
			continue
		default:
			n.Here = s.Has("instruct.here")
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

// standing reports whether a sentence asks the assistant for something that holds from now on.
func (s *sentence) standing() bool {
	s = s.withoutQuotes()
	if s.wonders() || (s.Has("instruct.once") || s.Has("instruct.once.zh")) && !s.Has("instruct.here") ||
		s.Has("instruct.task.zh") && !s.Has("instruct.ever.zh") {
		return false
	}
	sure, found := s.Find("instruct.sure.zh")
	others, told := s.Find("instruct.others.zh")
	resolves, resolved := s.Find("instruct.resolves")
	switch {
	case found && (!resolved || sure.Start <= resolves.Start) && (!told || sure.Start < others.Start || s.Tokens[sure.Start].Lower == "你"):
		return true
	case told:
		return false
	}
	if lasting, ok := s.Find("instruct.lasting"); ok {
		scene, staged := s.Find("instruct.scene")
		about, reported := s.Find("instruct.about_others")
		return (!staged || lasting.End <= scene.Start) && (!reported || lasting.End <= about.Start)
	}
	if s.Has("instruct.scene") || s.Has("instruct.about_others") {
		return false
	}
	situated := s.Has("instruct.situation")
	return s.Has("instruct.zh") && s.forAssistant() || (situated || s.Has("instruct.standing")) && s.imperative() ||
		situated && s.Has("instruct.direct")
}

func (s *sentence) endsInstruction() bool {
	s = s.withoutQuotes()
	return s.Has("instruct.end") && !s.wonders() && !s.Has("instruct.about_others") && !s.Has("instruct.once") && s.forAssistant()
}

// wonders reports whether a sentence asks for an answer, and not politely for something to be done.
func (s *sentence) wonders() bool {
	return s.Has("instruct.asks.zh") || s.asks() && !s.Has("instruct.request")
}

var quoted = regexp.MustCompile("\"[^\"]*\"|“[^”]*”|「[^」]*」|『[^』]*』|«[^»]*»")

// withoutQuotes returns a sentence with an X in the place of what is quoted in it.
func (s *sentence) withoutQuotes() *sentence {
	if bare := quoted.ReplaceAllString(s.text, " X "); bare != s.text {
		unquoted := read(bare)
		return &unquoted
	}
	return s
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
				if len(p.Steps) > leastSteps { // with two, it may say no more than their order
					continue
				}
			}
			x.Instructions = append(x.Instructions, instructionsOf(m)...)
		}
	}
}
