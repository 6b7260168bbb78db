package rules

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// sentence names a pattern in the language of the memory in which it first showed.
func (r *Reasoner) sentence(s *sign) string {
	text := r.plain(s)
	if s.name == "" {
		return text
	}
	if s.finding.zh {
		return s.name + text
	}
	first, size := utf8.DecodeRuneInString(text)
	return s.name + " " + string(unicode.ToLower(first)) + text[size:]
}

func (r *Reasoner) plain(s *sign) string {
	n := s.finding
	switch {
	case n.say != "":
		return n.say
	case n.kind == doing:
		return r.doing(s)
	case n.kind == eating && n.zh:
		return drink(n.group, "爱喝", "喜欢吃") + wording(s)
	case n.kind == eating:
		return drink(n.group, "Likes to drink ", "Likes ") + usualWording(s)
	case n.kind == liking && n.zh:
		return "喜欢" + n.surface
	case n.kind == liking:
		return "Likes " + n.surface
	case n.kind == place && n.zh:
		return "常去" + n.surface
	case n.kind == place:
		return "Often goes to " + n.surface
	case n.zh:
		return "常与" + n.surface + "来往"
	}
	return "Often spends time with " + n.surface
}

// wording is the longest name of a dish.
func wording(s *sign) string {
	best := s.finding.id
	for text := range s.surfaces {
		if strings.HasPrefix(text, s.finding.id) && (len(text) > len(best) || len(text) == len(best) && text < best) {
			best = text
		}
	}
	return best
}

// usualWording is how a pattern is mostly worded.
func usualWording(s *sign) string {
	best := s.finding.surface
	for text, n := range s.surfaces {
		if n > s.surfaces[best] || n == s.surfaces[best] && text < best {
			best = text
		}
	}
	return best
}

func drink(group, drinks, eats string) string {
	switch group {
	case "coffee", "tea", "drinks":
		return drinks
	}
	return eats
}

// doing names an activity, with the wordings of the memories that say more than the name.
func (r *Reasoner) doing(s *sign) string {
	a := r.v.activities[s.finding.id]
	if !s.finding.zh {
		if a.habit {
			return "Often " + a.en
		}
		return "Enjoys " + a.en
	}
	text := "喜欢" + a.zh
	if a.habit {
		text = "经常" + a.zh
	} else if strings.HasPrefix(a.zh, "收藏") {
		text = "爱" + a.zh
	}
	type form struct {
		text string
		n    int
	}
	var forms []form
	total := 0
	for t, n := range s.surfaces {
		total += n
		if hasHan(t) && !strings.Contains(text, t) {
			forms = append(forms, form{t, n})
		}
	}
	slices.SortFunc(forms, func(a, b form) int {
		if a.n != b.n {
			return b.n - a.n
		}
		return strings.Compare(a.text, b.text)
	})
	var more []string
	for _, f := range forms {
		if len(more) < 2 && 5*f.n >= total {
			more = append(more, f.text)
		}
	}
	if len(more) > 0 {
		text += "（" + strings.Join(more, "、") + "）"
	}
	return text
}

// contexts are the parts of life that words tell of, the first one that shows first.
var contexts = []string{"work", "learning", "social", "personal"}

// contextWords tell in which part of life something happens.
var contextWords = func() *table {
	t := &table{}
	for _, name := range contexts {
		for _, w := range lists.List("context." + name) {
			t.add(w, word{group: name})
		}
	}
	return t
}()

// contextOf infers the part of life that a memory belongs to: work before learning before company before home. It is
// general where no word says.
func contextOf(text string) string {
	if len(text) > maxRead {
		text = text[:maxRead]
	}
	found := map[string]bool{}
	for i := range text {
		if _, w := contextWords.longest(text[i:]); w.group != "" {
			if found[w.group] = true; w.group == "work" {
				break
			}
		}
	}
	for _, name := range contexts {
		if found[name] {
			return name
		}
	}
	return "general"
}

// contextOfAll is the context that most of the evidence has; general if none has more than half.
func contextOfAll(evidence []reasoner.Support) string {
	counts := map[string]int{}
	for _, e := range evidence {
		if counts[e.Context]++; 2*counts[e.Context] > len(evidence) {
			return e.Context
		}
	}
	return "general"
}
