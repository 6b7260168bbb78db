package oxbow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
)

// Adding an id again adds nothing, also with another external_id.
func TestRememberAnExistingID(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := uuid.New()
	for _, external := range []string{"a", "b", ""} {
		again, err := b.app(t).Remember(t.Context(), oxbow.NewMemory{UserID: "ann", ID: id, Content: "x",
			ExternalID: external})
		require.NoError(t, err, external)
		require.Equal(t, id, again)
	}
	require.Equal(t, 1, b.count(t, `select count(*) from oxbow.memories`))
}

func TestRememberAndGet(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at := time.Date(2025, 10, 12, 8, 30, 0, 123456000, time.UTC)
	given := oxbow.NewMemory{
		UserID: "ann", Content: "安在乐团里拉大提琴 'quoted' \\ \n \U0001f3bb", Type: oxbow.TypeEpisodic, ID: uuid.New(),
		ExternalID: "D1:3",
		ValidAt:    at, InvalidAt: at.Add(time.Hour), SessionID: "s1", Seq: new(int64(7)), Speaker: "Ann",
		AgentID: "coach",
		Source:  "chat", Category: oxbow.CategorySkill, Importance: new(0.0), Metadata: map[string]any{"tags": []any{"a", nil},
			"deep": map[string]any{"n": 0.1}},
		Modality: oxbow.ModalityAudio, Reference: "cello.ogg",
	}
	id, err := b.client.Remember(t.Context(), given)
	require.NoError(t, err)
	require.Equal(t, given.ID, id)

	m, err := b.client.Get(t.Context(), "ann", id)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), m.CreatedAt, time.Minute)
	m.CreatedAt = time.Time{}
	require.True(t, m.ValidAt.Equal(at) && m.InvalidAt.Equal(at.Add(time.Hour)))
	m.ValidAt, m.InvalidAt = given.ValidAt, given.InvalidAt
	require.Equal(t, oxbow.Memory{
		UserID: "ann", Type: oxbow.TypeEpisodic, ID: id, Content: given.Content, ValidAt: at,
		InvalidAt: at.Add(time.Hour), Version: 1,
		SessionID: "s1", Seq: 7, Speaker: "Ann", AgentID: "coach", ExternalID: "D1:3", Source: "chat",
		Category: oxbow.CategorySkill, Level: "full", Tier: "normal", Importance: 0, Strength: 1, MentionCount: 1,
		Metadata: given.Metadata.(map[string]any),
		Modality: oxbow.ModalityAudio, Reference: "cello.ogg",
	}, m)

	plain, err := b.client.Get(t.Context(), "ann", b.remember(t, oxbow.NewMemory{}))
	require.NoError(t, err)
	require.Equal(t, oxbow.TypeFact, plain.Type)
	require.Equal(t, oxbow.ModalityText, plain.Modality)
	require.Equal(t, 0.5, plain.Importance)
	require.Empty(t, plain.Metadata)
	require.NotZero(t, plain.Seq)
	require.Equal(t, 2, b.count(t, `select count(*) from oxbow.river_job where kind = 'embed'`))
}

func TestGetOfOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.remember(t, oxbow.NewMemory{})
	_, err := b.client.Get(t.Context(), "bob", id)
	require.ErrorIs(t, err, oxbow.ErrNotFound)
	require.ErrorContains(t, err, id.String())
	_, err = b.client.Get(t.Context(), "ann", uuid.New())
	require.ErrorIs(t, err, oxbow.ErrNotFound)
}

