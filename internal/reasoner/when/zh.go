package when

import (
	"strings"
	"time"
)

// Words for days, weeks, months and years, with how many it is from this one, and for units.
var (
	daysZh   = numberedList("days.zh")
	weeksZh  = numberedList("weeks.zh")
	monthsZh = numberedList("months.zh")
	yearsZh  = numberedList("years.zh")
	unitsZh  = valuedList("units.zh")
)

// headsZh are the characters with which an expression begins.
const headsZh = "大前昨今明后上这本下去周星礼半几两一二三四五六七八九十0123456789数"

func findZh(text string, said time.Time) (Expression, bool) {
	if !hasHan(text) {
		return Expression{}, false
	}
	for i, r := range text {
		if !strings.ContainsRune(headsZh, r) {
			continue
		}
		before := text[:i]
		if hasSuffix(before, "每", "每个", "第", "以", "之", "目", "每逢") || r >= '0' && r <= '9' && i > 0 && before[i-1] >= '0' && before[i-1] <= '9' {
			continue
		}
		n, e, ok := readZhAt(text, i, said)
		if !ok {
			continue
		}
		e.Start, e.End = i, i+n
		rest := text[i+n:]
		e.Since = hasSuffix(before, "从", "自从", "自") && (hasPrefix(rest, "起", "开始", "以来", "到现在", "，一直", "就") || hasSuffix(before, "自从")) || hasPrefix(rest, "以来", "开始一直", "起一直")
		if e.Precision == Day {
			if h, m, used, ok := hourZh(text[i:i+n], rest); ok {
				e.Time, e.Precision, e.End = at(e.Time, h, m), Hour, e.End+used
			}
		}
		return e, true
	}
	return Expression{}, false
}

// readZhAt reads an expression that begins at i, and returns how many bytes it has.
func readZhAt(text string, i int, said time.Time) (n int, e Expression, ok bool) {
	rest := text[i:]
	zone := said.Location()
	for _, d := range daysZh {
		if strings.HasPrefix(rest, d.word) {
			if d.word == "后天" && hasPrefix(rest[len(d.word):], "的努力", "形成") {
				continue
			}
			return len(d.word), Expression{Time: days(said, d.value), Precision: Day}, true
		}
	}
	for _, w := range weeksZh {
		if strings.HasPrefix(rest, w.word) {
			n, tail := len(w.word), rest[len(w.word):]
			if day, used, ok := weekdayZh(tail); ok {
				return n + used, Expression{Time: weekday(said, w.value, day), Precision: Day}, true
			}
			if strings.HasPrefix(tail, "末") {
				return n + len("末"), Expression{Time: weekday(said, w.value, time.Saturday), Precision: Day}, true
			}
			return n, Expression{Time: weekday(said, w.value, time.Wednesday), Precision: Week}, true
		}
	}
	for _, p := range []string{"周", "星期", "礼拜"} {
		if tail, ok := strings.CutPrefix(rest, p); ok {
			if hasSuffix(text[:i], "一", "两", "三", "四", "五", "几", "个", "多") {
				return 0, e, false
			}
			if day, used, ok := weekdayZh(tail); ok && !hasPrefix(tail[used:], "个", "年", "到", "至", "、", "都", "晚上都") && !hasPrefix(tail, "一周") {
				return len(p) + used, Expression{Time: lately(said, day, aheadZh(text)), Precision: Day}, true
			}
		}
	}
	for _, m := range monthsZh {
		if strings.HasPrefix(rest, m.word) {
			n, tail := len(m.word), rest[len(m.word):]
			if d, used, ok := numberZh(tail); ok && hasPrefix(tail[used:], "号", "日") {
				y, month, _ := monthOf(said, m.value).Date()
				if d >= 1 && d <= lastDay(y, month) {
					return n + used + len("号"), Expression{Time: noon(y, month, d, zone), Precision: Day}, true
				}
			}
			return n, Expression{Time: monthOf(said, m.value), Precision: Month}, true
		}
	}
	for _, y := range yearsZh {
		if strings.HasPrefix(rest, y.word) {
			year := said.Year() + y.value
			if used, e, ok := monthDayZh(rest[len(y.word):], year, said); ok {
				return len(y.word) + used, e, true
			}
			return len(y.word), Expression{Time: noon(year, time.July, 1, zone), Precision: Year}, true
		}
	}
	return numberedZh(text, i, said)
}

