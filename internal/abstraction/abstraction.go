// Package abstraction decides what becomes of the conclusions about a topic (U §2, §3, §7). It does no I/O. A reasoner
// only words a conclusion: which memories belong together, under which conditions it holds, how sure it is, and which
// version it replaces follow from the memories.
package abstraction

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// Policies are the policies abstract_*.
type Policies struct {
	Fragments  float64 `json:"fragments"`
	Sessions   float64 `json:"sessions"`
	Condition  float64 `json:"condition"`
	Gain       float64 `json:"gain"`
	VoiceGain  float64 `json:"voice_gain"`
	Similarity float64 `json:"similarity"`
	More       float64 `json:"more"`
}

// Fragment is a fact or an episode of a topic.
type Fragment struct {
	reasoner.Memory
	Agent  string
	Voice  string // who says so: "" is the user
	Denies bool
	Near   []uuid.UUID         // other fragments that are near in meaning; unused for patterns
	Hints  reasoner.Conditions // what it says of them, or what follows from its time
}

// WithClock completes the hints of a fragment from its time, which is in the user's zone. A time at midnight sharp is a
// date alone.
func (f *Fragment) WithClock() {
	if hour, minute, second := f.Time.Clock(); f.Hints.PartOfDay == "" && hour+minute+second > 0 {
		f.Hints.PartOfDay = partOf(hour)
	}
	f.Hints.Weekday = cmp.Or(f.Hints.Weekday, strings.ToLower(f.Time.Weekday().String()))
	f.Hints.Season = cmp.Or(f.Hints.Season, seasonOf(f.Time))
}

// Held is a current conclusion about the topic.
type Held struct {
	ID         uuid.UUID
	Content    string
	Version    int
	Denies     bool
	Voices     []string
	Confidence float64
	Sources    []uuid.UUID
}

// Group are fragments that support one conclusion.
type Group struct {
	Denies    bool
	Voices    []string // sorted
	Disputed  bool     // other sources say the opposite
	Fragments []Fragment
}

// VoiceOf returns who says a fragment. Sources are the same if they have the same voice: the person themselves, another
// speaker, or an agent of the application. What one voice says in several conversations merges; what it said before a
// denial of its own does not count any more.
func VoiceOf(speaker string, isUser bool, agent string) string {
	if !isUser {
		return speaker
	}
	return agent
}

// Groups divides the fragments of a topic, the earliest first, into those that support one conclusion each. If a voice
// denied something, only what it said since then counts. Voices that still say so and voices that deny it form two
// groups. Fragments that are not a pattern are divided further, by meaning.
func (p *Policies) Groups(fragments []Fragment, pattern bool) (groups []Group) {
	var says, denies []Fragment
	for _, voice := range voices(fragments) {
		mine := slices.DeleteFunc(slices.Clone(fragments), func(f Fragment) bool { return f.Voice != voice })
		last := -1
		for i, f := range mine {
			if f.Denies {
				last = i
			}
		}
		since := mine[last+1:]
		if last < 0 || float64(len(since)) >= p.Fragments {
			says = append(says, since...)
			continue
		}
		for _, f := range mine[:last+1] {
			if f.Denies {
				denies = append(denies, f)
			}
		}
	}
	byTime := func(a, b Fragment) int {
		return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.ID.String(), b.ID.String()))
	}
	slices.SortFunc(says, byTime)
	slices.SortFunc(denies, byTime)
	parts := [][]Fragment{says}
	if !pattern {
		parts = near(says)
	}
	for _, part := range parts {
		if p.Enough(part) {
			groups = append(groups, Group{Voices: voices(part), Fragments: part})
		}
	}
	// a denial says something only of what was dense before
	if len(denies) > 0 && float64(len(fragments)) >= p.Fragments {
		for i := range groups {
			groups[i].Disputed = true
		}
		groups = append(groups, Group{Denies: true, Voices: voices(denies), Disputed: len(groups) > 0, Fragments: denies})
	}
	return groups
}

// Enough reports whether fragments suffice for a conclusion.
func (p *Policies) Enough(fragments []Fragment) bool {
	return float64(len(fragments)) >= p.Fragments && float64(Sessions(fragments)) >= p.Sessions
}

