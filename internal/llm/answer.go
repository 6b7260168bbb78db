package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/llm/answer"
	"github.com/oxbow-memory/oxbow/internal/llm/wording"
	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

const (
	maxEntries  = 50  // in a list of proposals
	maxEvidence = 200 // for a proposal
)

// decode decodes an answer into a pointer to a struct. The answer must be one JSON object with the required members and no
// unknown ones; those in without are not required. It skips a fence around the object and any thinking before it.
func decode(answer string, into any, without ...string) error {
	answer = strings.TrimSpace(answer)
	// Some servers put the first tag of the thoughts into the prompt, so that the answer has only the second.
	if thought, rest, ok := strings.Cut(answer, "</think>"); ok && !strings.HasPrefix(thought, "{") &&
		!strings.HasPrefix(thought, "```") {
		answer = strings.TrimSpace(rest)
	}
	if strings.HasPrefix(answer, "```") {
		_, answer, _ = strings.Cut(answer, "\n")
		answer = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(answer), "```"))
	}
	if !strings.HasPrefix(answer, "{") {
		return problemf("the answer is not a JSON object")
	}
	decoder := json.NewDecoder(strings.NewReader(answer))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return problemf("the answer does not fit the schema: %s", misfit(err))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return problemf("something follows after the JSON object")
	}
	read := reflect.ValueOf(into).Elem()
	for field, value := range read.Fields() {
		none, ok := field.Tag.Lookup("none")
		if name := field.Tag.Get("json"); ok && value.IsNil() && !slices.Contains(without, name) {
			return problemf("the member %q is missing: %s", name, none)
		}
	}
	return nil
}

// misfit describes why an answer could not be decoded. It omits values and the names of unknown members, because errors
// are stored, and these may quote memories.
func misfit(err error) string {
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		value, _, _ := strings.Cut(kind.Value, " ") // a number that is too large is followed by its digits
		return fmt.Sprintf("the member %q must not be a JSON %s", kind.Field, value)
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("%s, after %d bytes", syntax, syntax.Offset)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends too early"
	}
	return "it has a member that the schema does not have"
}

// notes lists what was dropped from an answer.
type notes struct {
	dropped []reasoner.Dropped
}

func (n *notes) drop(what any, reason string, args ...any) {
	text, err := marshal(what)
	if err != nil {
		text = fmt.Append(nil, what)
	}
	n.dropped = append(n.dropped, reasoner.Dropped{What: oneline.Shorten(string(text), 500),
		Reason: fmt.Sprintf(reason, args...)})
}

// resolving resolves references and notes what it drops.
type resolving struct {
	*shown
	notes
}

// resolve turns an answer into proposals.
func (s *shown) resolve(a answer.Reflection) (p reasoner.Proposals) {
	r := &resolving{shown: s}
	for _, a := range bounded(&r.notes, a.Patterns) {
		if pattern, ok := r.pattern(a); ok {
			p.Patterns = append(p.Patterns, pattern)
		}
	}
	for _, a := range bounded(&r.notes, a.Reinforcements) {
		if trait, evidence, ok := r.about(a.Trait, a.Evidence, a); ok {
			p.Reinforcements = append(p.Reinforcements, reasoner.Reinforcement{Trait: trait, Evidence: evidence})
		}
	}
	for _, a := range bounded(&r.notes, a.Contradictions) {
		if trait, evidence, ok := r.about(a.Trait, a.Evidence, a); ok {
			p.Contradictions = append(p.Contradictions, reasoner.Contradiction{Trait: trait, Evidence: evidence,
				Reason: remark(a.Reason)})
		}
	}
	for _, a := range bounded(&r.notes, a.Clusters) {
		if cluster, ok := r.cluster(a); ok {
			p.Clusters = append(p.Clusters, cluster)
		}
	}
	p.Dropped = r.dropped
	return p
}

// bounded cuts a list to maxEntries. It notes the first dropped entries one by one, and the rest as
// a number.
func bounded[T any](n *notes, list []T) []T {
	surplus := list[min(len(list), maxEntries):]
	for _, beyond := range surplus[:min(len(surplus), maxEntries)] {
		n.drop(beyond, "more than %d of them", maxEntries)
	}
	if more := len(surplus) - maxEntries; more > 0 {
		n.drop(fmt.Sprintf("%d further ones", more), "more than %d of them", maxEntries)
	}
	return list[:len(list)-len(surplus)]
}

