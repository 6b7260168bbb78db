package reflection

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/sensitive"
	"github.com/oxbow-memory/oxbow/internal/traits"
)

// pattern is an admitted proposal, merged with others for the same pattern.
type pattern struct {
	reasoner.Pattern
	key, content string
	there        *change // existing trait; nil: none
}

// patterns turns proposed patterns into traits, support or clues.
func (p *Plan) patterns(proposed []reasoner.Pattern) {
	for _, k := range p.merged(proposed) {
		switch {
		case k.there == nil:
			p.newTrait(k)
		case p.Policies.StageAt(k.there.State, p.Now) == lifecycle.Candidate && k.Tentative:
			p.note(k.key, k.content, p.resolve(k.there, traits.Supporting, k.Pattern, k.Evidence))
		case p.Policies.StageAt(k.there.State, p.Now) != lifecycle.Dissolved:
			if p.mayInfer(k.there, k.Pattern) {
				p.speak(k.there, p.evidence(k), "")
				p.close(k.key)
			}
		case k.there.Rejected:
			p.drop(k.Pattern, "the person dissolved it")
		case k.Tentative:
			p.note(k.key, k.content, p.resolve(k.there, traits.Supporting, k.Pattern, k.Evidence))
		default:
			p.revive(k.there, p.evidence(k), k.key)
		}
	}
}

// merged returns the admitted patterns, merging those with the same key, wording or trait. The
// first wording wins.
func (p *Plan) merged(proposed []reasoner.Pattern) []*pattern {
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

// admit validates the key and wording of a new trait. Traits that the person deleted or forgot are
// refused.
func (p *Plan) admit(proposal any, givenKey, says string) (key, content string, ok bool) {
	key, content = Named(givenKey, says)
	if p.Refused[key] || p.Refused[content] {
		p.dropUnsaid(proposal, "the person deleted or forgot such a trait")
		return "", "", false
	}
	if _, err := wording(content); err != nil {
		p.drop(proposal, "%s", err)
		return "", "", false
	}
	if category, hit := sensitive.Category(key); hit {
		p.drop(proposal, "nothing is inferred about %s", category)
		return "", "", false
	}
	return key, content, true
}

// mayInfer reports whether inference may use a trait. It drops the proposal if the trait is
// sensitive, as an edited or imported one may be.
func (p *Plan) mayInfer(c *change, proposal any) bool {
	category, hit := sensitive.Category(c.Content)
	if hit {
		p.drop(proposal, "nothing is inferred about %s", category)
	}
	return !hit
}

// evidence returns the support for a pattern and its clues, without what has already counted for
// the trait.
func (p *Plan) evidence(k *pattern) []support {
	all := map[uuid.UUID]support{}
	for _, s := range p.noted[k.key] {
		if k.there == nil || !k.there.counted[traits.EvidenceKey{Memory: s.memory, Direction: traits.Supporting}] {
			all[s.memory] = s
		}
	}
	for _, s := range p.resolve(k.there, traits.Supporting, k.Pattern, k.Evidence) {
		add(all, s)
	}
	return inOrder(all)
}

// newTrait creates a trait from a pattern and its clues, or records clues if the evidence is not
// sufficient.
func (p *Plan) newTrait(k *pattern) {
	supports := p.evidence(k)
	if len(supports) == 0 {
		p.drop(k.Pattern, "it has no evidence")
		return
	}
	sessions := map[string]bool{}
	for _, s := range supports {
		sessions[s.session] = true
	}
	span := supports[len(supports)-1].time.Sub(supports[0].time)
	e, ok := p.Policies.NewPattern(p.Now, len(supports), len(sessions), span, k.Emotional)
	if !ok || k.Tentative || !p.roomFor(e) {
		p.note(k.key, k.content, supports)
		return
	}
	c := p.fresh(k.key, k.content, cmp.Or(reasoner.KnownContext(k.Context), "general"), "reflection")
	p.count(c, traits.Supporting, supports, len(c.Events)+1)
	p.event(c, e, len(supports), "", nil)
	c.gained = supports
	p.close(k.key)
}

// Limits on a user's traits that begin with fewer than three memories and are not visible yet.
// Each costs a row, an embedding and possibly a job. Patterns beyond the limits stay clues.
// maxTrends is small because a person shows few new patterns within a window of 30 days.
// maxCandidates equals the number of traits that may be shown.
const (
	maxTrends     = 8
	maxCandidates = 40
)

// roomFor reports whether the user may have another trait created by e, and counts it.
func (p *Plan) roomFor(e lifecycle.Event) bool {
	count, limit := &p.Held.Candidates, maxCandidates
	switch {
	case e.Sets == 0:
		count, limit = &p.Held.Trends, maxTrends
	case p.Policies.StageOf(e.Sets) != lifecycle.Candidate:
		return true
	}
	if *count >= limit {
		return false
	}
	*count++
	return true
}

// close records that the clues of a key have become evidence.
func (p *Plan) close(key string) {
	if len(p.noted[key])+len(p.denied[key]) > 0 {
		p.closed = append(p.closed, key)
	}
}

// fresh returns a new trait.
func (p *Plan) fresh(key, content, context, derived string) *change {
	c := &change{counted: map[traits.EvidenceKey]bool{}, Change: traits.Change{New: true, Derived: derived,
		Trait: traits.Trait{ID: uuid.New(), Key: key, Content: content, Context: context}}}
	p.index(c)
	return c
}

// note records clues for a pattern that is not a trait yet.
func (p *Plan) note(key, content string, supports []support) {
	noted := map[uuid.UUID]bool{}
	for _, s := range p.noted[key] {
		noted[s.memory] = true
	}
	for _, s := range supports {
		if noted[s.memory] {
			continue
		}
		p.clues = append(p.clues, traits.NotedClue{Key: key, Content: content, Type: s.memoryType, Memory: s.memory,
			Session: s.session, Context: s.context, Stated: s.stated, ObservedAt: s.time})
	}
}
