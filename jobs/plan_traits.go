package jobs

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/sensitive"
	"github.com/oxbow-memory/oxbow/store"
)

// patterns makes traits, or clues, of what recurs.
func (p *plan) patterns(patterns []reasoner.Pattern) {
	for _, pattern := range patterns {
		content, err := wording(pattern.Content)
		if err != nil {
			p.drop(pattern, "%s", err)
			continue
		}
		key := patternKey(pattern.Key, content)
		if category, hit := sensitive.Category(key); hit {
			p.drop(pattern, "nothing is inferred about %s", category)
			continue
		}
		if p.refused[key] || p.refused[content] {
			p.drop(pattern, "the person deleted such a trait")
			continue
		}
		there := cmp.Or(p.byKey[key], p.byText[normalized(content)])
		switch {
		case there == nil:
			p.newTrait(pattern, key, content)
		case there.State.StageAt(p.now) != lifecycle.Dissolved:
			p.speak(there, p.resolve(there, store.Supporting, pattern, pattern.Evidence), "")
		case !there.EditedAt.IsZero():
			p.drop(pattern, "the person dissolved it")
		case pattern.Tentative:
			p.note(key, content, p.resolve(there, store.Supporting, pattern, pattern.Evidence))
		default:
			p.revive(there, p.resolve(there, store.Supporting, pattern, pattern.Evidence))
		}
	}
}

// newTrait weighs a pattern's evidence together with what was noted for it. Too little of it stays a clue.
func (p *plan) newTrait(pattern reasoner.Pattern, key, content string) {
	given := p.resolve(nil, store.Supporting, pattern, pattern.Evidence)
	all := map[uuid.UUID]support{}
	sessions := map[string]bool{}
	for _, s := range append(slices.Clone(p.noted[key]), given...) {
		all[s.memory] = s
		sessions[s.session] = true
	}
	if len(all) == 0 {
		p.drop(pattern, "nothing speaks for it")
		return
	}
	supports := inOrder(all)
	span := supports[len(supports)-1].time.Sub(supports[0].time)
	e, ok := lifecycle.NewPattern(p.now, len(supports), len(sessions), span, pattern.Emotional)
	if !ok || pattern.Tentative {
		p.note(key, content, given)
		return
	}
	c := p.fresh(key, content, cmp.Or(knownContext(pattern.Context), "general"), "reflection")
	p.count(c, store.Supporting, supports, len(c.Events)+1)
	p.event(c, e, len(supports), "", nil)
	c.gained = supports
	p.closed = append(p.closed, key)
}

// fresh is a trait that is not there yet.
func (p *plan) fresh(key, content, context, derived string) *change {
	c := &change{counted: map[store.EvidenceKey]bool{}, TraitChange: store.TraitChange{New: true, Derived: derived,
		ReflectedTrait: store.ReflectedTrait{ID: uuid.New(), Key: key, Content: content, Context: context}}}
	p.index(c)
	return c
}

// note remembers evidence for a pattern that is no trait yet.
func (p *plan) note(key, content string, supports []support) {
	for _, s := range supports {
		p.clues = append(p.clues, store.NotedClue{Key: key, Content: content, Type: s.memoryType, Memory: s.memory, Session: s.session,
			Context: s.context, Stated: s.stated, ObservedAt: s.time})
	}
}

// speak keeps memories that speak for a trait until flush, because a cycle reinforces a trait once.
func (p *plan) speak(c *change, supports []support, reason string) {
	if len(supports) == 0 {
		return
	}
	if c.pending == nil {
		c.pending = map[uuid.UUID]support{}
		c.reason = reason
		p.spoken = append(p.spoken, c)
	}
	for _, s := range supports {
		if before, twice := c.pending[s.memory]; twice {
			s.stated, s.inferred = s.stated || before.stated, s.inferred && before.inferred
		}
		c.pending[s.memory] = s
	}
}