func (r *resolving) pattern(a answer.Pattern) (p reasoner.Pattern, ok bool) {
	content, err := wording.Sentence(a.Content)
	if err != nil {
		r.drop(a, "%s", err)
		return p, false
	}
	key, known := r.clues[a.Clue]
	if !known && a.Clue != "" {
		r.drop(map[string]string{"clue": a.Clue, "content": content},
			"no clue %s was shown: the pattern counts as new", quote(a.Clue))
	}
	evidence := r.evidence(a.Evidence, content)
	if len(evidence) == 0 {
		r.drop(a, "none of its memories was shown")
		return p, false
	}
	return reasoner.Pattern{Key: key, Content: content, Context: r.context(a.Context, content), Emotional: a.Emotional,
		Tentative: a.Tentative, Evidence: evidence}, true
}

// about resolves the evidence about an existing trait.
func (r *resolving) about(
	ref string, given []answer.Evidence, what any,
) (trait uuid.UUID, evidence []reasoner.Support, ok bool) {
	trait, known := r.traits[ref]
	if !known {
		r.drop(what, "no trait %s was shown", quote(ref))
		return trait, nil, false
	}
	evidence = r.evidence(given, ref)
	if len(evidence) == 0 {
		r.drop(what, "none of its memories was shown")
	}
	return trait, evidence, len(evidence) > 0
}

// evidence resolves the memories given as evidence, each once.
func (r *resolving) evidence(given []answer.Evidence, about string) []reasoner.Support {
	type dropped struct {
		answer.Evidence
		For string `json:"for"`
	}
	var supports []reasoner.Support
	for i, g := range given {
		if i == maxEvidence {
			r.drop(dropped{g, about}, "%d memories beyond the first %d", len(given)-maxEvidence, maxEvidence)
			break
		}
		id, known := r.memories[g.Memory]
		if !known {
			r.drop(dropped{g, about}, "no memory %s was shown", quote(g.Memory))
			continue
		}
		if r.suspect[id] {
			r.drop(dropped{g, about}, "the memory reads as an instruction to the reasoner")
			continue
		}
		if at := slices.IndexFunc(supports, func(s reasoner.Support) bool { return s.Memory == id }); at >= 0 {
			supports[at].Stated = supports[at].Stated || g.Stated
			continue
		}
		supports = append(supports, reasoner.Support{Memory: id, Stated: g.Stated, Context: r.context(g.Context, about)})
	}
	return supports
}

// context returns a known context, or none.
func (r *resolving) context(given, about string) string {
	known := reasoner.KnownContext(given)
	if known == "" && given != "" {
		r.drop(map[string]string{"context": short(given), "for": about}, "unknown context")
	}
	return known
}

func (r *resolving) cluster(a answer.Cluster) (c reasoner.Cluster, ok bool) {
	content, err := wording.Sentence(a.Content)
	if err != nil {
		r.drop(a, "%s", err)
		return c, false
	}
	c = reasoner.Cluster{Subtype: lifecycle.Subtype(a.Level), Content: content}
	if c.Subtype != lifecycle.Preference && c.Subtype != lifecycle.CoreTrait {
		r.drop(a, "unknown level: it must be preference or core")
		return c, false
	}
	if more := len(a.Traits) - maxTraits; more > 0 {
		r.drop(map[string]string{"traits": fmt.Sprintf("%d further ones", more), "for": content}, "more than %d of them", maxTraits)
	}
	for _, ref := range a.Traits[:min(len(a.Traits), maxTraits)] {
		id, known := r.traits[ref]
		if !known {
			r.drop(map[string]string{"trait": ref, "for": content}, "no trait %s was shown", quote(ref))
		} else if !slices.Contains(c.Members, id) {
			c.Members = append(c.Members, id)
		}
	}
	if len(c.Members) == 0 {
		r.drop(a, "it names no trait that was shown")
		return c, false
	}
	return c, true
}
