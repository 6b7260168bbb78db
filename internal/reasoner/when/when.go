// Package when finds in a text when something happens: "yesterday", "last Tuesday", "on 3 May",
// 上周三, 三天前, read from the time at which the text was said. English and Chinese.
package when

import "time"

// Precision is how exactly a text says when.
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

// Expression is what a text says of a time.
type Expression struct {
	Time       time.Time // in the zone of the time that it is relative to
	Precision  Precision
	Start, End int  // where it stands in the text, in bytes
	Since      bool // it says since when, and not when
}

// maxText is how much of a text is read, in bytes.
const maxText = 4 << 10

// Find returns the first time that text says, relative to when it was said. A day without an hour
// is its noon; a week its Wednesday, a month its 15th, a year its 1 July, each at noon; "a week
// ago" and the like count back from the day. What recurs ("every Tuesday") is no time, and neither
// is how long something takes, nor what lies outside the years 1 to 9999.
func Find(text string, said time.Time) (Expression, bool) {
	if len(text) > maxText {
		end := maxText
		for end > 0 && text[end]&0xc0 == 0x80 {
			end--
		}
		text = text[:end]
	}
	e, ok := findEn(text, said)
	if zh, found := findZh(text, said); found && (!ok || zh.Start < e.Start) {
		e, ok = zh, true
	}
	if year := e.Time.UTC().Year(); !ok || year < 1 || year > 9999 {
		return Expression{}, false
	}
	return e, true
}

// noon returns noon of a day, which may lie outside its month: the 32nd is the first of the next.
func noon(y int, m time.Month, d int, zone *time.Location) time.Time {
	return time.Date(y, m, d, 12, 0, 0, 0, zone)
}

// days returns noon of the day that lies n days after said.
func days(said time.Time, n int) time.Time {
	y, m, d := said.Date()
	return noon(y, m, d+n, said.Location())
}

// months returns noon of the day that lies n months after said; of the last day of that month where it is shorter.
func months(said time.Time, n int) time.Time {
	y, m, d := said.Date()
	first := noon(y, m+time.Month(n), 1, said.Location())
	y, m, _ = first.Date()
	return noon(y, m, min(d, lastDay(y, m)), said.Location())
}

func lastDay(y int, m time.Month) int {
	return time.Date(y, m+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// monthOf returns the middle of the month that lies n months after that of said.
func monthOf(said time.Time, n int) time.Time {
	y, m, _ := said.Date()
	return noon(y, m+time.Month(n), 15, said.Location())
}

// weekday returns a day of the week that lies n weeks after that of said. Weeks begin on Monday.
func weekday(said time.Time, n int, day time.Weekday) time.Time {
	return days(said, 7*n+index(day)-index(said.Weekday()))
}

// index counts from Monday.
func index(day time.Weekday) int { return (int(day) + 6) % 7 }

// lately returns the latest day of the week before the day of said, or the next one after it.
func lately(said time.Time, day time.Weekday, future bool) time.Time {
	n := index(day) - index(said.Weekday())
	if future {
		if n <= 0 {
			n += 7
		}
		return days(said, n)
	}
	if n > 0 {
		n -= 7
	}
	if n == 0 {
		n = -7
	}
	return days(said, n)
}

// dated returns noon of a day without a year: the one nearest to said, as far as the text does not
// say that it is to come.
func dated(said time.Time, m time.Month, d int, future bool) (time.Time, bool) {
	y := said.Year()
	if d < 1 || d > 31 {
		return time.Time{}, false
	}
	at := func(y int) time.Time { return noon(y, m, d, said.Location()) }
	t := at(y)
	if t.Month() != m {
		if t = at(y - 1); t.Month() != m { // 29 February
			return time.Time{}, false
		}
		return t, true
	}
	switch {
	case future && t.Before(days(said, 0)):
		t = at(y + 1)
	case !future && t.After(days(said, 0)) && t.Sub(said) > 183*24*time.Hour:
		t = at(y - 1)
	case !future && t.Before(said) && said.Sub(t) > 300*24*time.Hour:
		t = at(y + 1)
	}
	if t.Month() != m || t.Day() != d {
		return time.Time{}, false
	}
	return t, true
}

// monthed returns the middle of a month without a year: the latest one that has begun, or the next one.
func monthed(said time.Time, m time.Month, future bool) time.Time {
	y := said.Year()
	switch {
	case future && m < said.Month():
		y++
	case !future && m > said.Month():
		y--
	}
	return noon(y, m, 15, said.Location())
}

// at returns an hour of the day of t.
func at(t time.Time, hour, minute int) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, hour, minute, 0, 0, t.Location())
}
