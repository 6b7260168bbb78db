package extract

import (
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
	"github.com/oxbow-memory/oxbow/internal/reasoner/when"
)

// maxIntention is the maximum number of characters of a sentence that is read as an intention.
const maxIntention = 300

// intentionsOf returns what a person says in a message to intend, to have to do, or to want to be reminded of. Times are
// relative to the message. The patterns are those of intentions.txt.
func intentionsOf(m *reasoner.Message) (heard []reasoner.Intention) {
	sentences, _ := split(m.Content)
	for i := range sentences {
		s := &sentences[i]
		if utf8.RuneCountInString(s.text) > maxIntention || s.instructs() || s.quotes() {
			continue
		}
		if n, ok := s.intention(m); ok {
			n.Source = m.ID
			heard = append(heard, n)
		}
	}
	return heard
}

func (s *sentence) intention(m *reasoner.Message) (n reasoner.Intention, ok bool) {
	n.Content = oneline.Of(s.text)
	reminder, reminds := s.Find("intend.remind")
	switch {
	case s.Has("intend.dropped") && !s.asks():
		n.Closes = "dropped"
		return n, true
	case reminds:
		n.Kind, n.Content = "reminder", s.reminded(reminder)
	case s.asks():
		return n, false
	case s.Has("intend.goal"):
		n.Kind = "goal"
	case s.Has("intend.others"):
		return n, false
	case s.Has("intend.done"):
		n.Closes = "done"
		return n, true
	case s.Has("intend.plan"), s.beginsWithTime():
		n.Kind = "intention"
	default:
		return n, false
	}
	if d, ok := when.FindDue(s.text, m.Time); ok {
		n.Due, n.Precision, n.Recurrence = d.Time, string(d.Precision), d.Recurrence
	} else if c, ok := s.Find("intend.when"); ok {
		n.Condition = s.from(c)
	}
	return n, n.Kind != "intention" || !n.Due.IsZero()
}

// reminded returns what a person wants to be reminded of: what follows "to" or 提醒我, or else what precedes it.
func (s *sentence) reminded(m pattern.Match) string {
	rest := strings.TrimSpace(s.text[s.Tokens[m.End-1].End:])
	if !s.chinese() {
		for _, word := range []string{" to ", " that ", " about "} {
			if _, what, ok := strings.Cut(" "+rest, word); ok {
				rest = what
				break
			}
		}
	}
	for _, particle := range []string{"一下", "一声", "下"} { // 提醒我一下
		rest = strings.TrimPrefix(rest, particle)
	}
	before := s.text[:s.Tokens[m.Start].Start]
	for _, part := range []string{rest, before} {
		part = strings.Trim(oneline.Of(part), " ,.;:!?，。；：！？吧哦啊呀哈")
		for _, lead := range []string{"记得", "到时候", "到时", "请", "麻烦", "帮我", "please", "and", "so"} {
			part = strings.TrimRight(strings.TrimSuffix(part, lead), " ,，")
		}
		if utf8.RuneCountInString(part) > 1 {
			return part
		}
	}
	return oneline.Of(s.text)
}

// from returns the text from a match on, up to a mark.
func (s *sentence) from(m pattern.Match) string {
	end := m.End
	for end < len(s.Tokens) && !s.Tokens[end].Mark {
		end++
	}
	return s.text[s.Tokens[m.Start].Start:s.Tokens[end-1].End]
}

// beginsWithTime reports whether a Chinese sentence begins with a time and goes on with something to do: 下周三交报告.
func (s *sentence) beginsWithTime() bool {
	return s.chinese() && s.Len("time", 0) > 0 && s.Len("time", 0) < len(s.Tokens) && !s.Has("time.behind")
}
