package when

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

type word struct {
	lower      string
	start, end int
	capital    bool
}

// wordsOf returns the words and numbers of a text.
func wordsOf(text string) []word {
	all := make([]word, 0, len(text)/5+1)
	letter := func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	}
	for i := 0; i < len(text); {
		if !letter(text[i]) {
			i++
			continue
		}
		start := i
		for i < len(text) && (letter(text[i]) || text[i] == '\'' && i+1 < len(text) && letter(text[i+1])) {
			i++
		}
		all = append(all, word{strings.ToLower(text[start:i]), start, i, text[start] >= 'A' && text[start] <= 'Z'})
	}
	return all
}

var (
	weekdaysEn  = numbered[time.Weekday]("weekdays.en")
	monthsEn    = numbered[time.Month]("months.en")
	numbersEn   = numbered[int]("numbers.en")
	unitsEn     = words.Map("units.en")
	seasonsEn   = numbered[time.Month]("seasons.en")
	partsEn     = numbered[int]("parts-of-day.en")
	futureEn    = words.Set("future.en")
	pastEn      = words.Set("past.en")
	recurringEn = words.Set("recurring.en")
)

// heads are the words with which an expression begins.
func headEn(w string) bool {
	switch w {
	case "today", "tonight", "yesterday", "tomorrow", "last", "this", "next", "the", "on", "in", "since", "a", "an", "ago", "past", "earlier":
		return true
	}
	if w[0] >= '0' && w[0] <= '9' {
		return true
	}
	if _, ok := weekdaysEn[w]; ok {
		return true
	}
	if _, ok := monthsEn[w]; ok {
		return true
	}
	_, ok := numbersEn[w]
	return ok
}

type reader struct {
	text   string
	all    []word
	said   time.Time
	future bool
	asked  bool // whether future is known
}

func findEn(text string, said time.Time) (Expression, bool) {
	r := reader{text: text, all: wordsOf(text), said: said}
	for i := range r.all {
		if !headEn(r.all[i].lower) {
			continue
		}
		if i > 0 && recurringEn[r.all[i-1].lower] {
			continue
		}
		n, e, ok := r.readAt(i)
		if !ok {
			continue
		}
		e.Start, e.End = r.all[i].start, r.all[i+n-1].end
		if i > 0 && r.all[i-1].lower == "since" {
			e.Since = true
		}
		if e.Precision == Day {
			if h, m, ok := r.hourNear(i, n); ok {
				e.Time, e.Precision = at(e.Time, h, m), Hour
			}
		}
		return e, true
	}
	return Expression{}, false
}

// is returns the i-th word, or "".
func (r *reader) is(i int) string {
	if i < 0 || i >= len(r.all) {
		return ""
	}
	return r.all[i].lower
}

// joined tells whether the words i and i+1 stand together, with nothing but a space or comma between.
func (r *reader) joined(i int) bool {
	return i+1 < len(r.all) && strings.Trim(r.text[r.all[i].end:r.all[i+1].start], " ,") == ""
}

// ahead tells whether the text speaks of what is to come.
func (r *reader) ahead() bool {
	if !r.asked {
		r.asked = true
		past, doing := false, false
		for i, w := range r.all {
			// "We're moving in June"
			if i > 0 && strings.HasSuffix(w.lower, "ing") && (r.all[i-1].lower == "i'm" || r.all[i-1].lower == "we're") {
				r.future, doing = true, true
			}
			r.future = r.future || futureEn[w.lower]
			past = past || pastEn[w.lower] || len(w.lower) > 4 && strings.HasSuffix(w.lower, "ed")
		}
		if past && !doing && !strings.Contains(strings.ToLower(r.text), "will") {
			r.future = false
		}
	}
	return r.future
}

