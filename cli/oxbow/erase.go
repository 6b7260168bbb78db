package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
)

// eraseFlags are the flags of erase.
type eraseFlags struct {
	memory      uuid.UUID
	user, proof string
	yes         bool
}

func eraseCommand(a *app) *cobra.Command {
	var flags eraseFlags
	cmd := &cobra.Command{
		Use:   "erase USER... | --memory ID --user USER",
		Short: "Erase a user or a memory permanently",
		Long: `Erase all data of a user, or one memory: memories with all versions, vectors, history, and jobs with their
arguments and errors. This cannot be undone, unlike "oxbow forget". Backups keep their data. What transactions store
that began before is erased too, later if they take more than 2 seconds.

A receipt stays in the database: the time, the role, and the number of rows erased from each table. It does
not contain the user. The proof, which is printed once and not stored, shows whose receipt it is: --receipt
with the same user or memory prints the receipt again.

On a terminal, the command asks for confirmation. Otherwise it requires --yes.`,
		Example: `  oxbow erase ada
  oxbow erase --memory 0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c1 --user ada --yes
  oxbow erase ada --receipt V5T2ZQ6JQ4R3M7K2X5W4E6N3PA`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, users []string) error {
			if err := flags.check(users); err != nil {
				return err
			}
			if a.json && len(users) > 1 {
				return usagef("--json prints one receipt, got %d users", len(users))
			}
			if flags.user != "" {
				users = []string{flags.user}
			}
			if flags.proof == "" {
				if err := a.confirmable(cmd.CommandPath(), flags.yes); err != nil {
					return err
				}
			}
			return a.onDatabase(func(ctx context.Context, d *database, _ []string) error {
				for _, user := range users {
					if err := d.erase(ctx, user, flags); err != nil {
						return err
					}
				}
				return nil
			})(cmd, nil)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&flags.yes, "yes", false, "do not ask for confirmation")
	idFlag(f, &flags.memory, "memory", "erase only this memory")
	userFlag(f, &flags.user, "user of the memory")
	f.StringVar(&flags.proof, "receipt", "", "erase nothing; print the receipt with this `proof`")
	a.jsonFlag(f)
	return cmd
}

// check checks which flags and arguments are given together.
func (e eraseFlags) check(users []string) error {
	switch one := e.memory != uuid.Nil; {
	case !one && e.user != "":
		return usagef("--user requires --memory: to erase a user, run oxbow erase %s", e.user)
	case !one && len(users) == 0:
		return usagef("nothing to erase: give USER, or --memory ID --user USER")
	case one && len(users) > 0:
		return usagef("USER %q and --memory exclude each other", users[0])
	case one && e.user == "":
		return usagef("--memory requires --user")
	case e.proof != "" && len(users) > 1:
		return usagef("--receipt accepts one user, got %d", len(users))
	}
	return nil
}

// erase erases a user or a memory, or finds the receipt of an earlier erasure, and prints the receipt.
func (d *database) erase(ctx context.Context, user string, flags eraseFlags) error {
	what := fmt.Sprintf("user %q", user)
	if flags.memory != uuid.Nil {
		what = fmt.Sprintf("memory %s", flags.memory)
	}
	var receipt oxbow.Receipt
	var err error
	switch {
	case flags.proof != "":
		receipt, err = d.client.FindReceipt(ctx, user, flags.memory, flags.proof)
	case flags.memory != uuid.Nil:
		if err := d.confirmMemory(ctx, user, flags); err != nil {
			return err
		}
		receipt, err = d.client.EraseMemory(ctx, user, flags.memory)
		if err == nil && receipt.Rows() == 0 {
			err = fmt.Errorf("user %q has no memory %s: nothing was erased", user, flags.memory)
		}
	default:
		question := fmt.Sprintf("This permanently erases all data of %s.\nType the user's id to continue: ", what)
		if !flags.yes {
			err = d.confirm(ctx, question, user)
		}
		if err == nil {
			receipt, err = d.client.EraseUser(ctx, user)
		}
	}
	if err != nil {
		return err
	}
	return d.printReceipt(receipt, what)
}

func (d *database) confirmMemory(ctx context.Context, user string, flags eraseFlags) error {
	if flags.yes {
		return nil
	}
	m, err := d.client.Get(ctx, user, flags.memory)
	if err != nil && !errors.Is(err, oxbow.ErrSealed) { // erasing does not require reading the text
		return err
	}
	return d.confirmErasure(ctx, m.Content, "the memory and everything that refers to it")
}

// printReceipt shows how many rows each table lost, and how to prove the erasure.
func (d *database) printReceipt(r oxbow.Receipt, what string) error {
	return d.output(r, func() {
		if len(r.Erased) > 0 {
			t := d.table("table", "#rows erased")
			for _, e := range r.Erased {
				t.add(e.Table, e.Rows)
			}
			t.print()
		}
		d.printf("Erased %s: %s.\nReceipt %s of %s UTC, requested by %s.\nProof, stored nowhere else: %s\n",
			what, count(r.Rows(), "row"), r.ID, format(r.At, secondLayout, time.UTC), printable(r.Actor), r.Proof)
		if r.CompletedAt.IsZero() {
			d.printf("Transactions that began before are open. The worker erases what they store; the receipt then says so.\n")
		}
	})
}
