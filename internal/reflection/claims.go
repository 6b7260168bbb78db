package reflection

import (
	"cmp"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/traits"
)

// maxDepth is the maximum number of ancestors of a trait.
const maxDepth = 2

// Claims returns the memories that the proposals may turn into evidence, so that the caller can
// look up which have already counted. It may return more than needed. weighed contains the
// contradicted traits, with the number of supporting memories to count.
func (p *Plan) Claims(proposals reasoner.Proposals) (claims []traits.Claim, weighed map[uuid.UUID]int) {
	made := map[traits.Claim]bool{}
	claim := func(c *change, direction string, s support) {
		for range maxDepth + 1 {
			if c == nil {
				return
			}
			k := traits.Claim{Trait: c.ID, Direction: direction, Memory: s.memory, Type: s.memoryType,
				Session: s.session}
			if !made[k] {
				made[k] = true
				claims = append(claims, k)
			}
			if direction == traits.Contradicting {
				return
			}
			c = p.byID[c.Parent] // support for a trait also supports its parents
		}
	}
	given := func(c *change, direction string, evidence []reasoner.Support) {
		for _, g := range evidence {
			if s, ok := p.known[g.Memory]; ok {
				claim(c, direction, s)
			}
		}
	}
	for _, k := range proposals.Patterns {
		key, content := Named(k.Key, k.Content)
		c := p.find(key, content)
		given(c, traits.Supporting, k.Evidence)
		for _, s := range p.noted[key] {
			claim(c, traits.Supporting, s)
		}
	}
	for _, r := range proposals.Reinforcements {
		given(p.byID[r.Trait], traits.Supporting, r.Evidence)
	}
	for _, k := range proposals.Clusters {
		c := p.find(Named(k.Key, k.Content))
		for _, id := range k.Members {
			if m := p.byID[id]; m != nil {
				claim(c, traits.Supporting, asEvidence(m))
			}
		}
	}
	weighed = map[uuid.UUID]int{}
	for _, k := range proposals.Contradictions {
		if c := cmp.Or(p.byID[k.Trait], p.byKey[PatternKey(k.Key, "")]); c != nil {
			given(c, traits.Contradicting, k.Evidence)
			weighed[c.ID] += len(k.Evidence)
		}
	}
	for id, n := range weighed {
		weighed[id] = enough(p.Policies, p.byID[id].State.Contradictions+n)
	}
	return claims, weighed
}

// enough returns a number of supporting memories with which no review is due. More need not be
// counted.
func enough(policies *lifecycle.Policies, contradicting int) int {
	n := 2 * contradicting
	for policies.ReviewDue(n, contradicting, 1) {
		n += contradicting/3 + 1
	}
	return n
}

// Know adds what the caller found about the claims.
func (p *Plan) Know(seen map[uuid.UUID]*traits.EvidenceSeen) {
	for id, e := range seen {
		c := p.byID[id]
		for _, session := range e.Sessions {
			c.seen.Add(session, "")
		}
		c.counted, c.supporting = e.Counted, e.Supporting
	}
}
