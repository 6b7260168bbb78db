// Package reflection decides how a user's memories change the user's traits. It does no I/O and
// takes the time as a parameter, so that the same memories lead to the same traits, even after a
// crash. A caller loads a Snapshot, asks a reasoner its Question, and writes the Changes of the
// Plan.
package reflection

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/sensitive"
	"github.com/oxbow-memory/oxbow/internal/traits"
)

// Snapshot is the input of a reflection or a review.
type Snapshot struct {
	User     string
	Person   reasoner.Person
	Now      time.Time // truncated to microseconds, like times in the database
	Begun    time.Time // by the machine's clock, which may differ from Now
	Cycle    uuid.UUID
	Reasoner string              // name of the reasoner
	Policies *lifecycle.Policies // in force at Now

	Batch    []traits.Unreflected
	Memories []reasoner.Memory  // memories of Batch that the reasoner may see
	Found    any                // the findings of the reasoner in Memories
	Clues    []traits.NotedClue // ordered by key
	Traits   []traits.Trait
	Held     traits.Counts
	Seen     map[uuid.UUID][]reasoner.Sighting // evidence for traits that are not visible yet

	Refused map[string]bool // keys and wordings of traits that the person deleted or forgot
}

// Plan is the result of applying the rules of internal/lifecycle to a reasoner's proposals.
type Plan struct {
	*Snapshot
	Dropped                     []reasoner.Dropped
	Reviews                     int // contradiction reviews that became due
	Created, Updated, Dissolved int

	known  map[uuid.UUID]support // every memory shown to the reasoner
	noted  map[string][]support  // supporting clues by key
	denied map[string][]support  // contradicting clues by key
	byID   map[uuid.UUID]*change
	byKey  map[string]*change
	byText map[string]*change // by normalized wording
	order  []*change          // changed traits, in the order of their first change
	spoken []*change          // traits with pending support, in order
	clues  []traits.NotedClue
	closed []string
}

// support is a memory used as evidence.
type support struct {
	memoryType string
	memory     uuid.UUID
	time       time.Time
	session    string
	context    string
	stated     bool
	inferred   bool
}

// change is a trait and what happens to it in this cycle.
type change struct {
	traits.Change
	seen       lifecycle.Seen
	counted    map[traits.EvidenceKey]bool
	supporting int // number of supporting memories, at most as many as ReviewDue needs
	touched    bool
	gained     []support             // support added in this cycle
	pending    map[uuid.UUID]support // support to be added by flush
	reason     string
}

// NewPlan returns an empty plan.
func NewPlan(s *Snapshot) *Plan {
	p := &Plan{Snapshot: s, known: map[uuid.UUID]support{}, noted: map[string][]support{},
		denied: map[string][]support{}, byID: map[uuid.UUID]*change{},
		byKey: map[string]*change{}, byText: map[string]*change{}}
	for _, c := range s.Clues {
		n := support{memoryType: c.Type, memory: c.Memory, time: c.ObservedAt, session: c.Session, context: c.Context,
			stated: c.Stated}
		if c.Against {
			p.denied[c.Key] = append(p.denied[c.Key], n)
		} else {
			p.noted[c.Key] = append(p.noted[c.Key], n)
		}
		n.stated = false // a statement counts as stated for one pattern only
		p.known[c.Memory] = n
	}
	for _, m := range s.Memories {
		p.known[m.ID] = support{memoryType: m.Type, memory: m.ID, time: m.Time, session: m.Session, context: m.Context}
	}
	for i := range s.Traits {
		c := &change{Change: traits.Change{Trait: s.Traits[i]}, counted: map[traits.EvidenceKey]bool{}}
		for _, context := range c.Contexts {
			c.seen.Add("", context)
		}
		p.index(c)
	}
	return p
}

// index makes a trait findable by id, key and wording. The first trait of a key or wording wins;
// live traits come first.
func (p *Plan) index(c *change) {
	p.byID[c.ID] = c
	if _, there := p.byKey[c.Key]; !there && c.Key != "" {
		p.byKey[c.Key] = c
	}
	if text := normalized(c.Content); p.byText[text] == nil {
		p.byText[text] = c
	}
}

// find returns the trait with the key or the wording, or nil.
func (p *Plan) find(key, content string) *change {
	return cmp.Or(p.byKey[key], p.byText[normalized(content)])
}

// Decide applies proposals in the order of C §4.5: new patterns, reinforcements, clusters,
// contradictions. Settling, which depends on time alone, follows in the database.
func (p *Plan) Decide(proposals reasoner.Proposals) {
	for _, d := range proposals.Dropped {
		if _, hit := sensitive.Category(d.What); hit {
			d.What = idsIn(d.What)
		}
		p.Dropped = append(p.Dropped, d)
	}
	p.patterns(proposals.Patterns)
	for _, r := range proposals.Reinforcements {
		p.reinforcement(r)
	}
	p.flush(lifecycle.Behavior)
	for level, below := lifecycle.Preference, lifecycle.Behavior; level != ""; level, below = above(level), level {
		p.inferParents(below)
		for _, c := range proposals.Clusters {
			if c.Subtype == level {
				p.cluster(c)
			}
		}
		p.flush(level)
	}
	for _, c := range proposals.Clusters {
		if c.Subtype != lifecycle.Preference && c.Subtype != lifecycle.CoreTrait {
			p.drop(c, "traits are promoted to preference or core only")
		}
	}
	p.contradictions(proposals.Contradictions)
	p.tally()
}

// tally counts created, updated and dissolved traits.
func (p *Plan) tally() {
	for _, c := range p.order {
		if c.New {
			p.Created++
		} else {
			p.Updated++
		}
		if c.State.Stage == lifecycle.Dissolved {
			p.Dissolved++
			c.ReviewDueAt = time.Time{}
		}
	}
}

