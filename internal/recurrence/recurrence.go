// Package recurrence computes the next time of something that recurs.
package recurrence

import (
	"time"

	"github.com/teambition/rrule-go"
)

// Next returns the first time after a moment at which a rule of iCalendar (RFC 5545) recurs that begins at start, by the
// clock of start's zone; the zero time if there is none. The error is about the rule.
func Next(rule string, start, after time.Time) (time.Time, error) {
	option, err := rrule.StrToROptionInLocation(rule, start.Location())
	if err != nil {
		return time.Time{}, err
	}
	option.Dtstart = start
	r, err := rrule.NewRRule(*option)
	if err != nil {
		return time.Time{}, err
	}
	return r.After(after, false), nil
}
