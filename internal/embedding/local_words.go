package embedding

import (
	"embed"
	"io/fs"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

//go:embed words/*.txt
var wordFiles embed.FS

// words holds the word lists of the local model.
var words = func() *pattern.Lists {
	files, err := fs.Sub(wordFiles, "words")
	if err != nil {
		panic(err)
	}
	return pattern.MustReadLists(files)
}()

// endings are the suffixes removed from English words to get the stem. A suffix comes before any
// other that it ends with.
var endings = func() (all [][]rune) {
	for _, e := range words.List("endings.en") {
		all = append(all, []rune(e))
	}
	return all
}()

// stemLen returns the length of an English word's stem, in runes. It is coarse on purpose: two
// words that should not share a stem differ in their n-grams.
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

// emptyWords are the hashes of words that carry no topic.
var emptyWords = wordSet(words.List("empty.en"))

// emptyCharacters are the same for Chinese: particles, pronouns, prepositions, auxiliaries.
var emptyCharacters = runeSet(words.List("empty.zh"))

func wordSet(list []string) map[uint64]bool {
	set := map[uint64]bool{}
	for _, w := range list {
		set[hash(kindWord, []rune(w))] = true
	}
	return set
}

func runeSet(list []string) map[rune]bool {
	set := map[rune]bool{}
	for _, r := range strings.Join(list, "") {
		set[r] = true
	}
	return set
}
