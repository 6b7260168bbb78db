package when

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

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

// found is a day, week, month or year in a text.
type found struct {
	Due
	start, end int  // its tokens
	loose      bool // a day of the week, which a date makes exact
	season     bool
	monthday   int // a day of a month that may be named elsewhere
}

// namedDay returns the day, week, month or year that the text names: the first, unless another makes it exact, as in
// "Monday the 2nd of November" or "next month on the 5th".
func (r *reader) namedDay() (first found, ok bool) {
	for f := range r.days() {
		switch {
		case f.Due.end().Before(r.said):
		case !ok:
			first, ok = f, true
		case first.loose && !f.loose && f.Precision == DueDay && f.Time.Weekday() == first.Time.Weekday():
			return f, true
		case first.season && !f.season && (f.Precision == DueDay || f.Precision == DueMonth):
			return f, true
		case first.Precision == DueYear && f.Precision == DueDay && f.monthday == 0 && !f.loose:
			_, m, day := f.Time.Date()
			first.Due = r.midnight(first.Time.Year(), m, day)
			return first, true
		case f.monthday > 0 && (first.Precision == DueMonth || first.Precision == DueYear) && f.Precision == DueDay:
			if y, m, _ := first.Time.Date(); first.Precision == DueMonth {
				first.Due = r.midnight(y, m, f.monthday)
			}
			return first, true
		}
	}
	return first, ok
}

// days returns the days and longer times in a text, in their order; of two that overlap, the longer.
func (r *reader) days() iter.Seq[found] {
	return func(yield func(found) bool) {
		for i := 0; i < len(r.text.Tokens); {
			f, ok := r.dayAt(i)
			if ok && !yield(f) {
				return
			}
			i = max(f.end, i+1)
		}
	}
}

// dayAt returns the day or longer time that begins at a token.
func (r *reader) dayAt(i int) (f found, ok bool) {
	m, named := r.text.At("due.day", i)
	if e, isTime := r.text.At("time", i); isTime && (!named || e.End > m.End) {
		x, computed := r.compute(&e)
		if year := x.Time.UTC().Year(); computed && year >= 1 && year <= 9999 {
			operation, _, _ := strings.Cut(e.Value, " ")
			f = found{Due: r.dueOf(x), start: e.Start, end: e.End, loose: operation == "weekday"}
			if operation == "later" || operation == "shift" || operation == "half" {
				if f.Precision != DueMinute { // in two weeks: on that day
					f.Due = r.midnight(x.Time.Date())
				}
			}
			return f, true
		}
	}
	if !named {
		return f, false
	}
	d, ok := r.nameOf(&m)
	operation, _, _ := strings.Cut(m.Value, " ")
	f = found{Due: d, start: m.Start, end: m.End, loose: operation == "weekday" || operation == "week"}
	f.season = operation == "season"
	if operation == "monthday" {
		f.monthday = number(&m, "day")
	}
	return f, ok && !d.Time.IsZero()
}

// midnight returns a day.
func (r *reader) midnight(y int, m time.Month, d int) Due {
	return Due{Time: time.Date(y, m, d, 0, 0, 0, 0, r.said.Location()), Precision: DueDay, Dated: true}
}

