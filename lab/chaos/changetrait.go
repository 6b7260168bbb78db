package chaos

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
)

// changeTrait edits, dissolves or deletes a trait of the user.
func (c *client) changeTrait(ctx context.Context, a Action) (outcome, error) {
	user := userName(a.User)
	var id uuid.UUID
	how, err := c.transact(ctx, a, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `select id from oxbow.traits where user_id = $1 and stage <> 'dissolved'
			order by id offset $2 % greatest(1, (select count(*) from oxbow.traits where user_id = $1
			and stage <> 'dissolved')) limit 1`,
			user, int64(a.Pick)).Scan(&id)
		if err != nil {
			return err
		}
		bound := c.oxbow.WithTx(tx)
		switch a.Kind {
		case "edit trait":
			_, err = bound.EditTrait(ctx, user, id, oxbow.TraitEdit{Content: fmt.Sprintf("Said of themselves: %d, %s",
				a.Pick%1000, mark{a.User, c.run.ledger.life(a.User), 0}.ofUser())})
		case "dissolve trait":
			err = bound.DissolveTrait(ctx, user, id, "")
		case "delete trait":
			_, err = bound.DeleteTrait(ctx, user, id)
		}
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return never, nil
	}
	if a.Kind == "delete trait" && how > failed {
		c.run.ledger.deleted(id, how)
	}
	return how, err
}
