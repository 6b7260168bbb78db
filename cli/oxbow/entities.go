package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// shownEdges is how many edges the list shows for an entity.
const shownEdges = 4

func newEntitiesCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "entities USER [NAME]",
		Short: "List who and what memories name, and how these belong together",
		Long: `List the people, places and other things that the memories of a user name, those that are named most first, with what holds
between them now: "user sister→" at Anna says that she is the user's sister, "lives_in→ Porto" that she lives there. What is
named together without more is related.

With a NAME: how it belongs together with others, since when, and what ended; and the memories that name it.`,
		Example: `  oxbow entities ada
  oxbow entities 林 小红`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer d.close()
			if len(args) == 2 {
				return a.entity(cmd.Context(), d, args[0], args[1], asJSON)
			}
			return a.entities(cmd.Context(), d, args[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

func (a *app) entities(ctx context.Context, d *database, userID string, asJSON bool) error {
	entities, err := d.client.Entities(ctx, userID)
	if err != nil {
		return err
	}
	if asJSON {
		if entities == nil {
			entities = []oxbow.Entity{}
		}
		return a.printJSON(entities)
	}
	if len(entities) == 0 {
		a.say("The memories of user %q name nobody and nothing that is known.", userID)
		return nil
	}
	location, err := d.location(ctx, userID)
	if err != nil {
		return err
	}
	t := newTable("name", "kind", "#mentions", "first seen", "last seen", "~belongs together with", "ended")
	for _, e := range entities {
		t.add(printable(e.Name), printable(e.Kind), thousands(e.Mentions), day(e.ValidAt, location), day(e.LastSeen, location), edgesOf(e), day(ended(e.InvalidAt, e.ExpiredAt), location))
	}
	return t.print(a.out)
}

// edgesOf describes the relations of an entity: stated relations first, then entities it is
// mentioned with.
func edgesOf(e oxbow.Entity) string {
	edges := slices.Clone(e.Edges)
	slices.SortStableFunc(edges, func(a, b oxbow.EntityEdge) int { return rankOf(a) - rankOf(b) })
	var parts []string
	for i, g := range edges {
		if i == shownEdges {
			parts = append(parts, fmt.Sprintf("%d more", len(edges)-i))
			break
		}
		other := g.To
		if g.To.ID == e.ID {
			other = g.From
		}
		switch {
		case g.Relation == "related":
			parts = append(parts, printable(other.Name))
		case g.To.ID == e.ID:
			parts = append(parts, printable(other.Name)+" "+printable(g.Relation)+"→")
		default:
			parts = append(parts, printable(g.Relation)+"→ "+printable(other.Name))
		}
	}
	return strings.Join(parts, ", ")
}

func rankOf(g oxbow.EntityEdge) int {
	if g.Relation == "related" {
		return 1
	}
	return 0
}

func (a *app) entity(ctx context.Context, d *database, userID, name string, asJSON bool) error {
	entities, err := d.client.EntitiesNamed(ctx, userID, name)
	if err != nil {
		return err
	}
	if asJSON {
		if entities == nil {
			entities = []oxbow.NamedEntity{}
		}
		return a.printJSON(entities)
	}
	if len(entities) == 0 {
		a.say("No memory of user %q names %q: oxbow entities %s lists what they name.", userID, name, userID)
		return nil
	}
	location, err := d.location(ctx, userID)
	if err != nil {
		return err
	}
	for i, e := range entities {
		if i > 0 {
			a.printf("\n")
		}
		a.printf("%s (%s), %s in %s, from %s to %s\n", printable(e.Name), printable(e.Kind), count(e.Mentions, "mention", "mentions"),
			count(e.Memories, "memory", "memories"), day(e.ValidAt, location), day(e.LastSeen, location))
		if len(e.Edges) > 0 {
			a.printf("\n")
			t := newTable("from", "relation", "to", "true from", "to", "believed from", "to", "memory")
			for _, g := range e.Edges {
				t.add(printable(g.From.Name), printable(g.Relation), printable(g.To.Name), showTime(g.ValidAt, location), showTime(g.InvalidAt, location),
					showTime(g.CreatedAt, location), showTime(g.ExpiredAt, location), g.MemoryID.String())
			}
			if err := t.print(a.out); err != nil {
				return err
			}
		}
		a.printf("\n")
		t := newTable("when", "~memory", "type", "ended", "id")
		for _, m := range e.NamedBy {
			t.add(day(m.At, location), printable(store.Shorten(m.Content, 200)), m.Type, day(ended(m.InvalidAt, m.ExpiredAt), location), m.ID.String())
		}
		if err := t.print(a.out); err != nil {
			return err
		}
	}
	return nil
}

// ended returns the earlier of two ends, or the zero time if neither is set.
func ended(inWorld, here time.Time) time.Time {
	if inWorld.IsZero() || !here.IsZero() && here.Before(inWorld) {
		return here
	}
	return inWorld
}
