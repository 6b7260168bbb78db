package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/traits"
	"github.com/oxbow-memory/oxbow/store"
)

type traitFlags struct {
	user      string
	now       string
	limit     int
	all, json bool
}

func newTraitCommand(a *app) *cobra.Command {
	var flags traitFlags
	cmd := &cobra.Command{
		Use:   "trait ID",
		Short: "Show one trait with all that led to it, or correct it",
		Long: `Show one trait with all that led to it: how sure it is and when that changes by itself, every memory that speaks for or
against it with its effect on the confidence, and the log of what was done. "edit", "dissolve" and "delete" correct it in
the name of the person whom it is about.

ID is the trait's id; with --user, its beginning will do, as "oxbow traits" prints it. Without --user the trait is looked
for among those of all users, which takes a while in a large database.

--now counts decay up to another moment, for memories that lie in the past: a time, a day, a month or a year, of which
the end counts, in the user's time zone.`,
		Example: `  oxbow trait 0198c2f6 --user ada
  oxbow trait edit 0198c2f6 --user ada --content "Ada gets up early on weekdays" --reason "she said so"`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.limit < 1 {
				return usagef("--limit must be positive, got %d", flags.limit)
			}
			return a.onTrait(cmd.Context(), args[0], flags.user, func(ctx context.Context, d *database, user string, id uuid.UUID) error {
				return a.trait(ctx, d, user, id, &flags)
			})
		},
	}
	cmd.PersistentFlags().StringVar(&flags.user, "user", "", "whose trait it is")
	f := cmd.Flags()
	f.StringVar(&flags.now, "now", "", "the moment that confidence decays to (default: now)")
	f.IntVarP(&flags.limit, "limit", "n", 30, "how many memories and events are shown, the latest ones")
	f.BoolVar(&flags.all, "all", false, "show all memories and events")
	f.BoolVar(&flags.json, "json", false, "print JSON, with all memories and events")
	cmd.MarkFlagsMutuallyExclusive("limit", "all")
	cmd.AddCommand(newTraitEditCommand(a, &flags), newTraitDissolveCommand(a, &flags), newTraitDeleteCommand(a, &flags))
	return cmd
}

// onTrait runs f on the trait with the given id, or, if user is set, with an id that begins with
// text.
func (a *app) onTrait(ctx context.Context, text, user string, f func(ctx context.Context, d *database, user string, id uuid.UUID) error) error {
	id, err := idArgument(text)
	first, last, short := idsBeginning(text)
	switch {
	case err != nil && !short:
		return usagef("%q is no trait's id: it looks like 0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c1, or its first eight characters or more", text)
	case err != nil && user == "":
		return usagef("say whose trait it is: --user USER, or give its whole id")
	}
	d, connectErr := a.connect(ctx)
	if connectErr != nil {
		return connectErr
	}
	defer d.close()
	switch {
	case err != nil:
		id, err = traitBeginning(ctx, d, user, text, first, last)
	case user == "":
		user, err = ownerOf(ctx, d, id)
	}
	if err != nil {
		return err
	}
	return f(ctx, d, user, id)
}

// idsBeginning returns the lowest and highest ids that begin with text, which must have at least 8
// digits.
func idsBeginning(text string) (first, last uuid.UUID, ok bool) {
	digits := strings.ReplaceAll(text, "-", "")
	if len(digits) < shortest || len(digits) > 32 {
		return first, last, false
	}
	first, err := uuid.Parse(digits + strings.Repeat("0", 32-len(digits)))
	if err != nil {
		return first, last, false
	}
	last, err = uuid.Parse(digits + strings.Repeat("f", 32-len(digits)))
	return first, last, err == nil
}

func traitBeginning(ctx context.Context, d *database, user, text string, first, last uuid.UUID) (id uuid.UUID, err error) {
	if err := store.ValidateUserID(user); err != nil {
		return id, err
	}
	var ids []uuid.UUID
	err = d.as(ctx, user, func(db store.DB) (err error) {
		ids, err = store.TraitsBeginning(ctx, db, user, first, last)
		return err
	})
	switch {
	case err != nil:
		return id, err
	case len(ids) == 0:
		return id, fmt.Errorf("user %q has no trait whose id begins with %s", user, text)
	case len(ids) > 1:
		return id, fmt.Errorf("the ids of several traits of user %q begin with %s: give more of the one that is meant, such as %s", user, text, ids[0])
	}
	return ids[0], nil
}

