package store

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/secrets"
)

// Policies of the setting "secrets".
const (
	secretsRefused = "refuse"
	secretsStored  = "store"
)

// SecretsPolicy returns the policy for texts with a secret, from the setting "secrets": mark, refuse or store.
func SecretsPolicy(ctx context.Context, db DB) (string, error) {
	return one[string](ctx, db, "read the setting secrets", `select oxbow.secrets_policy()`)
}

// SecretsAreStored reports whether the policy for secrets is to store them like other memories.
func SecretsAreStored(ctx context.Context, db DB) (bool, error) {
	policy, err := SecretsPolicy(ctx, db)
	return policy == secretsStored, err
}

// KindsOfSecrets returns the kinds of the secrets in a text, such as "card, credential", or "" if it has none.
func KindsOfSecrets(text string) string {
	var names []string
	for _, kind := range secrets.Kinds(secrets.Find(text)) {
		names = append(names, string(kind))
	}
	return strings.Join(names, ", ")
}

// Screen searches n texts of a field that are about to be stored, each with its level. It returns the indexes of those
// of levels 0 and 1 that contain a secret, which a client with keys seals. With the policy refuse it returns an
// *InvalidError for the first one below level 3 instead. It reads the setting only if it finds a secret.
func Screen(ctx context.Context, db DB, field string, n int, text func(i int) (content string, level int)) (
	found []int, err error,
) {
	policy := ""
	for i := range n {
		content, level := text(i)
		if level >= Secret {
			continue
		}
		kinds := KindsOfSecrets(content)
		if kinds == "" {
			continue
		}
		if policy == "" {
			if policy, err = SecretsPolicy(ctx, db); err != nil || policy == secretsStored {
				return nil, err
			}
		}
		if policy == secretsRefused {
			bad := refusedSecret(field, kinds)
			bad.Index = i
			return nil, bad
		}
		if level < 2 {
			found = append(found, i)
		}
	}
	return found, nil
}

func refusedSecret(field, kinds string) *InvalidError {
	return &InvalidError{Index: -1, Field: field, Value: kinds,
		Rule: "must not contain a secret, because the setting secrets refuses them"}
}

// SealSecrets raises memories with a secret to the level at which the client seals them, and refuses them if the
// setting "secrets" says so. It does not change the slice given. Memories with a speaker, metadata or a reference keep
// their level, because those are not sealed.
func SealSecrets(ctx context.Context, db DB, memories []NewMemory, sealer Sealer) (sealed []NewMemory, err error) {
	_, err = Screen(ctx, db, "reference", len(memories), func(i int) (string, int) {
		return memories[i].Reference, memories[i].Sensitivity
	})
	if err != nil {
		return nil, err
	}
	found, err := Screen(ctx, db, "content", len(memories), func(i int) (string, int) {
		return memories[i].Content, memories[i].Sensitivity
	})
	if err != nil || len(found) == 0 || sealer == nil {
		return memories, err
	}
	memories = slices.Clone(memories)
	for _, i := range found {
		if m := &memories[i]; m.Speaker == "" && m.Metadata == nil && m.Reference == "" {
			m.Sensitivity = Secret
		}
	}
	return memories, nil
}

// FoundSecret is a memory whose text contains a secret.
type FoundSecret struct {
	MemoryRef
	Kinds string // for its history
}

// MarkSecrets raises memories to level 2 and returns those that have that level now. With the policy refuse it also
// forgets them; with the policy store it does nothing. It leaves out memories whose level was lowered after an earlier
// mark.
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

// MarkSecretMessages raises messages to level 2, so that nothing is extracted from them, and returns how many. With the
// policy refuse it also removes their text; with the policy store it does nothing.
func MarkSecretMessages(ctx context.Context, db DB, userID string, ids []uuid.UUID) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	return one[int](ctx, db, "mark messages with secrets", `select oxbow.mark_secret_messages($1, $2)`, userID, ids)
}
