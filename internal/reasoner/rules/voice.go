package rules

import (
	"strings"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

// voice is who speaks in a memory.
type voice int

const (
	own      voice = iota // the user, or a record about the user
	recorded              // a sentence about the user, such as a trait's
	other                 // somebody else, an assistant, or advertising
)

// said is a memory with what is known of its speaker.
type said struct {
	voice voice
	name  string // of the speaker, in a record of a dialogue; else ""
	text  string
}

// inFirstPerson tells whether somebody writes of themselves as "I".
func (s said) inFirstPerson() bool {
	if s.voice != own || s.name != "" {
		return false
	}
	for _, i := range []string{"I ", "I'", "I’"} {
		if strings.HasPrefix(s.text, i) || strings.Contains(s.text, " "+i) {
			return true
		}
	}
	return strings.Contains(s.text, "我") || strings.Contains(s.text, " my ") || strings.HasPrefix(s.text, "My ") || strings.HasPrefix(s.text, "We ")
}

var selves = lists.Set("selves")

// listen tells who speaks in each memory. Where nobody speaks but two or more named people in turn,
// the user keeps the record of a dialogue: then a trait names the person that it is of. Otherwise
// what a named speaker says is no fact about the user.
func listen(memories []reasoner.Memory) []said {
	named := map[string]int{}
	for _, m := range memories {
		s := strings.TrimSpace(m.Speaker)
		if s == "" || selves[strings.ToLower(s)] {
			named = nil
			break
		}
		named[s]++
	}
	all := make([]said, len(memories))
	for i, m := range memories {
		speaker := strings.TrimSpace(m.Speaker)
		switch {
		case speaker == "" || selves[strings.ToLower(speaker)]:
			all[i] = source(m.Content)
		case len(named) > 1 && len(named) <= 8 && !machine(speaker):
			all[i] = source(m.Content)
			all[i].name = speaker
		default:
			all[i] = said{voice: other}
		}
	}
	return all
}

var machines = lists.List("machines")

func machine(speaker string) bool {
	lower := strings.ToLower(speaker)
	return lower == "ai" || lexis.ContainsAny(lower, machines)
}

// source tells the user's own words from advertising.
func source(text string) said {
	s := said{voice: own, text: strings.TrimSpace(text)}
	if lexis.ContainsAny(strings.ToLower(s.text), advertisingEn) {
		s.voice = other
	}
	return s
}

var advertisingEn = lists.List("advertising.en")
