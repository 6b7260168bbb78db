package jobs

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/secrets"
	"github.com/oxbow-memory/oxbow/store"
)

// HideSecrets returns the items without the memories that contain a secret, which it raises to level 2. text returns
// the memory of an item and its text. Call it before texts are sent to an embedder or a model.
func HideSecrets[T any](ctx context.Context, db store.DB, items []T,
	text func(T) (store.MemoryRef, string)) ([]T, error) {
	var found []store.FoundSecret
	for _, item := range items {
		m, said := text(item)
		if kinds := store.KindsOfSecrets(said); kinds != "" {
			found = append(found, store.FoundSecret{MemoryRef: m, Kinds: kinds})
		}
	}
	hidden, err := store.MarkSecrets(ctx, db, found)
	if err != nil || len(hidden) == 0 {
		return items, err
	}
	return slices.DeleteFunc(slices.Clone(items), func(item T) bool {
		m, _ := text(item)
		return slices.Contains(hidden, m)
	}), nil
}

// hideHeld is HideSecrets for memories that are shown to an extractor.
func hideHeld(ctx context.Context, db store.DB, userID string, held []reasoner.Held) ([]reasoner.Held, error) {
	return HideSecrets(ctx, db, held, func(h reasoner.Held) (store.MemoryRef, string) {
		return store.MemoryRef{UserID: userID, ID: h.ID}, h.Content
	})
}

// markMessages raises the messages that contain a secret to level 2 and reports whether it raised any. If it did, read
// the messages again.
func markMessages(ctx context.Context, db store.DB, userID string, messages []reasoner.Message) (bool, error) {
	var found []uuid.UUID
	for _, m := range messages {
		if secrets.Any(m.Content) || secrets.Any(m.Speaker) {
			found = append(found, m.ID)
		}
	}
	marked, err := store.MarkSecretMessages(ctx, db, userID, found)
	return marked > 0, err
}

// withoutSecrets drops proposals of an extractor that contain a secret, which it may have put together from several
// messages.
func (x *Extraction) withoutSecrets(ctx context.Context, candidates []reasoner.Candidate) (
	[]reasoner.Candidate, error,
) {
	isSecret := func(c reasoner.Candidate) bool { return secrets.Any(c.Content) }
	if !slices.ContainsFunc(candidates, isSecret) {
		return candidates, nil
	}
	if stored, err := store.SecretsAreStored(ctx, x.DB); err != nil || stored {
		return candidates, err
	}
	x.Logger.WarnContext(ctx, "dropped proposals of the extractor: they contain a secret")
	return slices.DeleteFunc(slices.Clone(candidates), isSecret), nil
}
