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

// pattern is a proposed one that may be followed, with all that the reasoner said of it.
type pattern struct {
	reasoner.Pattern
	key, content string
	there        *change // the trait that says so already
}

// patterns makes traits, or clues, of what recurs.
func (p *plan) patterns(proposed []reasoner.Pattern) {
	for _, k := range p.merged(proposed) {
		switch {
		case k.there == nil:
			p.newTrait(k)
		case k.there.State.StageAt(p.now) != lifecycle.Dissolved:
			if p.mayInfer(k.there, k.Pattern) {
				p.speak(k.there, p.evidence(k), "")
				p.close(k.key)
			}
		case !k.there.EditedAt.IsZero():
			p.drop(k.Pattern, "the person dissolved it")
		case k.Tentative:
			p.note(k.key, k.content, p.resolve(k.there, store.Supporting, k.Pattern, k.Evidence))
		default:
			p.revive(k.there, p.evidence(k), k.key)
		}
	}
}

// merged returns what may be followed, each pattern once: the same key, the same words or the same trait is the same
// pattern. Its first wording holds.
func (p *plan) merged(proposed []reasoner.Pattern) []*pattern {
	var all []*pattern
	byKey, byText, byTrait := map[string]*pattern{}, map[string]*pattern{}, map[*change]*pattern{}
	for _, k := range proposed {
		key, content, ok := p.admit(k, k.Key, k.Content)
		if !ok {
			continue
		}
		there := p.find(key, content)
		same := cmp.Or(byKey[key], byText[normalized(content)])
		if there != nil {
			same = cmp.Or(same, byTrait[there])
		}
		if same != nil {
			same.Evidence = slices.Concat(same.Evidence, k.Evidence)
			same.Tentative = same.Tentative && k.Tentative
			same.Emotional = same.Emotional || k.Emotional
			continue
		}
		k.Evidence = slices.Clone(k.Evidence)
		same = &pattern{Pattern: k, key: key, content: content, there: there}
		byKey[key], byText[normalized(content)], byTrait[there] = same, same, same
		all = append(all, same)
	}
	return all
}

// admit checks what a new trait is to say and to be called. What the person deleted or forgot is not made again.
func (p *plan) admit(proposal any, givenKey, says string) (key, content string, ok bool) {
	key, content = named(givenKey, says)
	if _, err := wording(content); err != nil {
		p.drop(proposal, "%s", err)
		return "", "", false
	}
	if category, hit := sensitive.Category(key); hit {
		p.drop(proposal, "nothing is inferred about %s", category)
		return "", "", false
	}
	if p.refused[key] || p.refused[content] {
		p.drop(proposal, "the person deleted or forgot such a trait")
		return "", "", false
	}
	return key, content, true
}

// mayInfer refuses to strengthen what an import or a person's own words say about a sensitive matter.
func (p *plan) mayInfer(c *change, proposal any) bool {
	category, hit := sensitive.Category(c.Content)
	if hit {
		p.drop(proposal, "nothing is inferred about %s", category)
	}
	return !hit
}

// evidence is what a pattern brings together with what was noted for it, as far as it has not counted for the trait.
func (p *plan) evidence(k *pattern) []support {
	all := map[uuid.UUID]support{}
	for _, s := range p.noted[k.key] {
		if k.there == nil || !k.there.counted[store.EvidenceKey{Memory: s.memory, Direction: store.Supporting}] {
			all[s.memory] = s
		}
	}
	for _, s := range p.resolve(k.there, store.Supporting, k.Pattern, k.Evidence) {
		before := all[s.memory]
		s.stated, s.context = s.stated || before.stated, cmp.Or(s.context, before.context)
		all[s.memory] = s
	}
	return inOrder(all)
}

// newTrait weighs a pattern's evidence together with what was noted for it. Too little of it stays a clue.
func (p *plan) newTrait(k *pattern) {
	supports := p.evidence(k)
	if len(supports) == 0 {
		p.drop(k.Pattern, "nothing speaks for it")
		return
	}
	sessions := map[string]bool{}
	for _, s := range supports {
		sessions[s.session] = true
	}
	span := supports[len(supports)-1].time.Sub(supports[0].time)
	e, ok := lifecycle.NewPattern(p.now, len(supports), len(sessions), span, k.Emotional)
	if !ok || k.Tentative {
		p.note(k.key, k.content, supports)
		return
	}
	c := p.fresh(k.key, k.content, cmp.Or(knownContext(k.Context), "general"), "reflection")
	p.count(c, store.Supporting, supports, len(c.Events)+1)
	p.event(c, e, len(supports), "", nil)
	c.gained = supports
	p.close(k.key)
}