// readAt reads an expression that begins at the i-th word, and returns how many words it has.
func (r *reader) readAt(i int) (n int, e Expression, ok bool) {
	said := r.said
	day := func(n int, t time.Time) (int, Expression, bool) { return n, Expression{Time: t, Precision: Day}, true }
	switch w := r.is(i); w {
	case "today", "tonight":
		return day(1, days(said, 0))
	case "yesterday":
		if _, part := partsEn[r.is(i+1)]; part {
			return day(2, days(said, -1))
		}
		return day(1, days(said, -1))
	case "tomorrow":
		if _, part := partsEn[r.is(i+1)]; part {
			return day(2, days(said, 1))
		}
		return day(1, days(said, 1))
	case "earlier":
		if r.is(i+1) == "today" {
			return day(2, days(said, 0))
		}
		if r.is(i+1) == "this" {
			n, e, ok := r.relative(i+1, 0)
			return n + 1, e, ok
		}
	case "last":
		return r.relative(i, -1)
	case "this", "past":
		return r.relative(i, 0)
	case "next":
		return r.relative(i, 1)
	case "the":
		switch {
		case r.is(i+1) == "day" && r.is(i+2) == "before" && r.is(i+3) == "yesterday":
			return day(4, days(said, -2))
		case r.is(i+1) == "day" && r.is(i+2) == "after" && r.is(i+3) == "tomorrow":
			return day(4, days(said, 2))
		case r.is(i+1) == "other" && (r.is(i+2) == "day" || r.is(i+2) == "night"):
			return 3, Expression{Time: days(said, -3), Precision: Week}, true
		}
		return r.dateAt(i+1, 1)
	case "on":
		if day, ok := weekdaysEn[r.is(i+1)]; ok && len(r.is(i+1)) > 3 {
			return 2, Expression{Time: lately(said, day, r.ahead()), Precision: Day}, true
		}
		if r.is(i+1) == "the" {
			n, e, ok = r.dateAt(i+2, 2)
			return n, e, ok
		}
		return r.dateAt(i+1, 1)
	case "in", "since":
		if n, e, ok = r.monthAt(i+1, 1); ok {
			e.Since = w == "since"
			return n, e, ok
		}
		if y, ok := yearOf(r.is(i + 1)); ok && !r.amount(i+2) {
			return 2, Expression{Time: noon(y, time.July, 1, said.Location()), Precision: Year, Since: w == "since"}, true
		}
		if w == "in" {
			if count, used := r.count(i + 1); used > 0 {
				if unit, ok := unitsEn[r.is(i+1+used)]; ok && r.ahead() && !strings.HasPrefix(r.is(i+2+used), "of") {
					e := shift(said, count, unit)
					return used + 2, e, true
				}
			}
		}
		return 0, e, false
	}
	if n, e, ok = r.dateAt(i, 0); ok {
		return n, e, ok
	}
	if count, used := r.count(i); used > 0 {
		if unit, ok := unitsEn[r.is(i+used)]; ok {
			switch {
			case r.is(i+used+1) == "ago" || r.is(i+used+1) == "back" && r.is(i+used+2) != "to" || r.is(i+used+1) == "earlier":
				return used + 2, shift(said, -count, unit), true
			case r.is(i+used+1) == "from" && (r.is(i+used+2) == "now" || r.is(i+used+2) == "today"):
				return used + 3, shift(said, count, unit), true
			}
		}
	}
	// a bare day of the week, by its whole name
	if d, ok := weekdaysEn[r.is(i)]; ok && r.all[i].capital && len(r.is(i)) > 5 && !strings.HasSuffix(r.is(i), "'s") {
		return 1, Expression{Time: lately(said, d, r.ahead()), Precision: Day}, true
	}
	return 0, e, false
}

// amount tells whether the i-th word is something counted: "in 2000 steps".
func (r *reader) amount(i int) bool {
	if i >= len(r.all) || !r.joined(i-1) || strings.Contains(r.text[r.all[i-1].end:r.all[i].start], ",") {
		return false
	}
	w := r.is(i)
	return strings.HasSuffix(w, "s") && len(w) > 4 || w == "people"
}

