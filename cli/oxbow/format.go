package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // embeds the time zones, for systems without a zone database

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/oneline"
)

const (
	minuteLayout = "2006-01-02 15:04"
	secondLayout = "2006-01-02 15:04:05"
)

var errNoPeriod = errors.New(
	"expected a day (2024-05-17), a month (2024-05), a year (2024) or a time (2024-05-17T08:00:00Z)")

// parsePeriod reads RFC 3339, a date and time without a zone, a date, a month (2024-05) or a year (2024), and returns
// its first and last moment. A text without a zone is read in zone.
func parsePeriod(text string, zone *time.Location) (begin, end time.Time, err error) {
	for _, layout := range []string{time.RFC3339, minuteLayout, "2006-01-02T15:04", secondLayout,
		"2006-01-02T15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil && at.Year() >= 1 {
			return at, at, nil
		}
	}
	for _, of := range []struct {
		layout              string
		years, months, days int
	}{{time.DateOnly, 0, 0, 1}, {"2006-01", 0, 1, 0}, {"2006", 1, 0, 0}} {
		if at, err := time.ParseInLocation(of.layout, text, zone); err == nil && at.Year() >= 1 {
			return at, at.AddDate(of.years, of.months, of.days).Add(-time.Microsecond), nil
		}
	}
	return time.Time{}, time.Time{}, errNoPeriod
}

// minute formats a time to the minute, and the zero time as "".
func (u *user) minute(at time.Time) string { return format(at, minuteLayout, u.zone) }

// day formats the date of a time, and the zero time as "".
func (u *user) day(at time.Time) string { return format(at, time.DateOnly, u.zone) }

func format(at time.Time, layout string, zone *time.Location) string {
	if at.IsZero() {
		return ""
	}
	return at.In(zone).Format(layout)
}

// shown formats a value for a table or a list of fields. Zero times, ids and confidences are "".
func shown(v any, zone *time.Location) string {
	switch v := v.(type) {
	case string:
		indent := len(v) - len(strings.TrimLeft(v, " ")) // of a tree
		return v[:indent] + printable(v)
	case int:
		return thousands(v)
	case int64:
		return thousands(v)
	case float64:
		return share(v)
	case time.Time:
		return format(v, minuteLayout, zone)
	case uuid.UUID:
		if v == uuid.Nil {
			return ""
		}
	}
	return printable(fmt.Sprint(v))
}

// share formats a confidence; a trend has none.
func share(c float64) string {
	if c == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", c)
}

// thousands formats 31439 as 31,439.
func thousands[N int | int64](n N) string {
	if n < 0 {
		return "-" + thousands(-n)
	}
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// unlessZero is thousands, but "" for 0.
func unlessZero(n int64) string {
	if n == 0 {
		return ""
	}
	return thousands(n)
}

// count formats a number with its noun: 1 memory, 2 memories.
func count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	last, rest := noun, ""
	if first, after, ok := strings.Cut(noun, " of "); ok { // pieces of evidence
		last, rest = first, " of "+after
	}
	if strings.HasSuffix(last, "y") && !strings.HasSuffix(last, "ey") && !strings.HasSuffix(last, "ay") {
		last = strings.TrimSuffix(last, "y") + "ie"
	}
	return thousands(n) + " " + last + "s" + rest
}

// times formats how often something happened.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return thousands(n) + " times"
}

// age formats a duration in one suitable unit: 45 s, 12 min, 5.5 h, 3.0 days.
func age(seconds float64) string {
	switch d := time.Duration(seconds * float64(time.Second)); {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	default:
		return fmt.Sprintf("%.1f days", d.Hours()/24)
	}
}

// or joins words: "a, b or c".
func or[T ~string](words []T) string {
	var text strings.Builder
	for i, word := range words {
		switch {
		case i > 0 && i == len(words)-1:
			text.WriteString(" or ")
		case i > 0:
			text.WriteString(", ")
		}
		text.WriteString(string(word))
	}
	return text.String()
}

// joined joins the parts that are not empty.
func joined(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), separator)
}

// printable turns a text into one line without control characters, which could control the terminal.
func printable(text string) string { return oneline.Of(text) }

// field is a named value of a list of fields.
type field struct {
	name  string
	value any
}

// fields prints the fields that have a value.
func (u *user) fields(fields ...field) {
	for _, f := range fields {
		if text := shown(f.value, u.zone); text != "" {
			u.printf("%-12s  %s\n", f.name, text)
		}
	}
}
