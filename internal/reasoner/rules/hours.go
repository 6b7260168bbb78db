package rules

import (
	"time"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// habitHours is a time of day or of the week at which the user is active, with the memories that show it.
type habitHours struct {
	finding  finding
	name     string
	memories []int
}

// Hours that say something of a person. A memory at midnight sharp mostly has a date alone.
var slots = []struct {
	id, zh, en string
	in         func(t time.Time) bool
}{
	{"night", "习惯在深夜活动", "Tends to be active late at night", func(t time.Time) bool {
		return t.Hour() == 23 || t.Hour() < 4
	}},
	{"dawn", "习惯早起活动", "Tends to be active early in the morning", func(t time.Time) bool { return t.Hour() >= 4 && t.Hour() < 7 }},
}

// hoursOf finds the hours that mark at least half of the days on which the user did something.
func hoursOf(memories []reasoner.Memory, heard []said) []habitHours {
	type of struct {
		days map[int64]bool
		hit  []map[int64]int // by slot: the first memory of each day
		zh   int
		n    int
	}
	people := map[string]*of{}
	var order []string
	for i, m := range memories {
		if heard[i].voice != own || m.Time.Hour() == 0 && m.Time.Minute() == 0 && m.Time.Second() == 0 {
			continue
		}
		name := heard[i].name
		p := people[name]
		if p == nil {
			p = &of{days: map[int64]bool{}, hit: make([]map[int64]int, len(slots))}
			for j := range p.hit {
				p.hit[j] = map[int64]int{}
			}
			people[name] = p
			order = append(order, name)
		}
		p.n++
		if hasHan(m.Content) {
			p.zh++
		}
		d := day(m.Time.Add(-4 * time.Hour)) // a night belongs to the day before
		p.days[d] = true
		for j, s := range slots {
			if _, there := p.hit[j][d]; !there && s.in(m.Time) {
				p.hit[j][d] = i
			}
		}
	}
	var all []habitHours
	for _, name := range order {
		p := people[name]
		for j, s := range slots {
			if len(p.hit[j]) < 3 || 2*len(p.hit[j]) < len(p.days) {
				continue
			}
			h := habitHours{name: name, finding: finding{kind: hours, id: s.id, zh: 2*p.zh > p.n, say: s.en}}
			if h.finding.zh {
				h.finding.say = s.zh
			}
			for i := range memories {
				if first, ok := p.hit[j][day(memories[i].Time.Add(-4*time.Hour))]; ok && first == i {
					h.memories = append(h.memories, i)
				}
			}
			all = append(all, h)
		}
	}
	return all
}

var (
	weekdaysZh = [7]string{"周日", "周一", "周二", "周三", "周四", "周五", "周六"}
	leastWeeks = 4
)

// weekly says on which day of the week an activity mostly takes place, if it does on one of them or at weekends; else "".
func weekly(c *candidate) string {
	if c.kind != doing {
		return ""
	}
	total := 0
	for _, n := range c.weekdays {
		total += n
	}
	for d, n := range c.weekdays {
		if n >= leastWeeks && 10*n >= 7*total {
			if c.finding.zh {
				return "，多在" + weekdaysZh[d]
			}
			return ", mostly on " + time.Weekday(d).String() + "s"
		}
	}
	if n := c.weekdays[time.Sunday] + c.weekdays[time.Saturday]; n > leastWeeks && 10*n >= 8*total {
		if c.finding.zh {
			return "，多在周末"
		}
		return ", mostly at weekends"
	}
	return ""
}
