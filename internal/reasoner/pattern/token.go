package pattern

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Token is a word, a number, a Chinese character or a punctuation mark.
type Token struct {
	Lower      string // in lower case and simplified Chinese; marks of full width as those of ASCII
	Start, End int    // in the text, in bytes
	Capital    bool   // a word that begins with a capital letter
	Han        bool   // a Chinese character
	Mark       bool   // a punctuation mark, a symbol, or a space between Chinese characters
	ids        []id   // of its word, and of kinds of word: a number, a certain ending
}

// IsHan reports whether r is a Chinese character.
func IsHan(r rune) bool { return r >= 0x3400 && r <= 0x9fff }

// HasHan reports whether text has a Chinese character.
func HasHan(text string) bool { return strings.IndexFunc(text, IsHan) >= 0 }

// tokens splits a text into tokens. A word begins with a letter and holds digits, and apostrophes and hyphens between
// letters, except that a short ending with an apostrophe is a token of its own: "I'm" is "i" and "'m", "don't" is "don"
// and "'t".
func tokens(text string) []Token {
	all := make([]Token, 0, len(text)/3+2)
	spaced := false
	for i := 0; i < len(text); {
		r, n := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(text[i:])
		}
		switch {
		case IsHan(r):
			if spaced && len(all) > 0 && all[len(all)-1].Han {
				all = append(all, Token{Lower: " ", Start: all[len(all)-1].End, End: i, Mark: true})
			}
			lower, ok := simplified[r]
			if !ok {
				lower = text[i : i+n]
			}
			all = append(all, Token{Lower: lower, Start: i, End: i + n, Han: true})
		case unicode.IsSpace(r):
			spaced = true
			i += n
			continue
		case isDigit(r):
			for n = 1; i+n < len(text) && isDigit(rune(text[i+n])); n++ {
			}
			all = append(all, Token{Lower: text[i : i+n], Start: i, End: i + n})
		case isLetter(r), isApostrophe(r) && afterLetter(text, i) && shortEnding(text, i) > 0:
			n = wordEnd(text, i) - i
			word := strings.ToLower(text[i : i+n])
			if strings.Contains(word, "’") {
				word = strings.ReplaceAll(word, "’", "'")
			}
			all = append(all, Token{Lower: word, Start: i, End: i + n, Capital: unicode.IsUpper(r)})
		case r == '*' || r == '_' || isApostrophe(r) || r == utf8.RuneError || unicode.IsMark(r):
		default:
			all = append(all, Token{Lower: mark(r, text[i:i+n]), Start: i, End: i + n, Mark: true})
		}
		spaced = false
		i += n
	}
	return all
}

// wordEnd returns the end of the word that begins at i.
func wordEnd(text string, i int) int {
	first := true
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case isLetter(r), isDigit(r), unicode.IsMark(r), first && isApostrophe(r):
		case isApostrophe(r):
			if next, _ := utf8.DecodeRuneInString(text[i+n:]); !isLetter(next) || shortEnding(text, i) > 0 {
				return i
			}
		case r == '-':
			if next, _ := utf8.DecodeRuneInString(text[i+n:]); !isLetter(next) {
				return i
			}
		default:
			return i
		}
		first = false
		i += n
	}
	return i
}

// shortEnding returns the length of an apostrophe at i with the one or two letters after which the word ends; else 0.
func shortEnding(text string, i int) int {
	_, n := utf8.DecodeRuneInString(text[i:])
	end := i + n
	for letters := 0; ; letters++ {
		r, size := utf8.DecodeRuneInString(text[end:])
		if size == 0 || !isLetter(r) {
			if letters == 1 || letters == 2 {
				return end - i
			}
			return 0
		}
		end += size
	}
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	return unicode.IsLetter(r) && !IsHan(r)
}

func isApostrophe(r rune) bool { return r == '\'' || r == '’' }

// afterLetter reports whether position i follows a letter or begins the text, as it may in a pattern.
func afterLetter(text string, i int) bool {
	r, _ := utf8.DecodeLastRuneInString(text[:i])
	return i == 0 || isLetter(r)
}

// mark returns a mark as patterns write it.
func mark(r rune, text string) string {
	switch {
	case r == '。':
		return "."
	case r > 0xff00 && r < 0xff5f:
		return string(r - 0xfee0)
	}
	return text
}
