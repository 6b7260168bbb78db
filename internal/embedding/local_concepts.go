package embedding

import "strings"

// concepts lets a text about a doctor match one about a hospital, and a question in one language
// match an answer in the other, without a model. It maps the hash of a word, and of its stem unless
// that is a word of another line, to the hash of its concept.
var concepts = readConcepts()

func readConcepts() map[uint64]uint64 {
	of := map[uint64]uint64{}
	eachWord := func(do func(word []rune, concept uint64)) {
		for _, line := range words.List("concepts") {
			same := strings.Fields(line)
			concept := hash(kindConcept, []rune(same[0]))
			for _, w := range same {
				do([]rune(w), concept)
			}
		}
	}
	eachWord(func(word []rune, concept uint64) { of[hash(kindWord, word)] = concept })
	eachWord(func(word []rune, concept uint64) {
		if stem := hash(kindWord, word[:stemLen(word)]); of[stem] == 0 {
			of[stem] = concept
		}
	})
	return of
}
