package reflection

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/sensitive"
	"github.com/oxbow-memory/oxbow/internal/traits"
)

// speak collects support for a trait until flush, because a cycle reinforces a trait once.
func (p *Plan) speak(c *change, supports []support, reason string) {
	if len(supports) == 0 {
		return
	}
	if c.pending == nil {
		c.pending = map[uuid.UUID]support{}
		c.reason = reason
		p.spoken = append(p.spoken, c)
	}
	for _, s := range supports {
		add(c.pending, s)
	}
}

// flush reinforces the traits of a subtype with the collected support. Each session counts once,
// with its best quality.
func (p *Plan) flush(subtype lifecycle.Subtype) {
	for _, c := range p.spoken {
		if c.State.Subtype != subtype || c.pending == nil {
			continue
		}
		supports := inOrder(c.pending)
		c.pending = nil
		c.gained = append(c.gained, supports...)
		if c.New { // the support belongs to the Created event of this cycle
			c.Events[0].Memories += len(supports)
			p.count(c, traits.Supporting, supports, 1)
			continue
		}
		best := p.count(c, traits.Supporting, supports, len(c.Events)+1)
		e := lifecycle.Event{Kind: lifecycle.Reinforced, At: p.Now, Factor: p.Policies.Reinforcement(best)}
		p.event(c, e, len(supports), c.reason, nil)
		p.follow(c)
	}
}

func (p *Plan) reinforcement(r reasoner.Reinforcement) {
	if c := p.live(r.Trait, r); c != nil {
		p.speak(c, p.resolve(c, traits.Supporting, r, r.Evidence), "")
	}
}

// live returns a trait that was shown, is not dissolved and is not sensitive. Otherwise it drops
// the proposal and returns nil.
func (p *Plan) live(id uuid.UUID, proposal any) *change {
	c := p.byID[id]
	switch {
	case c == nil:
		p.drop(proposal, "trait %s is not among those that were shown", id)
	case p.Policies.StageAt(c.State, p.Now) == lifecycle.Dissolved:
		p.drop(proposal, "trait %s is dissolved", id)
	case p.mayInfer(c, proposal):
		return c
	}
	return nil
}

// revive revives a dissolved trait. It reports false if there is no new evidence.
func (p *Plan) revive(c *change, supports []support, key string) bool {
	if len(supports) == 0 {
		return false
	}
	if e, ok := p.Policies.Follow(c.State, p.Now); ok { // it dissolved over time and has no event for that yet
		p.event(c, e, 0, "", nil)
	}
	p.count(c, traits.Supporting, supports, len(c.Events)+1)
	p.event(c, p.Policies.Revive(p.Now), len(supports), "new evidence", nil)
	c.gained = append(c.gained, supports...)
	p.close(key)
	return true
}

// contradictions applies contradictions, each trait once per cycle.
func (p *Plan) contradictions(proposals []reasoner.Contradiction) {
	against := map[uuid.UUID]map[uuid.UUID]support{}
	reasons := map[uuid.UUID]string{}
	var order []uuid.UUID
	for _, k := range proposals {
		c := p.opposed(k)
		if c == nil {
			continue
		}
		if against[c.ID] == nil {
			against[c.ID], reasons[c.ID] = map[uuid.UUID]support{}, k.Reason
			order = append(order, c.ID)
		}
		for _, s := range p.resolve(c, traits.Contradicting, k, k.Evidence) {
			if !c.EditedAt.IsZero() && !s.time.After(c.EditedAt) {
				p.drop(k, "the person corrected the trait after memory %s", s.memory)
				continue
			}
			add(against[c.ID], s)
		}
	}
	for _, c := range p.order {
		for _, s := range p.deniedBefore(c) {
			if against[c.ID] == nil {
				against[c.ID] = map[uuid.UUID]support{}
				order = append(order, c.ID)
			}
			add(against[c.ID], s)
		}
	}
	for _, id := range order {
		p.contradict(p.byID[id], inOrder(against[id]), reasons[id])
	}
}

// opposed returns the contradicted trait. If the pattern is not a trait yet, it records a clue and
// returns nil.
func (p *Plan) opposed(k reasoner.Contradiction) *change {
	if k.Trait != uuid.Nil || k.Key == "" {
		return p.live(k.Trait, k)
	}
	key := PatternKey(k.Key, "")
	c := p.byKey[key]
	if c == nil {
		if _, hit := sensitive.Category(key); !hit && !p.Refused[key] {
			p.noteAgainst(key, k)
		}
		return nil
	}
	if p.Policies.StageAt(c.State, p.Now) == lifecycle.Dissolved || !p.mayInfer(c, k) {
		return nil
	}
	return c
}

func (p *Plan) noteAgainst(key string, k reasoner.Contradiction) {
	known := map[uuid.UUID]bool{}
	for _, s := range slices.Concat(p.noted[key], p.denied[key]) {
		known[s.memory] = true
	}
	for _, n := range p.clues {
		known[n.Memory] = known[n.Memory] || n.Key == key
	}
	for _, s := range p.resolve(nil, traits.Contradicting, k, k.Evidence) {
		if !known[s.memory] {
			p.clues = append(p.clues, traits.NotedClue{Key: key, Content: cmp.Or(Reason(k.Reason), key), Against: true,
				Type: s.memoryType, Memory: s.memory, Session: s.session, Context: s.context, ObservedAt: s.time})
		}
	}
}

// deniedBefore returns the clues that contradict a new trait and are later than its first support.
func (p *Plan) deniedBefore(c *change) []support {
	if !c.New || len(c.gained) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.denied[c.Key]), func(s support) bool {
		return !s.time.After(c.gained[0].time)
	})
}

func (p *Plan) contradict(c *change, supports []support, reason string) {
	n := len(supports)
	if n == 0 {
		return
	}
	p.count(c, traits.Contradicting, supports, len(c.Events)+1)
	e := lifecycle.Event{Kind: lifecycle.Contradicted, At: p.Now, Factor: p.Policies.Contradiction(n), Count: n}
	p.event(c, e, n, Reason(reason), nil)
	p.follow(c)
	if c.State.Stage == lifecycle.Trend || c.State.Stage == lifecycle.Dissolved || !c.EditedAt.IsZero() {
		return // the window or the person decides
	}
	if p.Policies.ReviewDue(c.supporting+len(c.gained), c.State.Contradictions, n) && c.ReviewDueAt.IsZero() {
		c.ReviewDueAt = p.Now
		p.Reviews++
	}
}

// Changes returns what the plan writes.
func (p *Plan) Changes() traits.Changes {
	c := traits.Changes{UserID: p.User, Timezone: p.Person.Timezone, Cycle: p.Cycle, Now: p.Now,
		Clues: p.clues, Closed: p.closed}
	memories := map[uuid.UUID]bool{}
	for _, m := range p.Batch {
		memories[m.ID] = true
	}
	for _, t := range p.order {
		c.Traits = append(c.Traits, t.Change)
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
