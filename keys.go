package oxbow

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/sealing"
	"github.com/oxbow-memory/oxbow/store"
)

// Keys seal and open the texts of secret memories and messages. The database never has them.
type Keys = sealing.Keys

// NewKeys makes a key. What its Write returns is to be kept where secrets are: without it nobody can read what it sealed.
func NewKeys() (*Keys, error) { return sealing.New() }

// ReadKeys reads what Keys.Write returned: a keyset of Tink in JSON, in clear, or with the URI of a key management service
// encrypted with its key. A client of that service must have been registered with Tink (registry.RegisterKMSClient).
func ReadKeys(keyset, kmsURI string) (*Keys, error) { return sealing.Read(keyset, kmsURI) }

// WithKeys lets the client store and read memories and messages of sensitivity 3. Default: it can do neither.
func WithKeys(k *Keys) Option {
	return func(c *Client) error {
		if k == nil {
			return errors.New("oxbow: WithKeys: the keys are nil")
		}
		c.keys = k
		return nil
	}
}

// RotateKeys seals anew, with the primary key, what other keys sealed, of all users, and returns how many memories and messages those were. It
// needs a client of the owner or the worker, and works in transactions of its own, so that it can be repeated after an interruption.
func (c *Client) RotateKeys(ctx context.Context) (total int, err error) {
	if c.keys == nil {
		return 0, errors.New("oxbow: RotateKeys: the client has no keys: give it WithKeys")
	}
	if err := c.check(ctx); err != nil {
		return 0, err
	}
	for _, reseal := range []func(context.Context, pgx.Tx, store.Sealer, int) (int, error){store.Reseal, store.ResealMessages} {
		for n := -1; n != 0; total += n {
			err := c.inTx(ctx, pgx.TxOptions{}, func(tx pgx.Tx) (err error) {
				n, err = reseal(ctx, tx, c.keys, 500)
				return err
			})
			if err != nil {
				return total, err
			}
		}
	}
	return total, nil
}

// sealer is what the store seals with, nil if the client cannot.
func (c *Client) sealer() store.Sealer {
	if c.keys == nil {
		return nil
	}
	return c.keys
}
