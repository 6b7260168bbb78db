package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Secret is the sensitivity from which on a memory's text is sealed.
const Secret = 3

// sealedContent stands in place of a text that is sealed.
const sealedContent = "[sealed]"

// ErrSealed says that the memory's text is sealed, and the client has no key that opens it.
var ErrSealed = errors.New("the memory is sealed")

// Sealer has the keys that the database does not have. Both calls name the place of a text, which cannot be opened elsewhere.
type Sealer interface {
	// ID is that of the key that Seal uses.
	ID() string
	Seal(text, place string) ([]byte, error)
	Open(sealed []byte, place string) (string, error)
}

func sealedPlace(userID string, memoryType MemoryType, id uuid.UUID) string {
	return userID + "\x00" + string(memoryType) + "\x00" + id.String()
}

// sealRow takes the text of a secret memory out of the row.
func sealRow(r *row, sealer Sealer) error {
	if sealer == nil {
		return &InvalidError{Index: -1, Field: "sensitivity", Value: "3", Rule: "must be below 3 without keys to seal the text with (WithKeys, OXBOW_KEYSET)"}
	}
	sealed, err := sealer.Seal(r.Content, sealedPlace(r.UserID, r.Type, r.ID))
	if err != nil {
		return fmt.Errorf("seal a memory: %w", err)
	}
	r.Content, r.Sealed, r.SealedKey = sealedContent, fmt.Sprintf(`\x%x`, sealed), sealer.ID()
	return nil
}

// Open puts the text of a secret memory in its place. An error is ErrSealed, and leaves the memory as it is.
func (m *Memory) Open(sealer Sealer) error {
	if m.Sensitivity < Secret {
		return nil
	}
	if sealer == nil {
		return fmt.Errorf("%w: %s is sealed with the key %s: give the client its keys (WithKeys, OXBOW_KEYSET)", ErrSealed, m.ID, m.SealedKey)
	}
	text, err := sealer.Open(m.sealed, sealedPlace(m.UserID, m.Type, m.ID))
	if err != nil {
		return fmt.Errorf("%w: %s is sealed with the key %s, which is not among the keys given, or it was changed", ErrSealed, m.ID, m.SealedKey)
	}
	m.Content = text
	return nil
}

// Reseal seals up to limit memories, of any users, with the primary key that are sealed with another one, and returns how many those
// were. It is ErrSealed if one cannot be opened.
func Reseal(ctx context.Context, tx pgx.Tx, sealer Sealer, limit int) (int, error) {
	rows, err := tx.Query(ctx, `
		select user_id, memory_type::text, id, sealed, sealed_key from oxbow.memories
		where sealed is not null and sealed_key <> $1
		order by user_id, memory_type, id limit $2 for no key update`, sealer.ID(), limit)
	if err != nil {
		return 0, Explain(err)
	}
	memories, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (m Memory, err error) {
		m.Sensitivity = Secret
		return m, r.Scan(&m.UserID, &m.Type, &m.ID, &m.sealed, &m.SealedKey)
	})
	if err != nil {
		return 0, Explain(err)
	}
	for _, m := range memories {
		if err := m.Open(sealer); err != nil {
			return 0, err
		}
		sealed, err := sealer.Seal(m.Content, sealedPlace(m.UserID, m.Type, m.ID))
		if err != nil {
			return 0, fmt.Errorf("seal a memory: %w", err)
		}
		if _, err := tx.Exec(ctx, `update oxbow.memories set sealed = $4, sealed_key = $5 where user_id = $1 and memory_type = $2 and id = $3`,
			m.UserID, string(m.Type), m.ID, sealed, sealer.ID()); err != nil {
			return 0, Explain(err)
		}
	}
	return len(memories), nil
}
