// Package rules is the reasoner that needs no model and no network: deterministic rules for English and Chinese. It
// recognizes recurring activities, food, places, people and hours, and what users state about themselves, their tastes,
// and endings. docs/reasoner-rules.md describes its limits.
//
// Words and patterns are data in internal/reasoner/language; read.go gives them meaning.
package rules

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
)

// Reasoner reasons by rules. It has no state: the same batch gives the same proposals.
type Reasoner struct{}

// New returns a reasoner.
func New() *Reasoner { return &Reasoner{} }

// Name returns "rules-v1".
func (*Reasoner) Name() string { return "rules-v1" }

var _ reasoner.Reasoner = (*Reasoner)(nil)

// sign is a pattern in a batch: the memories that show it, and those that deny it.
type sign struct {
	key      string
	kind     kind
	finding  finding
	name     string // of the person in a dialogue; else ""
	pro, con []reasoner.Support
	at       []time.Time // of pro
	sessions []string    // of pro
	arousal  float64     // of pro, summed up
	surfaces map[string]int
}

// signs returns the patterns of a batch in the order in which they first show; those of hours come last.
func signs(memories []reasoner.Memory) (all []*sign) {
	byKey := map[string]*sign{}
	heard := listen(memories)
	note := func(i int, n finding) {
		m, h := memories[i], &heard[i]
		key := keyOf(n, h.name)
		s := byKey[key]
		if s == nil {
			s = &sign{key: key, kind: n.kind, finding: n, name: h.name, surfaces: map[string]int{}}
			byKey[key] = s
			all = append(all, s)
		}
		support := reasoner.Support{Memory: m.ID, Stated: n.stated, Context: m.Context}
		if support.Context == "" {
			support.Context = h.contextOf()
		}
		if n.polarity == con {
			s.con = append(s.con, support)
			s.surfaces[n.surface] += 0 // a wording, if there is no other
			return
		}
		s.pro = append(s.pro, support)
		s.at, s.sessions, s.arousal = append(s.at, m.Time), append(s.sessions, m.Session), s.arousal+m.Arousal
		s.surfaces[n.surface]++
	}
	f := finder{named: slices.ContainsFunc(heard, said.inFirstPerson)}
	for i := range memories {
		for _, n := range f.read(heard[i].sentences) {
			note(i, n)
		}
	}
	hoursOf(memories, heard, note)
	return all
}

// keyOf returns the key of a pattern: the same in English and Chinese where the vocabulary knows it.
func keyOf(n finding, name string) string {
	key := kindNames[n.kind] + ":" + n.id
	if name != "" {
		key += "@" + strings.ToLower(name)
	}
	return key
}

// Keys returns the keys of the patterns in memories, in the order in which they first show, and the patterns.
func (*Reasoner) Keys(memories []reasoner.Memory) (keys []string, found any) {
	all := signs(memories)
	keys = make([]string, len(all))
	for i, s := range all {
		keys[i] = s.key
	}
	return keys, all
}

// Reflect proposes patterns, reinforcements, contradictions and clusters. The only error is that of ctx.
func (*Reasoner) Reflect(ctx context.Context, b reasoner.Batch) (reasoner.Proposals, error) {
	if err := ctx.Err(); err != nil {
		return reasoner.Proposals{}, err
	}
	var p reasoner.Proposals
	traits := index(b.Traits)
	room := newRoom(b)
	clues := map[string]reasoner.Clue{}
	for _, c := range b.Clues {
		clues[c.Key] = c
	}
	var fresh []*candidate
	// of a person: on which they did something, ever and in this batch
	days, hereDays := map[string]int{}, map[string]int{}
	found, ok := b.Found.([]*sign)
	if !ok {
		found = signs(b.Memories)
	}
	for _, s := range found {
		if s.kind == hours && !b.ZoneKnown {
			break // the others are before these
		}
		if s.kind == hours && s.finding.id == anyHour {
			known := newTally(hours, clues[s.key].Against, clues[s.key].SkippedAgainst)
			more := known.unseen(s)
			days[s.name], hereDays[s.name] = known.days+len(more), len(s.pro)
			if len(more) > 0 { // noted against a pattern that nothing speaks for, so that it never becomes a trait
				p.Contradictions = append(p.Contradictions, reasoner.Contradiction{Key: s.key, Evidence: more,
					Reason: "the user did something on that day"})
			}
			continue
		}
		t := traits.find(s)
		switch {
		case t == nil, !live(t), t.Stage == lifecycle.Candidate && t.Key == s.key && !t.Edited:
			if len(s.pro) > 0 {
				c := newCandidate(s, clues[s.key])
				c.zoneKnown, c.of = b.ZoneKnown, days[s.name]
				c.fresh = t == nil && b.Now.Sub(s.at[len(s.at)-1]) < recent
				fresh = append(fresh, c)
			}
			if len(s.con) > 0 {
				against := reasoner.Contradiction{Key: s.key, Evidence: s.con, Reason: denied(s)}
				if t != nil && live(t) {
					against.Trait, against.Key = t.ID, ""
				}
				p.Contradictions = append(p.Contradictions, against)
			}
			continue
		case t.Edited && !stillSays(t, s):
			p.Dropped = append(p.Dropped, unsaid(t, s))
			continue
		case s.kind == hours && 2*len(s.pro) < hereDays[s.name]:
			continue
		case len(s.pro) > 0 && (t.Stage.Visible() || t.Stage == lifecycle.Trend || room.take(s.kind, s.finding.rank)):
			p.Reinforcements = append(p.Reinforcements, reasoner.Reinforcement{Trait: t.ID, Evidence: s.pro})
		}
		if len(s.con) > 0 {
			p.Contradictions = append(p.Contradictions, reasoner.Contradiction{Trait: t.ID, Evidence: s.con,
				Reason: denied(s)})
		}
	}
	p.Patterns = choose(fresh, room, traits)
	p.Clusters = clusters(traits, room)
	return p, nil
}

