package oxbow_test

import (
	"cmp"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/embedding/embeddingtest"
	"github.com/oxbow-memory/oxbow/internal/embedding/providers"
)

// introduced is an import of a user with traits and memories.
const introduced = `
{"user":"ann","memory_type":"trait","trait_subtype":"core","trait_stage":"established","trait_confidence":0.7,` +
	`"content":"Is introverted"}
{"user":"ann","memory_type":"trait","trait_subtype":"preference","trait_stage":"emerging","trait_confidence":0.5,` +
	`"content":"Prefers tea","trait_context":"work"}
{"user":"ann","memory_type":"trait","trait_subtype":"behavior","trait_stage":"core","trait_confidence":0.9,` +
	`"content":"Rows at dawn"}
{"user":"ann","content":"The boat is called Heron.","memory_type":"fact","agent_id":"coach"}
{"user":"ann","content":"We painted the boat.","speaker":"Ann","at":"2025-10-12T08:00:00Z"}
{"user":"bob","memory_type":"trait","trait_subtype":"core","trait_stage":"core","trait_confidence":0.9,` +
	`"content":"Likes boats"}
`

func introduce(t *testing.T, b *bundle) {
	t.Helper()
	_, err := b.client.Import(t.Context(), strings.NewReader(introduced), oxbow.ImportOptions{Traits: true})
	require.NoError(t, err)
	b.work(t)
}

func TestContext(t *testing.T) {
	t.Parallel()
	b := setup(t)
	introduce(t, b)
	q := oxbow.ContextQuery{UserID: "ann", Text: "What is the boat called?"}
	found, err := b.client.Context(t.Context(), q)
	require.NoError(t, err)
	require.NoError(t, found.Degraded)
	require.Equal(t, "## Core traits\n- Is introverted\n## Preferences\n- Prefers tea (probably)\n"+
		"## Behaviors\n- Rows at dawn\n"+
		"## Facts and events\n- The boat is called Heron.\n- 2025-10-12, Ann: We painted the boat.", found.Text)
	first := found.Parts[0]
	require.Equal(t, oxbow.ContextPart{Section: "core", ID: first.ID, Type: oxbow.TypeTrait, Stage: "established",
		Modality: oxbow.ModalityText,
		Text:     "Is introverted",
		Line:     "## Core traits\n- Is introverted", Tokens: 8}, first)
	last := found.Parts[4]
	require.Equal(t, oxbow.ContextPart{Section: "memory", ID: last.ID, Type: oxbow.TypeEpisodic, At: last.At,
		Modality: oxbow.ModalityText,
		Text:     "We painted the boat.",
		Line:     "- 2025-10-12, Ann: We painted the boat.", Tokens: 10}, last)
	require.True(t, last.At.Equal(time.Date(2025, 10, 12, 8, 0, 0, 0, time.UTC)))
	require.Len(t, found.IDs(), 5)
	require.Equal(t, last.ID, found.IDs()[4])
	var text string
	require.NoError(t, b.pool.QueryRow(t.Context(), `select oxbow.context('ann', 'What is the boat called?')`).Scan(
		&text))
	require.Equal(t, found.Text, text, "both ways say the same")

	for name, c := range map[string]struct {
		query oxbow.ContextQuery
		want  []string
	}{
		"little room": {oxbow.ContextQuery{MaxTokens: 12}, []string{"Is introverted"}},
		"types":       {oxbow.ContextQuery{Types: []oxbow.MemoryType{oxbow.TypeEpisodic}}, []string{"We painted the boat."}},
		"agent": {oxbow.ContextQuery{AgentID: "coach", Types: []oxbow.MemoryType{oxbow.TypeFact, oxbow.TypeEpisodic}},
			[]string{"The boat is called Heron."}},
		"context": {oxbow.ContextQuery{Contexts: []string{"social"}}, []string{"Is introverted", "Rows at dawn"}},
		"words alone": {oxbow.ContextQuery{Text: "Heron", WordsOnly: true,
			Types: []oxbow.MemoryType{oxbow.TypeFact, oxbow.TypeEpisodic}}, []string{"The boat is called Heron."}},
		"nobody known": {oxbow.ContextQuery{UserID: "nobody"}, nil},
		"later": {oxbow.ContextQuery{Now: time.Now().AddDate(20, 0, 0), Types: []oxbow.MemoryType{oxbow.TypeTrait}},
			nil},
	} {
		c.query.UserID = cmp.Or(c.query.UserID, "ann")
		found, err := b.client.Context(t.Context(), c.query)
		require.NoError(t, err, name)
		var texts []string
		for _, p := range found.Parts {
			texts = append(texts, p.Text)
		}
		require.Equal(t, c.want, texts, name)
		require.Equal(t, len(c.want) == 0, found.Text == "", name)
	}
}

