package secrets

import "strings"

// StripURL removes user, password and query from an address, however malformed.
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
