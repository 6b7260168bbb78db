package reasoner

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Person holds what a reasoner needs to know about a user besides the memories.
type Person struct {
	Zone      *time.Location // UTC unless ZoneKnown
	Timezone  string         // its name
	ZoneKnown bool           // false: hours and days of the week mean nothing
	Language  string         // BCP 47; empty: unknown
	OptedOut  bool
}

// Session returns the conversation of a memory or, without one, the day in the user's time zone.
func (p Person) Session(sessionID string, at time.Time) string {
	if sessionID != "" {
		return sessionID
	}
	return "day " + at.In(p.Zone).Format(time.DateOnly)
}

// NameOf returns a user ID that consists of at least two letters, and otherwise "". Such an ID may be the user's name,
// which facts may contain: "Ada lives in Porto".
func NameOf(userID string) string {
	notLetter := func(r rune) bool { return !unicode.IsLetter(r) }
	if utf8.RuneCountInString(userID) < 2 || strings.ContainsFunc(userID, notLetter) {
		return ""
	}
	return userID
}
