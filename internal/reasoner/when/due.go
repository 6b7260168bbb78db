package when

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
	"github.com/oxbow-memory/oxbow/internal/recurrence"
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
}

// FindDue returns when something that a text plans is due, the first time after said of one that comes again. Without a
// day, an hour is the next such. An hour without am, pm or a part of the day is between 7 and 18.
func FindDue(text string, said time.Time) (Due, bool) {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	r := reader{text: language.Read(text), said: said, future: true}
	if d, ok := r.span(); ok {
		return d, true
	}
	hour, minute, clock := r.clock()
	if d, ok := r.recurring(hour, minute, clock); ok {
		return d, true
	}
	d, ok := r.dueDay()
	switch {
	case !ok && clock:
		d = Due{Time: r.at(r.day(0), hour, minute), Precision: DueMinute}
		if !d.Time.After(said) {
			d.Time = r.at(r.day(1), hour, minute)
		}
		return d, true
	case ok && clock && d.Precision == DueDay:
		d.Time, d.Precision = r.at(d.Time, hour, minute), DueMinute
	}
	return d, ok && !d.end().Before(said)
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
	each := 1
	if unit, ok := m.Get("unit"); ok && (strings.HasPrefix(unit.Value, "h") || unit.Value == "小时" || unit.Value == "钟头") {
		each = 60
	}
	minutes := number(&m, "n") * each
	switch m.Value {
	case "1":
		if span := r.text.String[r.text.Tokens[m.Start].Start:r.text.Tokens[m.End-1].End]; strings.Contains(span, "半小时") ||
			strings.Contains(span, "半个小时") || strings.Contains(span, "半钟头") {
			minutes += 30
		}
	case "half":
		minutes = number(&m, "n")*60 + 30
	default:
		minutes, _ = strconv.Atoi(m.Value)
	}
	return Due{Time: r.said.Add(time.Duration(minutes) * time.Minute).Truncate(time.Minute), Precision: DueMinute}, minutes > 0
}

// clock returns the time of day that the text states.
func (r *reader) clock() (hour, minute int, ok bool) {
	m, ok := r.text.Find("due.clock")
	if !ok {
		return 0, 0, false
	}
	hour, minute = number(&m, "hour"), number(&m, "minute")
	switch m.Value {
	case "noon":
		return 12, 0, true
	case "midnight":
		return 0, 0, true
	case "half":
		minute = 30
	case "quarter":
		minute = 15
	case "three":
		minute = 45
	case "to":
		hour, minute = hour-1, 45
	}
	night, dawn := r.text.HasIn("due.night", m.Start-4, m.End+4), r.text.HasIn("due.dawn", m.Start-4, m.End+4)
	switch {
	case m.Value == "am":
		hour %= 12
	case m.Value == "pm":
		hour = hour%12 + 12
	case hour < 12 && night && !dawn:
		hour += 12
	case m.Value != "clock" && hour >= 1 && hour < 7 && !dawn:
		hour += 12
	}
	return hour % 24, minute, true
}

// dueDay returns the day, week, month or year that the text names.
func (r *reader) dueDay() (Due, bool) {
	if m, ok := r.text.Find("due.day"); ok {
		y, month, day := r.said.Date()
		midnight := func(y int, m time.Month, d int) Due {
			return Due{Time: time.Date(y, m, d, 0, 0, 0, 0, r.said.Location()), Precision: DueDay}
		}
		switch m.Value {
		case "monthday":
			n := number(&m, "day")
			for ahead := range time.Month(13) {
				if d := midnight(y, month+ahead, n); (ahead > 0 || n >= day) && d.Time.Day() == n {
					return d, true
				}
			}
		case "monthend":
			return midnight(y, month+1, 0), true
		case "nextmonthend":
			return midnight(y, month+2, 0), true
		case "yearend":
			return midnight(y, time.December, 31), true
		case "weekend", "saturday":
			if _, named := r.text.Find("time"); m.Value == "saturday" && named {
				break // next weekend
			}
			to := time.Saturday
			if m.Value == "weekend" {
				to = time.Friday
			}
			return midnight(y, month, day+(int(to)-int(r.said.Weekday())+7)%7), true
		}
	}
	for m := range r.text.All("time") {
		e, ok := r.compute(&m)
		if year := e.Time.UTC().Year(); !ok || year < 1 || year > 9999 {
			continue
		}
		return r.dueOf(e), true
	}
	return Due{}, false
}

