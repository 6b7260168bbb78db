package main

import (
	"time"
	_ "time/tzdata" // embeds the time zones, for systems without a zone database
)

// period is a moment, a day, a month or a year from the command line. The begin and end of a moment
// are equal.
type period struct{ begin, end time.Time }

// parsePeriod reads RFC 3339, a date and time without a zone, a date, a month (2024-05) or a year
// (2024). A text without a zone is read in location.
func parsePeriod(flag, text string, location *time.Location) (period, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil && at.Year() >= 1 {
		return period{at, at}, nil
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, location); err == nil && at.Year() >= 1 {
			return period{at, at}, nil
		}
	}
	for _, of := range []struct {
		layout              string
		years, months, days int
	}{{"2006-01-02", 0, 0, 1}, {"2006-01", 0, 1, 0}, {"2006", 1, 0, 0}} {
		if at, err := time.ParseInLocation(of.layout, text, location); err == nil && at.Year() >= 1 {
			return period{at, at.AddDate(of.years, of.months, of.days).Add(-time.Microsecond)}, nil
		}
	}
	return period{}, usagef("--%s %q is no time: give a date (2024-05-17), a month (2024-05), or a time (2024-05-17T08:00:00Z)", flag, text)
}

// showTime formats a time to the minute.
func showTime(at time.Time, location *time.Location) string {
	if at.IsZero() {
		return ""
	}
	return at.In(location).Format("2006-01-02 15:04")
}
