package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
)

func newTraitEditCommand(a *app, trait *traitFlags) *cobra.Command {
	var edit oxbow.TraitEdit
	var confidence float64
	cmd := &cobra.Command{
		Use:   "edit ID",
		Short: "Correct a trait: its wording, its context, how sure it is",
		Long: `Correct a trait in the name of the person whom it is about. Reflection goes on to weigh evidence, but leaves the wording
alone from then on. A dissolved trait comes back. Unless --confidence says otherwise, the trait is at least as sure as 0.9.

A new wording gives the trait a new id; the old wording stays, as that of its time. "-" reads it from standard input.`,
		Example: `  oxbow trait edit 0198c2f6 --user ada --content "Ada gets up early on weekdays" --reason "she said so"
  oxbow trait edit 0198c2f6 --user ada --context work --confidence 0.5`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			given := cmd.Flags().Changed
			if !given("content") && !given("context") && !given("confidence") {
				return usagef("say what to correct: --content, --context or --confidence")
			}
			var err error
			if edit.Content, err = a.text(cmd.Context(), edit.Content); err != nil {
				return err
			}
			switch {
			case given("content") && strings.TrimSpace(edit.Content) == "":
				return usagef("--content must not be blank")
			case given("context") && edit.Context == "":
				return usagef("--context must be work, personal, social, learning or general")
			case given("confidence"):
				edit.Confidence = &confidence
			}
			return a.onTrait(cmd.Context(), args[0], trait.user, func(ctx context.Context, d *database, user string, id uuid.UUID) error {
				return a.editTrait(ctx, d, user, id, edit)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&edit.Content, "content", "", "the new wording")
	f.StringVar(&edit.Context, "context", "", "work, personal, social, learning or general")
	f.Float64Var(&confidence, "confidence", 0, "how sure it is, above 0 and below 1 (default: 0.9 at least)")
	f.StringVar(&edit.Reason, "reason", "", "why, for the log")
	return cmd
}

func (a *app) editTrait(ctx context.Context, d *database, user string, id uuid.UUID, edit oxbow.TraitEdit) error {
	newer, err := d.client.EditTrait(ctx, user, id, edit)
	if err != nil {
		return err
	}
	t, err := d.client.Trait(ctx, user, newer)
	if err != nil {
		return err
	}
	a.printf("Corrected: %s\nSubtype %s, stage %s, confidence %s, context %s.\n", printable(t.Content), t.Subtype, t.Stage, share(t.Confidence),
		printable(t.Context))
	if newer != id {
		a.printf("Its id is now %s.\n", newer)
	}
	return nil
}

func newTraitDissolveCommand(a *app, trait *traitFlags) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "dissolve ID",
		Short: "Archive a trait: it is told no more",
		Long: `Archive a trait in the name of the person whom it is about: it is recalled no more, and reflection does not bring it
back; "oxbow trait edit" does.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onTrait(cmd.Context(), args[0], trait.user, func(ctx context.Context, d *database, user string, id uuid.UUID) error {
				if err := d.client.DissolveTrait(ctx, user, id, reason); err != nil {
					return err
				}
				a.printf("Dissolved. Reflection does not bring it back; \"oxbow trait edit\" does.\n")
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the log")
	return cmd
}

func newTraitDeleteCommand(a *app, trait *traitFlags) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete ID",
		Short: "Erase a trait, so that reflection does not make it again",
		Long: `Erase a trait with all its wordings, its evidence and its log, in the name of the person whom it is about. The memories
that were evidence stay. A hash of what it said is kept, so that reflection does not make it again. It cannot be taken
back; "oxbow trait dissolve" can. A backup still has what it had.

On a terminal it asks first; elsewhere --yes is needed.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes && !a.canAsk() {
				return usagef("trait delete deletes data for good: give --yes to confirm it")
			}
			return a.onTrait(cmd.Context(), args[0], trait.user, func(ctx context.Context, d *database, user string, id uuid.UUID) error {
				return a.deleteTrait(ctx, d, user, id, yes)
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func (a *app) deleteTrait(ctx context.Context, d *database, user string, id uuid.UUID, yes bool) error {
	if !yes {
		t, err := d.client.Trait(ctx, user, id)
		if err != nil {
			return err
		}
		question := fmt.Sprintf("%s\nThis erases the trait for good, with its evidence and its log. Type yes to go on: ",
			joinLines(wrap(printable(t.Content), 100, textRows)))
		if err := a.confirm(ctx, question, "yes"); err != nil {
			return err
		}
	}
	rows, err := d.client.DeleteTrait(ctx, user, id)
	if err != nil {
		return err
	}
	a.printf("Trait %s is erased: %s. Reflection does not make it again.\n", id, count(rows, "row", "rows"))
	return nil
}
