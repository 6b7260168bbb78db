package oxbow_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/documents"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

const (
	secretPassword = "My password is hunter2."
	secretCard     = "我的卡号是4111 1111 1111 1111"
)

func (b *bundle) secretsPolicy(t *testing.T, policy string) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `insert into oxbow.settings (key, value)
		values ('secrets', jsonb_build_object('policy', $1::text))
		on conflict (key) do update set value = excluded.value`, policy)
	require.NoError(t, err)
}

// A client with keys seals texts that contain a secret in all ways of storing.
func TestSealSecrets(t *testing.T) {
	t.Parallel()
	b := setup(t, oxbow.WithSealer(newKeys(t)))
	ctx := t.Context()
	ids, err := b.client.RememberMany(ctx, []oxbow.NewMemory{
		{UserID: "ann", Content: "Ann sails."},
		{UserID: "ann", Content: secretPassword, Sensitivity: 1, ExternalID: "1"},
		{UserID: "ann", Content: secretCard, Type: oxbow.TypeEpisodic},
		{UserID: "ann", Content: secretPassword, Speaker: "Ann"}, // a speaker is not sealed
		{UserID: "ann", Content: secretPassword, Sensitivity: 2},
		{UserID: "ann", Content: secretPassword, Modality: "image", Reference: "a.png"},
		{UserID: "ann", Content: "The router.", Metadata: map[string]any{"password": "hunter2"}}, // nor is metadata
		{UserID: "ann", Content: "The router.", Topic: secretPassword},
	})
	require.NoError(t, err)
	var levels []int
	for i, want := range []string{"Ann sails.", secretPassword, secretCard, secretPassword, secretPassword,
		secretPassword, "The router.", "The router."} {
		m, err := b.client.Get(ctx, "ann", ids[i])
		require.NoError(t, err)
		require.Equal(t, want, m.Content)
		levels = append(levels, m.Sensitivity)
	}
	require.Equal(t, []int{0, 3, 3, 0, 2, 0, 0, 0}, levels)
	again, err := b.client.Remember(ctx, oxbow.NewMemory{UserID: "ann", Content: secretPassword, ExternalID: "1"})
	require.NoError(t, err)
	require.Equal(t, ids[1], again)

	_, err = b.client.AddMessages(ctx, []oxbow.NewMessage{
		{UserID: "bob", SessionID: "s", Content: "Hello."}, {UserID: "bob", SessionID: "s", Content: secretPassword}})
	require.NoError(t, err)
	messages, err := b.client.Messages(ctx, "bob", "s")
	require.NoError(t, err)
	require.Equal(t, []any{"Hello.", 0, secretPassword, 3},
		[]any{messages[0].Content, messages[0].Sensitivity, messages[1].Content, messages[1].Sensitivity})

	report, err := b.client.Import(ctx, strings.NewReader(`{"user": "cy", "content": "My password is hunter2."}
		{"user": "cy", "content": "Cy dives."}`), oxbow.ImportOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 2, report.New)
	b.work(t)
	require.Equal(t, 1, b.count(t, `select count(*) from oxbow.memories where user_id = 'cy' and content = '[sealed]'`))
	require.Equal(t, 3, b.count(t, `select count(*) from oxbow.memories where content like '%hunter2%'`))
	require.Zero(t, b.count(t, `select count(*) from oxbow.memories m where m::text like '%hunter2%' and sensitivity < 2`))
	require.Zero(t, b.count(t, `select count(*) from oxbow.messages where content like '%hunter2%'`))

	b.secretsPolicy(t, "store")
	m, err := b.client.Get(ctx, "ann", b.remember(t, oxbow.NewMemory{Content: secretPassword}))
	require.NoError(t, err)
	require.Zero(t, m.Sensitivity)
}

