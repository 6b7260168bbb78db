// Package lexis has what all who read words by rules need: lists of words, and names.
package lexis

import (
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
)

// Surnames are the characters that Chinese names of persons begin with.
var Surnames = Must(language.Names).Runes("surnames.zh")

// Set is a list of words, with spaces between them.
func Set(list string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(list) {
		m[w] = true
	}
	return m
}

// ContainsAny tells whether any of the words stands in a text.
func ContainsAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// LastRunes returns the last n characters of text.
func LastRunes(text string, n int) string {
	start := len(text)
	for ; n > 0 && start > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:start])
		start -= size
	}
	return text[start:]
}
