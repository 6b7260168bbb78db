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
	option.Dtstart = closer(option, start, after)
	r, err := rrule.NewRRule(*option)
	if err != nil {
		return time.Time{}, err
	}
	return r.After(after, false), nil
}

// closer returns a later start at which an hourly, daily or weekly rule recurs alike, so that the time between start and
// after need not be gone through. Days are counted by the clock of the zone.
func closer(rule *rrule.ROption, start, after time.Time) time.Time {
	days := map[rrule.Frequency]int{rrule.HOURLY: 1, rrule.DAILY: 1, rrule.WEEKLY: 7}[rule.Freq] * max(rule.Interval, 1)
	if days == 0 || rule.Count > 0 {
		return start
	}
	for n := int(after.Sub(start).Hours()/24)/days - 1; n > 0; n-- {
		later := start.AddDate(0, 0, n*days)
		if later.Hour() == start.Hour() && later.Minute() == start.Minute() { // else this hour is left out on that day
			return later
		}
	}
	return start
}