func TestRememberAgainUnderExternalID(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.remember(t, oxbow.NewMemory{ExternalID: "x"})
	require.Equal(t, first, b.remember(t, oxbow.NewMemory{ExternalID: "x", Content: "Something else."}))
	require.NotEqual(t, first, b.remember(t, oxbow.NewMemory{ExternalID: "x", Type: oxbow.TypeEpisodic}),
		"another type")
	require.NotEqual(t, first, b.remember(t, oxbow.NewMemory{ExternalID: "x", UserID: "bob"}), "another user")

	ids, err := b.client.RememberMany(t.Context(), []oxbow.NewMemory{
		{UserID: "ann", Content: "new"}, {UserID: "ann", Content: "old", ExternalID: "x"},
		{UserID: "bob", Content: "old", ExternalID: "x"},
		{UserID: "ann", Content: "twice", ExternalID: "y"}, {UserID: "ann", Content: "twice", ExternalID: "y"},
	})
	require.NoError(t, err)
	require.Equal(t, first, ids[1])
	require.NotEqual(t, first, ids[2])
	require.Equal(t, ids[3], ids[4])
	require.Equal(t, 5, b.count(t, `select count(*) from oxbow.memories`))
}

func TestRememberManyKeepsOrderAndIsWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const n = 6000 // more than one statement
	memories := make([]oxbow.NewMemory, n)
	for i := range memories {
		memories[i] = oxbow.NewMemory{UserID: fmt.Sprintf("user %d", i%3), Content: fmt.Sprintf("event %d", i),
			SessionID: "s", Type: oxbow.TypeEpisodic}
	}
	ids, err := b.client.RememberMany(t.Context(), memories)
	require.NoError(t, err)
	require.Len(t, ids, n)
	require.Equal(t, 0, b.count(t, `
		select count(*) from (select seq, lag(seq) over (partition by user_id
		order by substr(content, 7)::int) as before
			from oxbow.memories) m
		where seq <= before`))
	m, err := b.client.Get(t.Context(), "user 2", ids[5])
	require.NoError(t, err)
	require.Equal(t, "event 5", m.Content)

	memories[n-1].ID = uuid.New()
	memories[0].Importance = new(1.5)
	_, err = b.client.RememberMany(t.Context(), memories)
	bad, ok := errors.AsType[*oxbow.InvalidError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, 0, bad.Index)
	require.Equal(t, n, b.count(t, `select count(*) from oxbow.memories`))

	none, err := b.client.RememberMany(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestRememberInTheCallersTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tx := begin(t, b.pool)
	id, err := b.client.WithTx(tx).Remember(t.Context(), oxbow.NewMemory{UserID: "ann", Content: "x"})
	require.NoError(t, err)
	_, err = b.client.Get(t.Context(), "ann", id)
	require.ErrorIs(t, err, oxbow.ErrNotFound, "not committed yet")
	_, err = b.client.WithTx(tx).Get(t.Context(), "ann", id)
	require.NoError(t, err)
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, 0, b.count(t,
		`select (select count(*) from oxbow.memories) + (select count(*) from oxbow.river_job)`))
}

