package oxbow_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// No table contains a secret message in clear text. No memory is made from it, and a client with the key can read it.
func TestSecretMessage(t *testing.T) {
	t.Parallel()
	keys := newKeys(t)
	b := setup(t, oxbow.WithSealer(keys))
	ctx := t.Context()
	at := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	secrets := []string{"I live in Swordfish Street 4711.", "我住在剑鱼街四七一一号。"}
	said := []oxbow.NewMessage{
		{UserID: "mia", SessionID: "s", Content: secrets[0], Sensitivity: 3, At: at},
		{UserID: "mia", SessionID: "s", Content: "I live in Bergen.", Sensitivity: 1, At: at.Add(time.Minute)},
		{UserID: "mia", SessionID: "s", Content: secrets[1], Sensitivity: 3, At: at.Add(2 * time.Minute)},
		{UserID: "mia", SessionID: "s", Content: "I play the cello.", At: at.Add(3 * time.Minute)},
	}
	ids, err := b.client.AddMessages(ctx, said)
	require.NoError(t, err)
	said[0].ID = ids[0]
	_, err = b.client.AddMessages(ctx, said[:1])
	require.NoError(t, err, "a repeated call adds nothing")
	_, err = b.client.EndSession(ctx, "mia", "s")
	require.NoError(t, err)
	b.work(t)

	levels := func() map[string]int {
		levels := map[string]int{}
		rows, err := b.pool.Query(ctx,
			`select content, sensitivity from oxbow.memories where user_id = 'mia' and expired_at is null`)
		require.NoError(t, err)
		for rows.Next() {
			var content string
			var level int
			require.NoError(t, rows.Scan(&content, &level))
			levels[content] = level
		}
		require.NoError(t, rows.Err())
		return levels
	}
	require.Equal(t, map[string]int{"I live in Bergen.": 1, "I play the cello.": 0}, levels())
	require.Equal(t, 4, b.count(t, "select count(*) from oxbow.messages where extracted_at is not null"))

	// A fact is at least as sensitive as the fact that it supersedes and as a message that repeats it.
	_, err = b.client.AddMessages(ctx, []oxbow.NewMessage{
		{UserID: "mia", SessionID: "t", Content: "I live in Oslo now.", At: at.Add(24 * time.Hour)},
		{UserID: "mia", SessionID: "t", Content: "I play the cello.", Sensitivity: 1, At: at.Add(25 * time.Hour)},
	})
	require.NoError(t, err)
	_, err = b.client.EndSession(ctx, "mia", "t")
	require.NoError(t, err)
	b.work(t)
	require.Equal(t, map[string]int{"I live in Oslo now.": 1, "I play the cello.": 1}, levels())

	want := []string{secrets[0], "I live in Bergen.", secrets[1], "I play the cello."}
	read := func(client *oxbow.Client, user string) (texts []string, err error) {
		found, err := client.Messages(ctx, user, "s")
		for _, m := range found {
			texts = append(texts, m.Content)
		}
		return texts, err
	}
	texts, err := read(b.client, "mia")
	require.NoError(t, err)
	require.Equal(t, want, texts)
	for _, other := range []*oxbow.Client{newClient(t, b.pool), newClient(t, b.pool, oxbow.WithSealer(newKeys(t)))} {
		texts, err = read(other, "mia")
		require.ErrorIs(t, err, oxbow.ErrSealed)
		require.Equal(t, []string{"[sealed]", want[1], "[sealed]", want[3]}, texts)
	}
	for table, text := range pgtest.Dump(t, b.pool) {
		for _, word := range []string{"wordfish", "Street 4711", "剑鱼"} {
			require.NotContains(t, text, word, table)
		}
	}
	found, err := b.client.Messages(ctx, "mia", "no such")
	require.NoError(t, err)
	require.Empty(t, found)

	// key rotation, export and import
	both, err := keys.Add()
	require.NoError(t, err)
	client := newClient(t, b.pool, oxbow.WithSealer(both))
	for _, n := range []int{2, 0} {
		rotated, err := client.Reseal(ctx)
		require.NoError(t, err)
		require.Equal(t, n, rotated)
	}
	_, err = read(b.client, "mia")
	require.ErrorIs(t, err, oxbow.ErrSealed, "the old key no longer opens anything")
	var file bytes.Buffer
	_, err = client.ExportUser(ctx, "mia", &file)
	require.NoError(t, err)
	require.NotContains(t, file.String(), "wordfish")
	_, err = client.EraseUser(ctx, "mia")
	require.NoError(t, err)
	require.Zero(t, b.count(t, "select count(*) from oxbow.messages"))
	_, err = client.Import(ctx, &file, oxbow.ImportOptions{Traits: true})
	require.NoError(t, err)
	texts, err = read(client, "mia")
	require.NoError(t, err)
	require.Equal(t, want, texts)
}

