package reflection

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/sensitive"
	"github.com/oxbow-memory/oxbow/internal/traits"
)

// inferParents passes the support that traits of a subtype gained on to their parents, as
// inferred.
func (p *Plan) inferParents(from lifecycle.Subtype) {
	for _, c := range p.order {
		parent := p.byID[c.Parent]
		if c.State.Subtype != from || parent == nil || len(c.gained) == 0 ||
			p.Policies.StageAt(parent.State, p.Now) == lifecycle.Dissolved {
			continue
		}
		if _, hit := sensitive.Category(parent.Content); hit {
			continue
		}
		var supports []support
		for _, s := range c.gained {
			if s.inferred = true; !parent.counted[traits.EvidenceKey{Memory: s.memory, Direction: traits.Supporting}] {
				supports = append(supports, s)
			}
		}
		p.speak(parent, supports, "by way of: "+c.Content)
	}
}

// cluster creates a more abstract trait from several traits, or adds them to an existing one.
func (p *Plan) cluster(k reasoner.Cluster) {
	key, content, ok := p.admit(k, k.Key, k.Content)
	if !ok {
		return
	}
	parent := p.find(key, content)
	if parent != nil && parent.State.Subtype != k.Subtype {
		p.drop(k, "trait %s already has this wording and is a %s", parent.ID, parent.State.Subtype)
		return
	}
	members := p.members(k, parent)
	switch {
	case parent == nil && len(members) < 2:
		p.drop(k, "fewer than two members are confident enough")
	case len(members) == 0: // they are already linked
	case parent == nil:
		p.promote(k, key, content, members)
	case p.Policies.StageAt(parent.State, p.Now) != lifecycle.Dissolved:
		p.join(parent, members)
	case parent.Rejected:
		p.drop(k, "the person dissolved it")
	case p.revive(parent, p.notCounted(parent, members), key):
		p.link(parent, members)
	}
}

// members returns the traits of a cluster that may become part of its trait.
func (p *Plan) members(k reasoner.Cluster, parent *change) []*change {
	var members []*change
	for _, id := range k.Members {
		c := p.live(id, k)
		switch {
		case c == nil || slices.Contains(members, c):
		case parent != nil && c.Parent == parent.ID: // already linked
		case c.Parent != uuid.Nil && !p.gone(c.Parent):
			p.drop(k, "trait %s is part of another one", id)
		case !p.below(c, k.Subtype):
			p.drop(k, "trait %s, a %s %s, is not confident enough or has the wrong subtype for a %s", id,
				p.Policies.StageAt(c.State, p.Now), c.State.Subtype, k.Subtype)
		default:
			members = append(members, c)
		}
	}
	return members
}

// gone reports whether a trait was shown and is dissolved.
func (p *Plan) gone(id uuid.UUID) bool {
	c := p.byID[id]
	return c != nil && p.Policies.StageAt(c.State, p.Now) == lifecycle.Dissolved
}

// promote creates a trait from members if they are confident enough.
func (p *Plan) promote(k reasoner.Cluster, key, content string, members []*change) {
	grades := make([]lifecycle.Member, len(members))
	for i, c := range members {
		grades[i] = p.member(c)
	}
	e, context, ok := p.Policies.Promote(p.Now, k.Subtype, grades)
	if !ok {
		p.drop(k, "fewer than two members are confident enough")
		return
	}
	parent := p.fresh(key, content, context, "promotion")
	for _, c := range members {
		p.observe(parent, support{time: cmp.Or(c.FirstObserved, p.Now)})
		for _, inContext := range append([]string{c.Context}, c.Contexts...) {
			p.observe(parent, support{time: c.LastReinforced, context: inContext})
		}
	}
	parent.Context = context
	if contexts := p.contextual(k, members); len(contexts) > 1 {
		parent.Context = "contextual"
		parent.Tendencies, _ = json.Marshal(contexts) // numbers and text can always be encoded
	}
	p.count(parent, traits.Supporting, p.notCounted(parent, members), 1)
	p.event(parent, e, len(members), "", nil)
	p.link(parent, members)
}

// contextual returns what a cluster says of each context, with the confidence of the members that show there.
func (p *Plan) contextual(k reasoner.Cluster, members []*change) map[string]tendency {
	found := map[string]tendency{}
	for context, says := range k.Contexts {
		content, err := wording(says)
		if err != nil || reasoner.KnownContext(context) == "" {
			p.drop(k, "the tendency in the context %q is invalid", context)
			return nil
		}
		for _, c := range members {
			if t := found[context]; c.Context == context && c.State.Confidence > t.Confidence {
				found[context] = tendency{content, c.State.Confidence}
			}
		}
	}
	return found
}

// below reports whether a trait is confident enough to become part of a trait of the given
// subtype.
func (p *Plan) below(c *change, parent lifecycle.Subtype) bool {
	_, _, ok := p.Policies.Promote(p.Now, parent, []lifecycle.Member{p.member(c), p.member(c)})
	return ok
}

func (p *Plan) member(c *change) lifecycle.Member {
	return lifecycle.Member{Subtype: c.State.Subtype, Stage: p.Policies.StageAt(c.State, p.Now),
		Confidence: c.State.Confidence, Context: c.Context}
}

func (p *Plan) join(parent *change, members []*change) {
	p.speak(parent, p.notCounted(parent, members), "another trait shows the same")
	p.link(parent, members)
}

// notCounted returns the members that have not supported the parent yet, as its evidence.
func (p *Plan) notCounted(parent *change, members []*change) []support {
	var supports []support
	for _, c := range members {
		if !parent.counted[traits.EvidenceKey{Memory: c.ID, Direction: traits.Supporting}] {
			supports = append(supports, asEvidence(c))
		}
	}
	return supports
}

// asEvidence returns a trait as support for a more abstract one.
func asEvidence(c *change) support {
	return support{memoryType: "trait", memory: c.ID, time: latest(c.LastReinforced, c.FirstObserved),
		session: "trait " + c.ID.String(), context: c.Context}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (p *Plan) link(parent *change, members []*change) {
	for _, c := range members {
		c.Parent = parent.ID
		e := lifecycle.Event{Kind: lifecycle.Promoted, At: p.Now}
		p.event(c, e, 0, "part of: "+parent.Content, map[string]any{"parent": parent.ID})
	}
}
