package secrets

import (
	"math"
	"unicode/utf8"
)

func isDigit(b byte) bool  { return '0' <= b && b <= '9' }
func isUpper(b byte) bool  { return 'A' <= b && b <= 'Z' }
func isLower(b byte) bool  { return 'a' <= b && b <= 'z' }
func isLetter(b byte) bool { return isUpper(b) || isLower(b) }
func isAlnum(b byte) bool  { return isDigit(b) || isLetter(b) }

// isVisible reports whether a byte is an ASCII character other than a space or a control character.
func isVisible(b byte) bool { return ' ' < b && b < 0x7f }

// isToken reports whether a byte may be part of a key or token.
func isToken(b byte) bool {
	return isAlnum(b) || b == '_' || b == '-' || b == '.' || b == '+' || b == '/' || b == '=' || b == '~'
}

// runeBytes returns the length of the first character, or 1 if it is not valid.
func runeBytes(text string) int {
	_, n := utf8.DecodeRuneInString(text)
	return n
}

// lowerASCII lower-cases ASCII letters and keeps the length.
func lowerASCII(text string) string {
	for i := range len(text) {
		if isUpper(text[i]) {
			lower := []byte(text)
			for k := i; k < len(lower); k++ {
				if isUpper(lower[k]) {
					lower[k] += 'a' - 'A'
				}
			}
			return string(lower)
		}
	}
	return text
}

// entropy returns the Shannon entropy of the bytes, in bits per byte.
func entropy(text string) float64 {
	if text == "" {
		return 0
	}
	var counts [256]int
	for i := range len(text) {
		counts[text[i]]++
	}
	sum := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(text))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