// dueOf returns the beginning of what an expression names.
func (r *reader) dueOf(e Expression) Due {
	y, m, d := e.Time.Date()
	switch e.Precision {
	case Hour:
		return Due{Time: e.Time.Truncate(time.Minute), Precision: DueMinute}
	case Week:
		return Due{Time: r.at(e.Time.AddDate(0, 0, -fromMonday(e.Time.Weekday())), 0, 0), Precision: DueWeek}
	case Month:
		return Due{Time: r.at(time.Date(y, m, 1, 0, 0, 0, 0, e.Time.Location()), 0, 0), Precision: DueMonth}
	case Year:
		return Due{Time: r.at(time.Date(y, 1, 1, 0, 0, 0, 0, e.Time.Location()), 0, 0), Precision: DueYear}
	}
	return Due{Time: r.at(time.Date(y, m, d, 0, 0, 0, 0, e.Time.Location()), 0, 0), Precision: DueDay}
}

// recurring returns when something that comes again is due next.
func (r *reader) recurring(hour, minute int, clock bool) (Due, bool) {
	m, ok := r.text.Find("due.every")
	if !ok {
		return Due{}, false
	}
	kind, n := m.Value, number(&m, "n")
	days := r.weekdaysAfter(&m)
	byDay := ""
	if days != "" {
		byDay = ";BYDAY=" + days
	}
	var rule string
	switch kind {
	case "WEEKDAYS":
		rule = "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"
	case "WEEKENDS":
		rule = "FREQ=WEEKLY;BYDAY=SA,SU"
	case "MONTHNTH":
		nth, _ := m.Get("nth")
		rule = "FREQ=MONTHLY;BYDAY=" + nth.Value + days
	case "MONTHLAST":
		rule = "FREQ=MONTHLY;BYDAY=-1" + days
	case "MONTHDAY":
		rule = fmt.Sprintf("FREQ=MONTHLY;BYMONTHDAY=%d", number(&m, "day"))
	case "MONTHEND":
		rule = "FREQ=MONTHLY;BYMONTHDAY=-1"
	case "YEARLY":
		rule = "FREQ=YEARLY"
	default:
		freq, interval := strings.TrimRight(kind, "N2"), n
		if strings.HasSuffix(kind, "2") {
			interval = 2
		}
		rule = "FREQ=" + freq
		if interval > 1 {
			rule += fmt.Sprintf(";INTERVAL=%d", interval)
		}
		if freq == "WEEKLY" {
			rule += byDay
		}
	}
	d := Due{Precision: DueDay, Recurrence: rule}
	start := r.at(r.day(0), 0, 0)
	if clock {
		d.Precision, start = DueMinute, r.at(start, hour, minute)
	}
	if kind == "YEARLY" || strings.HasPrefix(rule, "FREQ=WEEKLY") && days == "" && byDay == "" ||
		strings.HasPrefix(rule, "FREQ=MONTHLY") && !strings.Contains(rule, ";BY") {
		if on, ok := r.dueDay(); ok && on.Precision == DueDay {
			start = r.at(on.Time, start.Hour(), start.Minute())
		}
	}
	if strings.Contains(rule, ";INTERVAL=") && days != "" { // the first one is that of the next such day
		if first, err := recurrence.Next("FREQ=WEEKLY"+byDay, start, r.said); err == nil {
			start = first
		}
	}
	next, err := recurrence.Next(rule, start, r.said)
	d.Time = next
	return d, err == nil && !next.IsZero()
}

// weekdaysAfter returns the days of the week at the end of a match and after it, such as MO,TH.
func (r *reader) weekdaysAfter(m *pattern.Match) string {
	var days []string
	add := func(list string, i int) int {
		if d, ok := r.text.At(list, i); ok {
			days = append(days, d.Value)
			return d.End - d.Start
		}
		return 0
	}
	for i := m.Start; i < len(r.text.Tokens); {
		n := add("due.weekday", i)
		if n == 0 {
			n = add("due.weekdays", i)
		}
		if n == 0 && i >= m.End {
			n = add("due.weekday.zh", i)
		}
		if word := r.text.Tokens[i].Lower; n == 0 && i >= m.End && word != "and" && word != "," && word != "、" && word != "和" &&
			word != "周" {
			break
		}
		i += max(n, 1)
	}
	return strings.Join(days, ",")
}
