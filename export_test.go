package oxbow_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/consistency"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

var storedAt = regexp.MustCompile(`, "stored_at": "[^"]*"|"stored_at": "[^"]*", `)

// A user's data is exported, erased and imported again. Every table and every recall are as before.
func TestExportEraseImport(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	forgotten, _, _ := b.fill(t, "Zebedee")
	b.fill(t, "Quentin")
	_, err := b.pool.Exec(ctx, `
		select set_config('oxbow.origin', 'reflection', false);
		with odd as (
		  insert into oxbow.memories (user_id, memory_type, content, trait_subtype, trait_stage, trait_confidence,
		  	trait_confidence_at, trait_context,
		    trait_reinforcement_count, trait_contradiction_count, trait_first_observed, trait_derived_from,
		    trait_contexts,
		    trait_review_due_at, strength,
		    access_count, last_accessed_at, valid_at)
		    values ('Zebedee', 'trait', 'Zebedee is patient.', 'behavior', 'established', 0.7000000000000001,
		    now(), 'work',
		    3, 1,
		    '1890-01-01', 'x', '{"work": {"tendency": "Zebedee is \"slow\".", "confidence": 1e-7}}', now(), 1.0 / 3, 7,
		    now(),
		    '0001-01-01 00:00:01+00')
		  returning id)
		select id from odd;
		select oxbow.adopt_trait(user_id, id, 'import') from oxbow.memories where content = 'Zebedee is patient.';
		update oxbow.memories set invalid_at = now() - interval '1 day', modality = 'image', reference = 'photos/1.jpg'
			where content = 'Zebedee lives in Berlin.';
		select oxbow.edit_trait(user_id, id, 'Zebedee gets up very early.') from oxbow.memories
			where content = 'Zebedee gets up early.';
		select set_config('oxbow.origin', '', false)`)
	require.NoError(t, err)
	b.work(t)
	now := time.Now()
	ask := func() []oxbow.Result {
		found, err := b.client.Recall(ctx, oxbow.Query{UserID: "Zebedee",
			Text:  "Where does Zebedee live, what does he eat?",
			Limit: 100, Now: now})
		require.NoError(t, err)
		return found.Memories
	}
	recalled, before := ask(), pgtest.Dump(t, b.pool)
	require.Len(t, recalled, 8)

	var file bytes.Buffer
	written, err := b.client.ExportUser(ctx, "Zebedee", &file)
	require.NoError(t, err)
	require.Equal(t, 12, written.Memories)
	require.Equal(t, strings.Count(file.String(), "\n"), written.Memories+written.Records)
	require.NotContains(t, file.String(), "Quentin")
	require.NotContains(t, file.String(), "opened a page", "of the sensory stream nothing")
	for _, table := range []string{"instructions", "skills", "intentions", "key_values", "feedback_signals"} {
		require.Regexp(t, `"type": ?"`+table+`"`, file.String())
	}
	for line := range strings.Lines(file.String()) {
		require.True(t, json.Valid([]byte(line)), line)
	}

	_, err = b.client.EraseUser(ctx, "Zebedee")
	require.NoError(t, err)
	_, err = b.client.Import(ctx, bytes.NewReader(file.Bytes()), oxbow.ImportOptions{})
	require.ErrorContains(t, err, "memory_type must be fact, episodic or document, unless the import admits traits")
	for range 2 { // the second time adds nothing
		report, err := b.client.Import(ctx, bytes.NewReader(file.Bytes()), oxbow.ImportOptions{Traits: true})
		require.NoError(t, err)
		require.Equal(t, written.Memories, report.Memories)
		require.Equal(t, written.Records, report.Records)
	}
	b.work(t)
	after := pgtest.Dump(t, b.pool)
	for _, table := range []string{"memories", "users", "sessions", "messages", "memory_history", "memory_links",
		"memory_sources", "weight_log", "reflection_cycles",
		"trait_evidence", "trait_events", "trait_clues", "trait_refusals", "llm_calls", "document_files",
		"document_chunks", "instructions", "skills", "intentions", "key_values", "profile_memories", "answers",
		"feedback_signals", "feedback_subjects", "suppressions", "adjustments", "conclusions"} {
		if table != "memories" { // a restored row is stored again
			for _, dump := range []map[string]string{before, after} {
				dump[table] = storedAt.ReplaceAllString(dump[table], "")
			}
		}
		require.Equal(t, before[table], after[table], table)
	}
	checked, err := consistency.Check(ctx, b.pool, consistency.Options{UserID: "Zebedee"})
	require.NoError(t, err)
	require.Equal(t, consistency.Report{Users: 1, Traits: 3}, checked, "no problems")
	require.NoError(t, b.client.Restore(ctx, "Zebedee", forgotten), "it is forgotten still, and so was not embedded")
	b.work(t)
	for _, table := range []string{"memory_vectors", "memory_terms", "memory_term_stats"} {
		require.True(t, before[table] == pgtest.Dump(t, b.pool)[table], table)
	}
	require.NoError(t, b.client.Forget(ctx, "Zebedee", forgotten, ""))
	require.Equal(t, recalled, ask())

	// Of a memory that is full again, the original in an older export is left out.
	_, err = b.pool.Exec(ctx, `update oxbow.memories set level = 'full' where user_id = 'Zebedee' and level <> 'full'`)
	require.NoError(t, err)
	_, err = b.client.Import(ctx, bytes.NewReader(file.Bytes()), oxbow.ImportOptions{Traits: true})
	require.NoError(t, err)
	checked, err = consistency.Check(ctx, b.pool, consistency.Options{UserID: "Zebedee"})
	require.NoError(t, err)
	require.Zero(t, checked.Problems)

	// In another database, records without their memories are refused.
	other := setup(t)
	_, err = other.client.Import(ctx, strings.NewReader(linesWith(file.String(), `"type": "memory_history"`)),
		oxbow.ImportOptions{})
	require.ErrorContains(t, err,
		"import the lines of type memory_history: they refer to a memory that is neither in the file nor in the database")
}