func TestInvalidMemories(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
	big := strings.Repeat("x", 1<<20)
	for _, test := range []struct {
		name         string
		memory       oxbow.NewMemory
		field, value string // value: a substring
	}{
		{"no user", oxbow.NewMemory{Content: "x"}, "user_id", `""`},
		{"long user", oxbow.NewMemory{UserID: strings.Repeat("u", 256), Content: "x"}, "user_id", "(256 bytes)"},
		{"NUL in user", oxbow.NewMemory{UserID: "a\x00b", Content: "x"}, "user_id", `"a\x00b"`},
		{"no content", oxbow.NewMemory{UserID: "ann"}, "content", `""`},
		{"blank content", oxbow.NewMemory{UserID: "ann", Content: " \n\t\u3000"}, "content", `" \n\t\u3000"`},
		{"content over 1 MiB", oxbow.NewMemory{UserID: "ann", Content: big + "x"}, "content", "xxx…"},
		{"NUL in content", oxbow.NewMemory{UserID: "ann", Content: "a\x00b"}, "content", `"a\x00b"`},
		{"invalid UTF-8", oxbow.NewMemory{UserID: "ann", Content: "a\xffb"}, "content", `"a\xffb"`},
		{"unknown type", oxbow.NewMemory{UserID: "ann", Content: "x", Type: "general"}, "memory_type", `"general"`},
		{"trait", oxbow.NewMemory{UserID: "ann", Content: "x", Type: oxbow.TypeTrait}, "memory_type", `"trait"`},
		{"unknown category", oxbow.NewMemory{UserID: "ann", Content: "x", Category: "爱好"}, "category", `"爱好"`},
		{"importance above 1", oxbow.NewMemory{UserID: "ann", Content: "x", Importance: new(1.01)}, "importance",
			"1.01"},
		{"importance below 0", oxbow.NewMemory{UserID: "ann", Content: "x", Importance: new(-0.1)}, "importance",
			"-0.1"},
		{"importance NaN", oxbow.NewMemory{UserID: "ann", Content: "x", Importance: new(math.NaN())}, "importance",
			"NaN"},
		{"metadata array", oxbow.NewMemory{UserID: "ann", Content: "x", Metadata: []int{1}}, "metadata", "[1]"},
		{"metadata string", oxbow.NewMemory{UserID: "ann", Content: "x", Metadata: json.RawMessage(`"a"`)}, "metadata",
			`\"a\"`},
		{"metadata broken", oxbow.NewMemory{UserID: "ann", Content: "x", Metadata: json.RawMessage(`{"a":`)},
			"metadata", ""},
		{"metadata no JSON", oxbow.NewMemory{UserID: "ann", Content: "x", Metadata: map[string]any{"f": math.Inf(1)}},
			"metadata", "Inf"},
		{"NUL in metadata", oxbow.NewMemory{UserID: "ann", Content: "x", Metadata: map[string]any{"a": []any{"b\x00"}}},
			"metadata", `u0000`},
		{"NUL in metadata's key", oxbow.NewMemory{UserID: "ann", Content: "x", Metadata: map[string]any{"a\x00": 1}},
			"metadata", `u0000`},
		{"huge number", oxbow.NewMemory{UserID: "ann", Content: "x", Metadata: json.RawMessage(`{"n":1e999999}`)},
			"metadata",
			"1e999999"},
		{"deep metadata", oxbow.NewMemory{UserID: "ann", Content: "x", Metadata: json.RawMessage(strings.Repeat(`{"a":`,
			300) + "1" + strings.Repeat("}", 300))}, "metadata", "bytes"},
		{"ends before it begins", oxbow.NewMemory{UserID: "ann", Content: "x", ValidAt: at,
			InvalidAt: at.Add(-time.Second)},
			"invalid_at", "2025-01-02T03:04:04Z"},
		{"year 10000", oxbow.NewMemory{UserID: "ann", Content: "x", ValidAt: at.AddDate(8000, 0, 0)}, "valid_at",
			"10025"},
		{"long external id", oxbow.NewMemory{UserID: "ann", Content: "x", ExternalID: strings.Repeat("e", 1025)},
			"external_id", "eee"},
		{"long session", oxbow.NewMemory{UserID: "ann", Content: "x", SessionID: strings.Repeat("s", 1025)},
			"session_id",
			"sss"},
		{"NUL in speaker", oxbow.NewMemory{UserID: "ann", Content: "x", Speaker: "\x00"}, "speaker", `"\x00"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := b.client.Remember(t.Context(), test.memory)
			bad, ok := errors.AsType[*oxbow.InvalidError](err)
			require.True(t, ok, "%T %v", err, err)
			require.Equal(t, test.field, bad.Field)
			require.Contains(t, bad.Value, test.value)
			require.Equal(t, -1, bad.Index)
			require.ErrorContains(t, err, test.field+" must ")
			require.Less(t, len(err.Error()), 300)

			_, err = b.client.RememberMany(t.Context(), []oxbow.NewMemory{{UserID: "ann", Content: "good"},
				test.memory})
			require.ErrorContains(t, err, "item 1: "+test.field+" must ")
		})
	}
	require.Equal(t, 0, b.count(t,
		`select (select count(*) from oxbow.memories) + (select count(*) from oxbow.river_job)`))

	id, err := b.client.Remember(t.Context(), oxbow.NewMemory{UserID: strings.Repeat("u", 255), Content: big,
		ExternalID: strings.Repeat("e", 1024)})
	require.NoError(t, err, "the limits themselves are allowed")
	require.NotEqual(t, uuid.Nil, id)
}
