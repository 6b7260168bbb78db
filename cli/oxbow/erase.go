package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
)

func newEraseCommand(a *app) *cobra.Command {
	var yes bool
	var memory, user string
	cmd := &cobra.Command{
		Use:   "erase USER... | --memory ID --user USER",
		Short: "Erase a user, or one memory, without a trace",
		Long: `Erase everything of a user, or one memory, in one transaction: memories with all versions, vectors, history, jobs with
their arguments and errors. It cannot be taken back; "oxbow forget" can. A backup still has what it had.

On a terminal it asks first; elsewhere --yes is needed.`,
		Example: `  oxbow erase ada
  oxbow erase --memory 0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c1 --user ada --yes`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, users []string) error {
			switch {
			case memory == "" && user != "":
				return usagef("--user goes with --memory; to erase all of a user: oxbow erase %s", user)
			case memory == "" && len(users) == 0:
				return usagef("say what to erase: oxbow erase USER, or oxbow erase --memory ID --user USER")
			case memory != "" && len(users) > 0:
				return usagef("either users or one memory can be erased, and not %q together with --memory", users[0])
			case memory != "" && user == "":
				return usagef("say whose memory it is: --user USER")
			case memory != "":
				return a.eraseMemory(cmd.Context(), user, memory, yes)
			}
			return a.eraseUsers(cmd.Context(), users, yes)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().StringVar(&memory, "memory", "", "the id of the one memory to erase")
	cmd.Flags().StringVar(&user, "user", "", "whose memory it is")
	return cmd
}

func (a *app) eraseUsers(ctx context.Context, users []string, yes bool) error {
	if !yes && !a.canAsk() {
		return usagef("erase deletes data for good: give --yes to confirm it")
	}
	d, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer d.close()
	for _, userID := range users {
		if !yes {
			question := fmt.Sprintf("This erases everything of user %q for good.\nType the user's id to go on: ", userID)
			if err := a.confirm(ctx, question, userID); err != nil {
				return err
			}
		}
		erased, err := d.client.EraseUser(ctx, userID)
		if err != nil {
			return err
		}
		if err := a.printErased(userID, erased); err != nil {
			return err
		}
	}
	return nil
}

// printErased shows what each table lost.
func (a *app) printErased(userID string, erased []oxbow.Erased) error {
	var total int64
	t := newTable("table", "#rows erased")
	for _, e := range erased {
		if total += e.Rows; e.Rows > 0 {
			t.add(e.Table, thousands(e.Rows))
		}
	}
	if total == 0 {
		a.printf("The database had nothing of user %q.\n", userID)
		return nil
	}
	if err := t.print(a.out); err != nil {
		return err
	}
	a.printf("User %q is erased: %s.\n", userID, count(total, "row", "rows"))
	return nil
}

func (a *app) eraseMemory(ctx context.Context, userID, memory string, yes bool) error {
	id, err := idFlag("memory", memory)
	if err != nil {
		return err
	}
	if !yes && !a.canAsk() {
		return usagef("erase deletes data for good: give --yes to confirm it")
	}
	d, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer d.close()
	if !yes {
		if err := a.confirmMemory(ctx, d, userID, id); err != nil {
			return err
		}
	}
	rows, err := d.client.EraseMemory(ctx, userID, id)
	if err != nil {
		return err
	}
	if rows == 0 {
		return fmt.Errorf("user %q has no memory %s, and nothing was erased", userID, id)
	}
	a.printf("Memory %s is erased: %s.\n", id, count(rows, "row", "rows"))
	return nil
}

func (a *app) confirmMemory(ctx context.Context, d *database, userID string, id uuid.UUID) error {
	m, err := d.client.Get(ctx, userID, id)
	if err != nil {
		return err
	}
	text := wrap(printable(m.Content), 100, 3)
	return a.confirm(ctx, fmt.Sprintf("%s\nThis erases the memory for good, with all that refers to it. Type yes to go on: ",
		strings.Join(text, "\n")), "yes")
}
