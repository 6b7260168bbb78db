package oxbow

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// Sealer encrypts and decrypts the texts of secret memories and messages with keys that the database never
// holds. Package sealed has an implementation. Seal and Open take the place of the text, so that it cannot
// be opened at another. Name is for ids that depend on a text.
type Sealer = store.Sealer

// WithSealer lets the client store and read memories and messages of sensitivity 3. Without a Sealer the
// client refuses to store them, and returns them without text and with ErrSealed.
func WithSealer(s Sealer) Option {
	return func(c *Client) error {
		if s == nil {
			return errors.New("oxbow: WithSealer: the sealer is nil")
		}
		c.sealer = s
		return nil
	}
}

// Reseal encrypts all users' texts that other keys sealed again with the primary key, and returns how many
// memories and messages it changed. It must run as the owner of the schema or as the worker. It uses several
// transactions; after an interruption, call it again. ErrSealed if a key is missing.
func (c *Client) Reseal(ctx context.Context) (total int, err error) {
	if c.sealer == nil {
		return 0, errors.New("oxbow: Reseal: the client has no keys: use WithSealer")
	}
	if err := c.check(ctx); err != nil {
		return 0, err
	}
	for _, reseal := range []func(context.Context, pgx.Tx, store.Sealer, int) (int, error){store.Reseal,
		store.ResealMessages} {
		for n := -1; n != 0; total += n {
			err := c.inTx(ctx, pgx.TxOptions{}, func(tx pgx.Tx) (err error) {
				n, err = reseal(ctx, tx, c.sealer, 500)
				return err
			})
			if err != nil {
				return total, err
			}
		}
	}
	return total, nil
}