// relative reads "last week", "this Friday", "next month" at the i-th word.
func (r *reader) relative(i, n int) (int, Expression, bool) {
	if !r.joined(i) {
		return 0, Expression{}, false
	}
	said, w := r.said, r.is(i+1)
	past := r.is(i) == "past"
	if past {
		n = -1
	}
	make := func(t time.Time, p Precision) (int, Expression, bool) {
		return 2, Expression{Time: t, Precision: p}, true
	}
	if d, ok := weekdaysEn[w]; ok {
		switch n {
		case 0:
			return make(weekday(said, 0, d), Day)
		case 1:
			t := weekday(said, 1, d)
			return make(t, Day)
		}
		return make(lately(said, d, false), Day)
	}
	if m, ok := monthsEn[w]; ok && (len(w) > 3) {
		y := said.Year()
		switch {
		case n < 0 && m >= said.Month():
			y--
		case n > 0 && m <= said.Month():
			y++
		}
		return make(noon(y, m, 15, said.Location()), Month)
	}
	if m, ok := seasonsEn[w]; ok {
		y := said.Year()
		t := noon(y, m, 15, said.Location())
		switch {
		case n < 0 && !t.Before(said.AddDate(0, -1, 0)):
			y--
		case n > 0 && !t.After(said.AddDate(0, 1, 0)):
			y++
		case n == 0 && m == time.January && said.Month() > time.June:
			y++
		}
		return make(noon(y, m, 15, said.Location()), Month)
	}
	switch w {
	case "night":
		if n == 0 {
			return 0, Expression{}, false
		}
		return make(days(said, n), Day)
	case "evening", "morning", "afternoon":
		return make(days(said, n), Day)
	case "week":
		return make(weekday(said, n, time.Wednesday), Week)
	case "weekend":
		t := weekday(said, n, time.Saturday)
		if n < 0 && index(said.Weekday()) >= 5 { // on a Sunday the last weekend is that of the week before
			t = weekday(said, -1, time.Saturday)
		}
		return make(t, Day)
	case "month":
		return make(monthOf(said, n), Month)
	case "year":
		return make(noon(said.Year()+n, time.July, 1, said.Location()), Year)
	case "few", "couple":
		if past || n < 0 { // how long, and not when
			return 0, Expression{}, false
		}
	}
	return 0, Expression{}, false
}

// count reads a number at the i-th word: "3", "three", "a couple of", "half a".
func (r *reader) count(i int) (n, used int) {
	w := r.is(i)
	if w == "" {
		return 0, 0
	}
	if w[0] >= '0' && w[0] <= '9' {
		n, err := strconv.Atoi(w)
		if err != nil || n > 1000 {
			return 0, 0
		}
		return n, 1
	}
	n, ok := numbersEn[w]
	if !ok {
		return 0, 0
	}
	if w == "a" && (r.is(i+1) == "couple" || r.is(i+1) == "few") {
		n, i, used = numbersEn[r.is(i+1)], i+1, 1
	}
	used++
	if r.is(i+1) == "of" {
		used++
	}
	return n, used
}

// shift moves said by so many of a unit.
func shift(said time.Time, n int, unit string) Expression {
	switch unit {
	case "i":
		return Expression{Time: said.Add(time.Duration(n) * time.Minute), Precision: Hour}
	case "h":
		return Expression{Time: said.Add(time.Duration(n) * time.Hour), Precision: Hour}
	case "w":
		return Expression{Time: days(said, 7*n), Precision: Week}
	case "f":
		return Expression{Time: days(said, 14*n), Precision: Week}
	case "m":
		return Expression{Time: months(said, n), Precision: Month}
	case "y":
		return Expression{Time: months(said, 12*n), Precision: Year}
	case "D":
		return Expression{Time: months(said, 120*n), Precision: Year}
	}
	return Expression{Time: days(said, n), Precision: Day}
}

// dateAt reads "3 May", "May 3rd, 2024", "2024-05-03" at the i-th word, after some words that belong to it.
func (r *reader) dateAt(i, before int) (n int, e Expression, ok bool) {
	w := r.is(i)
	if w == "" {
		return 0, e, false
	}
	if m, isMonth := monthsEn[w]; isMonth && r.all[i].capital {
		d, okDay := dayOf(r.is(i + 1))
		if !okDay || !r.joined(i) || strings.Contains(r.text[r.all[i].end:r.all[i+1].start], ",") {
			return 0, e, false
		}
		used := 2
		if y, ok := yearOf(r.is(i + 2)); ok && r.joined(i+1) {
			return before + 3, Expression{Time: noon(y, m, d, r.said.Location()), Precision: Day}, d <= lastDay(y, m)
		}
		t, ok := dated(r.said, m, d, r.ahead())
		return before + used, Expression{Time: t, Precision: Day}, ok
	}
	if d, okDay := dayOf(w); okDay {
		j := i + 1
		if r.is(j) == "of" {
			j++
		}
		m, isMonth := monthsEn[r.is(j)]
		if isMonth && r.all[j].capital && r.joined(i) {
			if y, ok := yearOf(r.is(j + 1)); ok && r.joined(j) {
				return before + j - i + 2, Expression{Time: noon(y, m, d, r.said.Location()), Precision: Day}, d <= lastDay(y, m)
			}
			t, ok := dated(r.said, m, d, r.ahead())
			return before + j - i + 1, Expression{Time: t, Precision: Day}, ok
		}
	}
	if y, isYear := yearOf(w); isYear && i+2 < len(r.all) {
		first, second := r.text[r.all[i].end:r.all[i+1].start], r.text[r.all[i+1].end:r.all[i+2].start]
		if first == second && (first == "-" || first == "/") {
			m, err := strconv.Atoi(r.is(i + 1))
			d, err2 := strconv.Atoi(r.is(i + 2))
			if err == nil && err2 == nil && m >= 1 && m <= 12 && d >= 1 && d <= lastDay(y, time.Month(m)) {
				return before + 3, Expression{Time: noon(y, time.Month(m), d, r.said.Location()), Precision: Day}, true
			}
		}
	}
	return 0, e, false
}

