package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
)

// story is the output of history.
type story struct {
	Versions []oxbow.Memory `json:"versions"`
	History  []oxbow.Change `json:"history"`
	Origins  []oxbow.Origin `json:"origins"`
}

// maxOrigins is the number of origins in the output of history.
const maxOrigins = 50

func historyCommand(a *app) *cobra.Command {
	var userID string
	cmd := &cobra.Command{
		Use:   "history ID",
		Short: "Show the versions of a memory and the changes to it",
		Long: `Show all versions of a memory, with the times when each was true and believed, and each change: what was done,
by whom, why, and the messages it is based on. If it was made from other memories, show these too, step by step.
Erased versions are gone. For a trait, "oxbow trait" also shows the evidence.

Without --user, search the memories of all users, which is slow in a large database.`,
		Example: `  oxbow history 0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c1 --user ada`,
		Args:    cobra.ExactArgs(1),
		RunE: a.onMemory(&userID, func(ctx context.Context, u *user, id uuid.UUID) (err error) {
			var s story
			if s.Versions, err = u.client.Versions(ctx, u.id, id); err != nil {
				return err
			}
			if s.History, err = u.client.History(ctx, u.id, id); err != nil {
				return err
			}
			if s.Origins, err = u.client.Provenance(ctx, u.id, id, maxOrigins); err != nil {
				return err
			}
			return u.output(s, func() {
				u.printVersions(s.Versions, id)
				u.printf("\n")
				u.printChanges(s)
				u.printOrigins(s.Origins)
				if s.Versions[0].Type == oxbow.TypeTrait {
					u.printf("\nFor the evidence, run: oxbow trait %s --user %s\n", s.Versions[len(s.Versions)-1].ID,
						printable(u.id))
				}
			})
		}),
	}
	userFlag(cmd.Flags(), &userID, "user of the memory")
	a.jsonFlag(cmd.Flags())
	return cmd
}

// printVersions writes a line for each version and marks the requested one.
func (u *user) printVersions(versions []oxbow.Memory, asked uuid.UUID) {
	t := u.table("#nr", "true from", "true until", "believed from", "believed until", "~memory", "state", "id")
	for i, v := range versions {
		number := fmt.Sprint(i + 1)
		if v.ID == asked && len(versions) > 1 {
			number = "→ " + number
		}
		t.add(number, trueFrom(v), v.InvalidAt, v.CreatedAt, v.ExpiredAt, v.Content, versionState(versions, v), v.ID)
	}
	t.print()
}

// trueFrom returns when a memory became true.
func trueFrom(m oxbow.Memory) time.Time {
	if m.ValidAt.IsZero() {
		return m.CreatedAt
	}
	return m.ValidAt
}

// versionState describes the state of a version. For an original or an attachment it gives the number of the version
// that it became part of.
func versionState(versions []oxbow.Memory, v oxbow.Memory) string {
	next := slices.IndexFunc(versions, func(n oxbow.Memory) bool { return n.ID == v.SupersededBy })
	switch {
	case !v.ForgottenAt.IsZero():
		return "forgotten"
	case isOriginal(versions, v):
		return fmt.Sprintf("merged into %d", next+1)
	case next >= 0 && v.Reference != "" && v.Reference != versions[next].Reference:
		return fmt.Sprintf("attached to %d", next+1)
	case v.Type != oxbow.TypeTrait && !v.InvalidAt.IsZero() && !v.InvalidAt.After(trueFrom(v)):
		return "never true"
	case v.SupersededBy != uuid.Nil:
		return "superseded"
	case !v.ExpiredAt.IsZero() || !v.InvalidAt.IsZero() && !v.InvalidAt.After(time.Now()):
		return "ended"
	}
	return "current"
}

// isOriginal reports whether a version was merged into another one.
func isOriginal(versions []oxbow.Memory, v oxbow.Memory) bool {
	return v.Source != "merge" && slices.ContainsFunc(versions, func(n oxbow.Memory) bool {
		return n.ID == v.SupersededBy && n.Source == "merge"
	})
}

// printChanges writes the changes, each followed by the messages it is based on, indented. Each message appears once.
func (u *user) printChanges(s story) {
	numbers := map[uuid.UUID]string{}
	for i, v := range s.Versions {
		numbers[v.ID] = fmt.Sprint(i + 1)
	}
	printed := map[uuid.UUID]bool{}
	t := u.table("when", "what", "#nr", "by", "~text", "|why")
	for _, c := range s.History {
		t.add(c.At, s.what(c), numbers[c.MemoryID], c.Actor, changedText(c), c.Reason)
		for _, m := range c.Messages {
			if printed[m.ID] {
				continue
			}
			printed[m.ID] = true
			t.add(m.At, "  said", "", cmp.Or(m.Speaker, m.Role), "  "+printable(m.Content), "in "+m.SessionID)
		}
	}
	t.print()
}

// printOrigins writes the memories and messages from which a memory was made, unless the versions and changes already
// show them all.
func (u *user) printOrigins(origins []oxbow.Origin) {
	shown := func(o oxbow.Origin) bool { return o.Relation == "supersedes" || o.Relation == "said" }
	if !slices.ContainsFunc(origins, func(o oxbow.Origin) bool { return !shown(o) }) {
		return
	}
	u.printf("\n")
	t := u.table("#step", "from", "when", "by", "~text", "id")
	for _, o := range origins {
		t.add(fmt.Sprint(o.Step), o.Relation, o.At, o.Speaker, cmp.Or(o.Content, "(sensitive)"),
			cmp.Or(o.MemoryID, o.MessageID))
	}
	t.print()
}

// what names a change.
func (s story) what(c oxbow.Change) string {
	switch c.Event {
	case "DELETE":
		if len(c.Messages) > 0 {
			return "retracted" // by an extraction; forget has no messages
		}
	case "UPDATE", "SUPERSEDE":
		old := slices.IndexFunc(s.Versions, func(v oxbow.Memory) bool { return v.ID == c.MemoryID })
		next := slices.IndexFunc(s.Versions, func(v oxbow.Memory) bool {
			return v.ID != c.MemoryID && v.Content == c.NewContent
		})
		if old >= 0 && isOriginal(s.Versions, s.Versions[old]) {
			return "merged into"
		}
		if c.Event == "UPDATE" && old >= 0 && next >= 0 && s.Versions[old].InvalidAt.IsZero() {
			return "contradicted by"
		}
		return "changed to"
	}
	return eventName(c.Event)
}

// changedText returns the text that a change is about.
func changedText(c oxbow.Change) string {
	switch c.Event {
	case "STAGE_CHANGE":
		return fmt.Sprintf("%v → %v", c.OldMetadata["stage"], c.NewMetadata["stage"])
	case "ADD", "UPDATE", "SUPERSEDE":
		return c.NewContent
	}
	return ""
}

// eventName returns the name of a change in the history.
func eventName(event string) string {
	names := map[string]string{"ADD": "stored", "UPDATE": "changed to", "SUPERSEDE": "changed to", "DELETE": "forgotten",
		"RESTORE": "restored", "STAGE_CHANGE": "stage changed", "NOOP": "mentioned", "BOOST": "used",
		"EXPIRE":  "expired",
		"PROMOTE": "promoted", "DEMOTE": "demoted", "VERIFY": "verified", "KEEP": "kept", "MARK": "marked",
		"UNMERGE": "unmerged", "COMPRESS": "compressed"}
	return cmp.Or(names[event], event)
}
