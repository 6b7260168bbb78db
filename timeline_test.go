package oxbow_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
)

func TestTimeline(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	at := time.Date(2024, 3, 1, 10, 0, 0, 0, time.UTC)
	for i, text := range []string{"我住在北京。", "我现在住在上海。"} {
		_, err := b.client.AddMessages(ctx, []oxbow.NewMessage{{UserID: "小明", SessionID: text, Content: text,
			At: at.AddDate(i, 0, 0)}})
		require.NoError(t, err)
		_, err = b.client.EndSession(ctx, "小明", text)
		require.NoError(t, err)
		b.work(t)
	}
	for _, wordsOnly := range []bool{false, true} {
		found, err := b.client.Timeline(ctx, oxbow.TimelineQuery{UserID: "小明", Topic: "住在哪里", WordsOnly: wordsOnly})
		require.NoError(t, err)
		require.NoError(t, found.Degraded)
		require.Len(t, found.Entries, 2)
		old, current := found.Entries[0], found.Entries[1]
		require.Equal(t, "我住在北京。", old.Content)
		require.Equal(t, current.ID, old.SupersededBy)
		require.True(t, old.ValidAt.Equal(at))
		require.True(t, old.InvalidAt.Equal(at.AddDate(1, 0, 0)))
		require.False(t, old.Current)
		require.True(t, current.Current)
		require.Zero(t, current.InvalidAt)
		require.Equal(t, oxbow.TypeFact, current.Type)

		versions, err := b.client.Versions(ctx, "小明", current.ID)
		require.NoError(t, err)
		require.Len(t, versions, 2)
		require.Equal(t, old.ID, versions[0].ID)
		changes, err := b.client.History(ctx, "小明", old.ID)
		require.NoError(t, err)
		require.Len(t, changes, 3)
		said := changes[2].Messages
		require.Len(t, said, 1)
		require.True(t, said[0].At.Equal(at.AddDate(1, 0, 0)))
		said[0].ID, said[0].At = uuid.Nil, time.Time{}
		require.Equal(t, oxbow.Message{SessionID: "我现在住在上海。", Role: "user", Content: "我现在住在上海。"}, said[0])
	}
	_, err := b.client.Versions(ctx, "bob", uuid.New())
	require.ErrorIs(t, err, oxbow.ErrNotFound)
	for field, q := range map[string]oxbow.TimelineQuery{
		"topic":   {UserID: "小明", Topic: " "},
		"user_id": {Topic: "x"},
		"limit":   {UserID: "小明", Topic: "x", Limit: 1001},
		"types":   {UserID: "小明", Topic: "x", Types: []oxbow.MemoryType{oxbow.TypeTrait}},
	} {
		_, err := b.client.Timeline(ctx, q)
		var invalid *oxbow.InvalidError
		require.ErrorAs(t, err, &invalid, field)
		require.Equal(t, field, invalid.Field)
	}
	_, err = b.client.Timeline(ctx, oxbow.TimelineQuery{UserID: "小明", Topic: "x", Embedding: []float32{1}})
	require.ErrorContains(t, err, "must have the 1024 dimensions")
}
