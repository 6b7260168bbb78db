package secrets

import "strings"

// nameBytes is the maximum length of the name before an assignment sign.
const nameBytes = 64

// assignment looks at a sign at i, = or :, after a name that ends with a word for a secret: PGPASSWORD=…,
// aws_secret_access_key: …. credential finds names that begin with such a word.
func (s *scan) assignment(i int) {
	end := i
	for end > 0 && i-end < 4 && strings.IndexByte(" \t\"'", s.lower[end-1]) >= 0 {
		end--
	}
	start := end
	for start > 0 && end-start < nameBytes && (isAlnum(s.lower[start-1]) || s.lower[start-1] == '_' ||
		s.lower[start-1] == '-') {
		start--
	}
	name := s.lower[start:end]
	from, to := s.word(s.skip(i+1, " \t="))
	value := s.folded[from:to]
	for _, w := range []string{"password", "passwd", "passphrase", "pwd"} {
		if rest, ok := strings.CutSuffix(name, w); ok && rest != "" {
			if from, to, ok := s.accept(noun{w, "passwords"}, from, to, "="); ok {
				s.add(Credential, from, to)
			}
			return
		}
	}
	if strings.Contains(name, "public") || strings.Contains(name, "cache") || strings.Contains(name, "idempotency") ||
		s.before(start, len(" idempotency "), []string{"public", "cache", "idempotency"}) {
		return
	}
	for _, w := range []string{"key", "secret", "token", "credential", "credentials"} {
		if !strings.HasSuffix(name, w) {
			continue
		}
		if k := strings.IndexAny(value, ";,&\"'"); k >= 0 {
			value = value[:k]
		}
		if len(value) >= 16 && strings.ContainsAny(value, "0123456789") && isMixed(value) && !isUUID(value) &&
			!placeholder(value) && entropy(value) >= 3.5 && !strings.ContainsAny(value, "(:") {
			s.add(Key, from, from+len(value))
		}
		return
	}
}

func isUUID(value string) bool {
	return len(value) == 36 && value[8] == '-' && value[13] == '-' && value[18] == '-' && value[23] == '-'
}

// login looks for a password after an e-mail address, whose @ is at i: ann@example.com / ….
func (s *scan) login(i int) {
	t := s.folded
	k := i + 1
	for k < len(t) && k < i+nameBytes && (isAlnum(t[k]) || t[k] == '.' || t[k] == '-') {
		k++
	}
	if i == 0 || !isAlnum(t[i-1]) || strings.IndexByte(t[i:k], '.') < 0 {
		return
	}
	if k = s.skip(k, " \t"); k == len(t) || strings.IndexByte("/:|", t[k]) < 0 {
		return
	}
	from, to := s.word(s.skip(k+1, " \t"))
	if value := t[from:to]; isStrong(value) && !strings.Contains(value, "/") {
		s.add(Credential, from, to)
	}
}

// option looks at the option -u of curl at i, with a name and a password.
func (s *scan) option(i int) {
	from, to := s.word(s.skip(i+len("-u "), " "))
	_, value, ok := strings.Cut(s.folded[from:to], ":")
	if ok && !placeholder(value) && s.before(i, nameBytes, []string{"curl"}) {
		s.add(Credential, to-len(value), to)
	}
}

// botToken looks at the token of a Telegram bot: the id of the bot, whose digits end at i, a colon and 35 characters.
func (s *scan) botToken(from, i int) bool {
	t := s.folded
	if i-from < 8 || i-from > 10 || !strings.HasPrefix(t[i:], ":AA") {
		return false
	}
	to := i + 1
	for to < len(t) && to <= i+36 && (isAlnum(t[to]) || t[to] == '_' || t[to] == '-') {
		to++
	}
	if to != i+36 || entropy(t[i+1:to]) < 3.5 {
		return false
	}
	s.add(Key, from, to)
	return true
}