// close says that what was noted under a key has become evidence.
func (p *plan) close(key string) {
	if len(p.noted[key]) > 0 {
		p.closed = append(p.closed, key)
	}
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
	noted := map[uuid.UUID]bool{}
	for _, s := range p.noted[key] {
		noted[s.memory] = true
	}
	for _, s := range supports {
		if noted[s.memory] {
			continue
		}
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
	if c := p.live(r.Trait, r); c != nil {
		p.speak(c, p.resolve(c, store.Supporting, r, r.Evidence), "")
	}
}

// live returns a trait that was shown, is not dissolved and may be inferred; otherwise the proposal is dropped.
func (p *plan) live(id uuid.UUID, proposal any) *change {
	c := p.byID[id]
	switch {
	case c == nil:
		p.drop(proposal, "trait %s is not among those that were shown", id)
	case c.State.StageAt(p.now) == lifecycle.Dissolved:
		p.drop(proposal, "trait %s is dissolved", id)
	case p.mayInfer(c, proposal):
		return c
	}
	return nil
}

// revive brings a dissolved trait back, for new evidence.
func (p *plan) revive(c *change, supports []support, key string) bool {
	if len(supports) == 0 {
		return false
	}
	if e, ok := c.State.Follow(p.now); ok { // it dissolved by itself, and nobody noted that yet
		p.event(c, e, 0, "", nil)
	}
	p.count(c, store.Supporting, supports, len(c.Events)+1)
	p.event(c, lifecycle.Revive(p.now), len(supports), "new evidence", nil)
	c.gained = append(c.gained, supports...)
	p.close(key)
	return true
}

// inferParents lets what spoke for traits of a subtype speak, by inference, for those that they are part of.
func (p *plan) inferParents(from lifecycle.Subtype) {
	for _, c := range p.order {
		parent := p.byID[c.Parent]
		if c.State.Subtype != from || parent == nil || len(c.gained) == 0 || parent.State.StageAt(p.now) == lifecycle.Dissolved {
			continue
		}
		if _, hit := sensitive.Category(parent.Content); hit {
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
	key, content, ok := p.admit(k, k.Key, k.Content)
	if !ok {
		return
	}
	parent := p.find(key, content)
	if parent != nil && parent.State.Subtype != k.Subtype {
		p.drop(k, "trait %s, which says so, is a %s", parent.ID, parent.State.Subtype)
		return
	}
	members := p.members(k, parent)
	switch {
	case parent == nil && len(members) < 2:
		p.drop(k, "it takes two or more that are sure enough")
	case len(members) == 0: // they belong together already
	case parent == nil:
		p.promote(k, key, content, members)
	case parent.State.StageAt(p.now) != lifecycle.Dissolved:
		p.join(parent, members)
	case !parent.EditedAt.IsZero():
		p.drop(k, "the person dissolved it")
	case p.revive(parent, p.notCounted(parent, members), key):
		p.link(parent, members)
	}
}

// members are those of a cluster's that may become part of its trait.
func (p *plan) members(k reasoner.Cluster, parent *change) []*change {
	var members []*change
	for _, id := range k.Members {
		c := p.live(id, k)
		switch {
		case c == nil || slices.Contains(members, c):
		case parent != nil && c.Parent == parent.ID: // it is
		case c.Parent != uuid.Nil && !p.gone(c.Parent):
			p.drop(k, "trait %s is part of another one", id)
		case !p.below(c, k.Subtype):
			p.drop(k, "trait %s, a %s %s, is not sure enough or not of the kind that makes a %s", id, c.State.StageAt(p.now), c.State.Subtype, k.Subtype)
		default:
			members = append(members, c)
		}
	}
	return members
}

// gone tells whether a trait was shown and is dissolved.
func (p *plan) gone(id uuid.UUID) bool {
	c := p.byID[id]
	return c != nil && c.State.StageAt(p.now) == lifecycle.Dissolved
}

// promote makes a trait of members that are sure enough.
func (p *plan) promote(k reasoner.Cluster, key, content string, members []*change) {
	grades := make([]lifecycle.Member, len(members))
	for i, c := range members {
		grades[i] = p.member(c)
	}
	e, context, ok := lifecycle.Promote(p.now, k.Subtype, grades)
	if !ok {
		p.drop(k, "it takes two or more that are sure enough")
		return
	}
	parent := p.fresh(key, content, context, "promotion")
	for _, c := range members {
		p.observe(parent, support{time: cmp.Or(c.FirstObserved, p.now)})
		for _, inContext := range append([]string{c.Context}, c.Contexts...) {
			p.observe(parent, support{time: c.LastReinforced, context: inContext})
		}
	}
	parent.Context = context
	p.count(parent, store.Supporting, p.notCounted(parent, members), 1)
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
	p.speak(parent, p.notCounted(parent, members), "another trait shows the same")
	p.link(parent, members)
}

// notCounted are the traits that have not spoken for a more abstract one yet, as its evidence.
func (p *plan) notCounted(parent *change, members []*change) []support {
	var supports []support
	for _, c := range members {
		if !parent.counted[store.EvidenceKey{Memory: c.ID, Direction: store.Supporting}] {
			supports = append(supports, asEvidence(c))
		}
	}
	return supports
}

// asEvidence lets a trait speak for a more abstract one.
func asEvidence(c *change) support {
	return support{memoryType: "trait", memory: c.ID, time: latest(c.LastReinforced, c.FirstObserved), session: "trait " + c.ID.String(), context: c.Context}
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
	if lifecycle.ReviewDue(c.supporting+len(c.gained), c.State.Contradictions, n) && c.ReviewDueAt.IsZero() {
		c.ReviewDueAt = p.now
		p.reviews++
	}
}

func shortened(s string) string { return store.Shorten(line(s), maxContent) }

// changes is what the plan writes.
func (p *plan) changes() store.Changes {
	c := store.Changes{UserID: p.user, Timezone: p.person.Timezone, Cycle: p.cycle, Clues: p.clues, Closed: p.closed}
	memories := map[uuid.UUID]bool{}
	for _, m := range p.batch {
		memories[m.ID] = true
	}
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
