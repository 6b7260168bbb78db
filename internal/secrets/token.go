package secrets

import (
	_ "embed" // the prefixes of tokens
	"fmt"
	"strconv"
	"strings"
)

// Tokens have at least shortestToken characters. No more than longestToken are looked at.
const (
	shortestToken = 12
	longestToken  = 4096
)

// rule identifies a token by its prefix.
type rule struct {
	prefix  string
	allowed *[256]bool
	least   int  // characters after the prefix
	more    bool // or more
	entropy float64
}

//go:embed tokens.txt
var tokenFile string

// rules holds the rules by the first byte of the prefix, in the order of the file.
var rules = func() (by [256][]rule) {
	for line := range strings.Lines(tokenFile) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		r, err := readRule(line)
		if err != nil {
			panic(fmt.Errorf("tokens.txt: %q: %w", line, err))
		}
		by[r.prefix[0]] = append(by[r.prefix[0]], r)
	}
	return by
}()

func readRule(line string) (r rule, err error) {
	fields := strings.Fields(line)
	if len(fields) != 5 {
		return r, fmt.Errorf("it has %d fields, not 5", len(fields))
	}
	r.prefix = fields[0]
	if r.allowed, err = characters(fields[1]); err != nil {
		return r, err
	}
	number, more := strings.CutSuffix(fields[2], "+")
	r.more = more
	if r.least, err = strconv.Atoi(number); err != nil {
		return r, err
	}
	r.entropy, err = strconv.ParseFloat(fields[3], 64)
	return r, err
}

// characters returns the bytes of a class, with further ones after its name.
func characters(class string) (*[256]bool, error) {
	classes := map[string]string{
		"hex": "0-9a-fA-F", "lower": "a-z0-9", "upper": "A-Z0-9", "base32": "A-Z2-7", "alnum": "a-zA-Z0-9",
		"word": "a-zA-Z0-9_-", "base64": "a-zA-Z0-9+/=", "dotted": "a-zA-Z0-9_.=+/-",
	}
	name := strings.TrimRight(class, "-=")
	ranges, ok := classes[name]
	if !ok {
		return nil, fmt.Errorf("the class %q is unknown", class)
	}
	ranges += class[len(name):]
	var allowed [256]bool
	for i := 0; i < len(ranges); i++ {
		if i+2 < len(ranges) && ranges[i+1] == '-' {
			for b := int(ranges[i]); b <= int(ranges[i+2]); b++ {
				allowed[b] = true
			}
			i += 2
			continue
		}
		allowed[ranges[i]] = true
	}
	return &allowed, nil
}

// token looks for tokens that begin at i, in a run of characters that ends at end.
func (s *scan) token(i, end int) {
	t := s.folded
	if strings.HasPrefix(t[i:], "ey") && s.webToken(i, end) {
		return
	}
	for _, r := range rules[t[i]] {
		if !strings.HasPrefix(t[i:end], r.prefix) {
			continue
		}
		from := i + len(r.prefix)
		to := from
		for to < end && r.allowed[t[to]] {
			to++
		}
		for to > from && (t[to-1] == '.' || t[to-1] == '/') { // the end of a sentence
			to--
		}
		n := to - from
		if n < r.least || !r.more && n > r.least || entropy(t[from:to]) < r.entropy {
			continue
		}
		s.add(Key, i, to)
		return
	}
}

// webToken looks for a JSON web token: three parts, of which the first two are JSON in base64.
func (s *scan) webToken(i, end int) bool {
	run := s.folded[i:end]
	one := strings.IndexByte(run, '.')
	if one < 17 || !strings.HasPrefix(run[one+1:], "ey") {
		return false
	}
	two := strings.IndexByte(run[one+1:], '.')
	if two < 17 {
		return false
	}
	last := one + two + 2
	to := last
	for to < len(run) && run[to] != '.' {
		to++
	}
	if to-last < 10 {
		return false
	}
	s.add(Key, i, i+to)
	return true
}

// privateKey looks at the head of a PEM block at i and returns where to go on.
func (s *scan) privateKey(i int) int {
	head, _, _ := strings.Cut(s.folded[i+len("-----BEGIN "):min(len(s.folded), i+120)], "-----")
	if !strings.Contains(head, "PRIVATE KEY") {
		return i + 1
	}
	end := len(s.folded) // a key that was cut off is a key
	if k := strings.Index(s.folded[i:], "-----END "); k >= 0 {
		end = i + k
		if line := strings.Index(s.folded[end+5:], "-----"); line >= 0 {
			end += 5 + line + 5
		}
	}
	s.add(Key, i, end)
	return end
}

// address looks at an address with a user and a password; :// is at i.
func (s *scan) address(i int) {
	t := s.folded
	from := i + len("://")
	colon, at := 0, 0
	k := from
	for ; k < len(t) && isVisible(t[k]) && t[k] != '/' && t[k] != '"' && t[k] != '\''; k++ {
		switch {
		case t[k] == ':' && colon == 0:
			colon = k
		case t[k] == '@':
			at = k
		}
	}
	if colon > 0 && at > colon+1 && !placeholder(t[colon+1:at]) {
		s.add(Key, colon+1, at)
	}
}

// placeholder reports whether a text stands for a secret: stars, or a variable.
func placeholder(text string) bool {
	if text == "" || strings.Trim(text, "*xX.•…-_#?") == "" {
		return true
	}
	switch strings.ToLower(text) {
	case "pass", "password", "passwd", "pwd", "secret", "token", "changeme", "your_password", "yourpassword":
		return true
	}
	first := text[0]
	return first == '$' || first == '<' || first == '{' || first == '[' || first == '%'
}
