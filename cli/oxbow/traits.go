package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/store"
)

type traitsFlags struct {
	asOf, now string
	all, json bool
}

func newTraitsCommand(a *app) *cobra.Command {
	var flags traitsFlags
	cmd := &cobra.Command{
		Use:   "traits USER",
		Short: "Show what is held of a user: the traits that settled out of the memories",
		Long: `Show what is held of a user, as a tree: traits of subtype core, beneath them the preferences that they were made from,
beneath these the behaviors. The subtype says how abstract a trait is; the stage says how sure it is: candidate up to a
confidence of 0.30, emerging, established from 0.60, core above 0.85. Confidence decays with time; "stored" is what it was
when something last happened. Trends, candidates and dissolved traits, which recall does not tell, are shown with --all.

--as-of asks what was held then. --now shows today's traits decayed to another moment, for memories that lie in the past.
Both take a time (2024-05-17T08:00:00Z), a day (2024-05-17), a month or a year, of which the end counts, in the user's
time zone.`,
		Example: `  oxbow traits ada
  oxbow traits 林 --all --now 2025-12-31`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.traits(cmd.Context(), args[0], &flags) },
	}
	f := cmd.Flags()
	f.BoolVar(&flags.all, "all", false, "show trends, candidates and dissolved traits, too")
	f.StringVar(&flags.asOf, "as-of", "", "what was held then")
	f.StringVar(&flags.now, "now", "", "the moment that confidence decays to (default: now)")
	f.BoolVar(&flags.json, "json", false, "print a JSON array")
	cmd.MarkFlagsMutuallyExclusive("as-of", "now")
	return cmd
}

func (a *app) traits(ctx context.Context, user string, flags *traitsFlags) error {
	d, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer d.close()
	if err := store.ValidateUserID(user); err != nil {
		return err
	}
	location, err := d.location(ctx, user)
	if err != nil {
		return err
	}
	options := oxbow.TraitsOptions{IncludeHidden: true}
	if options.AsOf, err = endOf("as-of", flags.asOf, location); err != nil {
		return err
	}
	if options.Now, err = endOf("now", flags.now, location); err != nil {
		return err
	}
	traits, err := d.client.Traits(ctx, user, options)
	if err != nil {
		return err
	}
	shown, hidden := traits, map[string]int{}
	if !flags.all {
		shown = []oxbow.Trait{}
		for _, t := range traits {
			if lifecycle.Stage(t.Stage).Visible() {
				shown = append(shown, t)
			} else {
				hidden[t.Stage]++
			}
		}
	}
	switch {
	case len(traits) == 0:
		if err := a.sayNoTraits(ctx, d, user, !options.AsOf.IsZero()); err != nil {
			return err
		}
	case len(shown) == 0:
		a.say("User %q has no trait of stage emerging or higher, but %s: --all shows them.", user, hiddenStages(hidden))
	}
	if flags.json {
		return a.printJSON(shown)
	}
	if len(shown) == 0 {
		return nil
	}
	if err := a.printTraits(treeOf(shown), shortIDs(traits), location); err != nil {
		return err
	}
	if len(hidden) > 0 {
		a.printf("\nNot shown: %s (--all).\n", hiddenStages(hidden))
	}
	return nil
}

// endOf returns the end of the period that a flag names, or the zero time if it was not given.
func endOf(flag, text string, location *time.Location) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	of, err := parsePeriod(flag, text, location)
	return of.end, err
}

func hiddenStages(n map[string]int) string {
	var parts []string
	for _, s := range []struct{ stage, one, many string }{{"candidate", "candidate", "candidates"}, {"trend", "trend", "trends"},
		{"dissolved", "dissolved trait", "dissolved traits"}} {
		if n[s.stage] > 0 {
			parts = append(parts, count(int64(n[s.stage]), s.one, s.many))
		}
	}
	return strings.Join(parts, ", ")
}

// sayNoTraits says why there are no traits, and what to check.
func (a *app) sayNoTraits(ctx context.Context, d *database, user string, past bool) error {
	var reflection store.TraitsPresence
	var memories store.Presence
	err := d.as(ctx, user, func(db store.DB) (err error) {
		if reflection, err = store.UserTraitsPresence(ctx, db, user); err != nil {
			return err
		}
		memories, err = store.UserPresence(ctx, db, user)
		return err
	})
	if err != nil {
		return err
	}
	waiting := count(reflection.InInbox, "memory", "memories")
	switch {
	case !memories.Any:
		a.say("There are no memories of user %q, and no traits.", user)
	case past:
		a.say("Nothing was held of user %q then.", user)
	case reflection.OptedOut:
		a.say("User %q has opted out of reflection, and has no traits.", user)
	case reflection.ReflectedAt.IsZero() && reflection.InInbox > 0:
		a.say("Nothing of user %q was reflected on yet: %s %s for it. A worker does it when it is due (oxbow work), oxbow reflect at once.",
			user, waiting, waits(reflection.InInbox))
	case reflection.ReflectedAt.IsZero() && memories.Waiting > 0:
		a.say("Nothing of user %q was reflected on yet: %s %s to be embedded. Is a worker running? (oxbow work)",
			user, count(memories.Waiting, "memory", "memories"), waits(memories.Waiting))
	case reflection.InInbox > 0:
		a.say("The reflections on user %q have found no traits yet; %s %s for the next one.", user, waiting, waits(reflection.InInbox))
	default:
		a.say("The memories of user %q show no traits: a trait takes what recurs in several conversations, and the rules three days of it.", user)
	}
	return nil
}