// numberedZh reads what begins with a number: 2024年5月3日, 5月3号, 三天前, 两周后, 半年前.
func numberedZh(text string, i int, said time.Time) (n int, e Expression, ok bool) {
	rest := text[i:]
	count, used, ok := numberZh(rest)
	half := false
	if !ok {
		switch {
		case strings.HasPrefix(rest, "半"):
			half, used = true, len("半")
		case strings.HasPrefix(rest, "几"), strings.HasPrefix(rest, "数"):
			count, used = 3, len("几")
		default:
			return 0, e, false
		}
	}
	tail := rest[used:]
	if !half && count >= 1900 && count < 2100 && strings.HasPrefix(tail, "年") {
		if more, e, ok := monthDayZh(tail[len("年"):], count, said); ok {
			return used + len("年") + more, e, true
		}
		return used + len("年"), Expression{Time: noon(count, time.July, 1, said.Location()), Precision: Year}, true
	}
	if !half && count >= 1 && count <= 12 && strings.HasPrefix(tail, "月") {
		return monthOnlyZh(text, rest, used, count, said)
	}
	tail = strings.TrimPrefix(tail, "多")
	for _, u := range unitsZh {
		after, ok := strings.CutPrefix(tail, u.word)
		if !ok {
			continue
		}
		if u.value == "m" && strings.HasPrefix(after, "半") {
			after = after[len("半"):]
		}
		sign, end := 0, ""
		for _, p := range []string{"之前", "以前", "前"} {
			if strings.HasPrefix(after, p) {
				sign, end = -1, p
				break
			}
		}
		if sign == 0 {
			for _, p := range []string{"之后", "以后", "后"} {
				if strings.HasPrefix(after, p) && aheadZh(text) {
					sign, end = 1, p
					break
				}
			}
		}
		if sign == 0 || strings.HasPrefix(after[len(end):], "台") {
			return 0, e, false
		}
		n = len(rest) - len(after) + len(end)
		if half {
			switch u.value {
			case "y":
				return n, Expression{Time: months(said, 6*sign), Precision: Month}, true
			case "m":
				return n, Expression{Time: days(said, 15*sign), Precision: Week}, true
			case "h":
				return n, Expression{Time: said.Add(time.Duration(sign) * 30 * time.Minute), Precision: Hour}, true
			}
			return 0, e, false
		}
		if count > 1000 {
			return 0, e, false
		}
		return n, shift(said, sign*count, u.value), true
	}
	return 0, e, false
}

// monthOnlyZh reads a month, or a day of it, without a year. 三月 is a month, 三个月 how long.
func monthOnlyZh(text, rest string, used, month int, said time.Time) (n int, e Expression, ok bool) {
	tail := rest[used+len("月"):]
	if d, more, ok := numberZh(tail); ok && hasPrefix(tail[more:], "号", "日") {
		t, ok := dated(said, time.Month(month), d, aheadZh(text))
		return used + len("月") + more + len("号"), Expression{Time: t, Precision: Day}, ok
	}
	n = used + len("月")
	if strings.HasPrefix(tail, "份") {
		n += len("份")
	}
	return n, Expression{Time: monthed(said, time.Month(month), aheadZh(text)), Precision: Month}, true
}

// monthDayZh reads a month, or a day of it, of a year: 5月, 五月三号.
func monthDayZh(text string, year int, said time.Time) (n int, e Expression, ok bool) {
	rest := strings.TrimPrefix(text, "的")
	skipped := len(text) - len(rest)
	for name, m := range map[string]time.Month{"春天": 4, "夏天": 7, "秋天": 10, "冬天": 12, "春节": 2, "年初": 1, "年底": 12} {
		if strings.HasPrefix(rest, name) {
			return skipped + len(name), Expression{Time: noon(year, m, 15, said.Location()), Precision: Month}, true
		}
	}
	m, used, ok := numberZh(rest)
	if !ok || m < 1 || m > 12 || !strings.HasPrefix(rest[used:], "月") {
		return 0, e, false
	}
	n = skipped + used + len("月")
	tail := rest[used+len("月"):]
	if d, more, ok := numberZh(tail); ok && hasPrefix(tail[more:], "号", "日") && d >= 1 && d <= lastDay(year, time.Month(m)) {
		return n + more + len("号"), Expression{Time: noon(year, time.Month(m), d, said.Location()), Precision: Day}, true
	}
	if strings.HasPrefix(tail, "份") {
		n += len("份")
	}
	return n, Expression{Time: noon(year, time.Month(m), 15, said.Location()), Precision: Month}, true
}

