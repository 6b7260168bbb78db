package main

import (
	"context"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
)

func instructionsCommand(a *app) *cobra.Command {
	var all bool
	var add oxbow.NewInstruction
	var end uuid.UUID
	cmd := &cobra.Command{
		Use:   "instructions USER",
		Short: "Show how a user wants to be answered, or change that",
		Long: `Show a user's standing instructions, the most important first: what the user asked assistants to do from now
on, such as to answer in German. They come first in "oxbow context". A newer one replaces those of the same
aspect and scope. --add stores one, --end ends one.`,
		Example: `  oxbow instructions ada --add "Answer briefly" --aspect length
  oxbow instructions 林 --all`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.BoolVar(&all, "all", false, "include those that ended")
	f.StringVar(&add.Content, "add", "", "store this instruction first")
	f.StringVar(&add.Aspect, "aspect", "", "with --add: language, length, address, tone, format, avoid or other")
	f.StringVar(&add.Context, "context", "", "with --add: only in work, personal, social or learning")
	f.StringVar(&add.AgentID, "agent", "", "with --add: only for this agent")
	intFlag(f, &add.Priority, "priority", "n", -100, 100, "with --add: higher ones come first")
	idFlag(f, &end, "end", "end the instruction with this id first")
	a.jsonFlag(f)
	exclude(f, "add", "end")
	cmd.RunE = a.onUser(func(ctx context.Context, u *user, _ []string) error {
		if f.Changed("add") {
			if _, err := u.client.Instruct(ctx, u.id, add); err != nil {
				return err
			}
		}
		if end != uuid.Nil {
			if _, err := u.client.EndInstruction(ctx, u.id, end, ""); err != nil {
				return err
			}
		}
		instructions, err := u.client.Instructions(ctx, u.id, all)
		if err != nil {
			return err
		}
		return u.output(instructions, func() {
			if len(instructions) == 0 {
				u.say("User %q gave no standing instructions.", u.id)
				return
			}
			t := u.table("aspect", "~instruction", "scope", "since", "ended", "|reason", "id")
			for _, n := range instructions {
				scope := n.Context
				for _, s := range []string{n.AgentID, n.Session} {
					if s != "" {
						scope += " " + s
					}
				}
				t.add(n.Aspect, n.Content, scope, u.day(n.CreatedAt), u.day(n.EndedAt), n.Reason, n.ID)
			}
			t.print()
		})
	})
	return cmd
}

func skillsCommand(a *app) *cobra.Command {
	limit := 20
	cmd := &cobra.Command{
		Use:   "skills USER [SITUATION]",
		Short: "List the skills that a user taught, for a situation",
		Long: `List a user's skills: named steps for a situation, with how often they worked. With SITUATION, list those
that share words with it, the best first.`,
		Example: `  oxbow skills ada
  oxbow skills ada "write the weekly report"`,
		Args: cobra.RangeArgs(1, 2),
	}
	limitFlag(cmd.Flags(), &limit, "number of skills to show")
	a.jsonFlag(cmd.Flags())
	cmd.RunE = a.onUser(func(ctx context.Context, u *user, args []string) error {
		situation := ""
		if len(args) > 0 {
			situation = args[0]
		}
		skills, err := u.client.Skills(ctx, u.id, situation, limit)
		if err != nil {
			return err
		}
		return u.output(skills, func() {
			if len(skills) == 0 {
				u.say("No skill of user %q fits.", u.id)
				return
			}
			for _, s := range skills {
				u.printf("%s (version %d, worked %d of %d times)\n", s.Name, s.Version, s.Successes, s.Successes+s.Failures)
				if s.Situation != s.Name {
					u.printf("  %s\n", s.Situation)
				}
				for i, step := range s.Steps {
					u.printf("  %d. %s\n", i+1, step)
				}
			}
		})
	})
	return cmd
}
