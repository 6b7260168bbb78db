package rules

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed words/selves.txt
var selfLines string

// selfWord is something that people say they are.
type selfWord struct {
	id, zh, en string
}

// selfWords are the words of self-descriptions.
type selfWords struct {
	chinese table
	byForm  map[string]selfWord
	english map[string][]phrase // by the first word, the longest first
	said    map[string]selfWord // by the phrase
}

var selves2 = sync.OnceValue(func() *selfWords {
	s := &selfWords{byForm: map[string]selfWord{}, english: map[string][]phrase{}, said: map[string]selfWord{}}
	for _, f := range fields(selfLines, 5) {
		w := selfWord{id: f[0], zh: f[1], en: f[2]}
		for _, form := range strings.Fields(f[3]) {
			s.chinese.add(form, word{})
			s.byForm[form] = w
		}
		for _, form := range strings.Split(f[4], ",") {
			p := phrase{text: strings.TrimSpace(form)}
			for _, t := range tokens(p.text, nil) {
				p.words = append(p.words, t.lower)
			}
			s.english[p.words[0]] = append(s.english[p.words[0]], p)
			s.said[p.text] = w
		}
	}
	for _, all := range s.english {
		sortPhrases(all)
	}
	return s
})

func longestSelf(text string) (string, selfWord) {
	s := selves2()
	form, _ := s.chinese.longest(text)
	return form, s.byForm[form]
}

// selfPhraseAt returns what words begin with, if it describes a person and the clause ends with it or goes on with a
// person or a conjunction: "I'm patient" and "I'm a patient person", but not "I'm patient zero".
func selfPhraseAt(clause []token) (selfWord, bool) {
	s := selves2()
next:
	for _, p := range s.english[clause[0].lower] {
		if len(p.words) > len(clause) {
			continue
		}
		for j, w := range p.words {
			if clause[j].lower != w {
				continue next
			}
		}
		if rest := clause[len(p.words):]; len(rest) == 0 || selfAfter[rest[0].lower] {
			return s.said[p.text], true
		}
	}
	return selfWord{}, false
}

var selfAfter = lists.Set("self-after")
