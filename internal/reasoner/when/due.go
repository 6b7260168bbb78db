package when

import (
	"strconv"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
)

// DuePrecision is how exactly a text says when something is due.
type DuePrecision string

// The precisions. The time of a day and of anything longer is its beginning: midnight, Monday, the first of the month,
// 1 January.
const (
	DueMinute DuePrecision = "minute"
	DueDay    DuePrecision = "day"
	DueWeek   DuePrecision = "week"
	DueMonth  DuePrecision = "month"
	DueYear   DuePrecision = "year"
)

// Due is when something is to happen.
type Due struct {
	Time       time.Time // in the zone of the time that it is relative to
	Precision  DuePrecision
	Recurrence string // an RRULE of iCalendar (RFC 5545) without its name, such as FREQ=WEEKLY;BYDAY=MO; empty: once
	Dated      bool   // the text names the day, or how long from now, and not only an hour
}

// FindDue returns when something that a text plans is due, the first time after said of one that comes again. Without a
// day, an hour is the next such. An hour without am, pm or a part of the day is between 7 and 18, unless it is written
// with a zero before it.
func FindDue(text string, said time.Time) (Due, bool) {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	r := reader{text: language.Read(text), said: said, future: true}
	d, ok := r.due()
	if ok {
		d.Time = r.early(d)
	}
	return d, ok
}

// early returns the time at which a person wants to know of something: "remind me the day before".
func (r *reader) early(d Due) time.Time {
	m, ok := r.text.Find("due.ahead")
	if !ok {
		return d.Time
	}
	unit, given, _ := strings.Cut(m.Value, " ")
	n, err := strconv.Atoi(given)
	if err != nil {
		n = number(&m, "n")
	}
	at := d.Time
	switch {
	case unit == "day" && d.Recurrence == "":
		at = at.AddDate(0, 0, -n)
	case unit == "month" && d.Recurrence == "":
		at = at.AddDate(0, -n, 0)
	case unit == "week" && d.Recurrence == "":
		at = at.AddDate(0, 0, -7*n)
	case unit == "hour" && d.Precision == DueMinute:
		at = at.Add(-time.Duration(n) * time.Hour)
	case unit == "minute" && d.Precision == DueMinute:
		at = at.Add(-time.Duration(n) * time.Minute)
	}
	if at.Before(r.said) {
		return d.Time
	}
	return at
}

// due returns when the text is due.
func (r *reader) due() (Due, bool) {
	if d, ok := r.span(); ok {
		return d, true
	}
	clock, clocked := r.clock()
	if d, ok := r.recurring(clock, clocked); ok {
		return d, true
	}
	named, ok := r.namedDay()
	d := named.Due
	switch {
	case !ok && clocked:
		d = Due{Time: r.at(r.day(0), clock.hour, clock.minute), Precision: DueMinute}
		if !d.Time.After(r.said) {
			d.Time = r.at(r.day(1), clock.hour, clock.minute)
		}
		return d, true
	case ok && clocked && d.Precision == DueDay:
		day := d.Time
		d.Time, d.Precision = r.at(day, clock.hour, clock.minute), DueMinute
		if clock.bare && clock.hour < 12 && d.Time.Before(r.said) { // today at nine, said at noon
			d.Time = r.at(day, clock.hour+12, clock.minute)
		}
	}
	if !ok {
		return r.partOfDay()
	}
	return d, !d.end().Before(r.said)
}

// partOfDay returns the day of a part of the day that is named without a day: today, or tomorrow if that is over.
func (r *reader) partOfDay() (Due, bool) {
	m, ok := r.text.Find("due.part_of_day")
	if !ok {
		return Due{}, false
	}
	day := r.day(0)
	if until, _ := strconv.Atoi(m.Value); r.said.Hour() >= until {
		day = r.day(1)
	}
	return Due{Time: r.at(day, 0, 0), Precision: DueDay}, true
}

// end returns the end of the day, week, month or year of a time.
func (d Due) end() time.Time {
	switch d.Precision {
	case DueDay:
		return d.Time.AddDate(0, 0, 1)
	case DueWeek:
		return d.Time.AddDate(0, 0, 7)
	case DueMonth:
		return d.Time.AddDate(0, 1, 0)
	case DueYear:
		return d.Time.AddDate(1, 0, 0)
	}
	return d.Time
}

// at returns a time of a day.
func (r *reader) at(day time.Time, hour, minute int) time.Time {
	y, m, d := day.Date()
	return time.Date(y, m, d, hour, minute, 0, 0, r.said.Location())
}

// span returns a time that is some minutes or hours from now.
func (r *reader) span() (Due, bool) {
	m, ok := r.text.Find("due.in")
	if !ok {
		return Due{}, false
	}
	extra, _ := strconv.Atoi(m.Value)
	minutes := number(&m, "h")*60 + number(&m, "m") + extra
	return Due{Time: r.said.Add(time.Duration(minutes) * time.Minute).Truncate(time.Minute), Precision: DueMinute, Dated: true}, true
}

// clockTime is a time of day. The 24th hour is the midnight after the day.
type clockTime struct {
	hour, minute int
	bare         bool // neither half of the day was named
}

// clock returns the time of day that the text states.
func (r *reader) clock() (c clockTime, ok bool) {
	m, ok := r.text.Find("due.clock")
	if !ok {
		return c, false
	}
	c.hour, c.minute = number(&m, "hour"), number(&m, "minute")
	night, dawn := r.text.HasIn("due.night", m.Start-4, m.End+4), r.text.HasIn("due.dawn", m.Start-4, m.End+4)
	if !night && !dawn {
		night, dawn = r.text.HasIn("due.night", 0, m.Start), r.text.HasIn("due.dawn", 0, m.Start)
	}
	switch m.Value {
	case "noon":
		return clockTime{hour: 12}, true
	case "night":
		return clockTime{hour: 24}, true
	case "midnight", "zero":
		if night {
			return clockTime{hour: 24}, true
		}
		return clockTime{}, true
	case "half":
		c.minute = 30
	case "quarter":
		c.minute = 15
	case "three":
		c.minute = 45
	case "to":
		c.hour, c.minute = c.hour-1, 45
	case "before":
		c.hour, c.minute = c.hour-1, 60-c.minute
	}
	if m.Value == "digits" { // at 0800
		hhmm := number(&m, "hhmm")
		return clockTime{hour: hhmm / 100, minute: hhmm % 100}, hhmm%100 < 60 && len(r.text.Tokens[m.End-1].Lower) == 4
	}
	exact := m.Value == "clock" && r.text.Tokens[m.End-3].Lower[0] == '0' // 06:55
	switch {
	case m.Value == "am":
		c.hour %= 12
	case m.Value == "pm":
		c.hour = c.hour%12 + 12
	case c.hour <= 12 && night && !dawn:
		c.hour += 12
	case !dawn && !exact && c.hour >= 1 && c.hour < 7:
		c.hour += 12
	default:
		c.bare = !dawn && !exact
	}
	return c, true
}
