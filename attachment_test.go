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

// An image that belongs to a memory is returned with it. It is forgotten and erased with it, can be restored alone, and
// an import brings it back.
func TestAttachments(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	at := time.Date(2025, 10, 12, 8, 0, 0, 0, time.UTC)
	slept := b.remember(t, oxbow.NewMemory{Content: "Luna slept on the sofa.", Type: oxbow.TypeEpisodic, ValidAt: at})
	b.remember(t, oxbow.NewMemory{Content: "Luna caught a mouse.", Type: oxbow.TypeEpisodic, ValidAt: at})
	b.work(t)
	upload := func(caption, reference string) uuid.UUID {
		return b.remember(t, oxbow.NewMemory{Content: caption, Type: oxbow.TypeEpisodic, ValidAt: at.Add(time.Hour),
			Modality: oxbow.ModalityImage, Reference: reference})
	}
	image := upload("photo of Luna on the sofa", "photos/1.jpg")
	b.work(t)
	upload("Luna on her sofa", "photos/2.jpg")
	b.work(t)
	attached := func() (references []string) {
		t.Helper()
		found, err := b.client.Recall(ctx, oxbow.Query{UserID: "ann", Text: "Where did Luna sleep?"})
		require.NoError(t, err)
		for _, a := range found.Memories[0].Attachments {
			require.Equal(t, oxbow.ModalityImage, a.Modality)
			references = append(references, a.Reference)
		}
		return references
	}
	both := []string{"photos/1.jpg", "photos/2.jpg"}
	require.ElementsMatch(t, both, attached())
	m, err := b.client.Get(ctx, "ann", slept)
	require.NoError(t, err)
	require.Len(t, m.Attachments, 2)
	require.Equal(t, 3, m.MentionCount)
	timeline, err := b.client.Timeline(ctx, oxbow.TimelineQuery{UserID: "ann", Topic: "Luna on the sofa"})
	require.NoError(t, err)
	require.Len(t, timeline.Entries, 1, "the attachments have no entries")

	require.NoError(t, b.client.Restore(ctx, "ann", image))
	require.Equal(t, []string{"photos/2.jpg"}, attached())
	alone, err := b.client.Get(ctx, "ann", image)
	require.NoError(t, err)
	require.Zero(t, alone.SupersededBy)

	require.NoError(t, b.client.Forget(ctx, "ann", slept, ""))
	require.Equal(t, 2, b.count(t, `select count(*) from oxbow.memories where forgotten_at is not null`))
	require.NoError(t, b.client.Restore(ctx, "ann", slept))
	require.Equal(t, []string{"photos/2.jpg"}, attached())

	var file bytes.Buffer
	_, err = b.client.ExportUser(ctx, "ann", &file)
	require.NoError(t, err)
	_, err = b.client.EraseMemory(ctx, "ann", slept)
	require.NoError(t, err)
	for table, rows := range pgtest.Dump(t, b.pool) {
		require.NotContains(t, rows, "photos/2.jpg", table)
		require.NotContains(t, rows, "her sofa", table)
	}
	_, err = b.client.EraseUser(ctx, "ann")
	require.NoError(t, err)
	for table, rows := range pgtest.Dump(t, b.pool) {
		require.NotContains(t, rows, "photos/", table)
	}
	_, err = b.client.Import(ctx, strings.NewReader(file.String()), oxbow.ImportOptions{})
	require.NoError(t, err)
	b.work(t)
	require.Equal(t, []string{"photos/2.jpg"}, attached())
}
