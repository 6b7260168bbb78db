package sensitive

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// word is a word of a plain text, of letters and digits, or a run of Chinese characters.
type word struct {
	text  []rune
	han   bool
	gap   int  // number of characters between it and the previous word
	tied  bool // the only one of these is a symbol that may hide a word
	apart bool // a line, or with a space a clause, ends between it and the one before
	ends  bool // a clause ends behind it
}

// split splits a plain text into words.
func split(rs []rune) []word {
	text := make([]word, 0, len(rs)/4+1)
	for i := 0; i < len(rs); {
		from := i
		for i < len(rs) && !letter(rs, i) && !unicode.Is(unicode.Han, rs[i]) {
			if clauseEnd(rs[i]) && len(text) > 0 {
				text[len(text)-1].ends = true
			}
			i++
		}
		if i == len(rs) {
			break
		}
		w := word{gap: i - from, apart: slices.Contains(rs[from:i], '\n'), han: unicode.Is(unicode.Han, rs[i])}
		w.apart = w.apart || w.gap > 1 && len(text) > 0 && text[len(text)-1].ends
		w.tied = len(text) > 0 && w.gap == 1 && tie(rs[i-1])
		start := i
		for i++; i < len(rs) && unicode.Is(unicode.Han, rs[i]) == w.han &&
			(w.han || letter(rs, i) && rs[i] != '\''); i++ {
		}
		w.text = rs[start:i:i]
		text = append(text, w)
	}
	return text
}

// letter reports whether a character belongs to a word: a letter, a digit, an apostrophe between letters, or a sign
// between two letters that may replace one.
func letter(rs []rune, i int) bool {
	switch r := rs[i]; {
	case r < unicode.MaxASCII:
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
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

// tie reports whether a symbol may be put into a word to hide it.
func tie(r rune) bool { return strings.ContainsRune("-*._·•~|^`+/\\", r) }

// join joins words, without the characters between them except the ends of clauses. It joins single Chinese characters
// whatever is between them.
func join(words []word) string {
	var b strings.Builder
	b.Grow(8 * len(words))
	for i, w := range words {
		if i > 0 {
			last := words[i-1]
			switch {
			case last.ends && !(last.alone() && w.alone()):
				b.WriteString(" . ")
			case !last.han && !w.han && w.text[0] != '\'':
				b.WriteByte(' ')
			}
		}
		for _, r := range w.text {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// alone reports whether a word is a single Chinese character.
func (w word) alone() bool { return w.han && len(w.text) == 1 }

// cipher has the letters for which digits and signs are used.
var cipher = map[rune]rune{'0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '8': 'b', '@': 'a', '$': 's'}

// decipher replaces such digits and signs with letters. A word without a letter is a number. It returns nil if nothing
// changes.
func decipher(words []word) (all []word) {
	for i, w := range words {
		if w.han || !slices.ContainsFunc(w.text, latin) ||
			!slices.ContainsFunc(w.text, func(r rune) bool { return cipher[r] != 0 }) {
			continue
		}
		if all == nil {
			all = slices.Clone(words)
		}
		all[i].text = slices.Clone(w.text)
		for j, r := range w.text {
			all[i].text[j] = cmp.Or(cipher[r], r)
		}
	}
	return all
}

// maxTied is the maximum length of a word that symbols may split.
const maxTied = 40

// untie joins words that only a symbol separates: "dia-betic". It returns nil if there is no such word.
func untie(words []word) (all []word) {
	if !slices.ContainsFunc(words, func(w word) bool { return w.tied }) {
		return nil
	}
	for _, w := range words {
		if last := len(all) - 1; last >= 0 && w.tied && len(all[last].text) < maxTied {
			all[last].text, all[last].ends = append(all[last].text, w.text...), w.ends
		} else {
			all = append(all, w)
		}
	}
	return all
}

// spell finds single letters set apart, at least three in a row, and returns the text with words made of them, and the
// letters of each such run. A wider gap than the least within a run is one between words.
func spell(text []word) (whole []word, letters []string) {
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
		var all []rune
		for n, w := range run {
			all = append(all, w.text...)
			if n == 0 || w.gap > least {
				whole = append(whole, word{text: w.text, ends: w.ends})
				continue
			}
			last := &whole[len(whole)-1]
			last.text, last.ends = append(last.text, w.text...), w.ends
		}
		letters = append(letters, string(all))
		i = j
	}
	if letters == nil {
		return nil, nil
	}
	return whole, letters
}
