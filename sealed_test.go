package oxbow_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/sealed"
)

func newKeys(t *testing.T) *sealed.Keys {
	t.Helper()
	keys, err := sealed.NewKeys()
	require.NoError(t, err)
	return keys
}

// No table contains a secret memory in clear text. It is not embedded, recalled or reflected on, and can be read with
// the key.
func TestSecretMemory(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	keys := newKeys(t)
	b := setup(t, oxbow.WithSealer(keys), oxbow.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	ctx := t.Context()
	at := time.Date(2025, 5, 1, 12, 0, 0, 0, time.UTC)
	texts := []string{"The door code is 4711 swordfish.", "门的密码是四七一一，剑鱼。", "The door code is 4711 swordfish."}
	ids := make([]uuid.UUID, len(texts))
	for i, text := range texts {
		ids[i] = b.remember(t, oxbow.NewMemory{Content: text, Sensitivity: 3, SessionID: "s",
			ValidAt: at.Add(time.Duration(i) * time.Minute), ExternalID: strings.Repeat("e", i+1)})
	}
	plain := b.remember(t, oxbow.NewMemory{Content: "Ann's boat is blue.", Sensitivity: 1, SessionID: "s",
		ValidAt: at.Add(90 * time.Second), Seq: new(int64(1))})
	again, err := b.client.Remember(ctx, oxbow.NewMemory{UserID: "ann", Content: "repeated", Sensitivity: 3,
		ExternalID: "e"})
	require.NoError(t, err)
	require.Equal(t, ids[0], again)
	b.work(t)

	for i, id := range ids {
		m, err := b.client.Get(ctx, "ann", id)
		require.NoError(t, err)
		require.Equal(t, texts[i], m.Content)
		require.Equal(t, 3, m.Sensitivity)
		require.Equal(t, keys.ID(), m.SealedKey)
		require.Zero(t, m.ExpiredAt, "those that say the same are not folded: nobody knows")
	}
	m, err := b.client.Get(ctx, "ann", plain)
	require.NoError(t, err)
	require.Equal(t, 1, m.Sensitivity)
	for _, other := range []*oxbow.Client{newClient(t, b.pool), newClient(t, b.pool, oxbow.WithSealer(newKeys(t)))} {
		m, err = other.Get(ctx, "ann", ids[0])
		require.ErrorIs(t, err, oxbow.ErrSealed)
		require.ErrorContains(t, err, ids[0].String()+" is sealed with the key "+keys.ID())
		require.Equal(t, "[sealed]", m.Content)
	}

	for _, query := range []string{"door code 4711 swordfish", "密码", "sealed", "[sealed]", "Ann's boat is blue"} {
		for _, found := range recall(t, b.client, oxbow.Query{Text: query}) {
			require.Equal(t, "Ann's boat is blue.", found, query)
		}
	}
	require.Equal(t, []string{"Ann's boat is blue."}, recall(t, b.client, oxbow.Query{Text: "boat"}),
		"and no neighbours")
	for _, table := range []string{"memory_vectors", "memory_terms", "reflection_inbox"} {
		require.Equal(t, 1, b.count(t, "select count(*) from oxbow."+table), table)
	}

	// The history records changes without the text.
	require.NoError(t, b.client.Forget(ctx, "ann", ids[0], "why"))
	require.NoError(t, b.client.Restore(ctx, "ann", ids[0]))
	_, err = b.client.Supersede(ctx, "ann", ids[0], oxbow.Replacement{Content: "The door code is 4712 swordfish."})
	require.ErrorContains(t, err, "sensitivity must be below 3 to be superseded")
	newer, err := b.client.Supersede(ctx, "ann", plain, oxbow.Replacement{Content: "Ann's boat is red."})
	require.NoError(t, err)
	m, err = b.client.Get(ctx, "ann", newer)
	require.NoError(t, err)
	require.Equal(t, 1, m.Sensitivity, "the level goes over")
	b.work(t)
	for table, text := range pgtest.Dump(t, b.pool) {
		for _, word := range []string{"swordfish", "剑鱼", "密码"} {
			require.NotContains(t, text, word, table)
		}
	}
	for _, word := range []string{"swordfish", "剑鱼"} {
		require.NotContains(t, log.String(), word)
	}

	// An export keeps it sealed, and after an import the same key opens it.
	var file bytes.Buffer
	_, err = b.client.ExportUser(ctx, "ann", &file)
	require.NoError(t, err)
	require.NotContains(t, file.String(), "swordfish")
	_, err = b.client.EraseUser(ctx, "ann")
	require.NoError(t, err)
	_, err = b.client.Import(ctx, &file, oxbow.ImportOptions{Traits: true})
	require.NoError(t, err)
	m, err = b.client.Get(ctx, "ann", ids[1])
	require.NoError(t, err)
	require.Equal(t, texts[1], m.Content)
}

func TestSecretMemoryRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, oxbow.WithSealer(newKeys(t)))
	ctx := t.Context()
	for name, c := range map[string]struct {
		client *oxbow.Client
		memory oxbow.NewMemory
		says   string
	}{
		"no keys": {newClient(t, b.pool), oxbow.NewMemory{Content: "swordfish", Sensitivity: 3},
			"sensitivity must be below 3 without keys"},
		"a speaker": {b.client, oxbow.NewMemory{Content: "swordfish", Sensitivity: 3, Speaker: "swordfish"},
			"with speaker or metadata"},
		"metadata": {b.client, oxbow.NewMemory{Content: "swordfish", Sensitivity: 3,
			Metadata: map[string]any{"a": "swordfish"}}, "with speaker or metadata"},
		"4": {b.client, oxbow.NewMemory{Content: "swordfish", Sensitivity: 4}, "sensitivity must be 0, 1, 2 or 3"},
		"a bad text": {b.client, oxbow.NewMemory{Content: "swordfish\x00", Sensitivity: 3},
			"content must not contain a NUL character"},
		"a bad id": {b.client, oxbow.NewMemory{Content: "swordfish", ExternalID: strings.Repeat("swordfish", 200),
			Sensitivity: 3}, "external_id must have at most 1024 bytes"},
		"a long text": {b.client, oxbow.NewMemory{Content: strings.Repeat("swordfish", 200_000), Sensitivity: 3},
			"content must not be longer than 1 MiB"},
		"a trait even": {b.client, oxbow.NewMemory{Content: "swordfish", Type: oxbow.TypeTrait, Sensitivity: 3},
			"memory_type must be fact, episodic or document"},
	} {
		c.memory.UserID = "ann"
		_, err := c.client.Remember(ctx, c.memory)
		require.ErrorContains(t, err, c.says, name)
		require.NotContains(t, err.Error(), "swordfish", name)
	}
	_, err := b.client.Import(ctx, strings.NewReader(`{"user": "ann", "content": "swordfish", "sensitivity": 3}`),
		oxbow.ImportOptions{})
	require.ErrorContains(t, err, "sensitivity must be below 3 for plain text")
	require.NotContains(t, err.Error(), "swordfish")

	// A sealed text opens only in its own place.
	one, other := b.remember(t, oxbow.NewMemory{Content: "one", Sensitivity: 3}),
		b.remember(t, oxbow.NewMemory{Content: "other", Sensitivity: 3})
	_, err = b.pool.Exec(ctx,
		`update oxbow.memories m set sealed = o.sealed from oxbow.memories o where m.id = $1 and o.id = $2`, one, other)
	require.NoError(t, err)
	_, err = b.client.Get(ctx, "ann", one)
	require.ErrorIs(t, err, oxbow.ErrSealed)
}

