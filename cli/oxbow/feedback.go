package main

import (
	"context"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
)

func feedbackCommand(a *app) *cobra.Command {
	var userID, query, reason string
	cmd := &cobra.Command{
		Use:   "feedback ID KIND",
		Short: "Say that a memory helped, or is wrong",
		Long: `Say what a person thinks of a memory or a trait. KIND is one of these:

  helpful       it helped
  wrong         it is not true, or does not answer the question: recall leaves it out for questions similar to
                --query (without --query, for all) for the number of days in the policy feedback_suppress_days
  outdated      it is no longer true: a fact ends
  not_about_me  it is about somebody else: the memory is forgotten, or the trait dissolved
  too_much      it is mentioned too often: recall leaves it out for questions similar to --query

When several signals agree, the job dispatch also changes the weight of the memory or the confidence of the
trait: see "oxbow adjustments". Print the id of the signal. Without --user, search the memories of all users.`,
		Example: `  oxbow feedback 0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c1 wrong --user ada --query "Where does Lena work?"`,
		Args:    cobra.ExactArgs(2),
	}
	f := cmd.Flags()
	userFlag(f, &userID, "user of the memory")
	f.StringVar(&query, "query", "", "question that the memory answered")
	f.StringVar(&reason, "reason", "", "what the person said")
	a.jsonFlag(f)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.onMemory(&userID, func(ctx context.Context, u *user, id uuid.UUID) error {
			signal, err := u.client.Feedback(ctx, u.id, oxbow.Feedback{Kind: args[1], IDs: []uuid.UUID{id}, Query: query,
				Reason: reason})
			if err != nil {
				return err
			}
			return u.output(map[string]uuid.UUID{"signal": signal}, func() { u.printf("%s\n", signal) })
		})(cmd, args[:1])
	}
	return cmd
}

func adjustmentsCommand(a *app) *cobra.Command {
	limit := 50
	var undo uuid.UUID
	cmd := &cobra.Command{
		Use:   "adjustments USER",
		Short: "Show what feedback changed, and undo it",
		Long: `Show what feedback on memories and answers of a user changed, the latest first: the weight of memories
(by their strength), the confidence of traits, and the reliability of skills. A change is undone when it expires,
when later signals say the opposite, or with --rollback.`,
		Example: `  oxbow adjustments ada
  oxbow adjustments ada --rollback 0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c1`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	limitFlag(f, &limit, "number of changes to show")
	idFlag(f, &undo, "rollback", "undo the change with this id first")
	a.jsonFlag(f)
	cmd.RunE = a.onUser(func(ctx context.Context, u *user, _ []string) error {
		if undo != uuid.Nil {
			if err := u.client.Rollback(ctx, u.id, undo); err != nil {
				return err
			}
		}
		adjustments, err := u.client.Adjustments(ctx, u.id, uuid.Nil, limit)
		if err != nil {
			return err
		}
		return u.output(adjustments, func() {
			if len(adjustments) == 0 {
				u.say("No feedback of user %q changed anything.", u.id)
				return
			}
			t := u.table("at", "id", "change", "#before", "#after", "~memory", "|cause", "until")
			for _, j := range adjustments {
				until := u.day(j.ExpiresAt)
				if !j.UndoneAt.IsZero() {
					until = "undone: " + j.UndoneBy
				}
				t.add(j.At, j.ID, j.Kind, j.Before, j.After, j.Content, j.Cause, until)
			}
			t.print()
		})
	})
	return cmd
}
