// Package rules is the reasoner that needs no model and no network: deterministic rules for English and Chinese. It sees
// what recurs (activities, food, places, people, hours), what the user says they are or like, and what they say is over.
// docs/reasoner-rules.md tells what it cannot see.
package rules

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

// Reasoner is the reasoner of rules. It has no state: the same batch gives the same proposals.
type Reasoner struct {
	v *vocabulary
}

// New returns the reasoner of rules.
func New() *Reasoner { return &Reasoner{v: words()} }

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
	surfaces map[string]int
}

// signs returns the patterns of a batch in the order in which they first show. With meaning, memories that name none take
// part in those of memories that mean nearly the same; that adds evidence and no pattern.
func (r *Reasoner) signs(memories []reasoner.Memory, meaning bool) []*sign {
	byKey := map[string]*sign{}
	var all []*sign
	heard := listen(memories)
	current, inContext := -1, ""
	note := func(i int, name string, n finding) {
		m := memories[i]
		key := keyOf(n, name)
		s := byKey[key]
		if s == nil {
			s = &sign{key: key, kind: n.kind, finding: n, name: name, surfaces: map[string]int{}}
			byKey[key] = s
			all = append(all, s)
		}
		support := reasoner.Support{Memory: m.ID, Stated: n.stated, Context: m.Context}
		if support.Context == "" {
			if current != i {
				current, inContext = i, contextOf(m.Content)
			}
			support.Context = inContext
		}
		if n.polarity == con {
			s.con = append(s.con, support)
			return
		}
		s.pro = append(s.pro, support)
		s.at, s.sessions = append(s.at, m.Time), append(s.sessions, m.Session)
		s.surfaces[n.surface]++
	}
	f := finder{v: r.v, named: slices.ContainsFunc(heard, said.inFirstPerson)}
	shown := make([][]finding, len(memories)) // what each shows of activities and tastes
	var open, named []int
	for i := range memories {
		h := heard[i]
		f.voice, f.found = h.voice, f.found[:0]
		if h.voice != other {
			f.read(h.text)
		}
		if h.with != "" {
			f.addPerson(h.with, hasHan(h.with))
		}
		for _, n := range f.found {
			note(i, h.name, n)
			if n.kind == doing || n.kind == eating {
				shown[i] = append(shown[i], n)
			}
		}
		switch {
		case !meaning || h.voice == other || len(memories[i].Vector) == 0:
		case len(shown[i]) > 0:
			named = append(named, i)
		case h.voice == own && len(h.text) >= minMeaning:
			open = append(open, i)
		}
	}
	if nearest := kin(memories, open, named); len(nearest) > 0 {
		for _, i := range open {
			j, ok := nearest[i]
			if !ok || heard[i].name != heard[j].name {
				continue
			}
			for _, n := range shown[j] {
				if n.polarity == pro {
					n.stated = false
					note(i, heard[j].name, n)
				}
			}
		}
	}
	for _, n := range hoursOf(memories, heard) {
		for _, i := range n.memories {
			note(i, n.name, n.finding)
		}
	}
	return all
}

// minMeaning is how long a text has to be for its vector to tell, in bytes.
const minMeaning = 12

// keyOf returns the key of a pattern: the same in English and Chinese where the vocabulary knows it.
func keyOf(n finding, name string) string {
	key := kindNames[n.kind] + ":" + n.id
	if name != "" {
		key += "@" + strings.ToLower(name)
	}
	return key
}

// Keys returns the keys of the patterns in memories, in the order in which they first show.
func (r *Reasoner) Keys(memories []reasoner.Memory) []string {
	all := r.signs(memories, false)
	keys := make([]string, len(all))
	for i, s := range all {
		keys[i] = s.key
	}
	return keys
}

// Reflect proposes patterns, reinforcements, contradictions and clusters. The only error is that of ctx.
func (r *Reasoner) Reflect(ctx context.Context, b reasoner.Batch) (reasoner.Proposals, error) {
	if err := ctx.Err(); err != nil {
		return reasoner.Proposals{}, err
	}
	var p reasoner.Proposals
	traits := r.index(b.Traits)
	room := r.newRoom(b)
	clues := map[string]*reasoner.Clue{}
	for i := range b.Clues {
		clues[b.Clues[i].Key] = &b.Clues[i]
	}
	var fresh []*candidate
	for _, s := range r.signs(b.Memories, true) {
		t := traits.find(s)
		switch {
		case t == nil, !live(t):
			if len(s.pro) > 0 {
				fresh = append(fresh, newCandidate(s, clues[s.key], t))
			}
			if len(s.con) > 0 {
				p.Contradictions = append(p.Contradictions, reasoner.Contradiction{Key: s.key, Evidence: s.con, Reason: denied(s)})
			}
			continue
		case t.Edited && !r.stillSays(t, s):
			p.Dropped = append(p.Dropped, unsaid(t, s))
			continue
		case len(s.pro) > 0 && (t.Stage.Visible() || room.take(s.kind, s.finding.rank)):
			p.Reinforcements = append(p.Reinforcements, reasoner.Reinforcement{Trait: t.ID, Evidence: s.pro})
		}
		if len(s.con) > 0 {
			p.Contradictions = append(p.Contradictions, reasoner.Contradiction{Trait: t.ID, Evidence: s.con, Reason: denied(s)})
		}
	}
	p.Patterns = r.choose(fresh, room, traits)
	p.Clusters = r.clusters(traits, room)
	return p, nil
}

