package rules

import (
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

// said is a memory with information about its speaker.
type said struct {
	other     bool   // somebody else, an assistant, or advertising
	name      string // of the speaker, in a record of a dialogue; else ""
	sentences []*pattern.Text
	context   string // the part of life that it belongs to, once it was asked for
}

func (s said) has(list string) bool {
	return slices.ContainsFunc(s.sentences, func(t *pattern.Text) bool { return t.Has(list) })
}

// inFirstPerson reports whether the writer uses "I".
func (s said) inFirstPerson() bool { return s.name == "" && s.has("trait.i") }

// contexts are the contexts, the most specific first.
var contexts = []string{"work", "learning", "social", "personal", "general"}

// contextOf infers the context of a memory: work before learning before company before home, and general without a word
// of these.
func (s *said) contextOf() string {
	if s.context != "" {
		return s.context
	}
	first := slices.Index(contexts, "general")
	for _, t := range s.sentences {
		for m := range t.All("trait.context") {
			first = min(first, slices.Index(contexts, m.Value))
		}
	}
	s.context = contexts[first]
	return s.context
}

// listen determines the speaker of each memory. If only two or more named people speak, in turn, the memories record a
// dialogue, and a trait names its person. Otherwise statements of a named speaker are not about the user.
func listen(memories []reasoner.Memory) []said {
	named := map[string]bool{}
	dialogue := true
	for _, m := range memories {
		dialogue = dialogue && !isUser(m.Speaker)
		named[strings.TrimSpace(m.Speaker)] = true
	}
	dialogue = dialogue && len(named) > 1 && len(named) <= 8
	all := make([]said, len(memories))
	for i, m := range memories {
		s := &all[i]
		switch {
		case isUser(m.Speaker):
		case dialogue && !language.Read(m.Speaker).Has("trait.machine"):
			s.name = strings.TrimSpace(m.Speaker)
		default:
			s.other = true
			continue
		}
		s.sentences = sentences(m.Content)
		if s.has("trait.advertising") {
			s.other, s.sentences = true, nil
		}
	}
	return all
}

func isUser(speaker string) bool {
	return strings.TrimSpace(speaker) == "" || language.Read(speaker).Has("trait.user")
}
