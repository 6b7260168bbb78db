package extract

import (
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
)

const (
	maxClauses = 240 // maximum length of a sentence that is split, in bytes
	maxHabit   = 8   // maximum number of words, or pairs of Chinese characters, of a habit
)

// clauses splits a sentence with several statements about its speaker that can change independently: "I live in Berlin
// and work as a nurse at Charité", 我住在北京，是一名护士. Each part is a complete sentence.
func clauses(s sentence, t *talk) []sentence {
	p := s.Text
	if len(s.text) > maxClauses || !p.Has("clause.self") {
		return []sentence{s}
	}
	found := s.attributesOf()
	for m := range p.All("clause.join") {
		from := p.Tokens[m.Start].Start
		head, tail := strings.TrimRight(s.text[:from], ", "), strings.TrimLeft(s.text[p.Tokens[m.End-1].End:], " ")
		if head == "" || tail == "" {
			continue
		}
		whole, ok := standing(head, tail)
		if !ok {
			continue
		}
		mark := "."
		if s.chinese() {
			mark = "。"
		}
		first, second := read(head+mark), read(whole)
		if separate(&first, &second, t) || apart(&first, t) && second.habit() {
			return append([]sentence{first}, clauses(second, t)...)
		}
	}
	return jobAndEmployer(s, found)
}

// jobAndEmployer splits a sentence that names both: "I work as a nurse at Charité", 我在腾讯当程序员.
func jobAndEmployer(s sentence, found []attribute) []sentence {
	for i := 1; i < len(found); i++ {
		a, b := found[i-1], found[i]
		work := a.key == "employer" || a.key == "workplace"
		switch {
		case a.denied || a.end == 0 || b.start-a.end > 9 ||
			!(a.key == "job" && b.key == "employer" || work && b.key == "job"):
		case s.chinese():
			return []sentence{read(s.text[:a.end] + "工作。"), read("我是" + s.text[b.start:b.end])}
		default:
			first := s.text[:a.end] + strings.TrimRight(s.text[b.end:], ".") + "."
			return []sentence{read(first), read("I work" + s.text[a.end:b.end] + ".")}
		}
	}
	return []sentence{s}
}

// standing gives the rest of a sentence the subject of its beginning, unless it has its own or continues with another.
func standing(head, tail string) (string, bool) {
	next := language.Read(tail)
	if next.Len("clause.subject", 0) > 0 {
		return capitalised(tail), true
	}
	goesOn, ok := next.At("clause.goes_on", 0)
	before := language.Read(head)
	self, about := before.Find("clause.self")
	switch {
	case !ok || !about || self.Value == "" || before.Has("clause.other"):
		return "", false
	case self.Value == "我":
		return self.Value + tail, true
	case goesOn.Value == "doing":
		return "I'm " + tail, self.Value == "I'm"
	case self.Value == "I'm":
		return "I " + tail, true
	}
	return self.Value + " " + tail, true
}

// separate reports whether two statements can change independently.
func separate(first, second *sentence, t *talk) bool {
	a, b := first.attributesOf(), second.attributesOf()
	switch {
	case len(a) > 0 && len(b) > 0:
		return !slices.ContainsFunc(a, func(x attribute) bool {
			return slices.ContainsFunc(b, func(y attribute) bool {
				return x.key == y.key && (!x.over || y.over || first.chinese())
			})
		})
	case len(a)+len(b) == 0:
		return apart(first, t) && apart(second, t)
	}
	one, other := readSentence(*first, t), readSentence(*second, t)
	return one.stays() && other.stays()
}

// stays reports whether a statement is a fact that is worth remembering alone.
func (r *reading) stays() bool {
	return r.kind == statement && r.anchored && r.lasting()
}

// brief reports whether a statement is a short one about a taste or a skill.
func (r *reading) brief() bool {
	return r.stays() && (len(r.text) <= shortFact || r.Han > 0) &&
		(r.category == reasoner.StablePreference || r.category == reasoner.Skill)
}

// apart reports whether a sentence would be a fact alone.
func apart(s *sentence, t *talk) bool {
	r := readSentence(*s, t)
	return r.kind == statement && (len(r.attributes) > 0 || r.brief())
}

// habit reports whether a sentence is a short statement of a habit.
func (s *sentence) habit() bool {
	t := s.Text
	return s.words+t.Han/2 <= maxHabit && t.Has("habit")
}
