package main

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
)

func traitEditCommand(a *app, userID *string) *cobra.Command {
	var edit oxbow.TraitEdit
	var confidence float64
	cmd := &cobra.Command{
		Use:   "edit ID",
		Short: "Correct the wording, context or confidence of a trait",
		Long: `Correct a trait on behalf of the person whom it describes. Reflection still weighs evidence afterwards, but
keeps the wording. A dissolved trait is revived. Without --confidence, the confidence is raised to at least
0.9.

A new wording gives the trait a new id; the old wording remains for questions about the past. "-" reads the
wording from standard input.`,
		Example: `  oxbow trait edit 0198c2f6 --user ada --content "Ada gets up early on weekdays" --reason "she said so"
  oxbow trait edit 0198c2f6 --user ada --context work --confidence 0.5`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&edit.Content, "content", "", "new wording")
	f.StringVar(&edit.Context, "context", "", "new context: work, personal, social, learning or general")
	f.Float64Var(&confidence, "confidence", 0, "new confidence, above 0 and below 1 (default: at least 0.9)")
	f.StringVar(&edit.Reason, "reason", "", "reason for the log")
	run := a.onTrait(userID, func(ctx context.Context, u *user, id uuid.UUID) error {
		newer, err := u.client.EditTrait(ctx, u.id, id, edit)
		if err != nil {
			return err
		}
		t, err := u.client.Trait(ctx, u.id, newer)
		if err != nil {
			return err
		}
		u.printf("Corrected: %s\nSubtype %s, stage %s, confidence %s, context %s.\n",
			printable(t.Content), t.Subtype, t.Stage, share(t.Confidence), printable(t.Context))
		if newer != id {
			u.printf("New id: %s.\n", newer)
		}
		return nil
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if !f.Changed("content") && !f.Changed("context") && !f.Changed("confidence") {
			return usagef("nothing to correct: give --content, --context or --confidence")
		}
		if edit.Content, err = a.text(cmd.Context(), edit.Content); err != nil {
			return err
		}
		switch {
		case f.Changed("content") && strings.TrimSpace(edit.Content) == "":
			return usagef("--content must not be blank")
		case f.Changed("context") && edit.Context == "":
			return usagef("--context must be work, personal, social, learning or general")
		case f.Changed("confidence"):
			edit.Confidence = &confidence
		}
		return run(cmd, args)
	}
	return cmd
}

func traitDissolveCommand(a *app, userID *string) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "dissolve ID",
		Short: "Archive a trait so that it is no longer recalled",
		Long: `Archive a trait on behalf of the person whom it describes. It is no longer recalled, and reflection does not
revive it; "oxbow trait edit" does.`,
		Args: cobra.ExactArgs(1),
		RunE: a.onTrait(userID, func(ctx context.Context, u *user, id uuid.UUID) error {
			if err := u.client.DissolveTrait(ctx, u.id, id, reason); err != nil {
				return err
			}
			u.printf("Dissolved. Only \"oxbow trait edit\" revives it.\n")
			return nil
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason for the log")
	return cmd
}

func traitDeleteCommand(a *app, userID *string) *cobra.Command {
	var yes bool
	run := a.onTrait(userID, func(ctx context.Context, u *user, id uuid.UUID) error {
		if !yes {
			t, err := u.client.Trait(ctx, u.id, id)
			if err != nil {
				return err
			}
			if err := u.confirmErasure(ctx, t.Content, "the trait with its evidence and its log"); err != nil {
				return err
			}
		}
		rows, err := u.client.DeleteTrait(ctx, u.id, id)
		if err != nil {
			return err
		}
		u.printf("Erased trait %s: %s. Reflection does not create it again.\n", id, count(rows, "row"))
		return nil
	})
	cmd := &cobra.Command{
		Use:   "delete ID",
		Short: "Erase a trait permanently, and prevent reflection from creating it again",
		Long: `Erase a trait on behalf of the person whom it describes, with all its wordings, its evidence and its log. The
memories that were evidence remain. A hash of the trait is kept, so that reflection does not create it again.
This cannot be undone, unlike "oxbow trait dissolve". Backups keep their data.

On a terminal, the command asks for confirmation. Otherwise it requires --yes.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.confirmable(cmd.CommandPath(), yes); err != nil {
				return err
			}
			return run(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return cmd
}
