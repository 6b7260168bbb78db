package bm25

import (
	"regexp"
	"strings"
)

var (
	words = regexp.MustCompile(`[a-z0-9]+|[\x{3400}-\x{9fff}]+`)

	stopWords = set(`a an and are as at be been but by can did do does for from had has have he her hers him his how i if
		in into is it its me my of on or our she so than that the their them then there these they this to was we were what
		when where which who whom whose why will with would you your s t`)

	// suffixes are tried in this order; the first that leaves three letters is cut off.
	suffixes = []string{"ational", "ations", "ation", "ingly", "edly", "ings", "ing", "ied", "ies", "ed", "es", "ly", "s"}
)

func set(list string) map[string]bool {
	s := map[string]bool{}
	for _, w := range strings.Fields(list) {
		s[w] = true
	}
	return s
}

// Terms returns the terms of a text in order: stems of its English words in lower case without stop words, and the
// pairs of neighbouring Chinese characters.
func Terms(text string) []string {
	var terms []string
	for _, word := range words.FindAllString(strings.ToLower(text), -1) {
		if word[0] < 0x80 {
			if !stopWords[word] {
				terms = append(terms, stem(word))
			}
			continue
		}
		runes := []rune(word)
		if len(runes) == 1 {
			terms = append(terms, word)
		}
		for i := 1; i < len(runes); i++ {
			terms = append(terms, string(runes[i-1:i+1]))
		}
	}
	return terms
}

func stem(word string) string {
	for _, suffix := range suffixes {
		if rest, ok := strings.CutSuffix(word, suffix); ok && len(rest) >= 3 {
			word = rest
			break
		}
	}
	if n := len(word); n > 3 && word[n-1] == word[n-2] && !strings.ContainsRune("lsz", rune(word[n-1])) {
		word = word[:n-1]
	}
	if len(word) > 3 {
		word = strings.TrimSuffix(word, "e")
	}
	return word
}
