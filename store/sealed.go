package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Secret is the sensitivity at which a memory's text is sealed.
const Secret = 3

// sealedContent replaces a sealed text.
const sealedContent = "[sealed]"

// ErrSealed reports that the text of a memory or a message is sealed and that no key of the client
// opens it.
var ErrSealed = errors.New("the text is sealed")

// Sealer seals and opens texts with keys that the database does not have. place identifies where a
// text is stored; a sealed text opens only with the same place. Name returns a keyed hash: the same for the same text.
// Without the keys nobody can check whether a text has a given name.
type Sealer interface {
	// ID returns the id of the key that Seal uses.
	ID() string
	Seal(text, place string) ([]byte, error)
	Open(sealed []byte, place string) (string, error)
	Name(text string) string
}

func sealedPlace(userID string, memoryType MemoryType, id uuid.UUID) string {
	return userID + "\x00" + string(memoryType) + "\x00" + id.String()
}

// messagePlace never equals the place of a memory, because "message" is not a memory type.
func messagePlace(userID string, id uuid.UUID) string { return sealedPlace(userID, "message", id) }

// seal returns the columns of a secret text: the replacement text, the sealed text in PostgreSQL's
// format of bytea, and the id of the key.
func seal(sealer Sealer, text, place string) (content, sealed, key string, err error) {
	if sealer == nil {
		return "", "", "", Invalid("sensitivity", Secret,
			"must be below 3 without keys to seal the text with (WithSealer; OXBOW_KEYSET, from oxbow keys new)")
	}
	bytes, err := sealer.Seal(text, place)
	if err != nil {
		return "", "", "", fmt.Errorf("seal a text: %w", err)
	}
	return sealedContent, fmt.Sprintf(`\x%x`, bytes), sealer.ID(), nil
}

// Open replaces the content of a secret memory with its text. On failure it returns ErrSealed and
// leaves the memory unchanged.
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

// Open replaces the content of a user's secret message with its text. On failure it returns
// ErrSealed and leaves the message unchanged.
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
		return "", fmt.Errorf("%w: %s is sealed with the key %s, which is not among the keys given, or the text "+
			"was changed",
			ErrSealed, id, key)
	}
	return text, nil
}

// Reseal reseals up to limit memories of any user that are not sealed with the primary key, and
// returns their number. It returns ErrSealed if one cannot be opened.
func Reseal(ctx context.Context, tx pgx.Tx, sealer Sealer, limit int) (int, error) {
	return reseal(ctx, tx, sealer, limit, "memories", "memory_type")
}

// ResealMessages is like Reseal, but for messages.
func ResealMessages(ctx context.Context, tx pgx.Tx, sealer Sealer, limit int) (int, error) {
	return reseal(ctx, tx, sealer, limit, "messages", "'message'")
}

func reseal(ctx context.Context, tx pgx.Tx, sealer Sealer, limit int, table, kind string) (int, error) {
	type secret struct {
		UserID    string
		Kind      MemoryType
		ID        uuid.UUID
		Sealed    []byte
		SealedKey string
	}
	secrets, err := Collect[secret](ctx, tx, fmt.Sprintf(`
		select user_id, %s::text as kind, id, sealed, sealed_key from oxbow.%s
		where sensitivity = 3 and sealed_key <> $1
		order by user_id, kind, id limit $2 for no key update`, kind, table), sealer.ID(), limit)
	if err != nil {
		return 0, err
	}
	for _, s := range secrets {
		place := sealedPlace(s.UserID, s.Kind, s.ID)
		text, err := open(sealer, s.Sealed, s.SealedKey, s.ID, place)
		if err != nil {
			return 0, err
		}
		sealed, err := sealer.Seal(text, place)
		if err != nil {
			return 0, fmt.Errorf("seal %s: %w", s.ID, err)
		}
		_, err = Exec(ctx, tx, fmt.Sprintf(
			`update oxbow.%s set sealed = $4, sealed_key = $5 where user_id = $1 and %s = $2 and id = $3`, table, kind),
			s.UserID, string(s.Kind), s.ID, sealed, sealer.ID())
		if err != nil {
			return 0, err
		}
	}
	return len(secrets), nil
}