// stillSays reports whether a trait that the user worded states a pattern, without denying or narrowing it. Other
// memories are not evidence for or against the user's wording.
func stillSays(t *reasoner.Trait, s *sign) bool {
	text := strings.ToLower(t.Content)
	if s.finding.say != "" && text == strings.ToLower(s.finding.say) {
		return true
	}
	if language.Read(text).Has("trait.narrows") {
		return false
	}
	names := slices.AppendSeq([]string{s.finding.id}, maps.Keys(s.surfaces))
	if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(text, strings.ToLower(name)) }) {
		return true
	}
	f := finder{recorded: true}
	return slices.ContainsFunc(f.read(sentences(t.Content)), func(n finding) bool { return keyOf(n, s.name) == s.key })
}

// unsaid holds the memories that are not used because the user worded a trait otherwise.
func unsaid(t *reasoner.Trait, s *sign) reasoner.Dropped {
	what := fmt.Sprintf("trait %s, memories", t.ID)
	for _, e := range slices.Concat(s.pro, s.con) {
		what += " " + e.Memory.String()
	}
	return reasoner.Dropped{What: what,
		Reason: "the person worded the trait, and these memories are about what it said before"}
}

func denied(s *sign) string {
	return pick(s.finding.zh, "用户说不再如此", "the user says that this is no longer so")
}

func live(t *reasoner.Trait) bool { return t.Stage != lifecycle.Dissolved }

// held indexes the traits of a user by pattern.
type held struct {
	byKey  map[string]*reasoner.Trait
	byTerm map[string]*reasoner.Trait // of traits without a key that says more
	all    []reasoner.Trait
	signs  map[uuid.UUID]finding // what a trait's own sentence is about
}

// index indexes the traits by key, and those with the key of another reasoner by their wording.
func index(traits []reasoner.Trait) held {
	h := held{byKey: map[string]*reasoner.Trait{}, byTerm: map[string]*reasoner.Trait{}, all: traits,
		signs: map[uuid.UUID]finding{}}
	f := finder{recorded: true}
	for i := range traits {
		t := &traits[i]
		if t.Key != "" && h.byKey[t.Key] == nil {
			h.byKey[t.Key] = t
		}
		if ours(t.Key) {
			continue
		}
		for _, n := range f.read(sentences(t.Content)) {
			if _, ok := h.signs[t.ID]; !ok {
				h.signs[t.ID] = n
			}
			if key := keyOf(n, ""); h.byTerm[key] == nil && live(t) && t.Subtype == lifecycle.Behavior {
				h.byTerm[key] = t
			}
		}
	}
	return h
}

// ours reports whether a key was made here.
func ours(key string) bool {
	head, _, ok := strings.Cut(key, ":")
	return ok && slices.Contains(kindNames[:], head)
}

func (h held) find(s *sign) *reasoner.Trait {
	return cmp.Or(h.byKey[s.key], h.byTerm[s.key])
}

// candidate is a pattern that is not a trait yet, with the evidence from earlier batches.
type candidate struct {
	*sign
	days      int // on which it showed, as far as is known
	of        int // of hours: on how many days the user did something at all
	memories  int
	sessions  int
	noted     int                // how many memories the clue has
	daily     []reasoner.Support // the evidence that a clue takes: one memory of each day that it does not have
	need      float64
	weekdays  [7]int // how many of the days that are known are Sundays, Mondays…
	zoneKnown bool
	fresh     bool // no trait of it was ever made, and it was seen lately
}

// recent is how long ago a pattern may have been seen last to begin a trend or a candidate: a trend
// is about these days, and what was seen twice in years gone by stays a clue.
const recent = 30 * 24 * time.Hour

