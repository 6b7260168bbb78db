package main

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/internal/consistency"
	"github.com/oxbow-memory/oxbow/store"
)

// checked is the output of check.
type checked struct {
	consistency.Report
	Found []consistency.Problem `json:"found"`
}

func checkCommand(a *app) *cobra.Command {
	var o consistency.Options
	cmd := &cobra.Command{
		Use:   "check [USER]",
		Short: "Check that traits agree with their events, and memories with their levels",
		Long: `Replay the events of every trait and compare the result with the trait; compare events with their evidence;
find references to memories that do not exist. Check also that secret memories (sensitivity 3) are sealed,
with a key in OXBOW_KEYSET if that is set, and that their text is nowhere else; that no more is kept of a
memory than its level says; and that merged memories have their originals. Without USER, check all users.

--repair corrects whatever follows from the events and the evidence, one trait per transaction. It never
erases a trait. A level that should have changed becomes due; other problems of memories are only reported:
"oxbow erase --memory ID" removes a memory and everything derived from it. The command fails if problems remain.`,
		Example: `  oxbow check
  oxbow check ada --repair`,
		Args: cobra.MaximumNArgs(1),
	}
	cmd.Flags().BoolVar(&o.Repair, "repair", false, "correct whatever follows from the events and the evidence")
	a.jsonFlag(cmd.Flags())
	cmd.RunE = a.asOperator(func(ctx context.Context, d *database, args []string) error {
		if len(args) > 0 {
			o.UserID = args[0]
			if err := store.ValidateUserID(o.UserID); err != nil {
				return usageError{err}
			}
		}
		return d.check(ctx, o)
	})
	return cmd
}

func (d *database) check(ctx context.Context, o consistency.Options) error {
	c := checked{Found: []consistency.Problem{}}
	k, err := keys(ctx)
	if err != nil {
		return err
	}
	if k != nil {
		o.KeyIDs = k.IDs()
	}
	bar := d.progress("check traits", 0)
	o.Progress = func(r consistency.Report) { bar.set(r.Traits) }
	o.Found = func(p consistency.Problem) error {
		c.Found = append(c.Found, p)
		return nil
	}
	c.Report, err = consistency.Check(ctx, d.pool, o)
	bar.end()
	if err == nil && o.UserID != "" && c.Traits+c.Secrets+c.Problems == 0 {
		var p store.Presence
		if p, err = store.UserPresence(ctx, d.pool, o.UserID); err == nil && !p.Any {
			err = fmt.Errorf("user %q has no memories", o.UserID)
		}
	}
	if err != nil {
		return err
	}
	err = d.output(c, func() { d.printChecked(c, o.Repair) })
	switch left := c.Problems - c.Repaired; {
	case err != nil || left == 0:
		return err
	case o.Repair:
		return fmt.Errorf("cannot repair %s", count(left, "problem"))
	default:
		return fmt.Errorf("found %s: --repair corrects those that follow from the events", count(left, "problem"))
	}
}

func (d *database) printChecked(c checked, repaired bool) {
	if len(c.Found) > 0 {
		t := d.table("user", "id", "problem", "found", "~expected", "state")
		for _, p := range c.Found {
			id, state := p.TraitID, ""
			if id == uuid.Nil {
				id = p.MemoryID
			}
			if repaired {
				state = map[bool]string{true: "repaired", false: "not repaired"}[p.Repaired]
			}
			t.add(p.UserID, id, p.Kind, p.Found, p.Expected, state)
		}
		t.print()
		d.printf("\n")
	}
	also := count(c.Traits, "trait")
	if c.Secrets > 0 {
		also += ", " + count(c.Secrets, "secret")
	}
	d.printf("Checked the memories of %s (%s): ", count(c.Users, "user"), also)
	switch {
	case c.Problems == 0:
		d.printf("no problems.\n")
	case repaired:
		d.printf("%s, %s repaired.\n", count(c.Problems, "problem"), thousands(c.Repaired))
	default:
		d.printf("%s.\n", count(c.Problems, "problem"))
	}
}
