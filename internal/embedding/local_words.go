package embedding

import (
	"slices"
	"strings"
)

// endings are what an English word loses to become its stem, longer ones first where one ends another.
var endings = [][]rune{
	[]rune("ions"), []rune("ion"), []rune("ingly"), []rune("edly"), []rune("ments"), []rune("ment"),
	[]rune("ings"), []rune("ing"), []rune("ness"), []rune("ies"), []rune("ied"), []rune("ers"), []rune("er"),
	[]rune("est"), []rune("es"), []rune("ed"), []rune("ly"), []rune("s"),
}

// stemLen returns how many runes of an English word make its stem. It is coarse on purpose: two words that should not
// share a stem differ in their n-grams.
func stemLen(word []rune) int {
	n := len(word)
	if word[n-1] >= 'a' && word[n-1] <= 'z' {
		for _, e := range endings {
			if rest := n - len(e); rest >= 3 && slices.Equal(word[rest:n], e) && !(len(e) == 1 && word[rest-1] == 's') {
				n = rest
				break
			}
		}
	}
	if n > 3 && word[n-1] == word[n-2] && word[n-1] != 'l' && word[n-1] != 's' && word[n-1] != 'z' {
		n--
	}
	if n > 3 && (word[n-1] == 'e' || word[n-1] == 'y' || word[n-1] == 'i') {
		n--
	}
	return n
}

// emptyWords are words that say nothing about what a text is about, by their hash.
var emptyWords = wordSet(`a an the and or but if then else so than that this these those there here it its itself
	i me my mine myself we us our ours you your yours he him his she her hers they them their theirs
	who whom whose which what when where why how is am are was were be been being do does did done doing have has had
	having can could will would shall should may might must not no nor yes of in on at to from by for with about into
	over under out up down off as all any some each both few more most other such own same only very too just also again
	ever never now s t d m ll re ve don didn doesn isn wasn weren wouldn couldn shouldn aren haven hasn hadn ain
	oh hey hi hello wow yeah yep ok okay really thanks thank get got getting go going gone went know think say said tell
	told thing things lot much many make made`)

// emptyCharacters are the same in Chinese: particles, pronouns, prepositions, auxiliaries.
var emptyCharacters = runeSet("的了是在我你他她它们有和与及或也都就不还没很这那哪个些什么谁吗呢吧啊呀着过到得地为被把给从对于向以之其所而且但并因如会能可要想请让用来去")

func wordSet(words string) map[uint64]bool {
	set := map[uint64]bool{}
	for _, w := range strings.Fields(words) {
		set[hash(kindWord, []rune(w))] = true
	}
	return set
}

func runeSet(characters string) map[rune]bool {
	set := map[rune]bool{}
	for _, r := range characters {
		set[r] = true
	}
	return set
}
