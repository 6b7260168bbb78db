package oxbow_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
)

func TestConversation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	at := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	said := []oxbow.NewMessage{
		{ID: uuid.New(), UserID: "mia", SessionID: "s1", Content: "I live in Bergen.", At: at},
		{UserID: "mia", SessionID: "s1", Role: "assistant", Content: "How nice!", At: at,
			Metadata: map[string]any{"recalled": []string{"no id", uuid.NewString()}}},
	}
	ids, err := b.client.AddMessages(ctx, said)
	require.NoError(t, err)
	require.Equal(t, said[0].ID, ids[0])
	_, err = b.client.AddMessages(ctx, said[:1])
	require.NoError(t, err, "a repeated call adds nothing")
	open, err := b.client.EndSession(ctx, "mia", "s1")
	require.NoError(t, err)
	require.True(t, open)
	_, err = b.client.EndSession(ctx, "mia", "s9")
	require.ErrorAs(t, err, new(*oxbow.InvalidError))
	b.work(t)

	facts, err := b.client.Facts(ctx, "mia", oxbow.FactsOptions{})
	require.NoError(t, err)
	require.Len(t, facts, 1)
	require.Equal(t, "I live in Bergen.", facts[0].Content)
	require.True(t, facts[0].ValidAt.Equal(at))
	require.Zero(t, facts[0].InvalidAt)
	facts, err = b.client.Facts(ctx, "mia", oxbow.FactsOptions{ValidAsOf: at.Add(-time.Hour)})
	require.NoError(t, err)
	require.Empty(t, facts, "it was not true yet")
}

func TestInvalidMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good := oxbow.NewMessage{UserID: "mia", SessionID: "s", Content: "fine"}
	for field, spoil := range map[string]func(*oxbow.NewMessage){
		`session_id must have 1 to 1024 bytes, got ""`:          func(m *oxbow.NewMessage) { m.SessionID = "" },
		`role must be user, assistant, system or tool, got "o"`: func(m *oxbow.NewMessage) { m.Role = "o" },
		`content must not be blank, got " "`:                    func(m *oxbow.NewMessage) { m.Content = " " },
		`content must not contain a NUL character`:              func(m *oxbow.NewMessage) { m.Content = "x\x00" },
		`content must be valid UTF-8`:                           func(m *oxbow.NewMessage) { m.Content = "x\xff" },
		`speaker must be valid UTF-8`:                           func(m *oxbow.NewMessage) { m.Speaker = "x\xff" },
		`created_at must be in the years 1 to 9999`:             func(m *oxbow.NewMessage) { m.At = m.At.AddDate(3e4, 0, 0) },
		`sensitivity must be 0, 1, 2 or 3, got 9`:               func(m *oxbow.NewMessage) { m.Sensitivity = 9 },
		`metadata must not contain a NUL character`: func(m *oxbow.NewMessage) {
			m.Metadata = map[string]any{"a": "\x00"}
		},
	} {
		bad := good
		spoil(&bad)
		_, err := b.client.AddMessages(t.Context(), []oxbow.NewMessage{good, bad})
		invalid := new(oxbow.InvalidError)
		require.ErrorAs(t, err, &invalid, field)
		require.Equal(t, 1, invalid.Index, field)
		require.ErrorContains(t, err, "item 1: "+field)
	}
	require.Zero(t, b.count(t, "select count(*) from oxbow.messages"))
}

func TestPromote(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	id := b.remember(t, oxbow.NewMemory{UserID: "mia", Content: "We talked about Bergen.", Type: oxbow.TypeEpisodic,
		Source: "summary"})
	changed, err := b.client.Promote(ctx, "mia", id, "")
	require.NoError(t, err)
	require.False(t, changed, "it was not to expire")
	_, err = b.pool.Exec(ctx, `update oxbow.memories set expires_at = now() + interval '1 day'`)
	require.NoError(t, err)
	m, err := b.client.Get(ctx, "mia", id)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(24*time.Hour), m.ExpiresAt, time.Minute)
	changed, err = b.client.Promote(ctx, "mia", id, "worth it")
	require.NoError(t, err)
	require.True(t, changed)
	m, err = b.client.Get(ctx, "mia", id)
	require.NoError(t, err)
	require.Zero(t, m.ExpiresAt)
	history, err := b.client.History(ctx, "mia", id)
	require.NoError(t, err)
	require.Equal(t, "PROMOTE: worth it", history[len(history)-1].Event+": "+history[len(history)-1].Reason)
	_, err = b.client.Promote(ctx, "zoe", id, "")
	require.ErrorIs(t, err, oxbow.ErrNotFound)
}
