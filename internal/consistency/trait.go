package consistency

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

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
	t.seen = append(t.seen, Problem{UserID: t.row.UserID, TraitID: t.row.ID, Kind: kind,
		Found: found, Expected: expected})
}

// problems compares the trait's row with its events, and the events with the evidence.
func (t *checkedTrait) problems() []Problem {
	t.seen = nil
	t.links()
	if !t.row.ExpiredAt.IsZero() {
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
	expired := !r.ExpiredAt.IsZero()
	on := r.ExpiredAt.UTC().Format(time.RFC3339)
	switch {
	case !expired && r.SupersededBy != uuid.Nil:
		t.wrong("superseded", "it is current", "expired, because "+r.SupersededBy.String()+" superseded it")
	case expired && len(t.events) > 0:
		t.wrong("superseded", "it expired on "+on+" and has events", "events only with the newest wording")
	}
	if expired && (!r.NextTransitionAt.IsZero() || !r.ReviewDueAt.IsZero()) {
		t.wrong("due", "a transition or a review is due", "nothing, because it expired on "+on)
	}
	if r.TraitParentID == uuid.Nil || expired {
		return
	}
	subtype := r.Subtype
	if len(t.events) > 0 {
		subtype = cmp.Or(t.events[0].Subtype, subtype)
	}
	above, level := store.Abstractness(r.ParentSubtype), store.Abstractness(subtype)
	switch parent := "part of " + r.TraitParentID.String(); {
	case r.ParentID == uuid.Nil:
		t.wrong("parent", parent, "no parent, because that trait does not exist")
	case !r.ParentExpiredAt.IsZero():
		t.wrong("parent", parent, "the newest wording of that trait, because this one expired on "+
			r.ParentExpiredAt.UTC().Format(time.RFC3339))
	case above < 0 || above >= level: // this also rules out cycles
		t.wrong("parent", fmt.Sprintf("%s, which is of subtype %s", parent, r.ParentSubtype),
			"a trait that is more abstract than "+subtype)
	}
}

// weights compares each event with its evidence.
func (t *checkedTrait) weights() {
	for _, v := range t.stray {
		t.wrong("evidence", fmt.Sprintf("%d %s memories name event %d", v.Memories, v.Direction, v.EventSeq),
			"an event in which they count")
	}
	for i, e := range t.events {
		if e.Seq != i+1 {
			t.wrong("gap", fmt.Sprintf("event %d", e.Seq), fmt.Sprintf("event %d", i+1))
			break
		}
	}
	for _, e := range t.events {
		if e.Actor == "import" || e.Actor == "check" {
			continue // these events record an existing state and have no evidence
		}
		if e.Memories != e.Counted {
			t.wrong("memories", fmt.Sprintf("event %d, %s, counts %d", e.Seq, e.Event, e.Memories),
				fmt.Sprintf("%d, as its evidence", e.Counted))
		}
		if math.Abs(e.Factor-e.Weight) > tolerance {
			t.wrong("factor", fmt.Sprintf("event %d, %s, has %s", e.Seq, e.Event, decimal(e.Factor)),
				decimal(e.Weight)+", by the rules")
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
	switch at := t.row.EditedAt; {
	case !at.IsZero() && last < 0 && !slices.Contains(own[2:], t.events[0].Actor):
		t.wrong("corrected", "on "+momentText(at), "never, by its events")
	case at.IsZero() && last >= 0:
		t.wrong("corrected", "never", fmt.Sprintf("by event %d", t.events[last].Seq))
	}
}

// replay compares each event with the replayed state.
func (t *checkedTrait) replay() {
	for _, e := range t.events {
		if math.Abs(e.Confidence-e.AfterConfidence) > tolerance || e.Stage != e.AfterStage {
			t.wrong("event", fmt.Sprintf("event %d, %s, led to %s", e.Seq, e.Event, standing(e.Stage, e.Confidence)),
				standing(e.AfterStage, e.AfterConfidence))
		}
	}
}

// compare compares the row with the state after the last event.
func (t *checkedTrait) compare() {
	r, last := t.row, t.events[len(t.events)-1]
	differ := func(kind, found, expected string) {
		if found != expected {
			t.wrong(kind, found, expected)
		}
	}
	differ("subtype", r.Subtype, last.AfterSubtype)
	differ("stage", r.Stage, last.AfterStage)
	if !(math.Abs(r.Confidence-last.AfterConfidence) <= tolerance) { // written so that NaN differs
		t.wrong("confidence", decimal(r.Confidence), decimal(last.AfterConfidence))
	}
	differ("confidence_at", momentText(r.ConfidenceAt), momentText(last.AfterAt))
	differ("reinforcements", fmt.Sprint(r.ReinforcementCount), fmt.Sprint(last.AfterReinforcements))
	differ("contradictions", fmt.Sprint(r.ContradictionCount), fmt.Sprint(last.AfterContradictions))
	trend := last.AfterStage == string(lifecycle.Trend)
	switch {
	case trend && last.AfterWindowEnd.IsZero():
		t.wrong("window", "a trend without an end", "the end of its window, which its events do not have")
	case !trend && !r.WindowStart.IsZero() && r.WindowEnd.IsZero():
		t.wrong("window", "begins "+momentText(r.WindowStart), "none")
	default:
		differ("window", momentText(r.WindowEnd), momentText(last.AfterWindowEnd))
	}
	if t.pending {
		return
	}
	next, want := r.NextTransitionAt, last.AfterNext
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

// momentText formats a time to the microsecond, and the zero time as "none".
func momentText(t time.Time) string {
	if t.IsZero() {
		return "none"
	}
	return t.UTC().Format("2006-01-02T15:04:05.999999Z07:00")
}
