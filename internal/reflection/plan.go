// Package reflection decides what a user's memories make of the user's traits. It is pure, without I/O, and time is
// a parameter, so that the same memories lead to the same traits, whatever crashed on the way. A caller loads a
// Snapshot, asks a reasoner its Question, and writes the Changes of the Plan.
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

// Snapshot is what a reflection or a review is decided on.
type Snapshot struct {
	User     string
	Person   reasoner.Person
	Now      time.Time // to the microsecond, as the database keeps it
	Begun    time.Time // by the machine's clock, which Now need not follow
	Cycle    uuid.UUID
	Reasoner string              // its name
	Policies *lifecycle.Policies // in force at Now

	Batch    []traits.Unreflected
	Memories []reasoner.Memory  // those of the batch that a reasoner may see
	Clues    []traits.NotedClue // in the order of their keys
	Traits   []traits.Trait
	Held     traits.Counts
	Seen     map[uuid.UUID][]reasoner.Sighting // what speaks for traits that are not visible yet

	Refused map[string]bool // keys and wordings of traits that the person deleted or forgot
}

// Plan is what follows from a reasoner's proposals: the rules of internal/lifecycle applied to the evidence.
type Plan struct {
	*Snapshot
	Dropped                     []reasoner.Dropped
	Reviews                     int // contradiction reviews that became due
	Created, Updated, Dissolved int

	known  map[uuid.UUID]support // every memory that the reasoner was shown
	noted  map[string][]support  // by key
	denied map[string][]support  // the same, of what speaks against it
	byID   map[uuid.UUID]*change
	byKey  map[string]*change
	byText map[string]*change // by normalized wording
	order  []*change          // those that change, in the order in which they did
	spoken []*change          // those that something speaks for
	clues  []traits.NotedClue
	closed []string
}

// support is a memory as evidence.
type support struct {
	memoryType string
	memory     uuid.UUID
	time       time.Time
	session    string
	context    string
	stated     bool
	inferred   bool
}

// change is a trait with what happens to it in this cycle.
type change struct {
	traits.Change
	seen       lifecycle.Seen
	counted    map[traits.EvidenceKey]bool
	supporting int // as many as it takes to weigh what contradicts it
	touched    bool
	gained     []support             // in this cycle
	pending    map[uuid.UUID]support // to speak for it
	reason     string
}

// NewPlan returns a plan that changes nothing yet.
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
		n.stated = false // what a memory says outright, it says of one pattern
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

// index makes a trait findable. The first of a key or a wording is the one, and live ones come first.
func (p *Plan) index(c *change) {
	p.byID[c.ID] = c
	if _, there := p.byKey[c.Key]; !there && c.Key != "" {
		p.byKey[c.Key] = c
	}
	if text := normalized(c.Content); p.byText[text] == nil {
		p.byText[text] = c
	}
}

// find returns the trait that a pattern is, by its key or by what it says; nil: none.
func (p *Plan) find(key, content string) *change {
	return cmp.Or(p.byKey[key], p.byText[normalized(content)])
}

// Decide applies proposals in the order of C §4.5: trends and other new patterns, then what speaks for the traits
// there are, then what they have in common, then what speaks against them. Time's own part, settling, follows in
// the database.
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

// tally counts what happened.
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

// above is the next subtype that traits are promoted to; empty: none.
func above(s lifecycle.Subtype) lifecycle.Subtype {
	if s == lifecycle.Preference {
		return lifecycle.CoreTrait
	}
	return ""
}

// event lets something happen to a trait.
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

// follow lets happen what the rules demand after that.
func (p *Plan) follow(c *change) {
	if e, ok := p.Policies.Follow(c.State, p.Now); ok && e.Kind != lifecycle.Decayed {
		p.event(c, e, 0, "", nil)
	}
}

// count writes evidence down as counting in the nth event of the trait's in this cycle, and returns each session's
// best quality.
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

// observe widens what is known of when and in which contexts a trait shows.
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
		c.Context = "general" // seen in several: C §3.2
	}
}

// resolve turns a reasoner's references into evidence that has not counted for the trait yet, the earliest first.
// What the reasoner was not shown is dropped.
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
		if context := KnownContext(g.Context); context != "" {
			s.context = context
		}
		add(found, s)
	}
	return inOrder(found)
}

// add takes in what a memory says once more, so that the order in which it is said does not matter.
func add(found map[uuid.UUID]support, s support) {
	if before, twice := found[s.memory]; twice {
		s.stated, s.inferred = s.stated || before.stated, s.inferred && before.inferred
		if tellsLess(s.context, before.context) {
			s.context = before.context
		}
	}
	found[s.memory] = s
}

// tellsLess orders contexts: one that tells nothing comes last.
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

// KnownContext returns the context if it is one in which memories show a trait, and "" otherwise.
func KnownContext(context string) string {
	switch context {
	case "work", "personal", "social", "learning", "general":
		return context
	}
	return ""
}