// above returns the next more abstract subtype that traits are promoted to, or "".
func above(s lifecycle.Subtype) lifecycle.Subtype {
	if s == lifecycle.Preference {
		return lifecycle.CoreTrait
	}
	return ""
}

// event applies an event to a trait.
func (p *Plan) event(c *change, e lifecycle.Event, memories int, reason string, details any) {
	if !c.touched {
		c.touched = true
		p.order = append(p.order, c)
	}
	switch {
	case e.Kind == lifecycle.Promoted && c.State.Stage == lifecycle.Trend:
		c.Derived = "trend_promotion"
	case e.Kind == lifecycle.Split:
		c.Derived = "contradiction_split"
	}
	c.State = p.Policies.Apply(c.State, e)
	row := traits.Event{Trait: c.ID, Event: e.Kind, At: e.At, Memories: memories, Stage: c.State.Stage,
		Actor: "reflection", Nth: len(c.Events) + 1}
	if e.Kind == lifecycle.Reinforced || e.Kind == lifecycle.Contradicted {
		row.Factor = &e.Factor
	}
	if e.Sets > 0 {
		row.Sets = &e.Sets
	}
	if e.Kind == lifecycle.Created {
		subtype := string(e.Subtype)
		row.Subtype = &subtype
		if !e.WindowEnd.IsZero() {
			row.WindowEnd = &e.WindowEnd
			c.WindowStart = e.At
		}
	}
	if confidence := c.State.Confidence; confidence > 0 {
		row.Confidence = &confidence
	}
	if reason != "" {
		row.Reason = &reason
	}
	if details != nil {
		row.Details, _ = json.Marshal(details)
	}
	c.Events = append(c.Events, row)
}

// follow applies the event that the rules require next, except Decayed.
func (p *Plan) follow(c *change) {
	if e, ok := p.Policies.Follow(c.State, p.Now); ok && e.Kind != lifecycle.Decayed {
		p.event(c, e, 0, "", nil)
	}
}

// count adds evidence to the nth event of the trait in this cycle, and returns the best quality of
// each session.
func (p *Plan) count(c *change, direction string, supports []support, nth int) map[string]lifecycle.Quality {
	best := map[string]lifecycle.Quality{}
	for _, s := range supports {
		quality := c.seen.Grade(s.session, s.context, s.stated, s.inferred)
		if direction == traits.Contradicting {
			quality = lifecycle.QualityC
			if s.stated {
				quality = lifecycle.QualityB
			}
		} else {
			c.seen.Add(s.session, s.context)
			p.observe(c, s)
		}
		if old, there := best[s.session]; !there || quality < old { // A is better than B
			best[s.session] = quality
		}
		c.counted[traits.EvidenceKey{Memory: s.memory, Direction: direction}] = true
		e := traits.Evidence{Trait: c.ID, Direction: direction, Type: s.memoryType, Memory: s.memory, Quality: quality,
			Session: s.session, Stated: s.stated, ObservedAt: s.time, Nth: nth}
		if s.context != "" {
			e.Context = &s.context
		}
		c.Evidence = append(c.Evidence, e)
	}
	return best
}

// observe updates when and in which contexts a trait was observed.
func (p *Plan) observe(c *change, s support) {
	if c.FirstObserved.IsZero() || s.time.Before(c.FirstObserved) {
		c.FirstObserved = s.time
	}
	if s.time.After(c.LastReinforced) {
		c.LastReinforced = s.time
	}
	if s.context == "" || s.context == "general" || slices.Contains(c.Contexts, s.context) {
		return
	}
	c.Contexts = append(slices.Clone(c.Contexts), s.context)
	if len(c.Contexts) > 1 && c.Context != "contextual" && c.EditedAt.IsZero() {
		c.Context = "general" // observed in several contexts: C §3.2
	}
}

// resolve converts a reasoner's references to evidence, earliest first. It skips evidence that has
// already counted for the trait, and drops references to memories that were not shown.
func (p *Plan) resolve(c *change, direction string, proposal any, given []reasoner.Support) []support {
	found := map[uuid.UUID]support{}
	for _, g := range given {
		s, ok := p.known[g.Memory]
		if !ok {
			p.drop(proposal, "memory %s is not among those that were shown", g.Memory)
			continue
		}
		if c != nil && c.counted[traits.EvidenceKey{Memory: g.Memory, Direction: direction}] {
			continue
		}
		s.stated = s.stated || g.Stated
		if context := reasoner.KnownContext(g.Context); context != "" {
			s.context = context
		}
		add(found, s)
	}
	return inOrder(found)
}

// add merges s with other support by the same memory. The order of calls does not matter.
func add(found map[uuid.UUID]support, s support) {
	if before, twice := found[s.memory]; twice {
		s.stated, s.inferred = s.stated || before.stated, s.inferred && before.inferred
		if tellsLess(s.context, before.context) {
			s.context = before.context
		}
	}
	found[s.memory] = s
}

// tellsLess reports whether context a is less specific than b. "" and general are the least
// specific.
func tellsLess(a, b string) bool {
	vague := func(context string) bool { return context == "" || context == "general" }
	if vague(a) != vague(b) {
		return vague(a)
	}
	return b != "" && (a == "" || b < a)
}

func inOrder(found map[uuid.UUID]support) []support {
	supports := make([]support, 0, len(found))
	for _, s := range found {
		supports = append(supports, s)
	}
	slices.SortFunc(supports, func(a, b support) int {
		return cmp.Or(a.time.Compare(b.time), strings.Compare(a.memory.String(), b.memory.String()))
	})
	return supports
}
