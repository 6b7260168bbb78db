package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/traits"
)

// traitView prints a trait.
type traitView struct {
	*user
	t       *oxbow.TraitDetails
	limit   int
	columns int // 0: not a terminal
}

func (v *traitView) print() {
	v.printFields()
	v.printEvidence()
	v.printLog()
}

func (v *traitView) printFields() {
	t := v.t
	v.printf("%s\n\n", v.paragraph(t.Content))
	v.fields(field{"id", t.ID}, field{"user", v.id}, field{"subtype", t.Subtype}, field{"stage", v.stage()},
		field{"confidence", v.confidence()}, field{"next", v.next()}, field{"context", t.Context})
	for _, context := range slices.Sorted(maps.Keys(t.Tendencies)) {
		tendency := t.Tendencies[context]
		v.fields(field{"", fmt.Sprintf("%s: %s (%s)", context, tendency.Tendency, share(tendency.Confidence))})
	}
	if t.Parent != nil {
		v.fields(field{"part of", related(*t.Parent)})
	}
	label := "made from"
	for _, child := range t.Children {
		v.fields(field{label, related(child)})
		label = ""
	}
	evidence := fmt.Sprintf("%s supporting, %d contradicting", count(t.Supporting, "memory"), t.Contradicting)
	observed := joined(" to ", v.day(t.FirstObserved), v.day(t.LastReinforced))
	v.fields(field{"evidence", evidence}, field{"observed", observed}, field{"corrected", t.EditedAt})
	label = "formerly"
	for _, w := range t.Wordings {
		v.fields(field{label, fmt.Sprintf("until %s: %s", v.minute(w.Until), w.Content)})
		label = ""
	}
}

// related formats a parent or child.
func related(t oxbow.Trait) string {
	return fmt.Sprintf("%s (%s)", t.Content,
		joined(", ", "subtype "+t.Subtype, "stage "+t.Stage, share(t.Confidence), t.ID.String()))
}

func (v *traitView) stage() string {
	if v.t.Stage == v.t.StoredStage {
		return v.t.Stage
	}
	return fmt.Sprintf("%s by decay; %s at the last event, %s", v.t.Stage, v.t.StoredStage, v.minute(v.t.ConfidenceAt))
}

func (v *traitView) confidence() string {
	if v.t.Confidence == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f; %.3f at the last event, %s", v.t.Confidence, v.t.StoredConfidence,
		v.minute(v.t.ConfidenceAt))
}

// next describes the next change that time alone causes.
func (v *traitView) next() string {
	on := v.day(v.t.NextTransition)
	switch {
	case v.t.NextStage == "":
		return ""
	case v.t.Stage == string(lifecycle.Trend):
		return fmt.Sprintf("its window ends on %s; it dissolves then unless two reflections reinforce it first", on)
	case v.t.NextStage == string(lifecycle.Dissolved):
		return fmt.Sprintf("dissolves on %s without new evidence", on)
	}
	return fmt.Sprintf("decays to %s on %s without new evidence", v.t.NextStage, on)
}

// qualities describes evidence of each quality.
var qualities = map[string]string{
	"A": "a second context shows the same",
	"B": "said outright",
	"C": "another session",
	"D": "the same session, or inferred",
}

// printEvidence writes each event with the memories that counted in it.
func (v *traitView) printEvidence() {
	evidence := v.t.Evidence
	v.printf("\nEvidence and its effect on the confidence\n")
	if len(evidence) == 0 {
		v.printf("  none\n")
		return
	}
	if left := len(evidence) - v.limit; left > 0 {
		v.printf("  … %s (--all)\n", count(left, "earlier memory"))
		evidence = evidence[left:]
	}
	widest, used := 0, map[string]float64{}
	for _, e := range evidence {
		widest = max(widest, places(session(e)))
		used[e.Quality] = e.Factor
	}
	against, seq := false, 0
	for _, e := range evidence {
		if e.EventSeq != seq {
			seq = e.EventSeq
			v.printf("%s\n", v.effect(seq))
		}
		side := "for"
		if e.Direction == traits.Contradicting {
			side, against = "against", true
		}
		v.printf("  %s\n", v.fit(fmt.Sprintf("%-7s %s  %s  %s  %s",
			side, e.Quality, v.minute(e.At), padded(session(e), widest), v.content(e))))
	}
	var list []string
	for _, q := range slices.Sorted(maps.Keys(used)) {
		list = append(list, fmt.Sprintf("%s: %s (removes %.2f of the doubt)", q, qualities[q], used[q]))
	}
	v.printf("Quality %s.\n", strings.Join(list, "; "))
	if against {
		v.printf("Contradicting evidence removes a share of the confidence, whatever its quality.\n")
	}
}

// effect describes what an event did, and through how many memories.
func (v *traitView) effect(seq int) string {
	i := slices.IndexFunc(v.t.Events, func(e oxbow.TraitEvent) bool { return e.Seq == seq })
	if i < 0 {
		return fmt.Sprintf("event %d, which does not exist", seq)
	}
	e := v.t.Events[i]
	sessions, memories := map[string]bool{}, 0
	for _, m := range v.t.Evidence {
		if m.EventSeq == seq {
			sessions[m.Session] = true
			memories++
		}
	}
	change := ""
	switch {
	case e.Confidence == 0:
	case e.Before == 0:
		change = fmt.Sprintf(" at %.2f", e.Confidence)
	default:
		change = fmt.Sprintf(" %+.2f → %.2f", e.Confidence-e.Before, e.Confidence)
	}
	return fmt.Sprintf("%s  %s%s, stage %s (%s, %s)",
		v.minute(e.At), e.Event, change, e.Stage, count(memories, "memory"), count(len(sessions), "session"))
}

// longestSession is the width of a session's name, in cells.
const longestSession = 16

func session(e oxbow.TraitEvidence) string {
	return displaywidth.TruncateString(joined(", ", printable(e.Session), printable(e.Context)), longestSession, "…")
}

func (v *traitView) content(e oxbow.TraitEvidence) string {
	if !e.ForgottenAt.IsZero() {
		return "(forgotten on " + v.minute(e.ForgottenAt) + ")"
	}
	return printable(e.Content)
}

// fit cuts an indented line to the terminal's width.
func (v *traitView) fit(line string) string {
	if v.columns == 0 {
		return line
	}
	return displaywidth.TruncateString(line, max(v.columns-2, minText), "…")
}

func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(width-places(text), 0))
}

// printLog writes the changes to the trait and who made them.
func (v *traitView) printLog() {
	events := v.t.Events
	v.printf("\nLog\n")
	if left := len(events) - v.limit; left > 0 {
		v.printf("… %s (--all)\n", count(left, "earlier event"))
		events = events[left:]
	}
	t := v.table("#nr", "when", "what", "#confidence", "stage", "by", "cycle", "~why")
	for _, e := range events {
		cycle := ""
		if e.CycleID != uuid.Nil {
			cycle = e.CycleID.String()[:shortest]
		}
		t.add(e.Seq, e.At, e.Event, joined(" → ", share(e.Before), share(e.Confidence)), e.Stage, e.Actor, cycle,
			why(e))
	}
	t.print()
}

// why returns an event's reason and the fields it changed besides the confidence.
func why(e oxbow.TraitEvent) string {
	wording, context := "", ""
	if _, ok := e.Details["version"]; ok {
		wording = "new wording"
	}
	if to, ok := e.Details["context"].(string); ok {
		context = "context " + to
	}
	return joined("; ", e.Reason, wording, context)
}