func (a *app) trait(ctx context.Context, d *database, user string, id uuid.UUID, flags *traitFlags) error {
	location, err := d.location(ctx, user)
	if err != nil {
		return err
	}
	now, err := endOf("now", flags.now, location)
	if err != nil {
		return err
	}
	t, err := d.client.TraitAt(ctx, user, id, now)
	if err != nil {
		return err
	}
	if flags.json {
		return a.printJSON(t)
	}
	limit := flags.limit
	if flags.all {
		limit = max(len(t.Events), len(t.Evidence))
	}
	v := &traitView{app: a, t: &t, location: location, limit: limit, columns: width(a.out)}
	v.printHead(user)
	v.printEvidence()
	return v.printLog()
}

// traitView prints a trait.
type traitView struct {
	*app
	t        *oxbow.TraitDetails
	location *time.Location
	limit    int
	columns  int // 0: not a terminal
}

func (v *traitView) at(t time.Time) string { return showTime(t, v.location) }

func (v *traitView) printHead(user string) {
	text := []string{printable(v.t.Content)}
	if v.columns > 0 {
		text = wrap(text[0], v.columns, 1000)
	}
	v.printf("%s\n\n", joinLines(text))
	t := v.t
	fields := [][2]string{
		{"id", t.ID.String()},
		{"user", printable(user)},
		{"subtype", t.Subtype},
		{"stage", v.stage()},
		{"confidence", v.confidence()},
		{"next", v.next()},
		{"context", printable(t.Context)},
	}
	for _, context := range contextsOf(t.Tendencies) {
		tendency := t.Tendencies[context]
		fields = append(fields, [2]string{"", fmt.Sprintf("%s: %s (%s)", printable(context), printable(tendency.Tendency), share(tendency.Confidence))})
	}
	if t.Parent != nil {
		fields = append(fields, [2]string{"part of", kin(*t.Parent)})
	}
	for i, child := range t.Children {
		label := ""
		if i == 0 {
			label = "made from"
		}
		fields = append(fields, [2]string{label, kin(child)})
	}
	fields = append(fields, [][2]string{
		{"evidence", fmt.Sprintf("%s for it, %d against it", count(int64(t.Supporting), "memory", "memories"), t.Contradicting)},
		{"observed", joined([]string{day(t.FirstObserved, v.location), day(t.LastReinforced, v.location)}, " to ")},
		{"corrected", v.at(t.EditedAt)},
	}...)
	for i, w := range t.Wordings {
		label := ""
		if i == 0 {
			label = "said before"
		}
		fields = append(fields, [2]string{label, fmt.Sprintf("until %s: %s", v.at(w.Until), printable(w.Content))})
	}
	for _, f := range fields {
		if f[1] != "" {
			v.printf("%-12s  %s\n", f[0], f[1])
		}
	}
}

// kin formats a parent or child.
func kin(t oxbow.Trait) string {
	facts := []string{"subtype " + t.Subtype, "stage " + t.Stage, share(t.Confidence), t.ID.String()}
	return fmt.Sprintf("%s (%s)", printable(t.Content), joined(facts, ", "))
}

func (v *traitView) stage() string {
	if v.t.Stage == v.t.StoredStage {
		return v.t.Stage
	}
	return fmt.Sprintf("%s; it was %s on %s", v.t.Stage, v.t.StoredStage, v.at(v.t.ConfidenceAt))
}

func (v *traitView) confidence() string {
	if v.t.Confidence == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f, decayed from %.3f on %s", v.t.Confidence, v.t.StoredConfidence, v.at(v.t.ConfidenceAt))
}

