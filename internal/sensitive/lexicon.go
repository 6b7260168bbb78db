package sensitive

import (
	_ "embed" // the lists
	"strings"
	"sync"
)

var (
	//go:embed english.txt
	englishList string
	//go:embed chinese.txt
	chineseList string
	//go:embed characters.txt
	characterLines string

	// Read when they are first asked: most programs never do.
	english = sync.OnceValue(func() *wordList { return readEnglish(englishList) })
	chinese = sync.OnceValue(func() *characterList { return readChinese(chineseList) })
)

// harmless is the section of what only looks sensitive.
const harmless = "harmless"

// readList calls line with each line of a list, comments left out, and with the section that it is in.
func readList(list string, line func(section, line string)) {
	section := ""
	for text := range strings.Lines(list) {
		text = strings.TrimSpace(text)
		switch {
		case text == "" || text[0] == '#':
		case text[0] == '[':
			section = strings.Trim(text, "[]")
		default:
			line(section, text)
		}
	}
}

// span is a part of a text, from a position up to another.
type span struct{ from, to int }

// within tells whether one of the spans, which are in the order of their beginnings, holds s.
func (s span) within(spans []span) bool {
	for _, other := range spans {
		if other.from > s.from {
			return false
		}
		if s.to <= other.to {
			return true
		}
	}
	return false
}