// linesWith returns the lines that contain part.
func linesWith(text, part string) string {
	var found strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			found.WriteString(line)
		}
	}
	return found.String()
}

func TestExportOfAnUnknownUser(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var file bytes.Buffer
	report, err := b.client.ExportUser(t.Context(), "nobody", &file)
	require.NoError(t, err)
	require.Equal(t, oxbow.ExportReport{}, report)
	require.Empty(t, file.String())
}

func TestExportToABrokenWriter(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.remember(t, oxbow.NewMemory{})
	_, err := b.client.ExportUser(t.Context(), "ann", broken{})
	require.ErrorIs(t, err, errBroken)
	require.ErrorContains(t, err, "write the export")
}

var errBroken = errors.New("the disk is full")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestExportKeepsTheCallersTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tx := begin(t, b.pool)
	_, err := tx.Exec(t.Context(), `set local timezone = 'Asia/Tokyo'`)
	require.NoError(t, err)
	_, err = b.client.WithTx(tx).Remember(t.Context(), oxbow.NewMemory{UserID: "ann", Content: "x"})
	require.NoError(t, err)
	var file bytes.Buffer
	_, err = b.client.WithTx(tx).ExportUser(t.Context(), "ann", &file)
	require.NoError(t, err)
	require.Contains(t, file.String(), `+00:00"`)
	var zone string
	require.NoError(t, tx.QueryRow(t.Context(), `show timezone`).Scan(&zone))
	require.Equal(t, "Asia/Tokyo", zone)
}

// A table that a later version adds is exported, erased and imported like the others. The table that
// reembed fills is not exported.
func TestTablesOfLater(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	for _, sql := range []string{
		`create table oxbow.later (user_id text, n bigint generated always as identity, note text,
			twice text generated always as (note || note) stored,
		   at timestamptz default now(), primary key (user_id, n))`,
		`insert into oxbow.later (user_id, note) values ('ann', 'a'), ('bob', 'b'), ('ann', null)`,
		`create table oxbow.memory_vectors_next (like oxbow.memory_vectors)`,
		`insert into oxbow.memory_vectors_next (user_id, memory_type, memory_id, embedding)
			values ('ann', 'fact', gen_random_uuid(), array_fill(0, array[1024])::real[]::halfvec)`,
		`alter table oxbow.later owner to oxbow`,
		`alter table oxbow.memory_vectors_next owner to oxbow`,
	} {
		_, err := b.pool.Exec(ctx, sql)
		require.NoError(t, err, sql)
	}
	before := pgtest.Dump(t, b.pool)["later"]
	var file bytes.Buffer
	report, err := b.client.ExportUser(ctx, "ann", &file)
	require.NoError(t, err)
	require.Equal(t, oxbow.ExportReport{Records: 2}, report)
	erased, err := b.client.EraseUser(ctx, "ann")
	require.NoError(t, err)
	require.Contains(t, erased.Erased, oxbow.Erased{Table: "later", Rows: 2})
	require.Contains(t, erased.Erased, oxbow.Erased{Table: "memory_vectors_next", Rows: 1})
	_, err = b.client.Import(ctx, &file, oxbow.ImportOptions{})
	require.NoError(t, err)
	require.Equal(t, before, pgtest.Dump(t, b.pool)["later"])
}
