package sensitive

import (
	"embed"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

// plain normalizes differences that a reader ignores: width and style of letters (NFKD), accents,
// case, invisible characters, letters of other scripts that look like Latin ones, and traditional
// forms of characters. It replaces symbols that stand for a word with the word.
func plain(text string) []rune {
	rs := make([]rune, 0, len(text))
	if isASCII(text) {
		for i := range len(text) {
			rs = append(rs, lowerASCII(text[i]))
		}
		return rs
	}
	text = strings.ToValidUTF8(text, " ")
	for _, r := range norm.NFKD.String(text) {
		switch {
		case r < utf8.RuneSelf:
			rs = append(rs, lowerASCII(byte(r)))
		case invisible(r):
		default:
			rs = appendPlain(rs, r)
		}
	}
	return rs
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func lowerASCII(b byte) rune {
	if 'A' <= b && b <= 'Z' {
		return rune(b) + 'a' - 'A'
	}
	return rune(b)
}

// invisible reports whether a character has no width: format characters, marks, and fillers, which
// Unicode counts as letters.
func invisible(r rune) bool {
	switch r {
	case 0x115F, 0x1160, 0x3164, 0xFFA0, 0x2800:
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me)
}

func appendPlain(rs []rune, r rune) []rune {
	if word, ok := symbols[r]; ok {
		return append(rs, []rune(" "+word+" ")...)
	}
	if like, ok := lookalikes[r]; ok {
		return append(rs, like)
	}
	if simple, ok := simplified[r]; ok {
		return append(rs, simple)
	}
	r = unicode.ToLower(r)
	if like, ok := lookalikes[r]; ok {
		r = like
	}
	return append(rs, r)
}

// symbols are pictures that stand for a word of the lists, lookalikes letters that pass for Latin ones, and simplified
// holds the simplified forms of traditional characters.
var (
	//go:embed characters.txt
	characterFile embed.FS

	characters = pattern.MustReadLists(characterFile)
	symbols    = byRune("symbols", func(s string) string { return s })
	lookalikes = byRune("lookalikes", firstRune)
	simplified = byRune("traditional", firstRune)
)

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// byRune returns a list of characters with what each stands for.
func byRune[T any](list string, value func(string) T) map[rune]T {
	all := map[rune]T{}
	for character, text := range characters.Map(list) {
		all[firstRune(character)] = value(text)
	}
	return all
}
