package rules

import (
	"time"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

// Hours that say something of a person. A memory at midnight sharp mostly has a date alone.
var slots = []struct {
	id, zh, en string
	in         func(t time.Time) bool
}{
	{"night", "习惯在深夜活动", "Tends to be active late at night", func(t time.Time) bool {
		return t.Hour() == 23 || t.Hour() < 4
	}},
	{"dawn", "习惯早起活动", "Tends to be active early in the morning", func(t time.Time) bool {
		return t.Hour() >= 4 && t.Hour() < 7
	}},
}

// anyHour is the id of the sign that counts the days on which the user did something, at whatever hour. It never
// becomes a trait: it is what the days of a slot are compared with, also those of earlier batches.
const anyHour = "any"

// active is a time of day at which the user did something, with the first memory of each day that shows it.
type active struct {
	finding  finding
	name     string // of the person in a dialogue; else ""
	memories []int
}

// hoursOf finds when the user is active: at any hour, then by slot. The times have to be in the user's own zone.
func hoursOf(memories []reasoner.Memory, heard []said) (all []active) {
	type person struct {
		zh, n int
		hits  [][]int // at any hour, then by slot
		last  []int64 // the day of the last hit
	}
	people := map[string]*person{}
	var order []string
	for i, m := range memories {
		if heard[i].other || m.Time.Hour() == 0 && m.Time.Minute() == 0 && m.Time.Second() == 0 {
			continue
		}
		p := people[heard[i].name]
		if p == nil {
			p = &person{hits: make([][]int, 1+len(slots)), last: make([]int64, 1+len(slots))}
			people[heard[i].name] = p
			order = append(order, heard[i].name)
		}
		p.n++
		if pattern.HasHan(m.Content) {
			p.zh++
		}
		d := dayOf(hours, m.Time)
		for j := range p.hits {
			if (j == 0 || slots[j-1].in(m.Time)) && (len(p.hits[j]) == 0 || p.last[j] < d) {
				p.hits[j], p.last[j] = append(p.hits[j], i), d
			}
		}
	}
	for _, name := range order {
		p := people[name]
		for j, hits := range p.hits {
			f := finding{kind: hours, id: anyHour, zh: 2*p.zh > p.n}
			switch {
			case len(hits) == 0:
				continue
			case j > 0 && f.zh:
				f.id, f.say = slots[j-1].id, slots[j-1].zh
			case j > 0:
				f.id, f.say = slots[j-1].id, slots[j-1].en
			}
			all = append(all, active{f, name, hits})
		}
	}
	return all
}

var (
	weekdaysZh = [7]string{"周日", "周一", "周二", "周三", "周四", "周五", "周六"}
	leastWeeks = 4
)

// weekly says on which day of the week an activity mostly takes place, if it does on one of them or at weekends;
// else "".
func weekly(c *candidate) string {
	if c.kind != doing || !c.zoneKnown {
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
