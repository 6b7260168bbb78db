package oxbow

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// Entity is a person, a place or a thing that memories mention.
type Entity = store.Entity

// EntityEdge is a relation between two entities that a memory states.
type EntityEdge = store.Edge

// EntityEnd is an end of an EntityEdge.
type EntityEnd = store.EntityEnd

// NamedEntity is an entity with all its edges and the memories that mention it.
type NamedEntity = store.NamedEntity

// maxNamings limits how many memories EntitiesNamed returns per entity.
const maxNamings = 100

// Entities returns the entities that a user's memories mention, each with its current edges, the most
// mentioned first. Entities that only forgotten memories mention are left out.
func (c *Client) Entities(ctx context.Context, userID string) ([]Entity, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) ([]Entity, error) { return store.Entities(ctx, tx, userID) })
}

// EntitiesNamed returns the entities with the given name, ignoring case and accents. A person and a place may share a
// name. If no entity has the name, it returns those whose names begin with it: "Anna" finds "Anna Berg". Each entity
// includes all its edges, even ended ones, and the latest 100 memories that mention it. The result may be empty.
func (c *Client) EntitiesNamed(ctx context.Context, userID, name string) ([]NamedEntity, error) {
	if strings.TrimSpace(name) == "" {
		return nil, store.Invalid("name", name, "must not be blank")
	}
	return inUser(ctx, c, userID, func(tx pgx.Tx) ([]NamedEntity, error) {
		return store.EntitiesNamed(ctx, tx, userID, name, maxNamings)
	})
}
