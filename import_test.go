package oxbow_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
)

const conversation = `{"type": "memory", "user": "conv-1", "id": "D1:1", "session": "s1", "seq": 1, "speaker": ` +
	`"Caro", "role": "user", "at": "2023-05-08T13:56:00Z", "content": "I adopted a cat."}
{"type": "memory", "user": "conv-1", "id": "D1:2", "session": "s1", "seq": 2, "speaker": "Mel", "role": ` +
	`"assistant", "at": "2023-05-08T13:56:20+08:00", "content": "What is its name?"}

{"type": "question", "user": "conv-1", "question": "Which pet?", "gold": ["D1:1"], "category": "1"}
{"user": "conv-2", "content": "Plain.", "memory_type": "fact", "importance": 0.9, "metadata": {"role": "kept", "n": ` +
	`1}, "role": "user", "valid_at": "2020-01-01T00:00:00Z", "invalid_at": "2021-01-01T00:00:00Z", "agent_id": "coach"}
`

func TestImport(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	var reports []oxbow.ImportReport
	report, err := b.client.Import(ctx, strings.NewReader(conversation), oxbow.ImportOptions{
		Progress: func(r oxbow.ImportReport) { reports = append(reports, r) }})
	require.NoError(t, err)
	require.Equal(t, oxbow.ImportReport{Lines: 5, Memories: 3, New: 3, Ignored: 1}, report)
	require.Equal(t, []oxbow.ImportReport{report}, reports)
	require.Equal(t, 2, b.count(t, `select count(*) from oxbow.river_job where kind = 'embed'`), "one for each user")

	var id uuid.UUID
	require.NoError(t, b.pool.QueryRow(ctx, `select id from oxbow.memories where external_id = 'D1:2'`).Scan(&id))
	m, err := b.client.Get(ctx, "conv-1", id)
	require.NoError(t, err)
	require.True(t, m.ValidAt.Equal(time.Date(2023, 5, 8, 5, 56, 20, 0, time.UTC)))
	require.WithinDuration(t, time.Now(), m.CreatedAt, time.Minute)
	m.ValidAt, m.CreatedAt = time.Time{}, time.Time{}
	require.Equal(t, oxbow.Memory{UserID: "conv-1", Type: oxbow.TypeEpisodic, ID: id, Content: "What is its name?",
		Modality: oxbow.ModalityText,
		Version:  1, SessionID: "s1", Seq: 2,
		Speaker: "Mel", ExternalID: "D1:2", Level: "full", Tier: "normal", Importance: 0.5, Strength: 1, MentionCount: 1,
		Metadata: map[string]any{"role": "assistant"}}, m)

	require.NoError(t, b.pool.QueryRow(ctx, `select id from oxbow.memories where user_id = 'conv-2'`).Scan(&id))
	m, err = b.client.Get(ctx, "conv-2", id)
	require.NoError(t, err)
	require.Equal(t, oxbow.TypeFact, m.Type)
	require.Equal(t, 0.9, m.Importance)
	require.Equal(t, "coach", m.AgentID)
	require.Equal(t, map[string]any{"role": "kept", "n": 1.0}, m.Metadata)
	require.True(t, m.InvalidAt.Equal(time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)))

	// Import again, compressed: only lines without an id are new.
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	_, err = io.WriteString(zip, "\ufeff"+conversation)
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	truncated := packed.Bytes()[:packed.Len()-20]
	report, err = b.client.Import(ctx, &packed, oxbow.ImportOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 1, report.New)

	_, err = b.client.Import(ctx, bytes.NewReader(truncated), oxbow.ImportOptions{SkipBad: true})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.ErrorContains(t, err, "the file is cut off after line ")
	require.Equal(t, 4, b.count(t, `select count(*) from oxbow.memories`))

	// for other users
	report, err = b.client.Import(ctx, strings.NewReader(conversation),
		oxbow.ImportOptions{Rename: func(user string) string { return "eval " + user }})
	require.NoError(t, err)
	require.EqualValues(t, 3, report.New)
	require.Equal(t, 3, b.count(t, `select count(*) from oxbow.memories where user_id like 'eval conv-%'`))

	report, err = b.client.Import(ctx, strings.NewReader(""), oxbow.ImportOptions{})
	require.NoError(t, err)
	require.Equal(t, oxbow.ImportReport{}, report)
}

func TestImportKeepsTheOrderOfTheFile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var file strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&file, `{"user": "ann", "session": "s", "content": "turn %d"}`+"\n", i)
	}
	_, err := b.client.Import(t.Context(), strings.NewReader(file.String()), oxbow.ImportOptions{})
	require.NoError(t, err)
	require.Equal(t, 0, b.count(t, `
		select count(*) from (select seq, lag(seq) over (order by substr(content, 6)::int) as before
		from oxbow.memories) m
		where seq <= before`))
}