// The external id of a sealed item of a working memory depends on the keys, so that nobody can guess a PIN from it.
func TestSealedWorkingMemory(t *testing.T) {
	t.Parallel()
	keys := newKeys(t)
	b := setup(t, oxbow.WithSealer(keys))
	commit := func(client *oxbow.Client, user string) int {
		w, err := oxbow.NewWorkingMemory(user, "s", 0)
		require.NoError(t, err)
		for _, content := range []string{"My PIN is 4711.", "Ann sails."} {
			_, err = w.Add(oxbow.WorkingItem{Content: content, Importance: new(1.0)})
			require.NoError(t, err)
		}
		written, err := client.CommitWorkingMemory(t.Context(), w, oxbow.CommitOptions{})
		require.NoError(t, err)
		return len(written)
	}
	added, err := keys.Add()
	require.NoError(t, err)
	require.Equal(t, 2, commit(b.client, "ann"))
	require.Zero(t, commit(b.client, "ann"))
	require.Zero(t, commit(newClient(t, b.pool, oxbow.WithSealer(added)), "ann"))
	require.Equal(t, 2, commit(newClient(t, b.pool), "bob"))
	require.Equal(t, 2, commit(newClient(t, b.pool, oxbow.WithSealer(newKeys(t))), "cy"))
	require.Equal(t, 1, b.count(t, `select count(distinct external_id) from oxbow.memories where content = 'Ann sails.'`))
	require.Equal(t, 3, b.count(t, `select count(distinct external_id) from oxbow.memories where content <> 'Ann sails.'`))
	require.Equal(t, 2, b.count(t, `select count(*) from oxbow.memories where sensitivity = 3`))
}

