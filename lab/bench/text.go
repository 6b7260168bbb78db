package main

import (
	_ "embed" // the words
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

//go:embed words.txt
var wordLists string

var words = readWords()

func readWords() map[string][]string {
	lists := map[string][]string{}
	for line := range strings.Lines(wordLists) {
		if name, entries, found := strings.Cut(strings.TrimSpace(line), ": "); found && name[0] != '#' {
			lists[name] = strings.Split(entries, "; ")
		}
	}
	return lists
}

// writer makes up texts. The same seed gives the same texts.
type writer struct{ *rand.Rand }

func newWriter(seed uint64) writer { return writer{rand.New(rand.NewPCG(seed, 20))} }

func (w writer) of(list string) string { return words[list][w.IntN(len(words[list]))] }

// rare returns one of some thousand invented names, the first ones more often: real texts are full of rare words.
func (w writer) rare() string {
	n := int(float64(8000) * w.Float64() * w.Float64() * w.Float64())
	s := words["syllables"]
	name := s[n%20] + s[n/20%20] + s[n/400%20]
	return strings.ToUpper(name[:1]) + name[1:]
}

// english returns a sentence of 60 to 120 characters.
func (w writer) english() string {
	return strings.Join(
		[]string{
			w.of("names"),
			w.of("verbs"),
			"the",
			w.of("adjectives"),
			w.of("things"),
			"from",
			w.rare(),
			"at the",
			w.of("places"),
			w.of("reasons") + ".",
		},
		" ",
	)
}

// chinese returns sentences of about the given number of characters.
func (w writer) chinese(length int) string {
	var b strings.Builder
	for n := 0; n < length; {
		s := w.of(
			"times",
		) + "，" + w.of(
			"people",
		) + "在" + w.of(
			"locations",
		) + w.of(
			"doings",
		) + w.of(
			"qualities",
		) + w.of(
			"objects",
		)
		if w.IntN(3) == 0 {
			s += "（" + w.rare() + "）"
		}
		s += "，" + w.of("afterwards") + "。"
		b.WriteString(s)
		n += utf8.RuneCountInString(s)
	}
	return b.String()
}

// text is English or Chinese.
func (w writer) text() string {
	if w.IntN(2) == 0 {
		return w.english()
	}
	return w.chinese(60)
}

// question asks about a text in some of its words, sometimes with a month.
func (w writer) question(text string) string {
	words := strings.Fields(text)
	if len(words) < 6 {
		runes := []rune(text)
		at := w.IntN(max(len(runes)-12, 1))
		q := string(runes[at:min(at+12, len(runes))]) + "是什么时候的事？"
		if w.IntN(4) == 0 {
			q = "3月" + q
		}
		return q
	}
	q := "When did " + words[0] + " have the " + strings.Join(words[3:min(7, len(words))], " ") + "?"
	if w.IntN(4) == 0 {
		q = "In March: " + q
	}
	return q
}

// texts makes up n texts.
func (w writer) texts(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = w.text()
	}
	return texts
}

// alike returns a sentence that resembles thousands of others: each of its words is common.
func (w writer) alike() string {
	return "I had " + w.of("drinks") + " at the " + w.of("rooms") + " with " + w.of("colleagues") + " before the " +
		w.of("occasions") + " " + w.of("hours") + "."
}