func TestReseal(t *testing.T) {
	t.Parallel()
	old := newKeys(t)
	b := setup(t, oxbow.WithSealer(old))
	ctx := t.Context()
	memories := make([]oxbow.NewMemory, 1100)
	for i := range memories {
		memories[i] = oxbow.NewMemory{UserID: []string{"ann", "小明"}[i%2], Content: "秘密 secret", Sensitivity: 3}
	}
	ids, err := b.client.RememberMany(ctx, memories)
	require.NoError(t, err)
	both, err := old.Add()
	require.NoError(t, err)
	client := newClient(t, b.pool, oxbow.WithSealer(both))
	_, err = newClient(t, b.pool, oxbow.WithSealer(newKeys(t))).Reseal(ctx)
	require.ErrorIs(t, err, oxbow.ErrSealed, "other keys do no harm")
	_, err = newClient(t, b.pool).Reseal(ctx)
	require.ErrorContains(t, err, "WithSealer")
	for _, want := range []int{1100, 0} {
		n, err := client.Reseal(ctx)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	for i := range 4 {
		m, err := client.Get(ctx, memories[i].UserID, ids[i])
		require.NoError(t, err)
		require.Equal(t, "秘密 secret", m.Content)
		require.Equal(t, both.ID(), m.SealedKey)
		_, err = b.client.Get(ctx, memories[i].UserID, ids[i])
		require.ErrorIs(t, err, oxbow.ErrSealed, "the old key no longer opens anything")
	}
}