// With the policy refuse, no path of the client stores a secret in clear text, and errors do not quote it.
func TestRefuseSecrets(t *testing.T) {
	t.Parallel()
	b := setup(t, oxbow.WithSealer(newKeys(t)))
	b.secretsPolicy(t, "refuse")
	ctx := t.Context()
	app := newClient(t, pgtest.Open(t, b.dsn, "oxbow_app"), oxbow.WithSealer(newKeys(t)))
	kept := b.remember(t, oxbow.NewMemory{Content: "Ann sails."})
	working, err := oxbow.NewWorkingMemory("ann", "s", 0)
	require.NoError(t, err)
	_, err = working.Add(oxbow.WorkingItem{Key: "k", Content: secretPassword, Importance: new(1.0)})
	require.NoError(t, err)

	rule := " must not contain a secret, because the setting secrets refuses them, got "
	for name, c := range map[string]struct {
		store func() error
		want  string
	}{
		"memory": {func() error {
			_, err := app.Remember(ctx, oxbow.NewMemory{UserID: "ann", Content: secretPassword})
			return err
		}, "content" + rule + "credential"},
		"memories": {func() error {
			_, err := app.RememberMany(ctx, []oxbow.NewMemory{{UserID: "ann", Content: "Ann rows."},
				{UserID: "ann", Content: secretPassword + secretCard, Sensitivity: 2}})
			return err
		}, "item 1: content" + rule + "card, credential"},
		"reference": {func() error {
			_, err := app.Remember(ctx, oxbow.NewMemory{UserID: "ann", Content: "A chart.", Modality: "image",
				Reference: "https://example.com/chart.png?password=hunter2-9Xk"})
			return err
		}, "reference" + rule + "credential"},
		"speaker": {func() error {
			_, err := app.Remember(ctx, oxbow.NewMemory{UserID: "ann", Content: "Hello.", Speaker: "password hunter2-9Xk"})
			return err
		}, "speaker" + rule + "credential"},
		"topic": {func() error {
			_, err := app.Remember(ctx, oxbow.NewMemory{UserID: "ann", Content: "Hello.", Topic: secretCard})
			return err
		}, "topic" + rule + "card"},
		"metadata": {func() error {
			_, err := app.Remember(ctx, oxbow.NewMemory{UserID: "ann", Content: "The router.",
				Metadata: map[string]any{"wifi": map[string]any{"password": "blue house"}}})
			return err
		}, "metadata" + rule + "credential"},
		"message metadata": {func() error {
			_, err := app.AddMessages(ctx, []oxbow.NewMessage{{UserID: "ann", SessionID: "s", Content: "Hello.",
				Metadata: map[string]any{"pin": 4711}}})
			return err
		}, "item 0: metadata" + rule + "credential"},
		"version metadata": {func() error {
			_, err := app.Supersede(ctx, "ann", kept, oxbow.Replacement{Content: "Ann rows.",
				Metadata: map[string]any{"card": "4111 1111 1111 1111"}})
			return err
		}, "metadata" + rule + "card"},
		"reason": {func() error { return app.Forget(ctx, "ann", kept, secretPassword) }, "reason" + rule + "credential"},
		"merge": {func() error {
			_, err := app.Merge(ctx, "ann", []uuid.UUID{kept, kept}, secretPassword)
			return err
		}, "content" + rule + "credential"},
		"path": {func() error {
			_, err := documents.Ingest(ctx, app, documents.NewFile{UserID: "ann", Path: "password hunter2.txt",
				Content: strings.NewReader("Hello.")})
			return err
		}, "path" + rule + "credential"},
		"imported metadata": {func() error {
			_, err := b.client.Import(ctx, strings.NewReader(`{"user": "ann", "content": "A chart.", `+
				`"metadata": {"password": "hunter2"}}`), oxbow.ImportOptions{})
			return err
		}, "line 1: metadata" + rule + "credential"},
		"messages": {func() error {
			_, err := app.AddMessages(ctx, []oxbow.NewMessage{{UserID: "ann", SessionID: "s", Content: secretCard}})
			return err
		}, "item 0: content" + rule + "card"},
		"version": {func() error {
			_, err := app.Supersede(ctx, "ann", kept, oxbow.Replacement{Content: secretPassword})
			return err
		}, "content" + rule + "credential"},
		"working memory": {func() error {
			_, err := app.CommitWorkingMemory(ctx, working, oxbow.CommitOptions{})
			return err
		}, "content" + rule + "credential"},
		"file": {func() error {
			_, err := documents.Ingest(ctx, app, documents.NewFile{UserID: "ann", Path: "a.txt",
				Content: strings.NewReader(secretPassword)})
			return err
		}, "the file contains a secret, and the setting secrets refuses them: credential in chunk 1"},
		"import": {func() error {
			_, err := b.client.Import(ctx, strings.NewReader(`{"user": "ann", "content": "`+secretPassword+`"}`),
				oxbow.ImportOptions{})
			return err
		}, "line 1: content" + rule + "credential"},
		"imported reference": {func() error {
			_, err := b.client.Import(ctx, strings.NewReader(`{"user": "ann", "content": "A chart.", "modality": "image", `+
				`"reference": "https://example.com/chart.png?password=hunter2-9Xk"}`), oxbow.ImportOptions{})
			return err
		}, "line 1: reference" + rule + "credential"},
		"imported message": {func() error {
			line, err := json.Marshal(map[string]any{"type": "messages", "user_id": "ann", "session_id": "s",
				"id": uuid.New(), "content": secretPassword})
			require.NoError(t, err)
			_, err = b.client.Import(ctx, strings.NewReader(string(line)), oxbow.ImportOptions{})
			return err
		}, "line 1: content" + rule + "credential"},
	} {
		require.EqualError(t, c.store(), c.want, name)
	}
	require.Equal(t, 1, b.count(t, `select count(*) from oxbow.memories`))
	require.Zero(t, b.count(t, `select count(*) from oxbow.messages`))

	sealed, err := app.Remember(ctx, oxbow.NewMemory{UserID: "ann", Content: secretPassword, Sensitivity: 3})
	require.NoError(t, err, "the database does not get the text")
	m, err := app.Get(ctx, "ann", sealed)
	require.NoError(t, err)
	require.Equal(t, secretPassword, m.Content)
}

// A value in an error shows no secret.
func TestErrorsMaskSecrets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.client.Remember(t.Context(), oxbow.NewMemory{UserID: "ann", Content: "Ann sails.",
		SessionID: secretPassword + strings.Repeat("x", 1024)})
	require.ErrorContains(t, err, "session_id must have at most 1024 bytes")
	require.NotContains(t, err.Error(), "hunter2")
}
