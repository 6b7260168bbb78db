package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/store"
)

// shortest is the least number of characters of an id shown or accepted.
const shortest = 8

func traitCommand(a *app) *cobra.Command {
	var userID string
	var all bool
	limit := 30
	cmd := &cobra.Command{
		Use:   "trait ID",
		Short: "Show a trait with its evidence and its log, or correct it",
		Long: `Show a trait: its confidence, when decay will change its stage, the memories that support or contradict it
with their effect on the confidence, and the log of events. "edit", "dissolve" and "delete" correct it on
behalf of the person whom it describes.

ID is the trait's id. With --user, its first 8 or more characters suffice, as "oxbow traits" prints them.
Without --user, search the traits of all users, which is slow in a large database.

For imported history, --now computes decay to another time, or to the end of a day, month or year, in the
user's time zone.`,
		Example: `  oxbow trait 0198c2f6 --user ada
  oxbow trait edit 0198c2f6 --user ada --content "Ada gets up early on weekdays" --reason "she said so"`,
		Args: cobra.ExactArgs(1),
	}
	userFlag(cmd.PersistentFlags(), &userID, "user of the trait")
	f := cmd.Flags()
	now := momentFlag(f, "now", "compute confidence at this time (default: now)")
	limitFlag(f, &limit, "number of memories and events to show, the latest ones")
	f.BoolVar(&all, "all", false, "show all memories and events")
	a.jsonFlag(f)
	exclude(f, "all", "limit")
	cmd.RunE = a.onTrait(&userID, func(ctx context.Context, u *user, id uuid.UUID) error {
		t, err := u.client.TraitAt(ctx, u.id, id, now.end(u.zone))
		if err != nil {
			return err
		}
		if all {
			limit = max(len(t.Events), len(t.Evidence))
		}
		v := &traitView{user: u, t: &t, limit: limit, columns: width(u.out)}
		return u.output(t, v.print)
	})
	cmd.AddCommand(traitEditCommand(a, &userID), traitDissolveCommand(a, &userID), traitDeleteCommand(a, &userID))
	return cmd
}

// onTrait is onDatabase for commands whose argument is the id of a trait or, with a user, its beginning.
func (a *app) onTrait(userID *string, run func(ctx context.Context, u *user, id uuid.UUID) error) runE {
	return func(cmd *cobra.Command, args []string) error {
		id, err := parseID(args[0])
		first, last, short := idRange(args[0])
		switch {
		case err != nil && !short:
			return usagef("invalid trait id %q: expected a UUID, or at least its first %d hex digits", args[0],
				shortest)
		case err != nil && *userID == "":
			return usagef("short trait id %q requires --user", args[0])
		}
		return a.onDatabase(func(ctx context.Context, d *database, _ []string) error {
			u, failed := d.owner(ctx, *userID, id)
			if failed == nil && err != nil {
				id, failed = u.traitBetween(ctx, args[0], first, last)
			}
			if failed != nil {
				return failed
			}
			return run(ctx, u, id)
		})(cmd, args)
	}
}

// idRange returns the lowest and highest ids that begin with text, which must have at least 8 digits.
func idRange(text string) (first, last uuid.UUID, ok bool) {
	digits := strings.ReplaceAll(text, "-", "")
	if len(digits) < shortest || len(digits) > 32 {
		return first, last, false
	}
	first, err := uuid.Parse(digits + strings.Repeat("0", 32-len(digits)))
	if err != nil {
		return first, last, false
	}
	last, err = uuid.Parse(digits + strings.Repeat("f", 32-len(digits)))
	return first, last, err == nil
}

// traitBetween returns the only trait of the user in a range of ids.
func (u *user) traitBetween(ctx context.Context, text string, first, last uuid.UUID) (id uuid.UUID, err error) {
	ids, err := as(ctx, u.database, u.id, func(db store.DB) ([]uuid.UUID, error) {
		return store.TraitsBeginning(ctx, db, u.id, first, last)
	})
	switch {
	case err != nil:
		return id, err
	case len(ids) == 0:
		return id, fmt.Errorf("user %q has no trait whose id begins with %s", u.id, text)
	case len(ids) > 1:
		return id, fmt.Errorf("several trait ids of user %q begin with %s: give more characters, such as %s",
			u.id, text, ids[0])
	}
	return ids[0], nil
}
