package consistency

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/store"
)

// checkedTrait is a trait with its stored events and evidence.
type checkedTrait struct {
	row     traitRow
	events  []eventRow // in order
	stray   []strayRow
	twice   []twiceRow
	pending bool // the job settle has not followed the latest change of policies

	seen []Problem
}

// tolerance is the accepted difference between a stored and a computed number. It is smaller than
// the effect of any rule.
const tolerance = 1e-9

func (t *checkedTrait) wrong(kind, found, expected string) {
	t.seen = append(t.seen, Problem{UserID: t.row.UserID, TraitID: t.row.ID, Kind: kind, Found: found, Expected: expected})
}

// problems compares the trait's row with its events, and the events with the evidence.
func (t *checkedTrait) problems() []Problem {
	t.seen = nil
	t.links()
	if t.row.ExpiredAt != nil {
		return t.seen // an older wording: the events belong to the newest
	}
	for _, e := range t.twice {
		t.wrong("counted twice", fmt.Sprintf("memory %s, %d times", e.MemoryID, e.Times), "once")
	}
	switch {
	case len(t.events) == 0:
		t.wrong("no events", "none", "those that lead to its state")
	case t.events[0].Event != string(lifecycle.Created):
		t.wrong("beginning", "the first event is "+t.events[0].Event, "created")
	default:
		t.weights()
		t.corrections()
		t.replay()
		t.compare()
	}
	return t.seen
}

// links checks the trait's references to its newer wording and its parent.
func (t *checkedTrait) links() {
	r := t.row
	switch {
	case r.ExpiredAt == nil && r.SupersededBy != nil:
		t.wrong("superseded", "it is live", "expired, for it is superseded by "+r.SupersededBy.String())
	case r.ExpiredAt != nil && len(t.events) > 0:
		t.wrong("superseded", "it expired on "+r.ExpiredAt.UTC().Format(time.RFC3339)+" and has events",
			"events are with the newest wording")
	}
	if r.ExpiredAt != nil && (r.TraitNextTransitionAt != nil || r.TraitReviewDueAt != nil) {
		t.wrong("due", "something is due", "nothing, for it expired on "+r.ExpiredAt.UTC().Format(time.RFC3339))
	}
	if r.TraitParentID == nil || r.ExpiredAt != nil {
		return
	}
	subtype := or(r.TraitSubtype)
	if len(t.events) > 0 && t.events[0].Subtype != nil {
		subtype = *t.events[0].Subtype
	}
	above, level := store.Abstractness(or(r.ParentSubtype)), store.Abstractness(subtype)
	switch parent := "part of " + r.TraitParentID.String(); {
	case r.ParentID == nil:
		t.wrong("parent", parent, "no parent, for that is not there")
	case r.ParentExpiredAt != nil:
		t.wrong("parent", parent, "its newest wording, for that expired on "+r.ParentExpiredAt.UTC().Format(time.RFC3339))
	case above < 0 || above >= level: // this also rules out cycles
		t.wrong("parent", fmt.Sprintf("%s, which is of subtype %s", parent, or(r.ParentSubtype)),
			"one that is more abstract than "+subtype)
	}
}

// weights compares each event with its evidence.
func (t *checkedTrait) weights() {
	for _, v := range t.stray {
		t.wrong("evidence", fmt.Sprintf("%d %s memories name event %d", v.Memories, v.Direction, v.EventSeq),
			"an event in which they count")
	}
	for i, e := range t.events {
		if want := int32(i + 1); e.Seq != want {
			t.wrong("gap", fmt.Sprintf("event %d", e.Seq), fmt.Sprintf("event %d", want))
			break
		}
	}
	for _, e := range t.events {
		if e.Actor == "import" || e.Actor == "check" {
			continue // these events record an existing state and have no evidence
		}
		if e.Memories != e.Counted {
			t.wrong("memories", fmt.Sprintf("event %d, %s, says %d", e.Seq, e.Event, e.Memories),
				fmt.Sprintf("%d, as its evidence", e.Counted))
		}
		if math.Abs(or(e.Factor)-or(e.Weight)) > tolerance {
			t.wrong("factor", fmt.Sprintf("event %d, %s, says %s", e.Seq, e.Event, decimal(or(e.Factor))),
				decimal(or(e.Weight))+", by the rules")
		}
	}
}