func TestImportRefusesBadLines(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good := `{"user": "ann", "content": "good"}` + "\n"
	tests := []struct{ name, line, message string }{
		{"no JSON", `{"user": "ann", "content": "x"`,
			"must be a JSON object (unexpected end of JSON input after 30 bytes)"},
		{"no object", `["ann", "x"]`, "must be a JSON object"},
		{"null", `null`, "must be a JSON object"},
		{"two objects", `{"user":"ann","content":"x"} {}`,
			"must be a JSON object (invalid character '{' after top-level value"},
		{"invalid UTF-8", "{\"user\": \"ann\", \"content\": \"a\xff\"}", `must be valid UTF-8, got "\xff" at byte 30`},
		{"no user", `{"content": "x"}`, "user_id must have 1 to 255 bytes"},
		{"user is a number", `{"user": 7, "content": "x"}`, "user must be a string, got 7"},
		{"no content", `{"user": "ann"}`, "content must not be blank"},
		{"blank content", `{"user": "ann", "content": " "}`, `content must not be blank, got " "`},
		{"content over 1 MiB", `{"user": "ann", "content": "` + strings.Repeat("x", 1<<20+1) + `"}`,
			"content must not be longer than 1 MiB"},
		{"NUL", `{"user": "ann", "content": "a\u0000b"}`, `content must not contain a NUL character, got "a\x00b"`},
		{"unknown type of line", `{"type": "memoir", "user": "ann", "content": "x"}`,
			`type must be memory, question, point, or a table of an export, got "memoir"`},
		{"unknown type of memory", `{"user": "ann", "content": "x", "memory_type": "general"}`,
			`memory_type must be fact, episodic, trait or document, got "general"`},
		{"trait", `{"user": "ann", "content": "x", "memory_type": "trait"}`,
			`memory_type must be fact, episodic or document, unless the import admits traits`},
		{"importance", `{"user": "ann", "content": "x", "importance": 7}`, "importance must be between 0 and 1, got"},
		{"importance is a string", `{"user": "ann", "content": "x", "importance": "high"}`,
			`importance must be a number, got "high"`},
		{"metadata", `{"user": "ann", "content": "x", "metadata": [1]}`, "metadata must be a JSON object, got [1]"},
		{"NUL in metadata", `{"user": "ann", "content": "x", "metadata": {"a": "\u0000"}}`,
			"metadata must not contain a NUL character"},
		{"time", `{"user": "ann", "content": "x", "at": "yesterday"}`,
			`at must be a time like 2025-10-12T08:00:00Z, in the years 1 to 9999, got "yesterday"`},
		{"order of times", `{"user": "ann", "content": "x", "at": "2025-01-02T00:00:00Z", "invalid_at": ` +
			`"2025-01-01T00:00:00Z"}`, `invalid_at must not be before valid_at (2025-01-02T00:00:00Z), got ` +
			`"2025-01-01T00:00:00Z"`},
		{"seq", `{"user": "ann", "content": "x", "seq": 1.5}`, "seq must be a whole number"},
		{"version", `{"user": "ann", "content": "x", "version": 3000000000}`,
			"version must be between 0 and 2147483647, got 3000000000"},
		{"superseded_by", `{"user": "ann", "content": "x", "superseded_by": "D1"}`,
			`superseded_by must be a UUID, got "D1"`},
		{"a name that nothing reads", `{"user": "ann", "content": "x", "importnce": 1}`,
			"importnce is not a field of a memory"},
		{"two names for one", `{"user": "ann", "user_id": "bob", "content": "x"}`,
			"user_id is not a field of a memory"},
		{"column of a record", `{"type": "users", "user_id": "ann", "tz": "UTC"}`, "tz is not a column of users"},
		{"record without user", `{"type": "users"}`, "user_id must have 1 to 255 bytes"},
	}
	var all strings.Builder
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := b.client.Import(t.Context(), strings.NewReader(good+"\n"+test.line+"\n"+good),
				oxbow.ImportOptions{})
			bad, ok := errors.AsType[*oxbow.InvalidError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, 3, bad.Line, "%v", err)
			require.ErrorContains(t, err, "line 3: "+test.message)
			require.Less(t, len(err.Error()), 300)
		})
		if !strings.Contains(test.line, `"tz"`) { // detected only when the records are stored
			all.WriteString(good + test.line + "\n")
		}
	}
	require.Equal(t, 0, b.count(t,
		`select (select count(*) from oxbow.memories) + (select count(*) from oxbow.river_job)`), "nothing is kept")

	var skipped []int
	report, err := b.client.Import(t.Context(), strings.NewReader(all.String()), oxbow.ImportOptions{
		SkipBad: true, OnBad: func(bad *oxbow.InvalidError) { skipped = append(skipped, bad.Line) }})
	require.NoError(t, err)
	require.Equal(t, len(tests)-1, report.Bad)
	require.EqualValues(t, len(tests)-1, report.New)
	require.Len(t, skipped, len(tests)-1)
	require.Equal(t, 2, skipped[0])
}

