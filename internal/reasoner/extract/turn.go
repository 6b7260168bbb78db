package extract

import (
	"strings"

	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

// turn interprets what a text and its parts say of an earlier taste or habit: that it is over ("I've gone off coffee",
// 火锅吃腻了), or that it is back (又喜欢上咖啡了). The patterns are those of turns.txt.
func (s *sense) turn(text string, said []part) {
	var own []string
	for i := range said {
		if said[i].subject == "" {
			own = append(own, said[i].text)
		}
	}
	t, told := language.Read(text), language.Read(strings.Join(own, " "))
	s.unsaid = t.Has("turn.unsaid") || told.Has("turn.unsaid")
	s.theirs = told.Has("turn.theirs") || len(own) < len(said) && t.Has("turn.theirs")
	s.taste = s.taste || told.Has("turn.taste")
	if !s.unsaid && !s.turned(t) && told.String != t.String {
		s.turned(told)
	}
}

// turned sets what a text takes back or renews, and reports whether there is something.
func (s *sense) turned(t *pattern.Text) bool {
	first := ""
	for m := range t.All("turn") {
		var of sense
		taken, _ := m.Get("taken")
		if of.read(read(taken.Value)); len(of.objects) == 0 {
			of.objects = of.words
		}
		if len(of.objects) == 0 || first != "" && m.Value != first {
			continue
		}
		if first == "" {
			first = m.Value
			s.objects, s.taste = of.objects, true
			s.over, s.negated = first == "over", first != "again"
		}
		s.turns = append(s.turns, of.objects)
	}
	return first != ""
}