// nameOf performs the operation of a match of due.day.
func (r *reader) nameOf(m *pattern.Match) (Due, bool) {
	operation, offset, _ := strings.Cut(m.Value, " ")
	n, err := strconv.Atoi(offset)
	count := number(m, "n")
	if err != nil {
		n = count
	}
	y, month, today := r.said.Date()
	named := time.Month(number(m, "month"))
	weekday := time.Weekday(number(m, "weekday"))
	part, _ := m.Get("part")
	dayIn := func(n int) (Due, bool) { return r.midnight(y, month, today+n), true }
	switch operation {
	case "monthday":
		day := number(m, "day")
		for ahead := range time.Month(13) {
			d := r.midnight(y, month+time.Month(n)+ahead, day)
			if (ahead > 0 || n > 0 || day >= today) && d.Time.Day() == day {
				return d, true
			}
		}
	case "day", "day+":
		if operation == "day+" {
			n += count
		}
		return dayIn(n)
	case "weeksday":
		return dayIn(7*count + n)
	case "monthsday":
		return r.midnight(y, month+time.Month(count), today), true
	case "weeklater": // Friday, or what is left of the week
		friday := r.weekday(0, time.Friday)
		return r.midnight(y, month, max(today+1, today+int(friday.Sub(r.day(0)).Hours()/24))), true
	case "weekday":
		return r.midnight(r.nearest(weekday, 1).AddDate(0, 0, 7*n).Date()), true
	case "week":
		return r.midnight(r.weekday(n, weekday).Date()), true
	case "weekend":
		return dayIn((int(time.Saturday)-int(r.said.Weekday())+7)%7 + 7*n)
	case "weekdays":
		day := map[string]time.Weekday{"mid": time.Wednesday, "late": time.Thursday, "end": time.Friday}
		to := time.Monday
		if d, ok := day[part.Value]; ok {
			to = d
		}
		return r.midnight(r.weekday(n, to).Date()), true
	case "nth", "nthlast":
		nth := number(m, "nth")
		if operation == "nthlast" {
			nth = -1
		}
		return r.inMonth(m, named, n, func(y int, m time.Month) Due { return r.nth(y, m, nth, weekday) })
	case "month":
		return r.inMonth(m, named, n, func(y int, m time.Month) Due {
			switch part.Value {
			case "early":
				return r.midnight(y, m, 1)
			case "late":
				return r.midnight(y, m, 21)
			case "end":
				return r.midnight(y, m+1, 0)
			}
			return r.midnight(y, m, 15)
		})
	case "season":
		e := r.season(0, named)
		if e.Time.Before(r.said) {
			e = r.season(1, named)
		}
		return r.dueOf(e), true
	case "monthlater":
		return Due{Time: r.at(r.noon(y, month, 1), 0, 0), Precision: DueMonth, Dated: true}, true
	case "year":
		switch part.Value {
		case "end":
			return r.midnight(y+n, time.December, 31), true
		case "late":
			return r.midnight(y+n, time.November, 1), true
		case "mid":
			return r.midnight(y+n, time.July, 1), true
		}
		return r.midnight(y+n, time.January, 1), true
	case "date":
		day := number(m, "day")
		return r.inMonth(m, named, 0, func(y int, m time.Month) Due { return r.midnight(y, m, day) })
	case "holiday", "holidaybefore", "holidayafter":
		holiday, _ := m.Get("holiday")
		switch operation {
		case "holidaybefore":
			n = -count
		case "holiday":
			n, _ = strconv.Atoi(offset)
		}
		return r.holiday(holiday.Value, n)
	}
	return Due{}, false
}

// inMonth returns a day of a month: of the one that is named, or of the one n months from now; not a past one.
func (r *reader) inMonth(m *pattern.Match, named time.Month, n int, day func(int, time.Month) Due) (Due, bool) {
	y, month, _ := r.said.Date()
	years, given := m.Get("year")
	ahead, _ := strconv.Atoi(years.Value)
	if named == 0 {
		d := day(y, month+time.Month(n))
		if n == 0 && d.end().Before(r.said) {
			d = day(y, month+1)
		}
		return d, true
	}
	d := day(y+ahead, named)
	if !given && d.end().Before(r.said) {
		d = day(y+1, named)
	}
	return d, true
}

// nth returns a weekday of a month: the first, the second, or the last (-1).
func (r *reader) nth(y int, m time.Month, nth int, weekday time.Weekday) Due {
	first := r.noon(y, m, 1)
	if nth < 0 {
		first, nth = r.noon(y, m+1, -6), 1
	}
	day := first.AddDate(0, 0, (int(weekday)-int(first.Weekday())+7)%7+7*(nth-1))
	return r.midnight(day.Date())
}

// holiday returns the day n days after a holiday: month-day, month-nth-weekday, or year-month-day of each year.
func (r *reader) holiday(name string, n int) (Due, bool) {
	if dates := strings.Fields(name); len(dates) > 1 {
		for _, date := range dates {
			if t, err := time.Parse("2006-1-2", date); err == nil {
				if d := r.midnight(t.Year(), t.Month(), t.Day()+n); !d.end().Before(r.said) {
					return d, true
				}
			}
		}
		return Due{}, false
	}
	var month, day, weekday int
	on := func(y int) Due { return r.midnight(y, time.Month(month), day+n) }
	if _, err := fmt.Sscanf(name, "%d-%d-%d", &month, &day, &weekday); err == nil {
		on = func(y int) Due {
			d := r.nth(y, time.Month(month), day, time.Weekday(weekday))
			d.Time = d.Time.AddDate(0, 0, n)
			return d
		}
	} else if _, err := fmt.Sscanf(name, "%d-%d", &month, &day); err != nil {
		return Due{}, false
	}
	d := on(r.said.Year())
	if d.end().Before(r.said) {
		d = on(r.said.Year() + 1)
	}
	return d, true
}

