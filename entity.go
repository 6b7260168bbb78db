package oxbow

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// Entity is a person, a place or a thing that memories name.
type Entity = store.Entity

// EntityEdge is a relation between two entities that a memory states.
type EntityEdge = store.Edge

// EntityEnd is an end of an EntityEdge.
type EntityEnd = store.EntityEnd

// NamedEntity is an entity with all its edges and the memories that name it.
type NamedEntity = store.NamedEntity

// maxNamings is how many memories EntitiesNamed returns of an entity.
const maxNamings = 100

// Entities returns the entities that the memories of a user name, the most named first, each with its current edges.
// Entities that only forgotten memories name are left out.
func (c *Client) Entities(ctx context.Context, userID string) (entities []Entity, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		entities, err = store.Entities(ctx, tx, userID)
		return err
	})
	return entities, err
}

// EntitiesNamed returns the entities of a name, whatever its case and accents: several if a person and a place share
// it. If none has the name, those that begin with it count: "Anna" finds "Anna Berg". Each comes with all its edges,
// ended ones too, and the latest 100 memories that name it. The result may be empty.
func (c *Client) EntitiesNamed(ctx context.Context, userID, name string) (entities []NamedEntity, err error) {
	if strings.TrimSpace(name) == "" {
		return nil, &InvalidError{Index: -1, Field: "name", Rule: "must not be blank"}
	}
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		entities, err = store.EntitiesNamed(ctx, tx, userID, name, maxNamings)
		return err
	})
	return entities, err
}
