package reflection

import (
	"cmp"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/traits"
)

// maxDepth is how many levels of parents there are above a trait.
const maxDepth = 2

// Claims lists which memories the proposals may bring to speak for or against which traits, so that it can be
// looked up what of it has counted before. It lists rather too much than too little. weighed has the traits that
// are contradicted, with how much of what speaks for them is to be counted.
func (p *Plan) Claims(proposals reasoner.Proposals) (claims []traits.Claim, weighed map[uuid.UUID]int) {
	made := map[traits.Claim]bool{}
	claim := func(c *change, direction string, s support) {
		for range maxDepth + 1 {
			if c == nil {
				return
			}
			k := traits.Claim{Trait: c.ID, Direction: direction, Memory: s.memory, Type: s.memoryType, Session: s.session}
			if !made[k] {
				made[k] = true
				claims = append(claims, k)
			}
			if direction == traits.Contradicting {
				return
			}
			c = p.byID[c.Parent] // what speaks for a trait speaks for its parents
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

// enough is how much has to speak for a trait for contradictions not to weigh: more need not be counted.
func enough(policies *lifecycle.Policies, contradicting int) int {
	n := 2 * contradicting
	for policies.ReviewDue(n, contradicting, 1) {
		n += contradicting/3 + 1
	}
	return n
}

// Know takes in what was found about the claims.
func (p *Plan) Know(seen map[uuid.UUID]*traits.EvidenceSeen) {
	for id, e := range seen {
		c := p.byID[id]
		for _, session := range e.Sessions {
			c.seen.Add(session, "")
		}
		c.counted, c.supporting = e.Counted, e.Supporting
	}
}