// Sessions returns the number of conversations that fragments are from.
func Sessions(fragments []Fragment) int {
	seen := map[string]bool{}
	for _, f := range fragments {
		seen[f.Session] = true
	}
	return len(seen)
}

func voices(fragments []Fragment) (all []string) {
	for _, f := range fragments {
		if !slices.Contains(all, f.Voice) {
			all = append(all, f.Voice)
		}
	}
	slices.Sort(all)
	return all
}

// near divides fragments into those that are linked by being near in meaning.
func near(fragments []Fragment) (parts [][]Fragment) {
	at := map[uuid.UUID]int{}
	part := make([]int, len(fragments))
	for i, f := range fragments {
		at[f.ID], part[i] = i, i
	}
	find := func(i int) int {
		for part[i] != i {
			i = part[i]
		}
		return i
	}
	for i, f := range fragments {
		for _, other := range f.Near {
			if j, ok := at[other]; ok {
				part[max(find(i), find(j))] = min(find(i), find(j))
			}
		}
	}
	index := map[int]int{}
	for i, f := range fragments {
		root := find(i)
		n, ok := index[root]
		if !ok {
			n = len(parts)
			index[root], parts = n, append(parts, nil)
		}
		parts[n] = append(parts[n], f)
	}
	return parts
}

// Confidence of a conclusion: 1 − (1−gain)^sessions · (1−voice gain)^(voices−1), times the share of fragments that do
// not say the opposite.
func (p *Policies) Confidence(g Group, opposite int) float64 {
	doubt := math.Pow(1-p.Gain, float64(Sessions(g.Fragments))) * math.Pow(1-p.VoiceGain, float64(len(g.Voices)-1))
	n := float64(len(g.Fragments))
	return math.Round((1-doubt)*n/(n+float64(opposite))*1e6) / 1e6
}

// Conditions returns what at least the policy's share of the fragments have in common. A part of the day or a weekday
// needs as many fragments as a conclusion, and a season fragments from two years.
func (p *Policies) Conditions(g Group) (c reasoner.Conditions) {
	if g.Denies {
		return c
	}
	n := len(g.Fragments)
	shared := func(of func(Fragment) []string) (common []string) {
		count := map[string]int{}
		for _, f := range g.Fragments {
			for _, v := range slices.Compact(slices.Sorted(slices.Values(of(f)))) {
				count[v]++
			}
		}
		for v, k := range count {
			if v != "" && float64(k) >= p.Condition*float64(n) && float64(k) >= p.Fragments {
				common = append(common, v)
			}
		}
		slices.Sort(common)
		return common
	}
	first := func(of func(Fragment) string) string {
		if common := shared(func(f Fragment) []string { return []string{of(f)} }); len(common) > 0 {
			return common[0]
		}
		return ""
	}
	c.PartOfDay = first(func(f Fragment) string { return f.Hints.PartOfDay })
	c.Weekday = first(func(f Fragment) string { return f.Hints.Weekday })
	if c.Weekday == "" {
		c.Weekday = first(func(f Fragment) string {
			switch f.Hints.Weekday {
			case "":
				return ""
			case "saturday", "sunday", "weekend":
				return "weekend"
			}
			return "" // five days in seven are workdays anyway
		})
	}
	years := map[int]bool{}
	for _, f := range g.Fragments {
		years[f.Time.Year()] = true
	}
	if len(years) > 1 {
		c.Season = first(func(f Fragment) string { return f.Hints.Season })
	}
	c.Where = shared(func(f Fragment) []string { return f.Hints.Where })
	c.With = shared(func(f Fragment) []string { return f.Hints.With })
	c.Context = first(func(f Fragment) string {
		if f.Context == "general" {
			return ""
		}
		return f.Context
	})
	return c
}

// Change is what becomes of a conclusion. A change without a New id leaves its text.
type Change struct {
	Old        uuid.UUID // the version that it replaces, changes or ends; zero: a new conclusion
	New        uuid.UUID // of the new version; zero: the text stays
	Content    string
	Group      Group
	Conditions reasoner.Conditions
	Confidence float64
	Reason     string
	Ends       bool
}

// Worded is a group with the reasoner's wording of its conclusion.
type Worded struct {
	Group
	Conditions reasoner.Conditions
	Content    string
}