// flush lets memories speak for the traits of a subtype: each session applies once, with its best quality.
func (p *plan) flush(subtype lifecycle.Subtype) {
	for _, c := range p.spoken {
		if c.State.Subtype != subtype || c.pending == nil {
			continue
		}
		supports := inOrder(c.pending)
		c.pending = nil
		c.gained = append(c.gained, supports...)
		if c.New { // its making counted: more evidence of this cycle belongs to that
			c.Events[0].Memories += len(supports)
			p.count(c, store.Supporting, supports, 1)
			continue
		}
		best := p.count(c, store.Supporting, supports, len(c.Events)+1)
		p.event(c, lifecycle.Event{Kind: lifecycle.Reinforced, At: p.now, Factor: lifecycle.Reinforcement(best)}, len(supports), c.reason, nil)
		p.follow(c)
	}
}

func (p *plan) reinforcement(r reasoner.Reinforcement) {
	c := p.live(r.Trait, r)
	if c != nil {
		p.speak(c, p.resolve(c, store.Supporting, r, r.Evidence), "")
	}
}

// live returns a trait that was shown and is not dissolved; otherwise the proposal is dropped.
func (p *plan) live(id uuid.UUID, proposal any) *change {
	c := p.byID[id]
	switch {
	case c == nil:
		p.drop(proposal, "trait %s is not among those that were shown", id)
	case c.State.StageAt(p.now) == lifecycle.Dissolved:
		p.drop(proposal, "trait %s is dissolved", id)
		return nil
	}
	return c
}

// revive brings a dissolved trait back, for new evidence.
func (p *plan) revive(c *change, supports []support) {
	if len(supports) == 0 {
		return
	}
	if e, ok := c.State.Follow(p.now); ok { // it dissolved by itself, and nobody noted that yet
		p.event(c, e, 0, "", nil)
	}
	p.count(c, store.Supporting, supports, len(c.Events)+1)
	p.event(c, lifecycle.Revive(p.now), len(supports), "new evidence", nil)
	c.gained = supports
	p.closed = append(p.closed, c.Key)
}

// inferParents lets what spoke for traits of a subtype speak, by inference, for those that they are part of.
func (p *plan) inferParents(from lifecycle.Subtype) {
	for _, c := range p.order {
		parent := p.byID[c.Parent]
		if c.State.Subtype != from || parent == nil || parent.State.StageAt(p.now) == lifecycle.Dissolved {
			continue
		}
		var supports []support
		for _, s := range c.gained {
			if s.inferred = true; !parent.counted[store.EvidenceKey{Memory: s.memory, Direction: store.Supporting}] {
				supports = append(supports, s)
			}
		}
		p.speak(parent, supports, "by way of: "+c.Content)
	}
}

// cluster makes a more abstract trait of several, or adds them to the one that is there.
func (p *plan) cluster(k reasoner.Cluster) {
	content, err := wording(k.Content)
	if err != nil {
		p.drop(k, "%s", err)
		return
	}
	key := patternKey(k.Key, content)
	if p.refused[key] || p.refused[content] {
		p.drop(k, "the person deleted such a trait")
		return
	}
	parent := cmp.Or(p.byKey[key], p.byText[normalized(content)])
	if parent != nil && (parent.State.Subtype != k.Subtype || parent.State.StageAt(p.now) == lifecycle.Dissolved) {
		p.drop(k, "trait %s, which says so, is a %s %s", parent.ID, parent.State.StageAt(p.now), parent.State.Subtype)
		return
	}
	var members []*change
	for _, id := range k.Members {
		c := p.live(id, k)
		if c != nil && c != parent && c.Parent == uuid.Nil && !slices.Contains(members, c) && p.below(c, k.Subtype) {
			members = append(members, c)
		}
	}
	if len(members) == 0 {
		return // they belong together already
	}
	if parent != nil {
		p.join(parent, members)
		return
	}
	grades := make([]lifecycle.Member, len(members))
	for i, c := range members {
		grades[i] = p.member(c)
	}
	e, context, ok := lifecycle.Promote(p.now, k.Subtype, grades)
	if !ok {
		p.drop(k, "it takes two or more that are sure enough")
		return
	}
	parent = p.fresh(key, content, context, "promotion")
	for _, c := range members {
		p.observe(parent, support{time: cmp.Or(c.FirstObserved, p.now), context: ""})
		for _, inContext := range append([]string{c.Context}, c.Contexts...) {
			p.observe(parent, support{time: c.LastReinforced, context: inContext})
		}
	}
	parent.Context = context
	p.count(parent, store.Supporting, p.asEvidence(members), 1)
	p.event(parent, e, len(members), "", nil)
	p.link(parent, members)
}