func TestImportRefusesEndlessLines(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.client.Import(t.Context(), io.MultiReader(strings.NewReader("\n\n"), io.LimitReader(endless{}, 65<<20)),
		oxbow.ImportOptions{SkipBad: true})
	require.EqualError(t, err, "line 3 is longer than 64 MiB")
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	return len(bytes.TrimLeft(p[:copy(p, bytes.Repeat([]byte("x"), len(p)))], "")), nil
}

func TestImportInTheCallersTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tx := begin(t, b.pool)
	for range 2 { // the temporary table is dropped each time
		_, err := b.client.WithTx(tx).Import(t.Context(), strings.NewReader(conversation), oxbow.ImportOptions{})
		require.NoError(t, err)
	}
	_, err := tx.Exec(t.Context(), `savepoint s`)
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(),
		`insert into oxbow.memories (user_id, memory_type, content) values ('ann', 'trait', 'x')`)
	require.ErrorContains(t, err, "only reflection creates traits")
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, 0, b.count(t, `select count(*) from oxbow.memories`))
}

// Imported traits of other systems get events, so that they can be replayed. Old names of memory types are accepted.
func TestImportOldTraits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	const old = `{"user": "ann", "memory_type": "general", "content": "Ann lives in Oslo."}
{"user": "ann", "memory_type": "insight", "content": "Ann may be tired of the city."}
{"user": "ann", "memory_type": "trait", "content": "Ann gets up early.", "trait_subtype": "preference", ` +
		`"trait_stage": "core", "trait_confidence": 0.7, "trait_confidence_at": "2025-01-10T12:00:00Z", ` +
		`"trait_reinforcement_count": 2, "trait_contradiction_count": 1}
{"user": "ann", "memory_type": "trait", "content": "Ann smoked.", "trait_stage": "dissolved", "trait_confidence": ` +
		`0.04, "created_at": "2024-01-10T12:00:00Z"}
{"user": "ann", "memory_type": "trait", "content": "Ann is Ann.", "trait_contexts": {"work": {"tendency": "x", ` +
		`"confidence": 0.5}}, "trait_key": "ann", "trait_edited_at": "2024-01-10T12:00:00Z"}
`
	for _, new := range []int64{5, 5} { // no line has an id
		report, err := b.client.Import(ctx, strings.NewReader(old), oxbow.ImportOptions{Traits: true})
		require.NoError(t, err)
		require.Equal(t, new, report.New)
	}
	require.Equal(t, 2, b.count(t, `select count(*) from oxbow.memories_fact where content = 'Ann lives in Oslo.'`))
	rows, err := b.pool.Query(ctx, `
		select distinct m.content || ': ' || concat_ws(' ', m.trait_subtype, m.trait_stage, m.trait_confidence,
			m.trait_reinforcement_count,
		         m.trait_contradiction_count, (m.trait_window_end - now())::text ~ '^(29|30) days', m.trait_key) || ', ' ||
		       (select string_agg(e.event || ' by ' || e.actor, ', ' order by e.seq) from oxbow.trait_events e
		       where e.trait_id = m.id)
		  from oxbow.memories_trait m,
		       lateral oxbow.replay_trait(m.user_id, m.id) r
		 where (r.stage, r.subtype, r.confidence, r.confidence_at, r.reinforcements, r.contradictions,
		 r.window_end) is not
		 	distinct from
		       (m.trait_stage, m.trait_subtype, m.trait_confidence, m.trait_confidence_at, m.trait_reinforcement_count,
		       m.trait_contradiction_count, m.trait_window_end)
		 order by 1`)
	require.NoError(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{
		"Ann gets up early.: preference established 0.7 2 1, created by import, " +
			"reinforced by import, reinforced by import, contradicted by import",
		"Ann is Ann.: behavior candidate 0.2 0 0 ann, created by import",
		"Ann may be tired of the city.: behavior trend 0 0 t, created by import",
		"Ann smoked.: behavior dissolved 0.04 0 0, created by import, dissolved by import",
	}, found)

	for _, bad := range [][2]string{
		{`"trait", "trait_stage": "elated"`, "trait_stage must be"},
		{`"trait", "trait_subtype": "mood"`, "trait_subtype must be"},
		{`"trait", "trait_confidence": 1.5`, "trait_confidence must be"},
		{`"trait", "trait_contexts": [1]`, "trait_contexts must be a JSON object, got [1]"},
		{`"trait", "trait_contexts": {"a": "\u0000"}`, "trait_contexts must not contain a NUL character"},
		{`"trait", "trait_next_transition_at": "soon"`, "trait_next_transition_at must be a time like"},
		{`"trait", "trait_reinforcement_count": -1`, "trait_reinforcement_count must be between 0 and 2147483647"},
		{`"wish"`, "memory_type must be fact, episodic, trait or document"},
	} {
		line := `{"user": "ann", "content": "x", "memory_type": ` + bad[0] + `}`
		_, err := b.client.Import(ctx, strings.NewReader(line), oxbow.ImportOptions{Traits: true})
		require.ErrorContains(t, err, "line 1: "+bad[1])
	}
}
