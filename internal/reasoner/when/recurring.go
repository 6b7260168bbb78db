package when

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
	"github.com/oxbow-memory/oxbow/internal/recurrence"
)

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