// below tells whether a trait is sure enough to become part of one of the subtype.
func (p *plan) below(c *change, parent lifecycle.Subtype) bool {
	_, _, ok := lifecycle.Promote(p.now, parent, []lifecycle.Member{p.member(c), p.member(c)})
	return ok
}

func (p *plan) member(c *change) lifecycle.Member {
	return lifecycle.Member{Subtype: c.State.Subtype, Stage: c.State.StageAt(p.now), Confidence: c.State.ConfidenceAt(p.now), Context: c.Context}
}

func (p *plan) join(parent *change, members []*change) {
	var fresh []*change
	for _, c := range members {
		if !parent.counted[store.EvidenceKey{Memory: c.ID, Direction: store.Supporting}] {
			fresh = append(fresh, c)
		}
	}
	p.speak(parent, p.asEvidence(fresh), "another trait shows the same")
	p.link(parent, members)
}

// asEvidence lets traits speak for a more abstract one.
func (p *plan) asEvidence(members []*change) []support {
	supports := make([]support, len(members))
	for i, c := range members {
		supports[i] = support{memoryType: "trait", memory: c.ID, time: latest(c.LastReinforced, c.FirstObserved), session: "trait " + c.ID.String(), context: c.Context}
	}
	return supports
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (p *plan) link(parent *change, members []*change) {
	for _, c := range members {
		c.Parent = parent.ID
		p.event(c, lifecycle.Event{Kind: lifecycle.Promoted, At: p.now}, 0, "part of: "+parent.Content, map[string]any{"parent": parent.ID})
	}
}

// contradictions lets memories speak against traits, once a cycle.
func (p *plan) contradictions(proposals []reasoner.Contradiction) {
	against := map[uuid.UUID]map[uuid.UUID]support{}
	reasons := map[uuid.UUID]string{}
	var order []uuid.UUID
	for _, k := range proposals {
		c := p.live(k.Trait, k)
		if c == nil {
			continue
		}
		if against[c.ID] == nil {
			against[c.ID], reasons[c.ID] = map[uuid.UUID]support{}, k.Reason
			order = append(order, c.ID)
		}
		for _, s := range p.resolve(c, store.Contradicting, k, k.Evidence) {
			if !c.EditedAt.IsZero() && !s.time.After(c.EditedAt) {
				p.drop(k, "the person corrected the trait after memory %s", s.memory)
				continue
			}
			against[c.ID][s.memory] = s
		}
	}
	for _, id := range order {
		p.contradict(p.byID[id], inOrder(against[id]), reasons[id])
	}
}

func (p *plan) contradict(c *change, supports []support, reason string) {
	n := len(supports)
	if n == 0 {
		return
	}
	p.count(c, store.Contradicting, supports, len(c.Events)+1)
	p.event(c, lifecycle.Event{Kind: lifecycle.Contradicted, At: p.now, Factor: lifecycle.Contradiction(n), Count: n}, n, shortened(reason), nil)
	p.follow(c)
	if c.State.Stage == lifecycle.Trend || c.State.Stage == lifecycle.Dissolved || !c.EditedAt.IsZero() {
		return // the window decides, or the person did
	}
	if lifecycle.ReviewDue(c.supporting+len(c.gained), c.contradicting+n, n) && c.ReviewDueAt.IsZero() {
		c.ReviewDueAt = p.now
		p.reviews++
	}
}

func shortened(s string) string {
	if r := []rune(s); len(r) > maxContent {
		return string(r[:maxContent]) + "…"
	}
	return s
}

// changes is what the plan writes.
func (p *plan) changes() store.Changes {
	c := store.Changes{UserID: p.user, Timezone: p.person.Timezone, Cycle: p.cycle, Clues: p.clues, Closed: p.closed}
	memories := map[uuid.UUID]bool{}
	for _, t := range p.order {
		c.Traits = append(c.Traits, t.TraitChange)
		for _, e := range t.Evidence {
			if e.Type != "trait" {
				memories[e.Memory] = true
			}
		}
	}
	for _, n := range p.clues {
		memories[n.Memory] = true
	}
	c.Memories = slices.SortedFunc(maps.Keys(memories), func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return c
}
