package main

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/reasoner/when"
	"github.com/oxbow-memory/oxbow/store"
)

func intendCommand(a *app) *cobra.Command {
	n := oxbow.NewIntention{Kind: "reminder"}
	var due string
	cmd := &cobra.Command{
		Use:   "intend USER TEXT",
		Short: "Store a reminder, an intention or a goal, and print its id",
		Long: `Store what a user intends, has to do, or wants to be reminded of. --due says when, in words or as a time, in
the user's time zone: "tomorrow at 8", "every Monday at 9:00", 下周三, 2026-05-14T08:00:00Z. When it is due, a
worker announces it: see "oxbow upcoming" and "oxbow webhooks".`,
		Example: `  oxbow intend ada "Call mom" --due "tomorrow at 6 pm"
  oxbow intend 林 交报告 --due 下周三`,
		Args: cobra.ExactArgs(2),
	}
	f := cmd.Flags()
	f.StringVar(&due, "due", "", "when it is due (default: no time)")
	choiceFlag(f, &n.Kind, "kind", "what it is", "reminder", "intention", "goal")
	f.StringVar(&n.Condition, "condition", "", `when it is due instead, such as "when I get home"`)
	a.jsonFlag(f)
	cmd.RunE = a.onUser(func(ctx context.Context, u *user, args []string) error {
		n.Content = args[0]
		if at, err := time.Parse(time.RFC3339, due); err == nil {
			n.DueAt, n.Precision = at, "minute"
		} else if due != "" {
			d, ok := when.FindDue(due, time.Now().In(u.zone))
			if !ok {
				return usagef("--due %q is not a future time", due)
			}
			n.DueAt, n.Precision, n.Recurrence = d.Time, string(d.Precision), d.Recurrence
		}
		id, err := u.client.Intend(ctx, u.id, n)
		if err != nil {
			return err
		}
		return u.output(map[string]uuid.UUID{"id": id}, func() {
			if !n.DueAt.IsZero() {
				u.say("Due %s.", dueText(n.DueAt.In(u.zone), n.Precision, n.Recurrence))
			}
			u.printf("%s\n", id)
		})
	})
	return cmd
}

// dueText formats when something is due.
func dueText(at time.Time, precision, recurrence string) string {
	if at.IsZero() {
		return ""
	}
	format := map[string]string{"minute": "2006-01-02 15:04", "month": "2006-01", "year": "2006"}[precision]
	if format == "" {
		format = time.DateOnly
	}
	text := at.Format(format)
	if precision == "week" {
		text = "the week of " + text
	}
	if recurrence != "" {
		text += " (" + recurrence + ")"
	}
	return text
}

func upcomingCommand(a *app) *cobra.Command {
	limit := 100
	var done, drop, snooze uuid.UUID
	cmd := &cobra.Command{
		Use:   "upcoming USER",
		Short: "Show what a user has to do, and what is due",
		Long: `Show a user's open and due intentions, goals and reminders, the earliest first. --until limits them to those
that are due until then. --done and --drop close one, --snooze makes one due again at the time --to.`,
		Example: `  oxbow upcoming ada --until 2026-05-31
  oxbow upcoming ada --done 0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c1`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	until := momentFlag(f, "until", "only what is due until the end of this time (default: everything)")
	idFlag(f, &done, "done", "mark this one as done first")
	idFlag(f, &drop, "drop", "mark this one as dropped first")
	idFlag(f, &snooze, "snooze", "make this one due again at --to")
	to := momentFlag(f, "to", "with --snooze: when")
	limitFlag(f, &limit, "number to show")
	a.jsonFlag(f)
	exclude(f, "done", "drop", "snooze")
	cmd.RunE = a.onUser(func(ctx context.Context, u *user, _ []string) (err error) {
		switch {
		case done != uuid.Nil:
			_, err = u.client.CompleteIntention(ctx, u.id, done, "")
		case drop != uuid.Nil:
			_, err = u.client.DropIntention(ctx, u.id, drop, "")
		case snooze != uuid.Nil && to.begin(u.zone).IsZero():
			return usagef("--snooze needs --to")
		case snooze != uuid.Nil:
			_, err = u.client.SnoozeIntention(ctx, u.id, snooze, to.begin(u.zone))
		}
		if err != nil {
			return err
		}
		intentions, err := u.client.Upcoming(ctx, u.id, until.end(u.zone), limit)
		if err != nil {
			return err
		}
		return u.output(intentions, func() {
			if len(intentions) == 0 {
				u.say("Nothing is due or coming up for user %q.", u.id)
				return
			}
			t := u.table("state", "due", "kind", "~what", "|condition", "id")
			for _, n := range intentions {
				due := ""
				if !n.DueAt.IsZero() {
					due = dueText(n.DueAt.In(u.zone), n.Precision, n.Recurrence)
				}
				t.add(n.State, due, n.Kind, n.Content, n.Condition, n.ID)
			}
			t.print()
		})
	})
	return cmd
}

func webhooksCommand(a *app) *cobra.Command {
	var add string
	var remove, enable, disable uuid.UUID
	cmd := &cobra.Command{
		Use:   "webhooks",
		Short: "Show or change the addresses to which due intentions are posted",
		Long: `Show the webhooks: the addresses to which workers post what is due, with the result of the last delivery.
--add stores one and prints the secret that signs its messages, once. The form of the messages and signatures
is that of Standard Webhooks (https://www.standardwebhooks.com). Workers refuse private addresses unless they
run with --webhook-private.`,
		Example: `  oxbow webhooks --add https://example.com/oxbow`,
		Args:    cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&add, "add", "", "store this address and print its secret")
	idFlag(f, &remove, "remove", "delete this webhook first")
	idFlag(f, &enable, "enable", "enable this webhook first")
	idFlag(f, &disable, "disable", "disable this webhook first")
	a.jsonFlag(f)
	exclude(f, "add", "remove", "enable", "disable")
	cmd.RunE = a.onDatabase(func(ctx context.Context, d *database, _ []string) (err error) {
		switch {
		case add != "":
			added, err := store.AddWebhook(ctx, d.pool, add)
			if err != nil {
				return err
			}
			return d.output(added, func() { d.printf("%s\n%s\n", added.ID, added.Secret) })
		case remove != uuid.Nil:
			err = store.DeleteWebhook(ctx, d.pool, remove)
		case enable != uuid.Nil:
			err = store.SetWebhook(ctx, d.pool, enable, true)
		case disable != uuid.Nil:
			err = store.SetWebhook(ctx, d.pool, disable, false)
		}
		if err != nil {
			return err
		}
		hooks, err := store.Webhooks(ctx, d.pool)
		if err != nil {
			return err
		}
		return d.output(hooks, func() {
			if len(hooks) == 0 {
				d.say("No webhook is stored.")
				return
			}
			t := d.table("id", "~address", "since", "last delivery", "|result", "disabled by")
			for _, h := range hooks {
				var last store.Posted
				if len(h.Deliveries) > 0 {
					last = h.Deliveries[0]
				}
				t.add(h.ID, h.URL, h.CreatedAt, last.At, last.Status, h.DisabledBy)
			}
			t.print()
		})
	})
	return cmd
}