// Words by which a person takes back or narrows what a trait said.
var (
	narrowsEn = []string{"not", "never", "no", "doesn't", "don't", "isn't", "can't", "won't", "without", "only", "except", "but", "hardly", "rarely", "seldom", "used to", "hates", "dislikes", "loathes"}
	narrowsZh = strings.Fields("不 没 只 仅 除 讨厌 戒 很少 极少 偶尔 从未 停")
)

// stillSays tells whether a trait that the user worded says what a pattern shows, and neither denies nor narrows it: what
// these rules cannot read out of the user's own words is no evidence for or against them.
func (r *Reasoner) stillSays(t *reasoner.Trait, s *sign) bool {
	text := strings.ToLower(t.Content)
	if s.finding.say != "" && text == strings.ToLower(s.finding.say) {
		return true
	}
	words := joined(tokens(text, nil))
	if hasWords(words, narrowsEn) || hasWords(words, conEn) || lexis.ContainsAny(text, narrowsZh) {
		return false
	}
	names := []string{s.finding.id, s.finding.say}
	if a := r.v.activities[s.finding.id]; s.kind == doing && a != nil {
		names = append(names, a.zh, a.en)
	}
	for surface := range s.surfaces {
		names = append(names, surface)
	}
	if slices.ContainsFunc(names, func(name string) bool { return name != "" && strings.Contains(text, strings.ToLower(name)) }) {
		return true
	}
	f := finder{v: r.v, voice: recorded}
	f.read(t.Content)
	return slices.ContainsFunc(f.found, func(n finding) bool { return keyOf(n, s.name) == s.key && n.polarity == pro })
}

// unsaid is what is not followed because the user worded a trait otherwise.
func unsaid(t *reasoner.Trait, s *sign) reasoner.Dropped {
	var memories []uuid.UUID
	for _, e := range slices.Concat(s.pro, s.con) {
		memories = append(memories, e.Memory)
	}
	what, err := json.Marshal(map[string]any{"trait": t.ID, "memories": memories})
	if err != nil {
		panic(err) // ids alone
	}
	return reasoner.Dropped{What: string(what), Reason: "the person worded the trait, and these memories are about what it said before"}
}

func denied(s *sign) string {
	if s.finding.zh {
		return "用户说不再如此"
	}
	return "the user says that it is so no longer"
}

func live(t *reasoner.Trait) bool { return t.Stage != "dissolved" }

// held are the traits of a user, to be found by a pattern.
type held struct {
	byKey  map[string]*reasoner.Trait
	byTerm map[string]*reasoner.Trait // of traits without a key that says more
	all    []reasoner.Trait
	signs  map[uuid.UUID]finding // what a trait's own sentence is about
}

// index makes the traits findable by key, and those that something else than these rules named by what they say.
func (r *Reasoner) index(traits []reasoner.Trait) held {
	h := held{byKey: map[string]*reasoner.Trait{}, byTerm: map[string]*reasoner.Trait{}, all: traits, signs: map[uuid.UUID]finding{}}
	f := finder{v: r.v}
	for i := range traits {
		t := &traits[i]
		if t.Key != "" && h.byKey[t.Key] == nil {
			h.byKey[t.Key] = t
		}
		if ours(t.Key) {
			continue
		}
		f.voice, f.found = recorded, f.found[:0]
		f.read(t.Content)
		for _, n := range f.found {
			if _, ok := h.signs[t.ID]; !ok {
				h.signs[t.ID] = n
			}
			if key := keyOf(n, ""); h.byTerm[key] == nil && live(t) && t.Subtype == "behavior" {
				h.byTerm[key] = t
			}
		}
	}
	return h
}

// ours tells whether a key was made here.
func ours(key string) bool {
	head, _, ok := strings.Cut(key, ":")
	return ok && slices.Contains(kindNames[:], head)
}

func (h held) find(s *sign) *reasoner.Trait {
	if t := h.byKey[s.key]; t != nil {
		return t
	}
	return h.byTerm[s.key]
}

