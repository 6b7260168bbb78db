package sensitive

import (
	"slices"
	"strings"
	"unicode"
)

// word is a word of a plain text: letters and digits, "'s" and the like by themselves. A run of
// Chinese characters is one word, hanWord, whatever it says.
type word struct {
	text       string
	deciphered string // with letters for the digits in it; empty where that is the same
	joined     string // with the words that symbols tie to it, as in "dia-betic"; empty if there are none
	gap        int    // how many characters are between it and the one before
	apart      bool   // a line, or with a space a clause, ends between it and the one before
	ends       bool   // a clause ends behind it
}

const (
	hanWord   = "汉"
	maxJoined = 40 // bytes
)

// split takes a plain text apart.
func split(rs []rune) []word {
	text := make([]word, 0, len(rs)/4+1)
	first := 0 // of the words tied together
	for i := 0; i < len(rs); {
		from := i
		for i < len(rs) && !letter(rs, i) && !unicode.Is(unicode.Han, rs[i]) {
			if clauseEnd(rs[i]) && len(text) > 0 {
				text[len(text)-1].ends = true
			}
			i++
		}
		w := word{gap: i - from, apart: slices.Contains(rs[from:i], '\n')}
		w.apart = w.apart || (w.gap > 1 && len(text) > 0 && text[len(text)-1].ends)
		start := i
		switch {
		case i == len(rs):
			return text
		case unicode.Is(unicode.Han, rs[i]):
			for i < len(rs) && unicode.Is(unicode.Han, rs[i]) {
				i++
			}
			w.text = hanWord
		default:
			for i++; i < len(rs) && letter(rs, i) && rs[i] != '\''; i++ {
			}
			w.text = string(rs[start:i])
			w.deciphered = decipher(w.text)
		}
		text = append(text, w)
		if w.gap != 1 || !tie(rs[start-1]) {
			first = len(text) - 1
		} else if f := &text[first]; f.joined == "" {
			f.joined = f.text + w.text
		} else if len(f.joined) < maxJoined {
			f.joined += w.text
		}
	}
	return text
}

// letter tells whether a character belongs to a word: letters and digits, an apostrophe before a
// letter and behind one, and what may stand for a letter between two of them.
func letter(rs []rune, i int) bool {
	switch r := rs[i]; {
	case r < unicode.MaxASCII:
		if ('a' <= r && r <= 'z') || ('0' <= r && r <= '9') {
			return true
		}
		return (r == '\'' || r == '@' || r == '$') && 0 < i && i+1 < len(rs) && latin(rs[i-1]) && latin(rs[i+1])
	case unicode.Is(unicode.Han, r):
		return false
	default:
		return unicode.IsLetter(r) || unicode.IsDigit(r)
	}
}

func latin(r rune) bool { return 'a' <= r && r <= 'z' }

func clauseEnd(r rune) bool { return strings.ContainsRune(".!?;:,\n。、…", r) }

// tie tells whether a symbol may be put into a word to hide it.
func tie(r rune) bool { return strings.ContainsRune("-*._·•~|^`+/\\", r) }

// decipher puts letters in the place of the digits and signs that are used for them. A word without
// a letter is a number.
func decipher(text string) string {
	if !strings.ContainsAny(text, "0134578@$") || strings.IndexFunc(text, latin) < 0 {
		return ""
	}
	return cipher.Replace(text)
}

var cipher = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "8", "b", "@", "a", "$", "s")

// spelt finds single letters set apart, at least three in a row, and returns the text with words
// made of them, and all the letters of each such run. A wider gap than the least within a run is
// one between words.
func spelt(text []word) (whole []word, letters []string) {
	for i := 0; i < len(text); {
		j := i
		for j < len(text) && len(text[j].text) == 1 && (j == i || !text[j].apart) {
			j++
		}
		if j-i < 3 {
			whole = append(whole, text[i:max(j, i+1)]...)
			i = max(j, i+1)
			continue
		}
		run := text[i:j]
		least := run[1].gap
		for _, w := range run[1:] {
			least = min(least, w.gap)
		}
		all := ""
		for n, w := range run {
			all += w.text
			if n == 0 || w.gap > least {
				whole = append(whole, word{text: w.text, ends: w.ends})
				continue
			}
			last := &whole[len(whole)-1]
			last.text, last.ends = last.text+w.text, w.ends
		}
		letters = append(letters, all)
		i = j
	}
	if letters == nil {
		return nil, nil
	}
	return whole, letters
}
