package secrets

import (
	"slices"
	"strings"
	"unicode"
)

// accept reports whether the text from..to after a name and a separator is a value, and returns the bounds of the
// value.
func (s *scan) accept(n noun, from, to int, separator string) (int, int, bool) {
	if n.list == "answers" {
		return s.answer(from)
	}
	value := s.folded[from:to]
	number := strings.Trim(value, "0123456789") == ""
	quoted := s.isQuoted(from)
	switch {
	case len(value) < 3 || placeholder(value) || ordinary[strings.ToLower(value)]:
		return 0, 0, false
	case !quoted && s.after(to, measures):
		return 0, 0, false
	case n.list == "pins":
		return from, to, isPin(n, value)
	case n.list == "combinations":
		return from, to, isCombination(value) || number && len(value) <= 8
	case n.list == "codes":
		return from, to, isRecoveryCode(value)
	case n.list == "papers":
		return from, to, isPaper(value)
	case n.list == "passes":
		return from, to, slices.Contains(signs, separator) && isMixed(value) || isStrong(value)
	case n.list == "keys" || n.list == "schemes":
		phrase := quoted && strings.Count(value, " ") >= 7 || strings.Contains(n.word, "phrase") && s.isPhrase(from)
		return from, max(to, s.phraseEnd(from, phrase)), isKey(value) || phrase
	case strings.ContainsAny(value, "/") && strings.Contains(value, "://"):
		return 0, 0, false
	case number:
		return from, to, len(value) >= 4 && len(value) <= 32
	case quoted:
		return from, to, len(value) <= 64 && strings.Count(value, " ") <= 6
	case isMixed(value) || isCombination(value):
		return from, to, len(value) >= 4
	}
	return from, to, s.isNamed(value, to, separator)
}

// follows reports whether a value that stands at k, directly behind the name that ends at i, is one.
func (s *scan) follows(n noun, i, k int, value string, to int) bool {
	if s.after(to, measures) || ordinary[strings.ToLower(value)] || placeholder(value) {
		return false
	}
	switch n.list {
	case "passwords":
		number := strings.Trim(value, "0123456789") == ""
		least := 8 // digits
		if n.word[0] >= 0x80 {
			least = 6
			if k == i {
				least = 4
			}
		}
		return isMixed(value) && (len(value) >= 6 || value[len(value)-1] == '#') ||
			number && len(value) >= least && len(value) <= 16 ||
			s.before(i-len(n.word), 12, []string{"with"}) && s.before(i, 64, logins) && s.isNamed(value, to, "is")
	case "passes":
		return isStrong(value)
	case "pins":
		return isPin(n, value)
	case "combinations":
		return isCombination(value)
	case "codes":
		return isRecoveryCode(value)
	case "papers":
		return isPaper(value)
	case "schemes":
		return isKey(value)
	}
	return false
}

// resume returns the value at i in a clause that continues after a name: "the password? It's …".
func (s *scan) resume(n noun, i int) (from, to int, ok bool) {
	i = s.skip(i, " ")
	for _, w := range resumed {
		if strings.HasPrefix(s.lower[i:], w) && (w[0] >= 0x80 || byteAt(s.lower, i+len(w)) == ' ') {
			from, to = s.word(s.skip(i+len(w), " :"))
			return s.accept(n, from, to, "was")
		}
	}
	return 0, 0, false
}

// answer returns the answer to a security question at from: the letters and digits of any script up to the end of the
// clause.
func (s *scan) answer(from int) (int, int, bool) {
	rest := s.lower[from:min(len(s.lower), from+valueBytes)]
	if i := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }); i >= 0 {
		rest = rest[:i]
	}
	known := slices.ContainsFunc(vague, func(w string) bool { return strings.HasPrefix(rest, w) })
	return from, from + len(rest), len(rest) >= 3 && len(rest) <= 36 && !known && !ordinary[rest]
}

// isPin reports whether a value is a number of 4 to 8 digits, or a card verification code of 3 or more.
func isPin(n noun, value string) bool {
	value = strings.Trim(value, "#*")
	least := 4
	if strings.HasPrefix(n.word, "cv") || strings.Contains(n.word, "安全") || n.word == "card security code" {
		least = 3
	}
	return strings.Trim(value, "0123456789") == "" && least <= len(value) && len(value) <= 8
}

// isCombination reports whether a value is a combination of a lock: three to five numbers of one or two digits.
func isCombination(value string) bool {
	numbers := strings.Split(value, "-")
	return 3 <= len(numbers) && len(numbers) <= 5 && !slices.ContainsFunc(numbers, func(n string) bool {
		return n == "" || len(n) > 2 || strings.Trim(n, "0123456789") != ""
	})
}

// isRecoveryCode reports whether a value is a code that replaces a second factor.
func isRecoveryCode(value string) bool {
	plain := strings.ReplaceAll(value, "-", "")
	number := strings.Trim(plain, "0123456789") == ""
	return len(plain) >= 6 && (number && len(plain) <= 16 || !number && isMixed(plain))
}

// isPaper reports whether a value is the number of a passport or permit: one or two letters followed by digits, 8 to 10
// characters in all; 9 digits; or, as in Germany, a capital followed by 8 capitals and digits, of which at least 4 are
// digits.
func isPaper(value string) bool {
	digits, capitals := 0, 0
	for i := range len(value) {
		if isDigit(value[i]) {
			digits++
		} else if isUpper(value[i]) {
			capitals++
		}
	}
	if len(value) == 9 && digits+capitals == 9 {
		return digits >= 4 && isUpper(value[0]) || digits == 9
	}
	last := strings.TrimLeft(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	return len(value)-len(last) <= 2 && 8 <= len(value) && len(value) <= 10 && digits == len(last) && digits < len(value)
}

// isKey reports whether a value looks generated.
func isKey(value string) bool { return len(value) >= 12 && isMixed(value) && entropy(value) >= 2.5 }

// isStrong reports whether a word has a letter, a digit and a sign that is rare outside passwords.
func isStrong(word string) bool {
	return len(word) >= 6 && strings.ContainsAny(word, "!@#$%^&*+=~?") && strings.ContainsAny(word, "0123456789") &&
		strings.ContainsFunc(word, unicode.IsLetter)
}

func isASCIILetters(text string) bool {
	for i := range len(text) {
		if !isLetter(text[i]) {
			return false
		}
	}
	return true
}

// isMixed reports whether a word looks like a password: it has a digit or a sign among letters, or inner capitals.
func isMixed(word string) bool {
	digits, letters, signs, capitals := 0, 0, 0, 0
	for i := range len(word) {
		switch b := word[i]; {
		case isDigit(b):
			digits++
		case isLetter(b):
			letters++
			if i > 0 && isUpper(b) && isLower(word[i-1]) {
				capitals++
			}
		case b >= 0x80:
			return false
		case strings.IndexByte("-'/.,", b) < 0:
			signs++
		}
	}
	return digits > 0 && letters > 0 || signs > 0 && letters+digits >= 3 && word[len(word)-1] != '(' || capitals > 1 ||
		digits > 3 && signs > 0
}