// The summary of a conversation leaves its secret messages out, and is as sensitive as the messages that
// it covers.
func TestSecretMessageIsNotSummarised(t *testing.T) {
	t.Parallel()
	b := setup(t, oxbow.WithSealer(newKeys(t)))
	ctx := t.Context()
	_, err := b.pool.Exec(ctx,
		`update oxbow.settings set value = value || '{"summary_after": 3}' where key = 'conversations'`)
	require.NoError(t, err)
	at := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	var said []oxbow.NewMessage
	for i, text := range []string{"I live in Bergen.", "I play the cello in an orchestra.",
		"My sister Kari visited me yesterday.", "I work as a nurse.", "I bought a red boat."} {
		said = append(said, oxbow.NewMessage{UserID: "mia", SessionID: "s", Content: text, Sensitivity: i % 2,
			At: at.Add(time.Duration(i) * time.Minute)},
			oxbow.NewMessage{UserID: "mia", SessionID: "s", Content: "I live in Swordfish Street.", Sensitivity: 3,
				At: at.Add(time.Duration(i)*time.Minute + time.Second)})
	}
	_, err = b.client.AddMessages(ctx, said)
	require.NoError(t, err)
	_, err = b.client.EndSession(ctx, "mia", "s")
	require.NoError(t, err)
	b.work(t)
	var content string
	var level, messages int
	err = b.pool.QueryRow(ctx,
		`select content, sensitivity, (metadata ->> 'messages')::integer from oxbow.memories where source = 'summary'
			and expired_at is null`).
		Scan(&content, &level, &messages)
	require.NoError(t, err)
	require.NotContains(t, content, "sealed")
	require.Equal(t, 1, level)
	require.Equal(t, 5, messages)
}

func TestSecretMessageRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, oxbow.WithSealer(newKeys(t)))
	ctx := t.Context()
	for name, c := range map[string]struct {
		client  *oxbow.Client
		message oxbow.NewMessage
		says    string
	}{
		"no keys": {newClient(t, b.pool), oxbow.NewMessage{Content: "swordfish", Sensitivity: 3},
			"sensitivity must be below 3 without keys"},
		"a speaker": {b.client, oxbow.NewMessage{Content: "swordfish", Sensitivity: 3, Speaker: "swordfish"},
			"with speaker or metadata"},
		"metadata": {b.client, oxbow.NewMessage{Content: "swordfish", Sensitivity: 3,
			Metadata: map[string]any{"a": "swordfish"}}, "with speaker or metadata"},
		"4": {b.client, oxbow.NewMessage{Content: "swordfish", Sensitivity: 4}, "sensitivity must be 0, 1, 2 or 3"},
		"a bad text": {b.client, oxbow.NewMessage{Content: "swordfish\x00", Sensitivity: 3},
			"content must not contain a NUL character"},
		"a blank one": {b.client, oxbow.NewMessage{Content: " \n", Sensitivity: 3}, "content must not be blank"},
		"a long text": {b.client, oxbow.NewMessage{Content: strings.Repeat("swordfish", 200_000), Sensitivity: 3},
			"longer than 1 MiB"},
	} {
		c.message.UserID, c.message.SessionID = "ann", "s"
		_, err := c.client.AddMessages(ctx, []oxbow.NewMessage{{UserID: "ann", SessionID: "s", Content: "hello"},
			c.message})
		bad := new(oxbow.InvalidError)
		require.ErrorAs(t, err, &bad, name)
		require.Equal(t, 1, bad.Index, name)
		require.ErrorContains(t, err, c.says, name)
		require.NotContains(t, err.Error(), "swordfish", name)
	}
	require.Zero(t, b.count(t, "select count(*) from oxbow.messages"))

	// A sealed text opens only in its own place; a message cannot open the text of a memory.
	ids, err := b.client.AddMessages(ctx, []oxbow.NewMessage{{UserID: "ann", SessionID: "s", Content: "one",
		Sensitivity: 3}})
	require.NoError(t, err)
	memory, err := b.client.Remember(ctx, oxbow.NewMemory{UserID: "ann", ID: uuid.New(), Content: "other",
		Sensitivity: 3})
	require.NoError(t, err)
	_, err = b.pool.Exec(ctx,
		`update oxbow.messages g set sealed = m.sealed from oxbow.memories m where g.id = $1 and m.id = $2`, ids[0],
		memory)
	require.NoError(t, err)
	_, err = b.client.Messages(ctx, "ann", "s")
	require.ErrorIs(t, err, oxbow.ErrSealed)
}

// A plain text that reads "[sealed]" is not mistaken for a sealed one.
func TestPlainTextThatLooksSealed(t *testing.T) {
	t.Parallel()
	b := setup(t, oxbow.WithSealer(newKeys(t)))
	secret := b.remember(t, oxbow.NewMemory{Content: "swordfish", Sensitivity: 3})
	for range 2 {
		b.remember(t, oxbow.NewMemory{Content: "[sealed]"})
	}
	b.remember(t, oxbow.NewMemory{Content: "[sealed]", Sensitivity: 1})
	b.work(t)
	m, err := b.client.Get(t.Context(), "ann", secret)
	require.NoError(t, err)
	require.Equal(t, "swordfish", m.Content)
	require.Zero(t, m.ExpiredAt)
	require.Equal(t, 1, m.MentionCount)
	require.Equal(t, 1, b.count(t,
		"select count(*) from oxbow.memories where sensitivity = 1 and expired_at is null and mention_count = 3"),
		"the fold has the highest level")
}