// corrections compares the mark that a person corrected the trait with the events. An imported
// trait may have been corrected before the import.
func (t *checkedTrait) corrections() {
	own := []string{"reflection", "settle", "import", "check"}
	last := slices.IndexFunc(t.events, func(e eventRow) bool {
		return (e.Event == string(lifecycle.Edited) || e.Event == string(lifecycle.Dissolution)) &&
			!slices.Contains(own, e.Actor)
	})
	switch at := t.row.TraitEditedAt; {
	case at != nil && last < 0 && !slices.Contains(own[2:], t.events[0].Actor):
		t.wrong("corrected", "on "+momentText(*at), "never, by its events")
	case at == nil && last >= 0:
		t.wrong("corrected", "never", fmt.Sprintf("by event %d", t.events[last].Seq))
	}
}

// replay compares each event with the replayed state.
func (t *checkedTrait) replay() {
	for _, e := range t.events {
		stage, confidence := or(e.After.Stage), or(e.After.Confidence)
		if math.Abs(or(e.Confidence)-confidence) > tolerance || e.Stage != stage {
			t.wrong("event", fmt.Sprintf("event %d, %s, led to %s", e.Seq, e.Event, standing(e.Stage, or(e.Confidence))),
				standing(stage, confidence))
		}
	}
}

// compare compares the row with the state after the last event.
func (t *checkedTrait) compare() {
	r, last := t.row, t.events[len(t.events)-1]
	s := last.After
	stage := or(s.Stage)
	differ := func(kind, found, expected string) {
		if found != expected {
			t.wrong(kind, found, expected)
		}
	}
	differ("subtype", or(r.TraitSubtype), or(s.Subtype))
	differ("stage", or(r.TraitStage), stage)
	if found := or(r.TraitConfidence); !(math.Abs(found-or(s.Confidence)) <= tolerance) {
		t.wrong("confidence", decimal(found), decimal(or(s.Confidence)))
	}
	differ("confidence_at", momentText(or(r.TraitConfidenceAt)), momentText(or(s.At)))
	differ("reinforcements", fmt.Sprint(or(r.TraitReinforcementCount)), fmt.Sprint(or(s.Reinforcements)))
	differ("contradictions", fmt.Sprint(or(r.TraitContradictionCount)), fmt.Sprint(or(s.Contradictions)))
	switch {
	case stage == string(lifecycle.Trend) && s.WindowEnd == nil:
		t.wrong("window", "a trend without an end", "a window's end, which its events do not tell")
	case stage != string(lifecycle.Trend) && r.TraitWindowStart != nil && r.TraitWindowEnd == nil:
		t.wrong("window", "begins "+momentText(or(r.TraitWindowStart)), "none")
	default:
		differ("window", momentText(or(r.TraitWindowEnd)), momentText(or(s.WindowEnd)))
	}
	if t.pending {
		return
	}
	next, want := or(r.TraitNextTransitionAt), or(last.AfterNext)
	// The database's rounding may differ.
	if d := next.Sub(want).Abs(); next.IsZero() != want.IsZero() || d > 2*time.Second {
		t.wrong("next transition", momentText(next), momentText(want))
	}
}

func standing(stage string, confidence float64) string {
	if confidence == 0 {
		return stage
	}
	return stage + " " + decimal(confidence)
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'g', 12, 64) }

// or returns *p, or the zero value if p is nil.
func or[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// momentText formats a time to the microsecond, and the zero time as "none".
func momentText(t time.Time) string {
	if t.IsZero() {
		return "none"
	}
	return t.UTC().Format("2006-01-02T15:04:05.999999Z07:00")
}
