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

// pattern is a proposed one that may be followed, with all that the reasoner said of it.
type pattern struct {
	reasoner.Pattern
	key, content string
	there        *change // the trait that says so already
}

// patterns makes traits, or clues, of what recurs.
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

// merged returns what may be followed, each pattern once: the same key, the same words or the same trait is the same
// pattern. Its first wording holds.
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

// admit checks what a new trait is to say and to be called. What the person deleted or forgot is not made again.
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

// mayInfer refuses to strengthen what an import or a person's own words say about a sensitive matter.
func (p *Plan) mayInfer(c *change, proposal any) bool {
	category, hit := sensitive.Category(c.Content)
	if hit {
		p.drop(proposal, "nothing is inferred about %s", category)
	}
	return !hit
}

// evidence is what a pattern brings together with what was noted for it, as far as it has not counted for the trait.
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

// newTrait weighs a pattern's evidence together with what was noted for it. Too little of it stays a clue.
func (p *Plan) newTrait(k *pattern) {
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
	e, ok := p.Policies.NewPattern(p.Now, len(supports), len(sessions), span, k.Emotional)
	if !ok || k.Tentative || !p.roomFor(e) {
		p.note(k.key, k.content, supports)
		return
	}
	c := p.fresh(k.key, k.content, cmp.Or(KnownContext(k.Context), "general"), "reflection")
	p.count(c, traits.Supporting, supports, len(c.Events)+1)
	p.event(c, e, len(supports), "", nil)
	c.gained = supports
	p.close(k.key)
}

// The traits of a user that are not visible yet and begin of fewer than three memories. Each has a row, an
// embedding and a job that waits, whoever proposes them, so there is an end; what exceeds it stays a clue. In the
// 30 days of a window little is new to a person, and as many candidates may wait as traits may be shown.
const (
	maxTrends     = 8
	maxCandidates = 40
)

// roomFor reports whether the user may have one more trait that begins with an event, and takes the place.
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

// close says that what was noted under a key has become evidence.
func (p *Plan) close(key string) {
	if len(p.noted[key])+len(p.denied[key]) > 0 {
		p.closed = append(p.closed, key)
	}
}

// fresh is a trait that is not there yet.
func (p *Plan) fresh(key, content, context, derived string) *change {
	c := &change{counted: map[traits.EvidenceKey]bool{}, Change: traits.Change{New: true, Derived: derived,
		Trait: traits.Trait{ID: uuid.New(), Key: key, Content: content, Context: context}}}
	p.index(c)
	return c
}

// note remembers evidence for a pattern that is no trait yet.
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