// Changes compares the new conclusions about a topic with the current ones. A conclusion becomes the next version of
// the one with which it shares most sources, preferring one of the same direction. Conclusions without support end.
func (p *Policies) Changes(worded []Worded, held []Held, newID func() uuid.UUID) (changes []Change) {
	left := slices.Clone(held)
	opposite := map[bool]int{}
	for _, w := range worded {
		opposite[!w.Denies] += len(w.Fragments)
	}
	var waiting []Worded
	follow := func(w Worded, i int) {
		c := Change{Group: w.Group, Conditions: w.Conditions, Content: w.Content,
			Confidence: p.Confidence(w.Group, opposite[w.Denies])}
		if i >= 0 {
			old := left[i]
			left = slices.Delete(left, i, i+1)
			c.Old = old.ID
			if old.Content == w.Content && old.Denies == w.Denies {
				changes = append(changes, c)
				return
			}
			c.Reason = reason(old, w)
		} else {
			c.Reason = "enough memories of one topic"
		}
		c.New = newID()
		changes = append(changes, c)
	}
	for _, w := range worded {
		if i := successor(w, left, true); i >= 0 {
			follow(w, i)
		} else {
			waiting = append(waiting, w)
		}
	}
	for _, w := range waiting {
		follow(w, successor(w, left, w.Disputed))
	}
	for _, old := range left {
		changes = append(changes, Change{Old: old.ID, Ends: true, Reason: "too few memories support it any more"})
	}
	return changes
}

// successor returns the index of the conclusion that w continues, or -1. With same, only of the same direction.
func successor(w Worded, held []Held, same bool) int {
	best, most := -1, -1
	for i, h := range held {
		if same && h.Denies != w.Denies {
			continue
		}
		n := 0
		for _, f := range w.Fragments {
			if slices.Contains(h.Sources, f.ID) {
				n++
			}
		}
		if n > most && (n > 0 || h.Denies != w.Denies || w.Denies) {
			best, most = i, n
		}
	}
	return best
}

func reason(old Held, w Worded) string {
	fresh := 0
	for _, f := range w.Fragments {
		if !slices.Contains(old.Sources, f.ID) {
			fresh++
		}
	}
	gone := 0
	for _, id := range old.Sources {
		if !slices.ContainsFunc(w.Fragments, func(f Fragment) bool { return f.ID == id }) {
			gone++
		}
	}
	switch {
	case w.Denies && !old.Denies:
		return "its source says that it is so no longer"
	case !w.Denies && old.Denies:
		return "its source says that it is so again"
	case !slices.Equal(old.Voices, w.Voices):
		return "other sources say so, or the opposite"
	case fresh > 0 && gone == 0:
		return plural(fresh, "more memory says so", "more memories say so")
	case gone > 0 && fresh == 0:
		return plural(gone, "of its memories no longer counts", "of its memories no longer count")
	}
	return "other memories are the latest about it"
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// southern lists time zones south of the equator, or prefixes of them, that cannot be recognized by their summer time.
var southern = []string{"Africa/Harare", "Africa/Johannesburg", "Africa/Lusaka", "Africa/Maputo", "America/Argentina/",
	"America/La_Paz", "America/Lima", "America/Montevideo", "America/Sao_Paulo", "Australia/", "Pacific/Fiji"}

// seasonOf returns the season of a time in its zone.
func seasonOf(t time.Time) string {
	name := t.Location().String()
	_, january := time.Date(t.Year(), 1, 15, 12, 0, 0, 0, t.Location()).Zone()
	_, july := time.Date(t.Year(), 7, 15, 12, 0, 0, 0, t.Location()).Zone()
	south := january > july && name != "Europe/Dublin" ||
		slices.ContainsFunc(southern, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	i := int(t.Month()) % 12 / 3
	if south {
		i = (i + 2) % 4
	}
	return []string{"winter", "spring", "summer", "autumn"}[i]
}

// partOf returns the part of the day of an hour.
func partOf(hour int) string {
	switch {
	case hour >= 5 && hour < 12:
		return "morning"
	case hour >= 12 && hour < 17:
		return "afternoon"
	case hour >= 17 && hour < 23:
		return "evening"
	}
	return "night"
}
