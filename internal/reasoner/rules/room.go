package rules

import (
	"math"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// The number of traits is limited, and the more of a kind exist, the more evidence a new one needs.
// What shows character has its own room, so that pastimes do not crowd it out.
const maxBehaviors = 35

// most limits the traits of each kind. mostEveryday limits those of things that nearly everybody does.
// usual is the number of other traits at which a new one needs twice the evidence of the first.
var (
	most         = [kinds]int{doing: 21, acting: 16, eating: 14, liking: 3, self: 20, place: 2, person: 2, hours: 2}
	mostEveryday = [kinds]int{doing: 4, eating: 3}
	usual        = [kinds]int{doing: 13, acting: 8, eating: 9, liking: 3, self: 20, place: 2, person: 2, hours: 2}
)

// room is the remaining capacity for traits of a user.
type room struct {
	behaviors  int
	ofKind     [kinds]int
	ofEveryday [kinds]int
	daily      float64 // memories a day: who writes much repeats much
	policies   *lifecycle.Policies
	growth     float64 // how much more the last trait of a kind needs than the first: 1 is twice as much
}

func newRoom(b reasoner.Batch) *room {
	room := &room{policies: b.Policies}
	shown := 0
	for i := range b.Traits {
		t := &b.Traits[i]
		if !t.Stage.Visible() {
			continue
		}
		shown++
		if t.Subtype == lifecycle.Behavior && !ofCharacter(t.Key) {
			room.behaviors++
		}
		for k, name := range kindNames {
			if id, ok := strings.CutPrefix(t.Key, name+":"); ok {
				room.ofKind[k]++
				if isEveryday(kind(k), id) {
					room.ofEveryday[k]++
				}
			}
		}
	}
	room.behaviors += max(b.Visible-shown, 0) // those that are not shown count too
	if n := len(b.Memories); n > 0 {
		first, last := day(b.Memories[0].Time), day(b.Memories[n-1].Time)
		room.daily = float64(n) / float64(max(last-first, 0)+1)
		room.growth = min(1, room.daily/6)
	}
	return room
}

func isEveryday(k kind, id string) bool {
	id, _, _ = strings.Cut(id, "@")
	return k == doing && activityOf(id).everyday || k == eating && foodOf(id).rank == everyday
}

// need returns the number of days on which a pattern must occur to become a trait.
func (r *room) need(c *candidate) float64 {
	need := 3.0
	switch c.kind {
	case self, liking:
		need = 2
	case place, person, acting:
		need = 5
	}
	if c.kind != self {
		need *= 1 + min(max(r.daily-3, 0), 40)/10
	}
	switch c.finding.rank {
	case everyday:
		need *= 1 + min(1, r.daily/6)
	case regional:
		need *= 0.6
	}
	have, limit := r.ofKind[c.kind]-r.ofEveryday[c.kind], usual[c.kind]
	if c.finding.rank == everyday {
		have, limit = r.ofEveryday[c.kind], mostEveryday[c.kind]
	}
	full := float64(have) / float64(limit)
	return math.Round(need * (1 + r.growth*full))
}

// take reserves a place for another trait of a kind. It returns false if none is left.
func (r *room) take(k kind, of rank) bool {
	character := k == acting || k == self
	if !character && r.behaviors >= maxBehaviors || r.ofKind[k] >= most[k] {
		return false
	}
	if of == everyday {
		if r.ofEveryday[k] >= mostEveryday[k] {
			return false
		}
		r.ofEveryday[k]++
	}
	if !character {
		r.behaviors++
	}
	r.ofKind[k]++
	return true
}

// ofCharacter reports whether the key is of a pattern that shows character.
func ofCharacter(key string) bool {
	return strings.HasPrefix(key, kindNames[acting]+":") || strings.HasPrefix(key, kindNames[self]+":")
}
