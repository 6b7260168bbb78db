package when

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

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
