package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/oneline"
)

// shownEdges is how many relations the list shows for an entity.
const shownEdges = 4

func entitiesCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "entities USER [NAME]",
		Short: "List the people and things that memories name, and their relations",
		Long: `List the people, places and other things that a user's memories name, the most frequently mentioned first,
with their current relations: "user sister→" beside Anna means that she is the user's sister, "lives_in→
Porto" that she lives there. Names without a relation are mentioned together.

With NAME, show the entity's relations, past ones included, and the memories that mention it.`,
		Example: `  oxbow entities ada
  oxbow entities 林 小红`,
		Args: cobra.RangeArgs(1, 2),
		RunE: a.onUser(func(ctx context.Context, u *user, args []string) error {
			if len(args) == 0 {
				return u.listEntities(ctx)
			}
			return u.showEntities(ctx, args[0])
		}),
	}
	a.jsonFlag(cmd.Flags())
	return cmd
}

func (u *user) listEntities(ctx context.Context) error {
	entities, err := u.client.Entities(ctx, u.id)
	if err != nil {
		return err
	}
	return u.output(entities, func() {
		if len(entities) == 0 {
			u.say("No memory of user %q names a known entity.", u.id)
			return
		}
		t := u.table("name", "kind", "#mentions", "first seen", "last seen", "~relations", "ended")
		for _, e := range entities {
			t.add(e.Name, e.Kind, e.Mentions, u.day(e.ValidAt), u.day(e.LastSeen), relations(e),
				u.day(earlier(e.InvalidAt, e.ExpiredAt)))
		}
		t.print()
	})
}

// relations lists the relations of an entity, followed by entities that are mentioned together with it.
func relations(e oxbow.Entity) string {
	var named, together []string
	for _, g := range e.Edges {
		other := g.To
		if g.To.ID == e.ID {
			other = g.From
		}
		switch {
		case g.Relation == "related":
			together = append(together, other.Name)
		case g.To.ID == e.ID:
			named = append(named, other.Name+" "+g.Relation+"→")
		default:
			named = append(named, g.Relation+"→ "+other.Name)
		}
	}
	all := append(named, together...)
	if more := len(all) - shownEdges; more > 0 {
		all = append(slices.Clip(all[:shownEdges]), thousands(more)+" more")
	}
	return strings.Join(all, ", ")
}

func (u *user) showEntities(ctx context.Context, name string) error {
	entities, err := u.client.EntitiesNamed(ctx, u.id, name)
	if err != nil {
		return err
	}
	return u.output(entities, func() {
		if len(entities) == 0 {
			u.say("No memory of user %q names %q. \"oxbow entities %s\" lists the known names.", u.id, name, u.id)
		}
		for i, e := range entities {
			if i > 0 {
				u.printf("\n")
			}
			u.printEntity(e)
		}
	})
}

func (u *user) printEntity(e oxbow.NamedEntity) {
	u.printf("%s (%s), %s in %s, from %s to %s\n", printable(e.Name), printable(e.Kind), count(e.Mentions, "mention"),
		count(e.Memories, "memory"), u.day(e.ValidAt), u.day(e.LastSeen))
	if len(e.Edges) > 0 {
		u.printf("\n")
		t := u.table("from", "relation", "to", "true from", "to", "believed from", "to", "memory")
		for _, g := range e.Edges {
			t.add(g.From.Name, g.Relation, g.To.Name, g.ValidAt, g.InvalidAt, g.CreatedAt, g.ExpiredAt, g.MemoryID)
		}
		t.print()
	}
	u.printf("\n")
	t := u.table("when", "~memory", "type", "ended", "id")
	for _, m := range e.NamedBy {
		t.add(u.day(m.At), oneline.Shorten(m.Content, 200), m.Type, u.day(earlier(m.InvalidAt, m.ExpiredAt)), m.ID)
	}
	t.print()
}

// earlier returns the earlier of two times, of which either may be unset.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
