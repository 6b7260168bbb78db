package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
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

// KindsOfSecrets returns the kinds of the secrets in texts, such as "card, credential", or "" if they have none.
func KindsOfSecrets(texts ...string) string {
	var found []secrets.Finding
	for _, text := range texts {
		found = append(found, secrets.Find(text)...)
	}
	var names []string
	for _, kind := range secrets.Kinds(found) {
		names = append(names, string(kind))
	}
	return strings.Join(names, ", ")
}

// Metadata returns metadata as a field to search for secrets: a line for each text or number, which follows its key.
func Metadata(raw json.RawMessage) Field {
	var value any
	var text strings.Builder
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()                                        // a float64 has 15 digits, a card up to 19
	if len(raw) > len("{}") && d.Decode(&value) == nil { // invalid metadata is refused elsewhere
		writeValues(&text, "", value)
	}
	return Field{"metadata", text.String()}
}

func writeValues(text *strings.Builder, key string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			writeValues(text, key, value[key])
		}
	case []any:
		for _, one := range value {
			writeValues(text, key, one)
		}
	case string:
		fmt.Fprintf(text, "%s: \"%s\"\n", keyBreak.ReplaceAllString(key, "$1 $2"), value)
	case json.Number:
		fmt.Fprintf(text, "%s: %s\n", keyBreak.ReplaceAllString(key, "$1 $2"), value)
	}
}

// keyBreak separates the words of a key: door_code, door-code, doorCode.
var keyBreak = regexp.MustCompile(`[_-]|([a-z])([A-Z])`)

// searched returns the texts of a memory that are searched for secrets. The application chooses the others, such as
// ids.
func (m *NewMemory) searched(metadata json.RawMessage) []Field {
	return []Field{{"content", m.Content}, {"speaker", m.Speaker}, {"category", string(m.Category)}, {"topic", m.Topic},
		{"reference", m.Reference}, Metadata(metadata)}
}

// searched returns the texts of a message that are searched for secrets.
func (m *NewMessage) searched() []Field {
	texts := []Field{{"content", m.Content}, {"speaker", m.Speaker}}
	if len(m.Metadata) > 0 {
		raw, _ := ValidateMetadata(m.Metadata) // invalid metadata is refused elsewhere
		texts = append(texts, Metadata(raw))
	}
	return texts
}

// Screen searches n rows that are about to be stored, each with its level and texts. It returns the indexes of those
// of levels 0 and 1 that contain a secret, which a client with keys seals. With the policy refuse it returns an
// *InvalidError for the first one below level 3 instead. It reads the setting only if it finds a secret.
func Screen(ctx context.Context, db DB, n int, row func(i int) (level int, texts []Field)) (found []int, err error) {
	policy := ""
	for i := range n {
		level, texts := row(i)
		if level >= Secret {
			continue
		}
		at := slices.IndexFunc(texts, func(f Field) bool { return secrets.Any(f.Value) })
		if at < 0 {
			continue
		}
		if policy == "" {
			if policy, err = SecretsPolicy(ctx, db); err != nil || policy == secretsStored {
				return nil, err
			}
		}
		if policy == secretsRefused {
			bad := refusedSecret(texts[at])
			bad.Index = i
			return nil, bad
		}
		if level < 2 {
			found = append(found, i)
		}
	}
	return found, nil
}

// Admit returns an *InvalidError if PostgreSQL cannot store one of the texts, or if one contains a secret and the
// setting "secrets" refuses them.
func Admit(ctx context.Context, db DB, texts ...Field) error {
	for _, f := range texts {
		if err := text(f.Name, f.Value); err != nil {
			return err
		}
	}
	_, err := Screen(ctx, db, 1, func(int) (int, []Field) { return 0, texts })
	if bad, ok := errors.AsType[*InvalidError](err); ok {
		bad.Index = -1
	}
	return err
}

func refusedSecret(f Field) *InvalidError {
	return &InvalidError{Index: -1, Field: f.Name, Value: KindsOfSecrets(f.Value),
		Rule: "must not contain a secret, because the setting secrets refuses them"}
}

// SealSecrets raises the memories with a secret to the level at which the client seals them, or refuses them if the
// setting "secrets" says so, and returns the batch to insert. Memories with a speaker, metadata or a reference keep
// their level, because those are not sealed: the worker raises them to level 2.
func (b *Batch) SealSecrets(ctx context.Context, db DB) (*Batch, error) {
	found, err := Screen(ctx, db, len(b.memories), func(i int) (int, []Field) {
		return b.memories[i].Sensitivity, b.memories[i].searched(b.metadata[i])
	})
	if err != nil || len(found) == 0 || b.sealer == nil {
		return b, err
	}
	memories := slices.Clone(b.memories)
	for _, i := range found {
		if memories[i].sealable() {
			memories[i].Sensitivity = Secret
		}
	}
	return NewBatch(memories, b.sealer)
}

// Rename returns the batch with other external ids for the sealed memories. It returns b if no memory is sealed.
func (b *Batch) Rename(name func(string) string) (*Batch, error) {
	memories := slices.Clone(b.memories)
	sealed := false
	for i := range memories {
		if m := &memories[i]; m.Sensitivity == Secret && m.ExternalID != "" {
			m.ExternalID, sealed = name(m.ExternalID), true
		}
	}
	if !sealed {
		return b, nil
	}
	return NewBatch(memories, b.sealer)
}

// sealable reports whether a memory has no text besides its content that may contain a secret, because only the content
// is sealed.
func (m *NewMemory) sealable() bool {
	return m.Speaker == "" && m.Metadata == nil && m.Reference == "" && !secrets.Any(string(m.Category)+"\n"+m.Topic)
}

// SealSecretMessages does for messages what SealSecrets does for memories. It does not change the given slice.
func SealSecretMessages(ctx context.Context, db DB, messages []NewMessage, sealer Sealer) ([]NewMessage, error) {
	found, err := Screen(ctx, db, len(messages), func(i int) (int, []Field) {
		return messages[i].Sensitivity, messages[i].searched()
	})
	if err != nil || len(found) == 0 || sealer == nil {
		return messages, err
	}
	messages = slices.Clone(messages)
	for _, i := range found {
		if m := &messages[i]; m.Speaker == "" && m.Metadata == nil {
			m.Sensitivity = Secret
		}
	}
	return messages, nil
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