// dueOf returns the beginning of what an expression names.
func (r *reader) dueOf(e Expression) Due {
	y, m, d := e.Time.Date()
	begins := r.midnight(y, m, d)
	switch e.Precision {
	case Hour:
		begins = Due{Time: e.Time.Truncate(time.Minute), Precision: DueMinute, Dated: true}
	case Week:
		begins = r.midnight(y, m, d-fromMonday(e.Time.Weekday()))
		begins.Precision = DueWeek
	case Month:
		begins = r.midnight(y, m, 1)
		begins.Precision = DueMonth
	case Year:
		begins = r.midnight(y, 1, 1)
		begins.Precision = DueYear
	}
	return begins
}

// recurring returns when something that comes again is due next.
func (r *reader) recurring(clock clockTime, clocked bool) (Due, bool) {
	m, ok := r.text.Find("due.every")
	if !ok {
		return Due{}, false
	}
	kind, times, _ := strings.Cut(m.Value, " ")
	days := r.weekdaysAfter(&m)
	nth, _ := m.Get("nth")
	var rule string
	switch kind {
	case "WEEKDAYS":
		rule = "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"
	case "WEEKENDS":
		rule = "FREQ=WEEKLY;BYDAY=SA,SU"
	case "MONTHNTH":
		rule = "FREQ=MONTHLY;BYDAY=" + nth.Value + days
	case "MONTHLAST":
		rule = "FREQ=MONTHLY;BYDAY=-1" + days
	case "MONTHDAY":
		rule = fmt.Sprintf("FREQ=MONTHLY;BYMONTHDAY=%d", number(&m, "day"))
		for and, ok := r.text.At("due.and_day", m.End); ok; and, ok = r.text.At("due.and_day", and.End) {
			rule += fmt.Sprintf(",%d", number(&and, "day"))
		}
	case "MONTHDAYNTH":
		rule = "FREQ=MONTHLY;BYMONTHDAY=" + nth.Value
	case "MONTHSTART":
		rule = "FREQ=MONTHLY;BYMONTHDAY=1"
	case "MONTHEND":
		rule = "FREQ=MONTHLY;BYMONTHDAY=-1"
	default:
		rule = "FREQ=" + kind
		interval, err := strconv.Atoi(times)
		if err != nil {
			interval = number(&m, "n")
		}
		if times == "+" { // 每隔三天
			interval++
		}
		if interval > 1 {
			rule += fmt.Sprintf(";INTERVAL=%d", interval)
		}
		if kind == "WEEKLY" && days != "" {
			rule += ";BYDAY=" + days
		}
	}
	d := Due{Precision: DueDay, Recurrence: rule, Dated: true}
	start := r.at(r.day(0), 0, 0)
	if clocked {
		d.Precision, start = DueMinute, r.at(start, clock.hour, clock.minute)
	}
	// it begins on the day that is named, unless the rule says on which
	if on, ok := r.namedDay(); ok && on.Precision == DueDay && !on.Time.Before(r.at(r.day(0), 0, 0)) {
		_, from := r.text.Around("due.from", on.start, on.end)
		if from || !strings.Contains(rule, ";BY") && kind != "DAILY" && kind != "HOURLY" {
			y, month, day := on.Time.Date()
			start = time.Date(y, month, day, start.Hour(), start.Minute(), 0, 0, start.Location())
		}
	}
	if strings.Contains(rule, ";INTERVAL=") && days != "" { // the first one is that of the next such day
		if first, err := recurrence.Next("FREQ=WEEKLY;BYDAY="+days, start, r.said); err == nil {
			start = first
		}
	}
	next, err := recurrence.Next(rule, start, r.said)
	d.Time = next
	return d, err == nil && !next.IsZero()
}

// betweenDays are the words between a rule and its days of the week.
var betweenDays = []string{"and", "on", ",", "/", "&", "、", "和", "跟", "的", "周", "星", "期", "礼", "拜"}

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
		if n == 0 && i >= m.End && r.text.Tokens[m.Start].Lower[0] >= utf8.RuneSelf { // every Monday 7.30
			n = add("due.weekday.zh", i)
		}
		if word := r.text.Tokens[i].Lower; n == 0 && i >= m.End && !slices.Contains(betweenDays, word) {
			break
		}
		i += max(n, 1)
	}
	return strings.Join(days, ",")
}