func weekdayZh(text string) (time.Weekday, int, bool) {
	r, n := decode(text)
	switch i := strings.IndexRune("一二三四五六", r); {
	case n == 0:
	case i >= 0:
		return time.Weekday(i/len("一") + 1), n, true
	case r == '日' || r == '天':
		return time.Sunday, n, true
	case r >= '1' && r <= '6' && !(len(text) > 1 && text[1] >= '0' && text[1] <= '9'):
		return time.Weekday(r - '0'), n, true
	}
	return 0, 0, false
}

// numberZh reads a number below 10,000 in digits, or below 100 in characters.
func numberZh(text string) (value, used int, ok bool) {
	for used < len(text) && used < 4 && text[used] >= '0' && text[used] <= '9' {
		value = 10*value + int(text[used]-'0')
		used++
	}
	if used > 0 {
		return value, used, true
	}
	tens := false
	for used < len(text) {
		r, n := decode(text[used:])
		if r == '十' {
			if tens {
				break
			}
			tens = true
			if value == 0 {
				value = 1
			}
			value *= 10
		} else {
			digit := strings.IndexRune("一二三四五六七八九", r)
			switch {
			case digit >= 0:
				digit = digit/len("一") + 1
			case r == '两' && used == 0:
				digit = 2
			default:
				return value, used, used > 0
			}
			if used > 0 && !tens {
				break
			}
			value += digit
			if tens {
				used += n
				break
			}
		}
		used += n
	}
	return value, used, used > 0
}

// hourZh reads an hour after a day, or in its word: 昨天下午3点半, 今晚八点.
func hourZh(day, rest string) (hour, minute, used int, ok bool) {
	start := len(rest)
	later := hasSuffix(day, "晚", "夜")
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, "的"), "，")
	for _, p := range []string{"早上", "上午", "清晨", "凌晨", "中午", "早晨", "一早", "大早", "早"} {
		if strings.HasPrefix(rest, p) {
			rest = rest[len(p):]
			if p == "中午" && strings.HasPrefix(rest, "一") || p == "中午" && strings.HasPrefix(rest, "1点") {
				later = true
			}
			break
		}
	}
	for _, p := range []string{"下午", "晚上", "傍晚", "夜里", "晚间", "晚"} {
		if strings.HasPrefix(rest, p) {
			rest, later = rest[len(p):], true
			break
		}
	}
	h, n, ok := numberZh(rest)
	if !ok || h > 24 {
		return 0, 0, 0, false
	}
	rest = rest[n:]
	switch {
	case strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "："):
		_, size := decode(rest)
		rest = rest[size:]
		if minute, n, ok = numberZh(rest); !ok || minute > 59 {
			return 0, 0, 0, false
		}
		rest = rest[n:]
	case strings.HasPrefix(rest, "点"):
		rest = strings.TrimPrefix(rest[len("点"):], "钟")
		if strings.HasPrefix(rest, "半") {
			minute, rest = 30, rest[len("半"):]
		} else if m, n, ok := numberZh(rest); ok && m < 60 && strings.HasPrefix(rest[n:], "分") {
			minute, rest = m, rest[n+len("分"):]
		}
	default:
		return 0, 0, 0, false
	}
	if later && h < 12 {
		h += 12
	}
	if h > 23 {
		return 0, 0, 0, false
	}
	return h, minute, start - len(rest), true
}

// aheadZh tells whether a text speaks of what is to come.
func aheadZh(text string) bool {
	for _, w := range []string{"要", "打算", "准备", "计划", "将", "会去", "想", "约了", "订了", "预约", "下周", "明天", "希望", "等到"} {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

func hasHan(text string) bool {
	for _, r := range text {
		if r >= 0x3400 && r <= 0x9fff {
			return true
		}
	}
	return false
}

func hasPrefix(text string, words ...string) bool {
	for _, w := range words {
		if strings.HasPrefix(text, w) {
			return true
		}
	}
	return false
}

func hasSuffix(text string, words ...string) bool {
	for _, w := range words {
		if strings.HasSuffix(text, w) {
			return true
		}
	}
	return false
}
