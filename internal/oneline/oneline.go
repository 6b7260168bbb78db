// Package oneline makes texts from outside safe to show in terminals, logs and prompts.
package oneline

import (
	"strings"
	"unicode"
)

// Of returns a text as one line of valid UTF-8. Unprintable characters become spaces.
func Of(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || Unprintable(r) }), " ")
}

// Unprintable reports whether r is a control character, a line or paragraph break, or a character
// that changes the writing direction.
func Unprintable(r rune) bool {
	return unicode.IsControl(r) || r == unicode.ReplacementChar ||
		unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// Shorten returns at most n characters of a text, followed by an ellipsis if it was cut.
func Shorten(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return text
}