// Context does not report its memories as used.
func TestContextReportsNoUse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	introduce(t, b)
	found, err := b.client.Context(t.Context(), oxbow.ContextQuery{UserID: "ann", Text: "the boat"})
	require.NoError(t, err)
	b.client.Used("ann", found.IDs()[3])
	require.NoError(t, b.client.Close(t.Context()))
	var used []string
	require.NoError(t, b.pool.QueryRow(t.Context(), `select memory_ids::text[] from oxbow.activity`).Scan(&used))
	require.Equal(t, []string{found.IDs()[3].String()}, used)
}

func TestContextOfAnApp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	introduce(t, b)
	app := b.app(t)
	found, err := app.Context(t.Context(), oxbow.ContextQuery{UserID: "bob", Text: "boats"})
	require.NoError(t, err)
	require.Equal(t, "## Core traits\n- Likes boats", found.Text)
}

func TestContextWithAnotherEmbedder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	introduce(t, b)
	server := embeddingtest.New(t, 1024)
	embedder, err := providers.Open(providers.Config{Provider: "openai", URL: server.OpenAIURL(), Model: "m",
		Dimension: 1024})
	require.NoError(t, err)
	other := newClient(t, b.pool, oxbow.WithEmbedder(embedder))
	_, err = other.Context(t.Context(), oxbow.ContextQuery{UserID: "ann", Text: "the boat"})
	var mismatch *oxbow.ModelMismatchError
	require.ErrorAs(t, err, &mismatch)

	server.Always(embeddingtest.Status(503, "overloaded"))
	found, err := other.Context(t.Context(), oxbow.ContextQuery{UserID: "ann", Text: "the boat"})
	require.NoError(t, err)
	require.ErrorContains(t, found.Degraded, "embedding with openai:m")
	require.Contains(t, found.Text, "Heron")
	asked := len(server.Requests())
	found, err = other.Context(t.Context(), oxbow.ContextQuery{UserID: "ann"})
	require.NoError(t, err)
	require.NoError(t, found.Degraded)
	require.Len(t, server.Requests(), asked, "nothing was asked, nothing embedded")
}

func TestContextRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for says, q := range map[string]oxbow.ContextQuery{
		"user_id":    {},
		"max_tokens": {UserID: "ann", MaxTokens: -1},
		"max_tokens must be between 1 and 1000000": {UserID: "ann", MaxTokens: 1_000_001},
		"types":                            {UserID: "ann", Types: []oxbow.MemoryType{"insight"}},
		"text must be valid":               {UserID: "ann", Text: "\xff"},
		"embedding must have":              {UserID: "ann", Embedding: []float32{1, 2}},
		"must contain only finite numbers": {UserID: "ann", Embedding: []float32{float32(math.NaN())}},
	} {
		_, err := b.client.Context(t.Context(), q)
		var invalid *oxbow.InvalidError
		require.ErrorAs(t, err, &invalid, says)
		require.ErrorContains(t, err, says)
	}
}