// branch is a trait's place in the tree.
type branch struct {
	oxbow.Trait
	depth int
}

// treeOf places traits below the traits derived from them, and otherwise keeps their order.
func treeOf(traits []oxbow.Trait) []branch {
	there, beneath := map[uuid.UUID]bool{}, map[uuid.UUID][]oxbow.Trait{}
	for _, t := range traits {
		there[t.ID] = true
		beneath[t.ParentID] = append(beneath[t.ParentID], t)
	}
	var tree []branch
	var grow func(t oxbow.Trait, depth int)
	grow = func(t oxbow.Trait, depth int) {
		if !there[t.ID] {
			return // already placed above
		}
		there[t.ID] = false
		tree = append(tree, branch{t, depth})
		for _, child := range beneath[t.ID] {
			grow(child, depth+1)
		}
	}
	for _, t := range traits {
		if !there[t.ParentID] && t.ParentID != t.ID {
			grow(t, 0)
		}
	}
	for _, t := range traits { // a cycle of parents, which only a corrupt database has
		grow(t, 0)
	}
	return tree
}

// shortest is the least number of characters of an id shown.
const shortest = 8

// shortIDs returns prefixes of the ids that distinguish the traits.
func shortIDs(traits []oxbow.Trait) map[uuid.UUID]string {
	length := shortest
	short := map[uuid.UUID]string{}
	for taken := map[string]bool{}; len(taken) < len(traits) && length < 36; length++ {
		clear(taken)
		for _, t := range traits {
			short[t.ID] = strings.TrimSuffix(t.ID.String()[:length], "-")
			taken[short[t.ID]] = true
		}
		if len(taken) == len(traits) {
			break
		}
	}
	return short
}

// roomForTable is how wide a terminal must be for a table of traits.
const roomForTable = 130

// printTraits writes a table, or two lines per trait on a terminal too narrow for one.
func (a *app) printTraits(tree []branch, short map[uuid.UUID]string, location *time.Location) error {
	if columns := width(a.out); columns > 0 && columns < roomForTable {
		a.printNarrow(tree, short, location, columns)
		return nil
	}
	t := newTable("~trait", "subtype", "stage", "#confidence", "#stored", "context", "#for", "#against", "reinforced", "window ends", "id")
	for _, b := range tree {
		indent := strings.Repeat("  ", b.depth)
		t.add(indent+printable(store.Shorten(b.Content, 200)), b.Subtype, b.Stage, share(b.Confidence), share(b.StoredConfidence), printable(b.Context),
			fmt.Sprint(b.Supporting), fmt.Sprint(b.Contradicting), day(b.LastReinforced, location), windowEnd(b.Trait, location), short[b.ID])
		for _, context := range contextsOf(b.Tendencies) {
			tendency := b.Tendencies[context]
			t.add(indent+"  – "+printable(tendency.Tendency), "", "", share(tendency.Confidence), "", printable(context), "", "", "", "", "")
		}
	}
	return t.print(a.out)
}

func (a *app) printNarrow(tree []branch, short map[uuid.UUID]string, location *time.Location, columns int) {
	for _, b := range tree {
		indent := strings.Repeat("  ", b.depth)
		lines := wrap(printable(b.Content), max(columns-len(indent), minText), textRows)
		for _, context := range contextsOf(b.Tendencies) {
			tendency := b.Tendencies[context]
			lines = append(lines, wrap(fmt.Sprintf("– %s: %s (%s)", printable(context), printable(tendency.Tendency), share(tendency.Confidence)),
				max(columns-len(indent), minText), textRows)...)
		}
		facts := []string{"subtype " + b.Subtype, "stage " + b.Stage}
		if b.Confidence > 0 {
			facts = append(facts, "confidence "+joined([]string{share(b.Confidence), share(b.StoredConfidence)}, ", stored "))
		}
		facts = append(facts, printable(b.Context), fmt.Sprintf("%d for, %d against", b.Supporting, b.Contradicting))
		if !b.LastReinforced.IsZero() {
			facts = append(facts, "reinforced "+day(b.LastReinforced, location))
		}
		if end := windowEnd(b.Trait, location); end != "" {
			facts = append(facts, "window ends "+end)
		}
		lines = append(lines, wrap(joined(append(facts, short[b.ID]), "; "), max(columns-len(indent), minText), textRows)...)
		for i, line := range lines {
			if i > 0 {
				line = "  " + line
			}
			a.printf("%s%s\n", indent, line)
		}
	}
}

// windowEnd returns when the observation window of a trend ends.
func windowEnd(t oxbow.Trait, location *time.Location) string {
	if t.Stage != string(lifecycle.Trend) {
		return ""
	}
	return day(t.WindowEnd, location)
}

// share formats a confidence; a trend has none.
func share(c float64) string {
	if c == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", c)
}

// day formats the date of a time.
func day(at time.Time, location *time.Location) string {
	if at.IsZero() {
		return ""
	}
	return at.In(location).Format(time.DateOnly)
}
