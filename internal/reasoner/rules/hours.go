package rules

import (
	"time"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

// anyHour is the id of the sign that counts the days on which the user did something, at whatever hour. It never
// becomes a trait: the days of the other slots are compared with it, also those of earlier batches.
const anyHour = "any"

// slots are hours that say something about a person: the first one, and how many there are.
var slots = []struct {
	id, zh, en  string
	from, hours int
}{
	{anyHour, "", "", 0, 24},
	{"night", "习惯深夜活跃", "Tends to be active late at night", 23, 5},
	{"dawn", "习惯早起活动", "Tends to be active early in the morning", 4, 3},
}

// hoursOf notes in which slots each person is active, once a day. The times must be in the user's own zone. A memory at
// midnight sharp mostly has a date alone.
func hoursOf(memories []reasoner.Memory, heard []said, note func(i int, n finding)) {
	type once struct {
		name, slot string
		day        int64
	}
	seen := map[once]bool{}
	for i, m := range memories {
		if hour, minute, second := m.Time.Clock(); heard[i].other || hour == 0 && minute == 0 && second == 0 {
			continue
		}
		zh := pattern.HasHan(m.Content)
		for _, s := range slots {
			in := (m.Time.Hour()+24-s.from)%24 < s.hours
			k := once{heard[i].name, s.id, dayOf(hours, m.Time)}
			if in && !seen[k] {
				seen[k] = true
				note(i, finding{kind: hours, id: s.id, zh: zh, say: pick(zh, s.zh, s.en)})
			}
		}
	}
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
