package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
)

// erasing holds the flags of erase.
type erasing struct {
	memory, user, proof string
	yes, asJSON         bool
}

func newEraseCommand(a *app) *cobra.Command {
	var e erasing
	cmd := &cobra.Command{
		Use:   "erase USER... | --memory ID --user USER",
		Short: "Erase a user, or one memory, without a trace",
		Long: `Erase everything of a user, or one memory, in one transaction: memories with all versions, vectors, history, jobs with
their arguments and errors. It cannot be taken back; "oxbow forget" can. A backup still has what it had.

A receipt stays in the database: when, by which role, how many rows of which table. It does not say of whom. The proof, which
is printed once and kept nowhere, shows whose it is: with --receipt and the same user or memory the receipt is shown again.

On a terminal it asks first; elsewhere --yes is needed.`,
		Example: `  oxbow erase ada
  oxbow erase --memory 0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c1 --user ada --yes
  oxbow erase ada --receipt V5T2ZQ6JQ4R3M7K2X5W4E6N3PA`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, users []string) error {
			switch {
			case e.memory == "" && e.user != "":
				return usagef("--user goes with --memory; to erase all of a user: oxbow erase %s", e.user)
			case e.memory == "" && len(users) == 0:
				return usagef("say what to erase: oxbow erase USER, or oxbow erase --memory ID --user USER")
			case e.memory != "" && len(users) > 0:
				return usagef("either users or one memory can be erased, and not %q together with --memory", users[0])
			case e.memory != "" && e.user == "":
				return usagef("say whose memory it is: --user USER")
			case e.proof != "" && len(users) > 1:
				return usagef("a receipt is of one user")
			case e.proof != "":
				return a.showReceipt(cmd.Context(), strings.Join(users, "")+e.user, e)
			case e.memory != "":
				return a.eraseMemory(cmd.Context(), e)
			}
			return a.eraseUsers(cmd.Context(), users, e)
		},
	}
	cmd.Flags().BoolVar(&e.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&e.asJSON, "json", false, "print the receipts as JSON, one after the other")
	cmd.Flags().StringVar(&e.memory, "memory", "", "the id of the one memory to erase")
	cmd.Flags().StringVar(&e.user, "user", "", "whose memory it is")
	cmd.Flags().StringVar(&e.proof, "receipt", "", "erase nothing: show the receipt with this proof")
	return cmd
}

func (a *app) eraseUsers(ctx context.Context, users []string, e erasing) error {
	if !e.yes && !a.canAsk() {
		return usagef("erase deletes data for good: give --yes to confirm it")
	}
	d, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer d.close()
	for _, userID := range users {
		if !e.yes {
			question := fmt.Sprintf("This erases everything of user %q for good.\nType the user's id to go on: ", userID)
			if err := a.confirm(ctx, question, userID); err != nil {
				return err
			}
		}
		receipt, err := d.client.EraseUser(ctx, userID)
		if err != nil {
			return err
		}
		says := fmt.Sprintf("User %q is erased: %s.", userID, count(receipt.Rows(), "row", "rows"))
		if receipt.Rows() == 0 {
			says = fmt.Sprintf("The database had nothing of user %q.", userID)
		}
		if err := a.printReceipt(receipt, says, e.asJSON); err != nil {
			return err
		}
	}
	return nil
}

// printReceipt shows how many rows each table lost, and how to prove the erasure.
func (a *app) printReceipt(r oxbow.Receipt, says string, asJSON bool) error {
	if asJSON {
		return a.printJSON(r)
	}
	if len(r.Erased) > 0 {
		t := newTable("table", "#rows erased")
		for _, e := range r.Erased {
			t.add(e.Table, thousands(e.Rows))
		}
		if err := t.print(a.out); err != nil {
			return err
		}
	}
	a.printf("%s\nReceipt %s of %s, asked for by %s.\nProof, which is kept nowhere else: %s\n",
		says, r.ID, r.At.UTC().Format("2006-01-02 15:04:05 UTC"), printable(r.Actor), r.Proof)
	return nil
}

func (a *app) eraseMemory(ctx context.Context, e erasing) error {
	id, err := idFlag("memory", e.memory)
	if err != nil {
		return err
	}
	if !e.yes && !a.canAsk() {
		return usagef("erase deletes data for good: give --yes to confirm it")
	}
	d, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer d.close()
	if !e.yes {
		if err := a.confirmMemory(ctx, d, e.user, id); err != nil {
			return err
		}
	}
	receipt, err := d.client.EraseMemory(ctx, e.user, id)
	if err != nil {
		return err
	}
	if receipt.Rows() == 0 {
		return fmt.Errorf("user %q has no memory %s, and nothing was erased", e.user, id)
	}
	return a.printReceipt(receipt, fmt.Sprintf("Memory %s is erased: %s.", id, count(receipt.Rows(), "row", "rows")), e.asJSON)
}

// showReceipt shows the receipt of an earlier erasure.
func (a *app) showReceipt(ctx context.Context, userID string, e erasing) error {
	id, what := uuid.Nil, fmt.Sprintf("User %q was erased", userID)
	if e.memory != "" {
		var err error
		if id, err = idFlag("memory", e.memory); err != nil {
			return err
		}
		what = fmt.Sprintf("Memory %s was erased", id)
	}
	d, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer d.close()
	receipt, err := d.client.FindReceipt(ctx, userID, id, e.proof)
	if err != nil {
		return err
	}
	return a.printReceipt(receipt, fmt.Sprintf("%s: %s.", what, count(receipt.Rows(), "row", "rows")), e.asJSON)
}

func (a *app) confirmMemory(ctx context.Context, d *database, userID string, id uuid.UUID) error {
	m, err := d.client.Get(ctx, userID, id)
	if err != nil && !errors.Is(err, oxbow.ErrSealed) { // erasing does not require reading the text
		return err
	}
	text := wrap(printable(m.Content), 100, 3)
	return a.confirm(ctx, fmt.Sprintf("%s\nThis erases the memory for good, with all that refers to it. Type yes to go on: ",
		strings.Join(text, "\n")), "yes")
}
