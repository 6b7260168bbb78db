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

func newCheckCommand(a *app) *cobra.Command {
	var repair, asJSON bool
	cmd := &cobra.Command{
		Use:   "check [USER]",
		Short: "Compare traits with what happened to them",
		Long: `Replay the events of every trait and compare what they lead to with the trait; compare the events with the evidence that
counted in them; and look for what refers to nothing: evidence, events, clues and links of memories that are not there,
parents that are none. What is secret (sensitivity 3) has to be sealed, with a key of OXBOW_KEYSET if that is set, and to stand
nowhere else. Without USER, all users are checked.

With --repair, what follows from the events and the evidence is put right, each trait in a transaction of its own; no trait
is erased. What is wrong with secrets is told only: "oxbow erase --memory ID" takes one away with all that was made of it. The
command fails if problems are left.`,
		Example: `  oxbow check
  oxbow check ada --repair`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, users []string) error {
			o := consistency.Options{Repair: repair}
			if len(users) > 0 {
				if err := store.ValidateUserID(users[0]); err != nil {
					return usageError{err}
				}
				o.UserID = users[0]
			}
			return a.check(cmd.Context(), o, asJSON)
		},
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "put right what follows from the events and the evidence")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) check(ctx context.Context, o consistency.Options, asJSON bool) error {
	d, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer d.close()
	if err := seeAll(ctx, d.pool, "check"); err != nil {
		return err
	}
	c := checked{Found: []consistency.Problem{}}
	k, err := keys(ctx)
	if err != nil {
		return err
	}
	if k != nil {
		o.KeyIDs = k.IDs()
	}
	progress := a.progress("check traits", 0)
	o.Progress = func(r consistency.Report) { progress.set(r.Traits) }
	o.Found = func(p consistency.Problem) error {
		c.Found = append(c.Found, p)
		return nil
	}
	c.Report, err = consistency.Check(ctx, d.pool, o)
	progress.end()
	if err != nil {
		return err
	}
	if o.UserID != "" && c.Traits+c.Secrets == 0 {
		if memories, err := store.UserPresence(ctx, d.pool, o.UserID); err != nil {
			return err
		} else if !memories.Any {
			a.say("There are no memories of user %q.", o.UserID)
		}
	}
	if asJSON {
		err = a.printJSON(c)
	} else {
		err = a.printChecked(c, o.Repair)
	}
	if left := c.Problems - c.Repaired; err == nil && left > 0 {
		err = fmt.Errorf("%s: with --repair those are put right of which the events tell how", count(left, "problem", "problems"))
		if o.Repair {
			err = fmt.Errorf("%s left that the events do not tell how to put right", count(left, "problem is", "problems are"))
		}
	}
	return err
}

func (a *app) printChecked(c checked, repaired bool) error {
	if len(c.Found) > 0 {
		t := newTable("user", "id", "problem", "found", "~expected", "")
		for _, p := range c.Found {
			trait, state := "", ""
			if p.TraitID != uuid.Nil {
				trait = p.TraitID.String()
			} else if p.MemoryID != uuid.Nil {
				trait = p.MemoryID.String()
			}
			if repaired {
				state = map[bool]string{true: "repaired", false: "left"}[p.Repaired]
			}
			t.add(printable(p.UserID), trait, p.Kind, printable(p.Found), printable(p.Expected), state)
		}
		if err := t.print(a.out); err != nil {
			return err
		}
		a.printf("\n")
	}
	looked := count(c.Traits, "trait", "traits")
	if c.Secrets > 0 {
		looked += " and " + count(c.Secrets, "secret", "secrets")
	}
	a.printf("%s of %s: ", looked, count(c.Users, "user", "users"))
	switch {
	case c.Problems == 0:
		a.printf("no problems.\n")
	case repaired:
		a.printf("%s, %s repaired.\n", count(c.Problems, "problem", "problems"), thousands(c.Repaired))
	default:
		a.printf("%s.\n", count(c.Problems, "problem", "problems"))
	}
	return nil
}
