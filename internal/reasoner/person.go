package reasoner

import "time"

// Person is what a reasoner has to know of a user beside the memories.
type Person struct {
	Zone      *time.Location // UTC unless ZoneKnown
	Timezone  string         // its name
	ZoneKnown bool           // the user has a time zone: without one, hours and days of the week say nothing
	Language  string         // BCP 47; empty: not known
	OptedOut  bool
}

// Session names the conversation of a memory; one without counts its day as one, the day being the user's own.
func (p Person) Session(sessionID string, at time.Time) string {
	if sessionID != "" {
		return sessionID
	}
	return "day " + at.In(p.Zone).Format(time.DateOnly)
}
