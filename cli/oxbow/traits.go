package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/store"
)

func traitsCommand(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "traits USER",
		Short: "Show the traits that reflection found in a user's memories",
		Long: `Show a user's traits as a tree: core traits, below them the preferences that they were made from, and below
these the behaviors. The subtype says how abstract a trait is, the stage how certain: candidate up to a
confidence of 0.30, emerging, established from 0.60, core above 0.85. Confidence decays with time; the column
stored is its value at the last event. Trends, candidates and dissolved traits are never recalled, and are
shown with --all.

--as-of shows the traits at a time in the past. --now shows today's traits with decay computed to another
time, for imported history. Both accept a time (2024-05-17T08:00:00Z), or a day, month or year, meaning its
end in the user's time zone.`,
		Example: `  oxbow traits ada
  oxbow traits 林 --all --now 2025-12-31`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.BoolVar(&all, "all", false, "include trends, candidates and dissolved traits")
	asOf := momentFlag(f, "as-of", "show the traits at this time")
	now := momentFlag(f, "now", "compute confidence at this time (default: now)")
	a.jsonFlag(f)
	exclude(cmd.Flags(), "as-of", "now")
	cmd.RunE = a.onUser(func(ctx context.Context, u *user, _ []string) error {
		o := oxbow.TraitsOptions{IncludeHidden: true, AsOf: asOf.end(u.zone), Now: now.end(u.zone)}
		traits, err := u.client.Traits(ctx, u.id, o)
		if err != nil {
			return err
		}
		visible, hidden := traits, map[string]int{}
		if !all {
			visible = nil
			for _, t := range traits {
				if lifecycle.Stage(t.Stage).Visible() {
					visible = append(visible, t)
				} else {
					hidden[t.Stage]++
				}
			}
		}
		switch {
		case len(traits) == 0:
			if err := u.sayNoTraits(ctx, !o.AsOf.IsZero()); err != nil {
				return err
			}
		case len(visible) == 0:
			u.say("User %q has no trait of stage emerging or higher. Hidden: %s (--all).", u.id, hiddenStages(hidden))
		}
		return u.output(visible, func() {
			if len(visible) == 0 {
				return
			}
			u.traitTable(treeOf(visible), shortIDs(traits)).print()
			if len(hidden) > 0 {
				u.printf("\nNot shown: %s (--all).\n", hiddenStages(hidden))
			}
		})
	})
	return cmd
}

func hiddenStages(n map[string]int) string {
	var parts []string
	for _, stage := range []string{"candidate", "trend", "dissolved"} {
		if n[stage] > 0 {
			parts = append(parts, count(n[stage], strings.Replace(stage, "dissolved", "dissolved trait", 1)))
		}
	}
	return strings.Join(parts, ", ")
}

// sayNoTraits explains why no traits exist, and what to check.
func (u *user) sayNoTraits(ctx context.Context, past bool) error {
	var memories store.Presence
	reflection, err := as(ctx, u.database, u.id, func(db store.DB) (found store.TraitsPresence, err error) {
		if memories, err = store.UserPresence(ctx, db, u.id); err != nil {
			return found, err
		}
		return store.UserTraitsPresence(ctx, db, u.id)
	})
	if err != nil {
		return err
	}
	why := "A trait requires a pattern across several conversations, for the rules on three days."
	switch {
	case !memories.Any:
		why = "There are no memories."
	case past:
		why = "Reflection had found none at that time."
	case reflection.OptedOut:
		why = "The user opted out of reflection."
	case reflection.InInbox > 0:
		why = "The inbox has " + count(reflection.InInbox, "memory") +
			": a worker reflects when it is due, \"oxbow reflect\" immediately."
	case memories.Waiting > 0:
		why = count(memories.Waiting, "memory") + " not embedded yet. Is a worker running (oxbow work)?"
	}
	u.say("User %q has no traits. %s", u.id, why)
	return nil
}

// branch is a trait's place in the tree.
type branch struct {
	oxbow.Trait
	depth int
}

// treeOf places traits below the traits derived from them, and otherwise keeps their order.
func treeOf(traits []oxbow.Trait) []branch {
	left, children := map[uuid.UUID]bool{}, map[uuid.UUID][]oxbow.Trait{}
	for _, t := range traits {
		left[t.ID] = true
		children[t.ParentID] = append(children[t.ParentID], t)
	}
	var tree []branch
	var add func(t oxbow.Trait, depth int)
	add = func(t oxbow.Trait, depth int) {
		if !left[t.ID] {
			return // already placed above
		}
		left[t.ID] = false
		tree = append(tree, branch{t, depth})
		for _, child := range children[t.ID] {
			add(child, depth+1)
		}
	}
	for _, t := range traits {
		if !left[t.ParentID] && t.ParentID != t.ID {
			add(t, 0)
		}
	}
	for _, t := range traits { // a cycle of parents, which only a corrupt database has
		add(t, 0)
	}
	return tree
}

// shortIDs returns prefixes of the ids that distinguish the traits.
func shortIDs(traits []oxbow.Trait) map[uuid.UUID]string {
	for length := shortest; ; length++ {
		short, taken := map[uuid.UUID]string{}, map[string]bool{}
		for _, t := range traits {
			short[t.ID] = strings.TrimSuffix(t.ID.String()[:length], "-")
			taken[short[t.ID]] = true
		}
		if len(taken) == len(traits) || length == 36 {
			return short
		}
	}
}

// traitTable returns a table in which the text of a trait is indented by its depth.
func (u *user) traitTable(tree []branch, short map[uuid.UUID]string) *table {
	t := u.table("~trait", "subtype", "stage", "#confidence", "#stored", "context", "#for", "#against", "last evidence",
		"window ends", "id")
	for _, b := range tree {
		indent := strings.Repeat("  ", b.depth)
		window := "" // of a trend
		if b.Stage == string(lifecycle.Trend) {
			window = u.day(b.WindowEnd)
		}
		t.add(indent+printable(oneline.Shorten(b.Content, 200)), b.Subtype, b.Stage, b.Confidence, b.StoredConfidence,
			b.Context, b.Supporting, b.Contradicting, u.day(b.LastReinforced), window, short[b.ID])
		for _, context := range slices.Sorted(maps.Keys(b.Tendencies)) {
			tendency := b.Tendencies[context]
			t.add(indent+"  – "+printable(tendency.Tendency), "", "", tendency.Confidence, "", context, "", "", "", "",
				"")
		}
	}
	return t
}