// monthAt reads "March", "March 2024" at the i-th word.
func (r *reader) monthAt(i, before int) (n int, e Expression, ok bool) {
	for _, lead := range []string{"early", "late", "mid"} {
		if r.is(i) == lead {
			i, before = i+1, before+1
		}
	}
	m, isMonth := monthsEn[r.is(i)]
	if !isMonth {
		return 0, e, false
	}
	if n, e, ok = r.dateAt(i, before); ok {
		return n, e, ok
	}
	if y, ok := yearOf(r.is(i + 1)); ok && r.joined(i) {
		return before + 2, Expression{Time: noon(y, m, 15, r.said.Location()), Precision: Month}, true
	}
	return before + 1, Expression{Time: monthed(r.said, m, r.ahead()), Precision: Month}, true
}

func dayOf(w string) (int, bool) {
	for _, end := range []string{"st", "nd", "rd", "th"} {
		w = strings.TrimSuffix(w, end)
	}
	if len(w) == 0 || len(w) > 2 {
		return 0, false
	}
	d, err := strconv.Atoi(w)
	return d, err == nil && d >= 1 && d <= 31
}

func yearOf(w string) (int, bool) {
	if len(w) != 4 {
		return 0, false
	}
	y, err := strconv.Atoi(w)
	return y, err == nil && y >= 1900 && y < 2100
}

// hourNear reads an hour beside a day: "yesterday at 3pm", "at 15:30 on Friday", "tomorrow at noon".
func (r *reader) hourNear(i, n int) (hour, minute int, ok bool) {
	for j := max(0, i-5); j < len(r.all) && j <= i+n+4; j++ {
		w := r.is(j)
		if w[0] < '0' || w[0] > '9' {
			if w == "noon" && r.is(j-1) == "at" {
				return 12, 0, true
			}
			if w == "midnight" && r.is(j-1) == "at" {
				return 0, 0, true
			}
			continue
		}
		half := strings.HasSuffix(w, "pm")
		early := strings.HasSuffix(w, "am")
		h, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSuffix(w, "pm"), "am"))
		if err != nil || h > 24 {
			continue
		}
		minute, next := 0, j+1
		if next < len(r.all) && r.text[r.all[j].end:r.all[next].start] == ":" {
			m := r.is(next)
			half, early = half || strings.HasSuffix(m, "pm"), early || strings.HasSuffix(m, "am")
			if minute, err = strconv.Atoi(strings.TrimSuffix(strings.TrimSuffix(m, "pm"), "am")); err != nil || minute > 59 {
				continue
			}
			next++
			ok = true
		}
		switch r.is(next) {
		case "pm", "p":
			half = true
		case "am":
			early = true
		case "o'clock":
			ok = true
		}
		if !ok && !half && !early {
			continue
		}
		switch {
		case half && h < 12:
			h += 12
		case early && h == 12:
			h = 0
		case !half && !early && h >= 1 && h <= 11 && r.evening(i, n):
			h += 12
		}
		if h > 23 {
			continue
		}
		return h, minute, true
	}
	return 0, 0, false
}

// evening tells whether an expression names a later part of the day: "last night at 9 o'clock".
func (r *reader) evening(i, n int) bool {
	for j := i; j < i+n+5; j++ {
		switch r.is(j) {
		case "night", "evening", "afternoon", "tonight":
			return true
		}
	}
	return false
}

func decode(text string) (rune, int) {
	if text == "" {
		return 0, 0
	}
	return utf8.DecodeRuneInString(text)
}
