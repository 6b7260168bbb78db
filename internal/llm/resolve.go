package llm

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/llm/answer"
	"github.com/oxbow-memory/oxbow/internal/llm/wording"
	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

const (
	maxSimilar = 10    // most similar memories of a conflict
	docketSize = 12000 // characters of candidates and memories in a prompt; a single conflict may exceed it
)

// docket is a group of conflicts in one prompt.
type docket struct {
	data       resolveData
	size       int            // characters
	place      map[string]int // index of a conflict among all
	candidates map[string]reasoner.Candidate
	shown      map[string][]string // references of a conflict's memories
	held       map[string]reasoner.Held
	refs       map[uuid.UUID]string
}

type resolveData struct {
	Now       string
	Conflicts []conflictShown
}

type conflictShown struct {
	Ref      string      `json:"ref"`
	Type     string      `json:"type"`
	Category string      `json:"category,omitempty"`
	Context  string      `json:"context,omitempty"`
	Speaker  string      `json:"speaker,omitempty"`
	Time     string      `json:"time,omitempty"`
	Negates  bool        `json:"negates,omitempty"`
	Text     string      `json:"text"`
	Similar  []heldShown `json:"similar"`
}

// dockets groups conflicts into prompts. It decides those that need no question.
func dockets(now time.Time, conflicts []reasoner.Conflict, resolutions []reasoner.Resolution) (all []*docket) {
	var d *docket
	for i, c := range conflicts {
		similar := slices.DeleteFunc(slices.Clone(c.Similar),
			func(h reasoner.Held) bool { return wording.Instructs(h.Content) })
		similar = similar[:min(len(similar), maxSimilar)]
		switch {
		case wording.Instructs(c.Candidate.Content):
			resolutions[i] = added("the candidate reads as an instruction, and changes no memory")
			continue
		case len(similar) == 0 && len(c.Similar) > 0:
			resolutions[i] = added("the memories that are like it read as instructions")
			continue
		case len(similar) == 0:
			resolutions[i] = added("no memory is like it")
			continue
		}
		size := len([]rune(oneline.Shorten(c.Candidate.Content, maxText)))
		for _, h := range similar {
			size += len([]rune(oneline.Shorten(h.Content, maxText)))
		}
		if d == nil || len(d.data.Conflicts) == maxEntries || d.size+size > docketSize {
			d = newDocket(now)
			all = append(all, d)
		}
		d.size += size
		d.add(i, c.Candidate, similar)
	}
	return all
}

func newDocket(now time.Time) *docket {
	return &docket{data: resolveData{Now: local(now)}, place: map[string]int{},
		candidates: map[string]reasoner.Candidate{},
		shown:      map[string][]string{}, held: map[string]reasoner.Held{}, refs: map[uuid.UUID]string{}}
}

// added returns the resolution that adds a candidate, for the given reason.
func added(reason string, args ...any) reasoner.Resolution {
	return reasoner.Resolution{Operation: reasoner.Add, Reason: fmt.Sprintf(reason, args...)}
}

func (d *docket) add(place int, c reasoner.Candidate, similar []reasoner.Held) {
	shown := conflictShown{Ref: fmt.Sprintf("c%d", len(d.data.Conflicts)+1), Type: c.Type,
		Category: string(c.Category), Context: c.Context,
		Speaker: oneline.Shorten(c.Speaker, maxName), Negates: c.Negates, Text: oneline.Shorten(c.Content,
			maxText), Similar: []heldShown{}}
	if !c.Time.IsZero() {
		shown.Time = local(c.Time)
	}
	for _, h := range similar {
		ref := d.refs[h.ID]
		if ref == "" { // a memory has the same reference in all conflicts
			ref = fmt.Sprintf("h%d", len(d.refs)+1)
			d.refs[h.ID], d.held[ref] = ref, h
		}
		d.shown[shown.Ref] = append(d.shown[shown.Ref], ref)
		shown.Similar = append(shown.Similar, showHeld(ref, h))
	}
	d.place[shown.Ref], d.candidates[shown.Ref] = place, c
	d.data.Conflicts = append(d.data.Conflicts, shown)
}

// decide enters an answer into resolutions. A candidate without a usable answer is added, with the
// reason. decide returns notes on entries for unknown or already answered conflicts.
func (d *docket) decide(a answer.Resolutions, resolutions []reasoner.Resolution) (refused notes) {
	for _, place := range d.place {
		resolutions[place] = added("no answer")
	}
	answered := map[string]bool{}
	var surplus []answer.Resolution
	for _, a := range a.Resolutions {
		if place, known := d.place[a.Conflict]; known && !answered[a.Conflict] {
			answered[a.Conflict] = true
			resolutions[place] = d.decided(a)
			continue
		}
		surplus = append(surplus, a)
	}
	for _, a := range surplus[:min(len(surplus), maxEntries)] {
		if answered[a.Conflict] {
			refused.drop(a, "the conflict %s is answered already", a.Conflict)
		} else {
			refused.drop(a, "no conflict %s was shown", quote(a.Conflict))
		}
	}
	if more := len(surplus) - maxEntries; more > 0 {
		refused.drop(fmt.Sprintf("%d further ones", more), "their conflicts are unknown or already answered")
	}
	return refused
}

func (d *docket) decided(a answer.Resolution) reasoner.Resolution {
	operation := reasoner.Operation(strings.ToUpper(strings.TrimSpace(a.Operation)))
	switch {
	case !slices.Contains(answer.Operations, string(operation)):
		return added("the answer was none of %s", strings.Join(answer.Operations, ", "))
	case operation == reasoner.Add:
		return reasoner.Resolution{Operation: operation, Reason: remark(a.Reason)}
	case a.Target == "":
		return added("the answer was %s, of no memory", operation)
	case !slices.Contains(d.shown[a.Conflict], a.Target):
		return added("the answer was %s of %q, which was not shown for it", operation, remark(short(a.Target)))
	}
	target, speaker := d.held[a.Target], d.candidates[a.Conflict].Speaker
	if speaker != "" && target.Speaker != "" && speaker != target.Speaker {
		return added("the answer was %s of what another speaker said", operation)
	}
	return reasoner.Resolution{Operation: operation, Target: target.ID, Reason: remark(a.Reason)}
}
