// Package when finds the time of an event in a text: "yesterday", "last Tuesday", "on 3 May", 上周三, 三天前, relative to the
// time at which the text was said, in English and Chinese.
//
// The expressions are patterns in internal/reasoner/language/times.txt. Each gives an operation and an offset n:
//
//	day n      the day n days from today; a precision of a week: about n
//	week n     the week n weeks from this one, or a weekday of it; its Saturday: weekend n
//	weekday n  a weekday: the last (-1) or next (1) one; 0: by the tense of the text
//	month n    the month n months from this one, or a day of it
//	year n     the year n years from this one, or a month or day of it
//	date n     a date of which the year or the day may be missing: the last or next such month; 0: by the tense
//	season n   the last, this or the next season, by the month in its middle
//	shift n    n times a number of units from now; of half a unit: half n; only in a text about the future: later n
package when

import (
	"strconv"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

// Precision is the precision of a time in a text.
type Precision int

// The precisions, the most exact first.
const (
	Hour Precision = iota
	Day
	Week
	Month
	Year
)

var names = [...]string{"hour", "day", "week", "month", "year"}

func (p Precision) String() string { return names[p] }

// Expression is a time in a text.
type Expression struct {
	Time       time.Time // in the zone of the time that it is relative to
	Precision  Precision
	Start, End int  // its place in the text, in bytes
	Since      bool // the text states that something has been true since then
}

// maxText is the maximum number of bytes read of a text.
const maxText = 4 << 10

// Find returns the first time in text, relative to when it was said. A day without an hour is its noon; a week its
// Wednesday, a month its 15th, a year its 1 July, each at noon; "a week ago" and the like count back from the day.
// Recurring times ("every Tuesday") and durations are not times, nor is anything outside the years 1 to 9999.
func Find(text string, said time.Time) (Expression, bool) {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	r := reader{text: language.Read(text), said: said}
	for m := range r.text.All("time") {
		e, ok := r.compute(&m)
		if year := e.Time.UTC().Year(); !ok || year < 1 || year > 9999 {
			continue
		}
		e.Start, e.End = r.text.Tokens[m.Start].Start, r.text.Tokens[m.End-1].End
		_, e.Since = r.text.Around("time.since", m.Start, m.End)
		if hour, found := r.text.Around("time.hour", m.Start, m.End); found && e.Precision == Day {
			if at, ok := r.hour(e.Time, &hour, m.Start, m.End); ok {
				e.Time, e.Precision = at, Hour
				e.End = max(e.End, r.text.Tokens[hour.End-1].End)
			}
		}
		return e, true
	}
	return Expression{}, false
}

type reader struct {
	text   *pattern.Text
	said   time.Time
	future bool // the text is known to be about the future
}

// ahead reports whether the text is about the future.
func (r *reader) ahead() bool {
	return r.future || r.text.Has("time.ahead") && (!r.text.Has("time.behind") || r.text.Has("time.surely"))
}

// side returns the side of now on which a time without an offset lies: the future if the text is about it.
func (r *reader) side(n int) (side int, given bool) {
	switch {
	case n != 0:
		return n, true
	case r.ahead():
		return 1, false
	}
	return -1, false
}

// compute performs the operation of a match.
func (r *reader) compute(m *pattern.Match) (Expression, bool) {
	operation, offset, _ := strings.Cut(m.Value, " ")
	n, err := strconv.Atoi(offset)
	if err != nil {
		n, _ = strconv.Atoi(m.Captures[0].Value)
	}
	_, hasWeekday := m.Get("weekday")
	weekday := time.Weekday(number(m, "weekday"))
	switch operation {
	case "day":
		return Expression{Time: r.day(n), Precision: Day}, true
	case "about":
		return Expression{Time: r.day(n), Precision: Week}, true
	case "week":
		if hasWeekday {
			return Expression{Time: r.weekday(n, weekday), Precision: Day}, true
		}
		return Expression{Time: r.weekday(n, time.Wednesday), Precision: Week}, true
	case "weekend":
		return Expression{Time: r.weekday(n, time.Saturday), Precision: Day}, true
	case "weekday":
		side, _ := r.side(n)
		return Expression{Time: r.nearest(weekday, side), Precision: Day}, true
	case "month":
		first := r.noon(r.said.Year(), r.said.Month()+time.Month(n), 1)
		return r.date(first.Year(), first.Month(), number(m, "day"))
	case "year":
		return r.date(r.said.Year()+n, time.Month(number(m, "month")), number(m, "day"))
	case "season":
		return r.season(n, time.Month(number(m, "month"))), true
	case "date":
		return r.dated(n, number(m, "year"), time.Month(number(m, "month")), number(m, "day"))
	}
	unit, _ := m.Get("unit")
	switch {
	case operation == "later" && !r.ahead():
		return Expression{}, false
	case operation == "half":
		return r.shift(n, "half "+unit.Value)
	}
	return r.shift(n*number(m, "n"), unit.Value)
}

// number returns the number that a match has under a name, or 0.
func number(m *pattern.Match, name string) int {
	c, _ := m.Get(name)
	n, _ := strconv.Atoi(c.Value)
	return n
}

// noon returns noon of a day, which may lie outside its month: the 32nd is the first of the next one.
func (r *reader) noon(y int, m time.Month, d int) time.Time {
	return time.Date(y, m, d, 12, 0, 0, 0, r.said.Location())
}

// day returns noon of the day n days from that of said.
func (r *reader) day(n int) time.Time {
	y, m, d := r.said.Date()
	return r.noon(y, m, d+n)
}

// weekday returns a day of the week n weeks from that of said. Weeks begin on Monday.
func (r *reader) weekday(n int, day time.Weekday) time.Time {
	return r.day(7*n + fromMonday(day) - fromMonday(r.said.Weekday()))
}

func fromMonday(day time.Weekday) int { return (int(day) + 6) % 7 }

// nearest returns the latest such day before that of said, or the next one after it.
func (r *reader) nearest(day time.Weekday, side int) time.Time {
	n := fromMonday(day) - fromMonday(r.said.Weekday())
	switch {
	case side > 0 && n <= 0:
		n += 7
	case side < 0 && n >= 0:
		n -= 7
	}
	return r.day(n)
}

// date returns a year, a month of it, or a day; a month of 0 and a day of 0 are not given.
func (r *reader) date(y int, m time.Month, d int) (Expression, bool) {
	switch {
	case m == 0:
		return Expression{Time: r.noon(y, time.July, 1), Precision: Year}, true
	case d == 0:
		return Expression{Time: r.noon(y, m, 15), Precision: Month}, true
	}
	t := r.noon(y, m, d)
	return Expression{Time: t, Precision: Day}, t.Day() == d
}

// dated returns a date whose year may not be given: a month is the latest one that has begun, or the next; of a day,
// the nearest one, and in a text about the future one that is to come.
func (r *reader) dated(n, y int, m time.Month, d int) (Expression, bool) {
	if y != 0 {
		return r.date(y, m, d)
	}
	side, given := r.side(n)
	y = r.said.Year()
	if d == 0 {
		switch {
		case side > 0 && (m < r.said.Month() || given && m == r.said.Month()):
			y++
		case side < 0 && (m > r.said.Month() || given && m == r.said.Month()):
			y--
		}
		return r.date(y, m, 0)
	}
	const manyMonths, halfAYear = 300 * 24 * time.Hour, 183 * 24 * time.Hour
	e, ok := r.date(y, m, d)
	switch t := e.Time; {
	case !ok: // 29 February
		return r.date(y-1, m, d)
	case side > 0 && t.Before(r.day(0)), side < 0 && r.said.Sub(t) > manyMonths:
		return r.date(y+1, m, d)
	case side < 0 && t.Sub(r.said) > halfAYear:
		return r.date(y-1, m, d)
	}
	return e, true
}

// season returns the last, this or the next season. One whose middle is less than a month away is this one, and this
// winter may be that of the next year.
func (r *reader) season(n int, m time.Month) Expression {
	y := r.said.Year()
	switch t := r.noon(y, m, 15); {
	case n < 0 && !t.Before(r.said.AddDate(0, -1, 0)):
		y--
	case n > 0 && !t.After(r.said.AddDate(0, 1, 0)), n == 0 && m == time.January && r.said.Month() > time.June:
		y++
	}
	return Expression{Time: r.noon(y, m, 15), Precision: Month}
}

// units are the units of time, with the precision of a time that lies some of them away.
var units = map[string]struct {
	months, days int
	exact        time.Duration
	precision    Precision
}{
	"minute":     {exact: time.Minute, precision: Hour},
	"half hour":  {exact: 30 * time.Minute, precision: Hour},
	"hour":       {exact: time.Hour, precision: Hour},
	"day":        {days: 1, precision: Day},
	"week":       {days: 7, precision: Week},
	"fortnight":  {days: 14, precision: Week},
	"half month": {days: 15, precision: Week},
	"month":      {months: 1, precision: Month},
	"half year":  {months: 6, precision: Month},
	"year":       {months: 12, precision: Year},
	"decade":     {months: 120, precision: Year},
}

// shift moves said by so many units.
func (r *reader) shift(n int, unit string) (Expression, bool) {
	u, ok := units[unit]
	e := Expression{Time: r.said.Add(time.Duration(n) * u.exact), Precision: u.precision}
	switch {
	case u.days > 0:
		e.Time = r.day(n * u.days)
	case u.months > 0:
		e.Time = r.months(n * u.months)
	}
	return e, ok
}

// months returns noon of the day n months from that of said; of the last day of that month if it is shorter.
func (r *reader) months(n int) time.Time {
	y, m, d := r.said.Date()
	last := r.noon(y, m+time.Month(n)+1, 0)
	return r.noon(last.Year(), last.Month(), min(d, last.Day()))
}

// hour returns the time of day that a match states. The tokens [from, to) are the expression for the day, which may
// say that it is late.
func (r *reader) hour(day time.Time, m *pattern.Match, from, to int) (time.Time, bool) {
	hour, minute := number(m, "hour"), number(m, "minute")
	late := m.Value == "pm" || m.Value != "am" && r.text.HasIn("time.late", from, max(to, m.End)+2)
	switch {
	case m.Value == "noon":
		hour, late = 12, false
	case m.Value == "midnight":
		hour, late = 0, false
	case m.Value == "half":
		minute = 30
	}
	switch {
	case late && hour > 0 && hour < 12:
		hour += 12
	case m.Value == "am" && hour == 12:
		hour = 0
	}
	y, month, d := day.Date()
	return time.Date(y, month, d, hour, minute, 0, 0, day.Location()), hour < 24
}