// next describes the next change that happens with time alone.
func (v *traitView) next() string {
	on := day(v.t.NextTransition, v.location)
	switch {
	case v.t.NextStage == "":
		return ""
	case v.t.Stage == string(lifecycle.Trend):
		return fmt.Sprintf("its window ends on %s; it is dissolved then, unless two reflections reinforce it before", on)
	case v.t.NextStage == string(lifecycle.Dissolved):
		return fmt.Sprintf("is dissolved on %s unless something speaks for it", on)
	}
	return fmt.Sprintf("falls to %s on %s unless something speaks for it", v.t.NextStage, on)
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
	v.printf("\nEvidence, and what it did to the confidence\n")
	if len(evidence) == 0 {
		v.printf("  none\n")
		return
	}
	if left := len(evidence) - v.limit; left > 0 {
		v.printf("  … %s left out: --all shows them\n", count(int64(left), "earlier memory is", "earlier memories are"))
		evidence = evidence[left:]
	}
	sessions := 0
	used := map[string]float64{}
	for _, e := range evidence {
		sessions = max(sessions, places(session(e)))
		used[e.Quality] = e.Factor
	}
	seq := 0
	for _, e := range evidence {
		if e.EventSeq != seq {
			seq = e.EventSeq
			v.printf("%s\n", v.effect(seq))
		}
		v.printf("  %s\n", v.fit(fmt.Sprintf("%-7s %s  %s  %s  %s", side(e), e.Quality, v.at(e.At), padded(session(e), sessions), v.says(e))))
	}
	v.printf("Quality")
	for i, q := range slices.Sorted(maps.Keys(used)) {
		v.printf("%s %s: %s (removes %.2f of the doubt)", []string{"", ";"}[min(i, 1)], q, qualities[q], used[q])
	}
	v.printf(".\n")
	if slices.ContainsFunc(evidence, func(e oxbow.TraitEvidence) bool { return e.Direction == traits.Contradicting }) {
		v.printf("What speaks against it takes a share of the confidence, whatever its quality.\n")
	}
}

// effect describes what an event did, and through how many memories.
func (v *traitView) effect(seq int) string {
	i := slices.IndexFunc(v.t.Events, func(e oxbow.TraitEvent) bool { return e.Seq == seq })
	if i < 0 {
		return fmt.Sprintf("event %d, which is not there", seq)
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
	return fmt.Sprintf("%s  %s%s, stage %s (%s, %s)", v.at(e.At), e.Event, change, e.Stage, count(int64(memories), "memory", "memories"),
		count(int64(len(sessions)), "session", "sessions"))
}

func side(e oxbow.TraitEvidence) string {
	if e.Direction == traits.Contradicting {
		return "against"
	}
	return "for"
}

// longestSession is the width of a session's name, in cells.
const longestSession = 16

func session(e oxbow.TraitEvidence) string {
	return displaywidth.TruncateString(joined([]string{printable(e.Session), printable(e.Context)}, ", "), longestSession, "…")
}

func (v *traitView) says(e oxbow.TraitEvidence) string {
	if !e.ForgottenAt.IsZero() {
		return "(forgotten on " + v.at(e.ForgottenAt) + ")"
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
func (v *traitView) printLog() error {
	events := v.t.Events
	v.printf("\nLog\n")
	if left := len(events) - v.limit; left > 0 {
		v.printf("… %s left out: --all shows them\n", count(int64(left), "earlier event is", "earlier events are"))
		events = events[left:]
	}
	t := newTable("#nr", "when", "what", "#confidence", "stage", "by", "cycle", "~why")
	for _, e := range events {
		cycle := ""
		if e.CycleID != uuid.Nil {
			cycle = e.CycleID.String()[:shortest]
		}
		t.add(fmt.Sprint(e.Seq), v.at(e.At), e.Event, joined([]string{share(e.Before), share(e.Confidence)}, " → "), e.Stage, printable(e.Actor), cycle,
			why(e))
	}
	return t.print(v.out)
}

// why returns an event's reason and the fields it changed besides the confidence.
func why(e oxbow.TraitEvent) string {
	parts := []string{printable(e.Reason)}
	if _, ok := e.Details["version"]; ok {
		parts = append(parts, "new wording")
	}
	if context, ok := e.Details["context"].(string); ok {
		parts = append(parts, "context "+printable(context))
	}
	return joined(parts, "; ")
}

// contextsOf returns the contexts of tendencies, in order.
func contextsOf(tendencies map[string]oxbow.Tendency) []string {
	return slices.Sorted(maps.Keys(tendencies))
}
