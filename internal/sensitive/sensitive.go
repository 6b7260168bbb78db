// Package sensitive recognizes texts about matters that must never be inferred about a person: health, politics,
// religion, sexuality, ethnicity (DESIGN §5, C §8.2), in English and Chinese. It knows words, not people, and errs on
// the side of calling a text sensitive, since a lost trait is cheaper than one that should not exist. Health means
// diagnoses, symptoms, medication, therapy, disability, pregnancy and addiction; sports, food, tiredness and moods are
// not health.
//
// The expressions are patterns in lists/*.txt. Those in signs.*.txt do not name the subject: practices, places,
// objects, measures, and combinations of two weak signs. Weak words (signs.weak*.txt) count only beside a word that
// ties them to a person: "our church", not "the church clock". An expression within a harmless one does not count. An
// expression does not count either if a part of it lies in a setting (settings*.txt: work, studies, fiction, travel,
// pets) or among words that give it another sense (senses.txt).
//
// It misses texts in other languages, and facts from which only a reader would draw the conclusion.
package sensitive

import (
	"embed"
	"io/fs"
	"slices"

	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

// The categories.
const (
	Health    = "health"
	Politics  = "politics"
	Religion  = "religion"
	Sexuality = "sexuality"
	Ethnicity = "ethnicity"
)

//go:embed lists/*.txt
var files embed.FS

var lists = func() fs.FS {
	sub, err := fs.Sub(files, "lists")
	if err != nil {
		panic(err)
	}
	return sub
}()

var grammar = pattern.New(lists)

// Category returns the category of the first sensitive expression in text. Letters of other widths and scripts that
// look like Latin ones, invisible characters, letters set apart by spaces, and traditional characters do not hide an
// expression. A sensitive text stays sensitive when a sentence is appended to it. It is safe for concurrent use.
func Category(text string) (category string, ok bool) {
	words := split(plain(text))
	if category, ok := find(join(words), anyLength); ok {
		return category, true
	}
	if deciphered := decipher(words); deciphered != nil {
		if category, ok := find(join(deciphered), anyLength); ok {
			return category, true
		}
	}
	if tied := untie(words); tied != nil {
		if category, ok := find(join(tied), 1); ok {
			return category, true
		}
	}
	spelt, letters := spell(words)
	if spelt != nil {
		if category, ok := find(join(spelt), anyLength); ok {
			return category, true
		}
	}
	for _, run := range letters {
		if category, ok := within(run); ok {
			return category, true
		}
	}
	return "", false
}

// anyLength does not limit the number of words of an expression.
const anyLength = 1 << 30

// find returns the category of the first expression in the text that has at most limit words and is not
// part of a harmless expression.
func find(text string, limit int) (category string, ok bool) {
	t := grammar.Read(text)
	var harmless []pattern.Match
	known := false
	for m := range t.All("sensitive") {
		if m.End-m.Start > limit {
			continue
		}
		if !known {
			harmless, known = slices.Collect(t.All("harmless")), true
		}
		if !slices.ContainsFunc(harmless, func(h pattern.Match) bool { return excuses(h, m) }) {
			return m.Value, true
		}
	}
	return "", false
}

// excuses reports whether a sensitive expression does not count because of a harmless one: it lies within it or, if the
// harmless one has the value "part", overlaps it.
func excuses(harmless, sensitive pattern.Match) bool {
	if harmless.Value == "part" {
		return harmless.Start < sensitive.End && sensitive.Start < harmless.End
	}
	return harmless.Start <= sensitive.Start && sensitive.End <= harmless.End
}

// longestWord and maxLetters bound the search for words among letters that were set apart.
const (
	longestWord = 20
	maxLetters  = 200
)

// within finds an expression of one word anywhere in letters that were set apart.
func within(letters string) (category string, ok bool) {
	letters = letters[:min(len(letters), maxLetters)]
	for i := range letters {
		for j := i + 3; j <= min(i+longestWord, len(letters)); j++ {
			if t := grammar.Read(letters[i:j]); len(t.Tokens) == 1 {
				if m, ok := t.At("sensitive", 0); ok {
					return m.Value, true
				}
			}
		}
	}
	return "", false
}
