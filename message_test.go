package oxbow_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
)

// Deleting messages of a conversation leaves other conversations, other users and extracted memories alone.
func TestDeleteMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	said := func(user, session, content string) oxbow.NewMessage {
		return oxbow.NewMessage{UserID: user, SessionID: session, Content: content, Metadata: map[string]any{"from": "app"}}
	}
	ids, err := b.client.AddMessages(ctx, []oxbow.NewMessage{
		said("mia", "s", "I live in Bergen."), said("mia", "s", "Hello."), said("mia", "t", "Hello.")})
	require.NoError(t, err)
	_, err = b.client.AddMessages(ctx, []oxbow.NewMessage{said("ann", "s", "Hello.")})
	require.NoError(t, err)
	_, err = b.client.EndSession(ctx, "mia", "s")
	require.NoError(t, err)
	b.work(t)
	left := func(user, session string) (contents []string) {
		t.Helper()
		messages, err := b.client.Messages(ctx, user, session)
		require.NoError(t, err)
		for _, m := range messages {
			require.Equal(t, map[string]any{"from": "app"}, m.Metadata)
			contents = append(contents, m.Content)
		}
		return contents
	}

	n, err := b.client.DeleteMessages(ctx, "mia", "s", ids[2])
	require.NoError(t, err)
	require.Zero(t, n, "of another conversation")
	n, err = b.client.DeleteMessages(ctx, "mia", "s", ids[0])
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	require.Equal(t, []string{"Hello."}, left("mia", "s"))
	n, err = b.client.DeleteMessages(ctx, "mia", "s")
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	require.Empty(t, left("mia", "s"))
	require.Len(t, left("mia", "t"), 1)
	require.Len(t, left("ann", "s"), 1)
	facts, err := b.client.Facts(ctx, "mia", oxbow.FactsOptions{})
	require.NoError(t, err)
	require.Len(t, facts, 1)
}
