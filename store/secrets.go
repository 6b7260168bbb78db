package store

import (
	"context"

	"github.com/google/uuid"
)

// FoundSecret is a memory whose text contains a secret.
type FoundSecret struct {
	MemoryRef
	Kinds string // for its history
}

// MarkSecrets raises memories to level 2 and returns those that have that level now. It returns none if the setting
// "secrets" says that secrets are stored like other memories, and leaves out memories whose level was lowered after an
// earlier mark.
func MarkSecrets(ctx context.Context, db DB, found []FoundSecret) ([]MemoryRef, error) {
	if len(found) == 0 {
		return nil, nil
	}
	users, ids, kinds := make([]string, len(found)), make([]uuid.UUID, len(found)), make([]string, len(found))
	for i, f := range found {
		users[i], ids[i], kinds[i] = f.UserID, f.ID, f.Kinds
	}
	return list[MemoryRef](ctx, db, "mark memories with secrets",
		`select user_id, id from oxbow.mark_secrets($1, $2, $3)`, users, ids, kinds)
}

// MarkSecretMessages raises messages to level 2, so that nothing is extracted from them, and returns how many. It does
// nothing if the setting "secrets" says that secrets are stored.
func MarkSecretMessages(ctx context.Context, db DB, userID string, ids []uuid.UUID) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	return one[int](ctx, db, "mark messages with secrets", `select oxbow.mark_secret_messages($1, $2)`, userID, ids)
}

// SecretsAreStored reports whether the setting "secrets" says that secrets are stored like other memories.
func SecretsAreStored(ctx context.Context, db DB) (bool, error) {
	return one[bool](ctx, db, "read the setting secrets", `select oxbow.secrets_are_stored()`)
}
