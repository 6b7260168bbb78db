package oxbow

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// Entity is somebody or something that memories name.
type Entity = store.Entity

// EntityEdge is what a memory says of two entities.
type EntityEdge = store.Edge

// EntityEnd is an end of an EntityEdge.
type EntityEnd = store.EntityEnd

// NamedEntity is an entity with all its edges and the memories that name it.
type NamedEntity = store.NamedEntity

// namings is how many memories EntitiesNamed returns of an entity.
const namings = 100

// Entities returns who and what the memories of a user name, those that are named most first, each with the edges that hold
// now. What only forgotten memories name is left out.
func (c *Client) Entities(ctx context.Context, userID string) (entities []Entity, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		entities, err = store.Entities(ctx, tx, userID)
		return err
	})
	return entities, err
}

// EntitiesNamed returns the entities of a name, whatever its case and marks: more than one where a person and a place have the
// same name. Where nothing has it, names that begin with it count: "Anna" for "Anna Berg". Each comes with all its edges, also
// those that ended, and the latest hundred memories that name it. There may be none.
func (c *Client) EntitiesNamed(ctx context.Context, userID, name string) (entities []NamedEntity, err error) {
	if strings.TrimSpace(name) == "" {
		return nil, &InvalidError{Index: -1, Field: "name", Rule: "must not be blank"}
	}
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		entities, err = store.EntitiesNamed(ctx, tx, userID, name, namings)
		return err
	})
	return entities, err
}
