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
	for i := range t.Tokens {
		m, ok := turnAt(t, i)
		var of sense
		taken, _ := m.Get("taken")
		if of.read(read(taken.Value)); len(of.objects) == 0 {
			of.objects = of.words
		}
		if !ok || len(of.objects) == 0 || first != "" && m.Value != first {
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

// turnAt returns what takes something back or renews it in the clause that begins at the i-th token, or from a speaker
// there on.
func turnAt(t *pattern.Text, i int) (best pattern.Match, ok bool) {
	first, second := "turn.said", "turn.topic"
	speaker := t.Len("turn.i", i)
	if speaker == 0 {
		first, second = second, first
		if i > 0 && !t.Tokens[i-1].Mark {
			return best, false
		}
	}
	for at, n := i+speaker, 1; n > 0; at += n { // the last match is that after all adverbs
		m, is := t.At(first, at)
		if !is {
			m, is = t.At(second, at)
		}
		if is {
			best, ok = m, true
		}
		n = t.Len("turn.adverb", at)
	}
	return best, ok
}
