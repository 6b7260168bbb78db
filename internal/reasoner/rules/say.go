package rules

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

// sentence names a pattern in the language of the memory in which it first showed.
func sentence(s *sign) string {
	n := s.finding
	text := n.say
	switch n.kind {
	case doing:
		text = activityOf(n.id).say(n.zh)
		if n.zh {
			text += moreWordings(s, text)
		}
	case acting:
		text = words().actsByID[n.id].say(n.zh)
	case eating:
		drink := slices.Contains([]string{"coffee", "tea", "drinks"}, n.group)
		switch {
		case n.zh:
			text = pick(drink, "爱喝", "喜欢吃") + n.id
		default:
			text = pick(drink, "Likes to drink ", "Likes ") + byFrequency(s.surfaces)[0]
		}
	}
	return of(s.name, text, n.zh)
}

// of puts the name of a person before a sentence.
func of(name, text string, zh bool) string {
	if name == "" || zh {
		return name + text
	}
	return strings.ToUpper(name[:1]) + name[1:] + " " + strings.ToLower(text[:1]) + text[1:]
}

// moreWordings returns the wordings of an activity that say more than its name, in brackets.
func moreWordings(s *sign, text string) string {
	total := 0
	for _, n := range s.surfaces {
		total += n
	}
	all := slices.DeleteFunc(byFrequency(s.surfaces), func(w string) bool {
		return !pattern.HasHan(w) || strings.Contains(text, w) || 5*s.surfaces[w] < total
	})
	if len(all) == 0 {
		return ""
	}
	return "（" + strings.Join(all[:min(2, len(all))], "、") + "）"
}

// byFrequency returns wordings, the most frequent first.
func byFrequency(wordings map[string]int) []string {
	all := slices.Collect(maps.Keys(wordings))
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(wordings[b]-wordings[a], strings.Compare(a, b)) })
	return all
}

// foodOf returns the dish with a name.
func foodOf(name string) finding {
	t := language.Read(name)
	for i := range t.Tokens {
		if all, _ := dishesAt(t, i); len(all) > 0 {
			return all[0]
		}
	}
	return finding{}
}

// contextOfAll returns the context of most of the evidence, or general if none has more than half.
func contextOfAll(evidence []reasoner.Support) string {
	counts := map[string]int{}
	for _, e := range evidence {
		if counts[e.Context]++; 2*counts[e.Context] > len(evidence) {
			return e.Context
		}
	}
	return "general"
}
