package extract

import "github.com/oxbow-memory/oxbow/internal/reasoner/language"

// turn interprets what a statement says of an earlier taste or habit: that it is over ("I've gone off coffee",
// 火锅吃腻了), or that it is back (又喜欢上咖啡了). The patterns are those of turns.txt.
func (s *sense) turn(text string) {
	t := language.Read(text)
	s.unsaid, s.theirs = t.Has("turn.unsaid"), t.Has("turn.theirs")
	s.taste = s.taste || t.Has("turn.taste")
	first := ""
	for m := range t.All("turn") {
		var of sense
		taken, _ := m.Get("taken")
		if of.read(read(taken.Value)); len(of.objects) == 0 {
			of.objects = of.words
		}
		if s.unsaid || len(of.objects) == 0 || first != "" && m.Value != first {
			continue
		}
		if first == "" {
			first = m.Value
			s.objects, s.taste = of.objects, true
			s.over, s.negated = first == "over", first != "again"
		}
		s.turns = append(s.turns, of.objects)
	}
}
