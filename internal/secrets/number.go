package secrets

import (
	_ "embed" // the lengths of IBANs
	"strconv"
	"strings"
	"time"
)

// orders holds words that say that a number is something else than a card's, security those that announce a social
// security number.
var (
	orders   = words.List("orders")
	cards    = words.List("cards")
	security = words.List("security")
)

// wordDistance is how far before a number such a word may be, in bytes.
const wordDistance = 32

// number looks at the digits at i, and at groups of digits that spaces or hyphens separate.
func (s *scan) number(i int) {
	t := s.folded
	var digits [32]byte
	var groups []int // their lengths
	n, group, end := 0, 0, i
	k := i
	for k < len(t) && n < len(digits) {
		if isDigit(t[k]) {
			digits[n] = t[k]
			n, group, k, end = n+1, group+1, k+1, k+1
			continue
		}
		if (t[k] != ' ' && t[k] != '-') || k+1 == len(t) || !isDigit(t[k+1]) {
			break
		}
		groups, group, k = append(groups, group), 0, k+1
	}
	groups = append(groups, group)
	if i > 0 && (t[i-1] == '.' || t[i-1] == '-' || t[i-1] == '_' || t[i-1] == '/') && i > 1 && isAlnum(t[i-2]) {
		return // part of a longer number or name
	}
	if len(groups) == 1 && s.botToken(i, end) {
		return
	}
	if n == 17 && len(groups) == 1 && end < len(t) && (t[end] == 'X' || t[end] == 'x') {
		digits[17] = 'X'
		n, end = 18, end+1
	}
	if end < len(t) && (isAlnum(t[end]) || t[end] == '_') ||
		end+1 < len(t) && (t[end] == '.' || t[end] == '-' || t[end] == '/') && isAlnum(t[end+1]) {
		return
	}
	number := string(digits[:n])
	switch {
	case n == 18 && isIdentity(number):
		s.add(Identity, i, end)
	case isCard(number, groups) &&
		(s.before(i, wordDistance, cards) || !s.before(i, wordDistance, orders)):
		s.add(Card, i, end)
	case isSecurityNumber(number) && (len(groups) == 3 && groups[0] == 3 && groups[1] == 2 &&
		!s.before(i, wordDistance, orders) && strings.Count(t[i:end], "-") == 2 ||
		s.before(i, wordDistance, security)):
		s.add(Identity, i, end)
	}
}

// isCard reports whether digits are the number of a payment card: prefix and length of a network, a valid check digit,
// and groups as on a card or none.
func isCard(number string, groups []int) bool {
	if len(number) < 14 || len(number) > 19 {
		return false
	}
	if len(groups) > 1 {
		for i, g := range groups {
			last := i == len(groups)-1
			four := g == 4 || last && g < 4
			amex := len(number) < 16 && len(groups) == 3 && (i == 0 && g == 4 || i == 1 && g == 6 || i == 2)
			union := len(number) == 19 && len(groups) == 2 && i == 0 && g == 6 || len(groups) == 2 && i == 1 && g == 13
			if !four && !amex && !union {
				return false
			}
		}
	}
	return isNetwork(number) && luhn(number)
}

// isNetwork reports whether a card network issues numbers with the prefix and length.
func isNetwork(number string) bool {
	n := len(number)
	two, _ := strconv.Atoi(number[:2])
	three, _ := strconv.Atoi(number[:3])
	four, _ := strconv.Atoi(number[:4])
	switch {
	case two/10 == 4:
		return n == 16 || n == 19 // Visa
	case 51 <= two && two <= 55, 2221 <= four && four <= 2720:
		return n == 16 // Mastercard
	case two == 34, two == 37:
		return n == 15 // American Express
	case two == 36, two == 38, two == 39, 300 <= three && three <= 305:
		return n == 14 // Diners Club
	case 3528 <= four && four <= 3589, four == 6011, 644 <= three && three <= 659:
		return n >= 16 // JCB, Discover
	case two == 62, two == 81:
		return n >= 16 // UnionPay
	}
	return false
}

// luhn reports whether the last digit is the check digit of ISO/IEC 7812.
func luhn(number string) bool {
	sum := 0
	for i := range len(number) {
		d := int(number[len(number)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// isIdentity reports whether 18 characters are a Chinese identity number (GB 11643): province, date of birth, and check
// digit.
func isIdentity(number string) bool {
	province, _ := strconv.Atoi(number[:2])
	if province < 11 || province > 82 {
		return false
	}
	born, err := time.Parse("20060102", number[6:14])
	if err != nil || born.Year() < 1900 || born.Year() > 2099 {
		return false
	}
	sum, weight := 0, 1
	for i := 16; i >= 0; i-- {
		weight = weight * 2 % 11
		sum += int(number[i]-'0') * weight
	}
	return "10X98765432"[sum%11] == number[17]
}

// isSecurityNumber reports whether digits could be a US social security number.
func isSecurityNumber(number string) bool {
	return len(number) == 9 && number[:3] != "000" && number[:3] != "666" && number[0] != '9' &&
		number[3:5] != "00" && number[5:] != "0000"
}

//go:embed ibans.txt
var ibanFile string

// ibanLengths holds the length of an IBAN by country.
var ibanLengths = func() map[string]int {
	lengths := map[string]int{}
	for line := range strings.Lines(ibanFile) {
		if line[0] == '#' {
			continue
		}
		for _, field := range strings.Fields(line) {
			n, err := strconv.Atoi(field[2:])
			if err != nil {
				panic(err)
			}
			lengths[field[:2]] = n
		}
	}
	return lengths
}()

// iban looks for an IBAN at i, in groups of four or in one piece, in upper or lower case.
func (s *scan) iban(i int) {
	t := s.folded
	want := ibanLengths[strings.ToUpper(t[i:i+2])]
	if want == 0 {
		return
	}
	lower := isLower(t[i])
	number := make([]byte, 0, want)
	k := i
	for ; k < len(t) && len(number) < want; k++ {
		switch b := t[k]; {
		case isDigit(b) || isUpper(b) && !lower:
			number = append(number, b)
		case isLower(b) && lower:
			number = append(number, b-'a'+'A')
		case b == ' ' && len(number)%4 == 0:
		default:
			return
		}
	}
	if len(number) < want || k < len(t) && isAlnum(t[k]) {
		return
	}
	rest := 0
	for _, b := range append(number[4:len(number):len(number)], number[:4]...) {
		if isDigit(b) {
			rest = (rest*10 + int(b-'0')) % 97
		} else {
			rest = (rest*100 + int(b-'A') + 10) % 97
		}
	}
	if rest == 1 {
		s.add(Account, i, k)
	}
}
