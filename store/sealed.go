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

// ErrSealed says that the text of a memory or a message is sealed, and the client has no key that opens it.
var ErrSealed = errors.New("the text is sealed")

// Sealer has the keys that the database does not have. Both calls name the place of a text, which cannot be opened
// elsewhere.
type Sealer interface {
	// ID is that of the key that Seal uses.
	ID() string
	Seal(text, place string) ([]byte, error)
	Open(sealed []byte, place string) (string, error)
}

func sealedPlace(userID string, memoryType MemoryType, id uuid.UUID) string {
	return userID + "\x00" + string(memoryType) + "\x00" + id.String()
}

// messagePlace is no memory's place: there is no such type.
func messagePlace(userID string, id uuid.UUID) string { return sealedPlace(userID, "message", id) }

// sealRow takes the text of a secret memory out of the row.
func sealRow(r *row, sealer Sealer) error {
	content, sealed, key, err := seal(sealer, r.Content, sealedPlace(r.UserID, r.Type, r.ID))
	if err == nil {
		r.Content, r.Sealed, r.SealedKey = content, *sealed, *key
	}
	return err
}

// seal returns what is stored of a secret text: what stands in its place, itself as PostgreSQL reads a bytea, and the
// key's id.
func seal(sealer Sealer, text, place string) (content string, sealed, key *string, err error) {
	if sealer == nil {
		return "", nil, nil, &InvalidError{Index: -1, Field: "sensitivity", Value: "3",
			Rule: "must be below 3 without keys to seal the text with (WithSealer, OXBOW_KEYSET)"}
	}
	bytes, err := sealer.Seal(text, place)
	if err != nil {
		return "", nil, nil, fmt.Errorf("seal a text: %w", err)
	}
	return sealedContent, new(fmt.Sprintf(`\x%x`, bytes)), new(sealer.ID()), nil
}

// Open puts the text of a secret memory in its place. An error is ErrSealed, and leaves the memory as it is.
func (m *Memory) Open(sealer Sealer) error {
	if m.Sensitivity < Secret {
		return nil
	}
	text, err := open(sealer, m.sealed, m.SealedKey, m.ID, sealedPlace(m.UserID, m.Type, m.ID))
	if err == nil {
		m.Content = text
	}
	return err
}

// Open puts the text of a secret message of a user in its place. An error is ErrSealed, and leaves the message as it
// is.
func (s *Message) Open(userID string, sealer Sealer) error {
	if s.Sensitivity < Secret {
		return nil
	}
	text, err := open(sealer, s.sealed, s.SealedKey, s.ID, messagePlace(userID, s.ID))
	if err == nil {
		s.Content = text
	}
	return err
}

func open(sealer Sealer, sealed []byte, key string, id uuid.UUID, place string) (string, error) {
	if sealer == nil {
		return "", fmt.Errorf("%w: %s is sealed with the key %s: give the client its keys (WithSealer, OXBOW_KEYSET)",
			ErrSealed, id, key)
	}
	text, err := sealer.Open(sealed, place)
	if err != nil {
		return "", fmt.Errorf("%w: %s is sealed with the key %s, which is not among the keys given, or it was changed",
			ErrSealed, id, key)
	}
	return text, nil
}

// ResealMessages is Reseal for messages.
func ResealMessages(ctx context.Context, tx pgx.Tx, sealer Sealer, limit int) (int, error) {
	type secret struct {
		UserID string
		Message
	}
	messages, err := Collect(ctx, tx, func(r pgx.CollectableRow) (m secret, err error) {
		m.Sensitivity = Secret
		return m, r.Scan(&m.UserID, &m.ID, &m.sealed, &m.SealedKey)
	}, `
		select user_id, id, sealed, sealed_key from oxbow.messages
		where sensitivity = 3 and sealed_key <> $1
		order by user_id, id limit $2 for no key update`, sealer.ID(), limit)
	if err != nil {
		return 0, Explain(err)
	}
	for _, m := range messages {
		if err := m.Open(m.UserID, sealer); err != nil {
			return 0, err
		}
		sealed, err := sealer.Seal(m.Content, messagePlace(m.UserID, m.ID))
		if err != nil {
			return 0, fmt.Errorf("seal a message: %w", err)
		}
		if _, err := tx.Exec(ctx, `update oxbow.messages set sealed = $3, sealed_key = $4 where user_id = $1 and id = $2`,
			m.UserID, m.ID, sealed, sealer.ID()); err != nil {
			return 0, Explain(err)
		}
	}
	return len(messages), nil
}

// Reseal seals up to limit memories, of any users, with the primary key that are sealed with another one, and returns
// how many those were. It is ErrSealed if one cannot be opened.
func Reseal(ctx context.Context, tx pgx.Tx, sealer Sealer, limit int) (int, error) {
	memories, err := Collect(ctx, tx, func(r pgx.CollectableRow) (m Memory, err error) {
		m.Sensitivity = Secret
		return m, r.Scan(&m.UserID, &m.Type, &m.ID, &m.sealed, &m.SealedKey)
	}, `
		select user_id, memory_type::text, id, sealed, sealed_key from oxbow.memories
		where sensitivity = 3 and sealed_key <> $1
		order by user_id, memory_type, id limit $2 for no key update`, sealer.ID(), limit)
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
		if _, err := tx.Exec(ctx,
			`update oxbow.memories set sealed = $4, sealed_key = $5 where user_id = $1 and memory_type = $2 and id = $3`,
			m.UserID, string(m.Type), m.ID, sealed, sealer.ID()); err != nil {
			return 0, Explain(err)
		}
	}
	return len(memories), nil
}
