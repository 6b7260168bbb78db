package rules

import (
	"math"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// Nobody is told by a hundred traits. The more there are of a kind, the more a new one has to show, and there is an end.
const (
	maxVisible  = 38 // with those that clusters make
	maxPatterns = 35 // without
)

// most is how many traits of each kind there may be.
var most = [kinds]int{doing: 14, eating: 11, liking: 3, self: 5, place: 3, person: 3, hours: 2}

// room is how much is still to be shown of a user.
type room struct {
	visible int
	ofKind  [kinds]int
	daily   float64 // memories a day: who writes much repeats much
}

func newRoom(b reasoner.Batch, traits held) *room {
	r := &room{visible: b.Visible}
	count := 0
	for i := range traits.all {
		t := &traits.all[i]
		if !t.Stage.Visible() {
			continue
		}
		count++
		for k, name := range kindNames {
			if strings.HasPrefix(t.Key, name+":") {
				r.ofKind[k]++
			}
		}
	}
	r.visible = max(r.visible, count)
	if n := len(b.Memories); n > 0 {
		days := map[int64]bool{}
		for _, m := range b.Memories {
			days[day(m.Time)] = true
		}
		r.daily = float64(n) / float64(len(days))
	}
	return r
}

// enough tells whether a pattern showed on enough days to be a trait.
func (r *room) enough(c *candidate) bool {
	need := 3.0
	switch c.kind {
	case self, liking:
		need = 2
	case place, person:
		need = 5
	}
	if c.kind != self && r.daily > 4 {
		need *= 1 + math.Log2(r.daily/4)/2
	}
	full := float64(r.ofKind[c.kind]) / float64(most[c.kind])
	need *= 1 + 1.5*full
	c.need = int(math.Ceil(need))
	return c.days >= c.need
}

// take reserves a place for one more trait of a kind; false: there is none.
func (r *room) take(k kind) bool {
	if r.visible >= maxPatterns || r.ofKind[k] >= most[k] {
		return false
	}
	r.visible++
	r.ofKind[k]++
	return true
}

// takeCluster reserves a place for a trait that others make.
func (r *room) takeCluster() bool {
	if r.visible >= maxVisible {
		return false
	}
	r.visible++
	return true
}
