package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
)

// story is the history of a memory and its versions.
type story struct {
	Versions []oxbow.Memory `json:"versions"`
	History  []oxbow.Change `json:"history"`
}

func newHistoryCommand(a *app) *cobra.Command {
	var user string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "history ID",
		Short: "Show what happened to a memory, on what was said",
		Long: `Show all versions of a memory, older and newer, with when each was true and when it was believed, and what was done to them, by
whom, why, and on which messages: stored, changed, taken back, mentioned again, used by a reply, forgotten, restored. What was
erased is gone. Of a trait, "oxbow trait" shows the evidence too.

Without --user the memory is looked for among those of all users, which takes a while in a large database.`,
		Example: `  oxbow history 0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c1 --user ada`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := idArgument(args[0])
			if err != nil {
				return err
			}
			d, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer d.close()
			return a.history(cmd.Context(), d, user, id, asJSON)
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "whose memory it is")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) history(ctx context.Context, d *database, userID string, id uuid.UUID, asJSON bool) (err error) {
	if userID == "" {
		if userID, err = ownerOf(ctx, d, id); err != nil {
			return err
		}
	}
	var s story
	if s.Versions, err = d.client.Versions(ctx, userID, id); err != nil {
		return err
	}
	if s.History, err = d.client.History(ctx, userID, id); err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(s)
	}
	location, err := d.location(ctx, userID)
	if err != nil {
		return err
	}
	if err := a.printVersions(s.Versions, id, location); err != nil {
		return err
	}
	a.printf("\n")
	if err := a.printChanges(s, location); err != nil {
		return err
	}
	if s.Versions[0].Type == oxbow.TypeTrait {
		a.printf("\nIts evidence, and all that made it more or less sure: oxbow trait %s --user %s\n", id, printable(userID))
	}
	return nil
}

// printVersions writes a line for each version and marks the requested one.
func (a *app) printVersions(versions []oxbow.Memory, asked uuid.UUID, location *time.Location) error {
	columns := width(a.out)
	t := newTable("#nr", "true from", "true until", "believed from", "believed until", "~memory", "state", "id")
	for i, v := range versions {
		id := v.ID.String()
		if columns > 0 && columns < roomForIDs {
			id = ""
		}
		number := fmt.Sprint(i + 1)
		if v.ID == asked && len(versions) > 1 {
			number = "→ " + number
		}
		t.add(number, showTime(trueFrom(v), location), showTime(v.InvalidAt, location), showTime(v.CreatedAt, location), showTime(v.ExpiredAt, location),
			printable(v.Content), versionState(v), id)
	}
	return t.print(a.out)
}

// trueFrom returns when a memory became true.
func trueFrom(m oxbow.Memory) time.Time {
	if m.ValidAt.IsZero() {
		return m.CreatedAt
	}
	return m.ValidAt
}

// versionState describes the state of a version.
func versionState(v oxbow.Memory) string {
	switch {
	case !v.ForgottenAt.IsZero():
		return "forgotten"
	case !v.InvalidAt.IsZero() && !v.InvalidAt.After(trueFrom(v)):
		return "never true"
	case v.SupersededBy != uuid.Nil:
		return "superseded"
	case !v.ExpiredAt.IsZero() || !v.InvalidAt.IsZero() && !v.InvalidAt.After(time.Now()):
		return "ended"
	}
	return "current"
}

// printChanges writes the changes, each followed by the messages it is based on, indented. Each
// message appears once.
func (a *app) printChanges(s story, location *time.Location) error {
	numbers := map[uuid.UUID]string{}
	for i, v := range s.Versions {
		numbers[v.ID] = fmt.Sprint(i + 1)
	}
	told := map[uuid.UUID]bool{}
	t := newTable("when", "what", "#nr", "by", "~text", "why")
	for _, c := range s.History {
		t.add(showTime(c.At, location), s.happening(c), numbers[c.MemoryID], printable(c.Actor), printable(changedText(c)),
			joinLines(wrap(printable(c.Reason), 30, textRows)))
		for _, m := range c.Messages {
			if told[m.ID] {
				continue
			}
			told[m.ID] = true
			by := m.Speaker
			if by == "" {
				by = m.Role
			}
			t.add(showTime(m.At, location), "  said", "", printable(by), "  "+printable(m.Content), "in "+printable(m.SessionID))
		}
	}
	return t.print(a.out)
}

// happening describes a change in a word or two.
func (s story) happening(c oxbow.Change) string {
	switch {
	case c.Event == "DELETE" && len(c.Messages) > 0:
		return "taken back" // by an extraction; forget has no messages
	case c.Event == "UPDATE":
		return s.replaced(c)
	case c.Event == "SUPERSEDE":
		return "changed to"
	}
	return event(c.Event)
}

// replaced describes how a version relates to the one that an extraction created.
func (s story) replaced(c oxbow.Change) string {
	i := slices.IndexFunc(s.Versions, func(v oxbow.Memory) bool { return v.ID == c.MemoryID })
	j := slices.IndexFunc(s.Versions, func(v oxbow.Memory) bool { return v.ID != c.MemoryID && v.Content == c.NewContent })
	switch {
	case i < 0 || j < 0:
		return "changed to"
	case s.Versions[i].InvalidAt.IsZero():
		return "contradicted by"
	}
	return "changed to"
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
