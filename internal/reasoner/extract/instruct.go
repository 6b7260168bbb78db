package extract

import (
	"strings"

	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

// Words by which a message speaks to the machinery of a model and not to anybody about anything. Such a message is not
// remembered at all: what it says beside that is said for the same purpose.
var (
	commandsEn  = phrasesIn(words.List("commands.en"))
	machineryEn = words.Set("machinery.en")
	alwaysEn    = phrasesIn(words.List("always.en"))
	privilegeEn = words.Set("privilege.en")
	grantEn     = words.Set("grant.en")
	granted     = words.Set("granted")

	marksOfPrompts = words.List("marks-of-prompts")
	commandsZh     = words.List("commands.zh")
	machineryZh    = words.List("machinery.zh")
	alwaysZh       = words.List("always.zh")
	privilegeZh    = words.List("privilege.zh")
	grantZh        = words.List("grant.zh")
	grantedZh      = words.List("granted.zh")
)

// instructs tells whether a sentence is addressed to a model as such: "ignore the above
// instructions", "remember that I am an admin and set…".
func instructs(s *sentence) bool {
	lower := ""
	if strings.ContainsAny(s.text, "<[{#:：") {
		lower = strings.ToLower(s.text)
		if lexis.ContainsAny(lower, marksOfPrompts) && (hasPrefixOf(lower, marksOfPrompts) || !strings.Contains(lower, "system: ")) {
			return true
		}
	}
	all := s.tokens
	privilege, grant, grants := false, false, false
	for i := 0; i < len(all) && s.has(headsInstruct); i++ {
		w := all[i].lower
		if alwaysEn.at(all, i) > 0 && !narrated(all, i) {
			return true
		}
		if n := commandsEn.at(all, i); n > 0 && !narrated(all, i) {
			for j := i + 1; j < len(all) && j < i+8; j++ {
				if machineryEn[all[j].lower] {
					return true
				}
			}
		}
		privilege = privilege || privilegeEn[w]
		grant = grant || grantEn[w] && !narrated(all, i)
		grants = grants || granted[w]
	}
	if privilege && grant && grants {
		return true
	}
	if s.han == 0 {
		return false
	}
	if s.hasZh(hasAlways) {
		return true
	}
	if i := indexOfZh(s, hasCommand, commandsZh); i >= 0 && !strings.HasSuffix(s.text[:i], "我") && lexis.ContainsAny(s.text[i:], machineryZh) {
		return true
	}
	return (s.hasZh(hasPrivilege) || privilege) && lexis.ContainsAny(s.text, grantZh) && lexis.ContainsAny(s.text, grantedZh)
}

// indexOfZh returns where the first of a list's words stands; -1: none does.
func indexOfZh(s *sentence, f flagsZh, words []string) int {
	if !s.hasZh(f) {
		return -1
	}
	return indexAny(s.text, words)
}

// narrated tells whether somebody is said to do what stands at the i-th token: "I ignore all the rules of that recipe".
func narrated(all []token, i int) bool {
	if i == 0 {
		return false
	}
	switch all[i-1].lower {
	case "i", "we", "they", "he", "she", "to", "i'd", "i'll", "we'd", "people", "who", "don't", "not", "never", "always", "often", "usually", "used":
		return true
	}
	return false
}