// candidate is a pattern that is no trait yet, with what is known of it beyond the batch.
type candidate struct {
	*sign
	days     int // on which it showed, as far as is known
	memories int
	sessions int
	need     float64
	worded   string // how it was named when it was noted
	weekdays [7]int // how many of the days that are known are Sundays, Mondays…
	old      bool   // a trait of this key was dissolved
}

// shownSeen is how many sightings of a clue are shown: the first 8 and the latest 16.
const shownSeen, firstSeen = 24, 8

func newCandidate(s *sign, clue *reasoner.Clue, dissolved *reasoner.Trait) *candidate {
	days, sessions, memories := map[int64]bool{}, map[string]bool{}, map[uuid.UUID]bool{}
	add := func(id uuid.UUID, at time.Time, session string) {
		memories[id], sessions[session], days[day(at)] = true, true, true
	}
	c := &candidate{sign: s, old: dissolved != nil}
	if clue != nil {
		for _, seen := range clue.Seen {
			add(seen.Memory, seen.Time, seen.Session)
		}
		c.days, c.worded = unseen(clue.Seen), clue.Content
	}
	for i, e := range s.pro {
		add(e.Memory, s.at[i], s.sessions[i])
	}
	c.days += len(days)
	for d := range days {
		c.weekdays[(d%7+7+4)%7]++ // day 0 was a Thursday
	}
	c.memories, c.sessions = len(memories), len(sessions)
	return c
}

// unseen estimates on how many days a pattern showed between the first sightings of a clue and the latest, where those
// between are not shown: as often as in the time that is.
func unseen(seen []reasoner.Sighting) int {
	if len(seen) < shownSeen {
		return 0
	}
	of := func(i int) float64 { return float64(day(seen[i].Time)) }
	last := len(seen) - 1
	shown := of(firstSeen-1) - of(0) + of(last) - of(firstSeen)
	gap := of(firstSeen) - of(firstSeen-1)
	if shown <= 0 || gap <= 0 {
		return 0
	}
	return int(gap * min(1, float64(last-1)/shown))
}

// day numbers the days of a time zone.
func day(t time.Time) int64 {
	_, offset := t.Zone()
	return (t.Unix() + int64(offset)) / (24 * 60 * 60)
}

// choose says which patterns are strong enough, the strongest first, as long as there is room; the others are noted.
func (r *Reasoner) choose(fresh []*candidate, room *room, traits held) []reasoner.Pattern {
	byKey := map[string]*candidate{}
	for _, c := range fresh {
		byKey[c.key] = c
	}
	ranked := slices.Clone(fresh)
	for _, c := range ranked {
		c.need = room.need(c)
	}
	slices.SortStableFunc(ranked, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(float64(b.days)/b.need, float64(a.days)/a.need), cmp.Compare(b.memories, a.memories), cmp.Compare(a.key, b.key))
	})
	strong := map[*candidate]bool{}
	for _, c := range ranked {
		if c.memories < 3 || c.sessions < 2 || float64(c.days) < room.need(c) || covered(c, fresh, traits) {
			continue
		}
		strong[c] = room.take(c.kind, c.finding.rank)
	}
	patterns := make([]reasoner.Pattern, 0, len(fresh))
	for _, c := range fresh {
		p := reasoner.Pattern{Key: c.key, Content: r.content(c), Context: contextOfAll(c.pro), Tentative: !strong[c], Evidence: c.pro}
		if p.Tentative {
			p.Evidence = daily(c.sign)
		}
		patterns = append(patterns, p)
	}
	return patterns
}

// content is the sentence of a candidate. A longer name of a dish that was noted before is kept.
func (r *Reasoner) content(c *candidate) string {
	text := r.sentence(c.sign)
	if c.kind == eating && c.finding.zh && len(c.worded) > len(text) && strings.HasPrefix(c.worded, text) {
		return c.worded
	}
	return text + weekly(c)
}

// daily is the evidence of a pattern, one memory a day: what recurs counts by days, and a clue shows only so many sightings.
func daily(s *sign) []reasoner.Support {
	seen := map[int64]bool{}
	var all []reasoner.Support
	for i, e := range s.pro {
		if d := day(s.at[i]); !seen[d] {
			seen[d] = true
			all = append(all, e)
		}
	}
	return all
}

// covered tells whether a longer name says nearly all that a dish's name says: 拉面 where it nearly always is 日式拉面.
func covered(c *candidate, fresh []*candidate, traits held) bool {
	if c.kind != eating || !c.finding.zh {
		return false
	}
	for _, longer := range fresh {
		if longer.kind == eating && longer != c && strings.HasSuffix(longer.finding.id, c.finding.id) && longer.name == c.name && 2*longer.days >= c.days {
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