// moodArousal is how much feeling the memories of a mood show on average, 0 to 1.
const moodArousal = 0.6

// begins reports whether a pattern was seen twice, so that it begins a trend or a candidate. What
// nearly everybody does begins neither.
func (c *candidate) begins() bool {
	return c.fresh && c.days == 2 && c.noted+len(c.daily) == 2 && c.sessions >= 2 && c.finding.rank != everyday &&
		2*c.days >= c.of
}

// tally holds the sightings of a pattern in earlier batches.
type tally struct {
	kind     kind
	days     int // those of memories that are not kept any more included
	shown    map[int64]bool
	sessions map[string]bool
	memories map[uuid.UUID]bool
}

func newTally(k kind, seen []reasoner.Sighting, skipped int) *tally {
	t := &tally{k, 0, map[int64]bool{}, map[string]bool{}, map[uuid.UUID]bool{}}
	for _, s := range seen {
		t.shown[dayOf(k, s.Time)], t.sessions[s.Session], t.memories[s.Memory] = true, true, true
	}
	t.days = len(t.shown) + skipped // a clue takes one memory of each day
	return t
}

// unseen returns the first memory of each day of a sign that the tally does not have yet.
func (t *tally) unseen(s *sign) (evidence []reasoner.Support) {
	seen := map[int64]bool{}
	for i, e := range s.pro {
		if d := dayOf(t.kind, s.at[i]); !seen[d] && !t.shown[d] {
			seen[d] = true
			evidence = append(evidence, e)
		}
	}
	return evidence
}

func newCandidate(s *sign, clue reasoner.Clue) *candidate {
	known := newTally(s.kind, clue.Seen, clue.Skipped)
	c := &candidate{sign: s, daily: known.unseen(s), noted: len(clue.Seen)}
	c.days = known.days + len(c.daily)
	for i, e := range s.pro {
		known.memories[e.Memory], known.sessions[s.sessions[i]], known.shown[dayOf(s.kind, s.at[i])] = true, true, true
	}
	for d := range known.shown {
		c.weekdays[(d%7+7+4)%7]++ // day 0 was a Thursday
	}
	c.memories, c.sessions = len(known.memories), len(known.sessions)
	return c
}

// day numbers the days of a time zone.
func day(t time.Time) int64 {
	_, offset := t.Zone()
	return (t.Unix() + int64(offset)) / (24 * 60 * 60)
}

// dayOf numbers the days by which patterns of a kind count. Of hours, a night belongs to the day before.
func dayOf(k kind, t time.Time) int64 {
	if k == hours {
		t = t.Add(-4 * time.Hour)
	}
	return day(t)
}

// choose says which patterns are strong enough, the strongest first, as long as there is room; the others are noted.
func choose(fresh []*candidate, room *room, traits held) []reasoner.Pattern {
	ranked := slices.Clone(fresh)
	for _, c := range ranked {
		c.need = room.need(c)
	}
	slices.SortStableFunc(ranked, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(float64(b.days)/b.need, float64(a.days)/a.need), cmp.Compare(b.memories, a.memories),
			cmp.Compare(a.key, b.key))
	})
	strong := map[*candidate]bool{}
	for _, c := range ranked {
		if float64(c.memories) < room.policies.MinMemories || float64(c.sessions) < room.policies.MinSessions ||
			float64(c.days) < room.need(c) || 2*c.days < c.of || covered(c, fresh, traits) {
			continue
		}
		strong[c] = room.take(c.kind, c.finding.rank)
	}
	patterns := make([]reasoner.Pattern, 0, len(fresh))
	for _, c := range fresh {
		p := reasoner.Pattern{Key: c.key, Content: sentence(c.sign) + weekly(c), Context: contextOfAll(c.pro),
			Evidence: c.pro}
		if !strong[c] {
			p.Evidence, p.Tentative = c.daily, !c.begins() || covered(c, fresh, traits)
			p.Emotional = c.arousal >= moodArousal*float64(len(c.pro))
		}
		if len(p.Evidence) == 0 {
			continue // noted already
		}
		patterns = append(patterns, p)
	}
	return patterns
}

// covered reports whether the name of a dish occurs almost only within a longer name, such as 拉面 in 日式拉面.
func covered(c *candidate, fresh []*candidate, traits held) bool {
	if c.kind != eating || !c.finding.zh {
		return false
	}
	for _, longer := range fresh {
		if longer.kind == eating && longer != c && strings.HasSuffix(longer.finding.id, c.finding.id) &&
			longer.name == c.name && 2*longer.days >= c.days {
			return true
		}
	}
	for i := range traits.all {
		t := &traits.all[i]
		if id, ok := strings.CutPrefix(t.Key, "food:"); ok && live(t) && strings.HasSuffix(id, c.finding.id) {
			return true
		}
	}
	return false
}
