package secrets

import "strings"

// StripURL removes the user, the password and the query from a URL, however malformed.
func StripURL(address string) string {
	address, _, _ = strings.Cut(address, "?")
	if scheme, rest, ok := strings.Cut(address, "://"); ok {
		if at := strings.LastIndex(rest, "@"); at >= 0 {
			return scheme + "://" + rest[at+1:]
		}
		return address
	}
	return address[strings.LastIndex(address, "@")+1:]
}
