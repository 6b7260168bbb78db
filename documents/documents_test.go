package documents_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/documents"
	_ "github.com/oxbow-memory/oxbow/documents/pdf"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// guide is a Markdown file of three chunks.
const guide = "# Boats\n\nHeron is a wooden sloop.\n\n## Sails\n\nThe jib is red.\n\n## Engine\n\n" +
	"The engine runs on diesel.\n"

// ingest ingests a Markdown file of ann's.
func (b *bundle) ingest(t *testing.T, path, content string) documents.Report {
	t.Helper()
	report, err := documents.Ingest(t.Context(), b.client, documents.NewFile{UserID: "ann", Path: path,
		Content: strings.NewReader(content)})
	require.NoError(t, err)
	return report
}

// chunks returns ann's chunks of a path: their contents by id, and their ids in order.
func (b *bundle) chunks(t *testing.T, path string) (contents []string, ids []uuid.UUID) {
	t.Helper()
	rows, err := b.pool.Query(t.Context(), `
		select m.content, m.id from oxbow.document_files f
		  join oxbow.document_chunks c on c.user_id = f.user_id and c.file_id = f.id
		  join oxbow.memories m on m.user_id = c.user_id and m.memory_type = 'document' and m.id = c.memory_id
		 where f.user_id = 'ann' and f.path = $1 order by c.nth`, path)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var content string
		var id uuid.UUID
		require.NoError(t, rows.Scan(&content, &id))
		contents, ids = append(contents, content), append(ids, id)
	}
	require.NoError(t, rows.Err())
	return contents, ids
}

func TestIngest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	report := b.ingest(t, "docs/boats.md", guide)
	require.Equal(t, documents.Report{FileID: report.FileID, Path: "docs/boats.md", MediaType: "text/markdown",
		Bytes:  int64(len(guide)),
		Chunks: 3, Added: 3}, report)
	contents, ids := b.chunks(t, "docs/boats.md")
	require.Equal(t, []string{"# Boats\n\nHeron is a wooden sloop.", "## Sails\n\nThe jib is red.",
		"## Engine\n\nThe engine runs on diesel."}, contents)
	m, err := b.client.Get(t.Context(), "ann", ids[1])
	require.NoError(t, err)
	require.Equal(t, oxbow.TypeDocument, m.Type)
	require.Equal(t, "ingest", m.Source)
	require.Equal(t, map[string]any{"file_id": report.FileID.String(), "file_name": "boats.md",
		"media_type":  "text/markdown",
		"chunk_index": 2.0, "chunk_count": 3.0, "heading": "Boats > Sails"}, m.Metadata)

	b.work(t)
	require.Equal(t, contents[1], b.recall(t, "which colour is the jib")[0])
	files, err := documents.Files(t.Context(), b.client, "ann")
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.Equal(t, report.FileID, files[0].ID)
	require.Equal(t, 3, files[0].Chunks)
	require.JSONEq(t, `{"chunk_size": 1000, "overlap": 100, "reader": 3}`, string(files[0].Settings))
	others, err := documents.Files(t.Context(), b.client, "bob")
	require.NoError(t, err)
	require.Empty(t, others)
}

func TestIngestOfTheSameDoesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.ingest(t, "boats.md", guide)
	b.work(t)
	before := pgtest.Dump(t, b.pool)
	again := b.ingest(t, "boats.md", guide)
	require.True(t, again.Unchanged)
	require.Equal(t, first.FileID, again.FileID)
	require.Equal(t, 3, again.Kept)
	require.Equal(t, before, pgtest.Dump(t, b.pool))

	overlap := 0
	report, err := documents.Ingest(t.Context(), b.client, documents.NewFile{UserID: "ann", Path: "boats.md",
		Content: strings.NewReader(guide), Overlap: &overlap})
	require.NoError(t, err)
	require.False(t, report.Unchanged, "the settings are others")
	require.Equal(t, 3, report.Kept)
	report = b.ingest(t, "elsewhere.md", guide)
	require.Equal(t, 3, report.Added, "another file says the same")
}

// A chunk that stays keeps its memory and vector, even if it moves. A chunk that is removed leaves no trace.
func TestIngestOfAChangedFile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.ingest(t, "boats.md", guide)
	_, old := b.chunks(t, "boats.md")
	b.work(t)
	newer, err := b.client.Supersede(ctx, "ann", old[1], oxbow.Replacement{Content: "The jib is blue."})
	require.NoError(t, err)
	jobs := b.count(t, `select count(*) from oxbow.river_job`)

	report := b.ingest(t, "boats.md",
		"# Boats\n\nHeron is a wooden sloop.\n\n## Anchor\n\nIt weighs ten kilos.\n\n## Engine\n\n"+
			"The engine runs on diesel.\n\n## Engine\n\nThe engine runs on diesel.\n")
	require.Equal(t, []int{4, 2, 2, 1}, []int{report.Chunks, report.Added, report.Kept, report.Removed})
	contents, ids := b.chunks(t, "boats.md")
	require.Equal(t, "## Anchor\n\nIt weighs ten kilos.", contents[1])
	require.Equal(t, old[0], ids[0])
	require.Equal(t, old[2], ids[2])
	require.NotContains(t, old, ids[3], "the same text a second time")
	m, err := b.client.Get(ctx, "ann", old[2])
	require.NoError(t, err)
	require.Equal(t, 3.0, m.Metadata["chunk_index"])
	require.Equal(t, 4.0, m.Metadata["chunk_count"])
	for table, text := range pgtest.Dump(t, b.pool) {
		require.NotContains(t, text, old[1].String(), table)
		require.NotContains(t, text, newer.String(), "%s: what somebody made of the chunk", table)
		require.NotContains(t, text, "jib", table)
	}
	require.LessOrEqual(t, b.count(t, `select count(*) from oxbow.river_job`), jobs+1)
	require.Equal(t, 2, b.count(t, `select count(*) from oxbow.memory_vectors where memory_type = 'document'`),
		"of those that stayed")
	b.work(t)
	require.Equal(t, 4, b.count(t, `select count(*) from oxbow.memory_vectors where memory_type = 'document'`))
	pgtest.RequireRightStatistics(t, b.pool)
}

// Erased chunks are removed from the embed jobs that have not run.
func TestIngestRemovesErasedChunksFromJobs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ingest(t, "boats.md", guide)
	_, old := b.chunks(t, "boats.md")
	b.ingest(t, "boats.md", strings.ReplaceAll(guide, "red", "blue"))
	require.Equal(t, 2, b.count(t,
		`select cardinality(string_to_array(args ->> 'ids', ',')) from oxbow.river_job where kind = 'embed'
			order by id limit 1`))
	require.Zero(t, b.count(t, `select count(*) from oxbow.river_job where strpos(args::text, $1) > 0`,
		old[1].String()))
	b.ingest(t, "boats.md", "All is new.")
	require.Equal(t, 1, b.count(t, `select count(*) from oxbow.river_job where kind = 'embed'`))
	b.work(t)
	require.Equal(t, []string{"All is new."}, b.recall(t, "new sloop engine"))
}

func TestIngestAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var waiting sync.WaitGroup
	reports, errs := make([]documents.Report, 8), make([]error, 8)
	for i := range reports {
		waiting.Go(func() {
			content := guide + strings.Repeat("\nMore.", i%2)
			reports[i], errs[i] = documents.Ingest(t.Context(), b.client,
				documents.NewFile{UserID: "ann", Path: "boats.md",
					Content: strings.NewReader(content)})
		})
	}
	waiting.Wait()
	require.NoError(t, errors.Join(errs...))
	added := 0
	for _, r := range reports {
		require.Equal(t, reports[0].FileID, r.FileID)
		added += r.Added - r.Removed
	}
	require.Equal(t, 3, added)
	require.Equal(t, 3, b.count(t, `select count(*) from oxbow.memories`))
	require.Equal(t, 3, b.count(t, `select count(*) from oxbow.document_chunks`))
}

func TestIngestOfUnreadableFiles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ingest(t, "a.md", guide)
	before := pgtest.Dump(t, b.pool)
	for says, f := range map[string]documents.NewFile{
		"a.md: the file is empty":                {Path: "a.md", Content: strings.NewReader("")},
		"a.md: the file is not encoded as UTF-8": {Path: "a.md", Content: strings.NewReader("Caf\xe9")},
		"a.md: the file is binary":               {Path: "a.md", Content: bytes.NewReader(make([]byte, 100))},
		"a.pdf: the file is not a PDF":           {Path: "a.pdf", Content: strings.NewReader("x")},
		"a: the file cannot be read as image/png": {Path: "a", MediaType: "image/png",
			Content: strings.NewReader("x")},
		"a.md: it cannot be read: the disk is": {Path: "a.md",
			Content: iotest.ErrReader(errors.New("the disk is full"))},
		"the file is larger than 64 MiB":           {Path: "a.md", Content: letters{}},
		"path must have 1 to 1024 bytes":           {Content: strings.NewReader("x")},
		"path must not contain a NUL":              {Path: "a\x00", Content: strings.NewReader("x")},
		"content must be given":                    {Path: "a"},
		"metadata must be a JSON object":           {Path: "a", Metadata: []int{1}, Content: strings.NewReader("x")},
		"chunk_size must be between 100 and 20000": {Path: "a", ChunkSize: 99, Content: strings.NewReader("x")},
		"overlap must be between 0 and half of":    {Path: "a", Overlap: new(501), Content: strings.NewReader("x")},
	} {
		f.UserID = "ann"
		_, err := documents.Ingest(t.Context(), b.client, f)
		require.ErrorContains(t, err, says)
		_, unreadable := errors.AsType[*documents.Error](err)
		require.Equal(t, strings.Contains(says, "the file "), unreadable, says)
	}
	_, err := documents.Ingest(t.Context(), b.client, documents.NewFile{Path: "a", Content: strings.NewReader("x")})
	require.ErrorContains(t, err, "user_id must have 1 to 255 bytes")
	require.Equal(t, before, pgtest.Dump(t, b.pool))
}

func TestDeleteFile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.ingest(t, "boats.md", guide)
	b.ingest(t, "other.md", "# Other\n\nIt stays.")
	_, err := b.client.Remember(ctx, oxbow.NewMemory{UserID: "ann", Content: "Ann plays the cello."})
	require.NoError(t, err)
	b.work(t)
	_, err = documents.Delete(ctx, b.client, "bob", "boats.md")
	require.ErrorIs(t, err, documents.ErrNoFile)
	require.ErrorContains(t, err, "user 'bob' has no file 'boats.md'")
	erased, err := documents.Delete(ctx, b.client, "ann", "boats.md")
	require.NoError(t, err)
	require.EqualValues(t, 3, erased)
	for table, text := range pgtest.Dump(t, b.pool) {
		require.NotContains(t, text, "jib", table)
		require.NotContains(t, text, "boats.md", table)
	}
	require.Equal(t, 2, b.count(t, `select count(*) from oxbow.memories`))
	pgtest.RequireRightStatistics(t, b.pool)
	_, err = documents.Delete(ctx, b.client, "ann", "boats.md")
	require.ErrorIs(t, err, documents.ErrNoFile)
}

// A chunk that the user erased or forgot stays erased or forgotten while the file is unchanged.
func TestErasedChunksStayErased(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ingest(t, "boats.md", guide)
	_, ids := b.chunks(t, "boats.md")
	_, err := b.client.EraseMemory(t.Context(), "ann", ids[1])
	require.NoError(t, err)
	require.NoError(t, b.client.Forget(t.Context(), "ann", ids[0], ""))
	report := b.ingest(t, "boats.md", guide)
	require.True(t, report.Unchanged)
	require.Equal(t, 2, report.Chunks)
	report = b.ingest(t, "boats.md", guide+"\n## Crew\n\nTwo people.")
	require.Equal(t, []int{2, 2}, []int{report.Added, report.Kept}, "it is there again, as the file has it")
	m, err := b.client.Get(t.Context(), "ann", ids[0])
	require.NoError(t, err)
	require.NotZero(t, m.ForgottenAt)
}

// An application's login can ingest for its own user.
func TestIngestAsApp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.ingest(t, "boats.md", guide)
	client := newClient(t, pgtest.Open(t, b.dsn, "oxbow_app"))
	report, err := documents.Ingest(ctx, client, documents.NewFile{UserID: "bob", Path: "boats.md",
		Content: strings.NewReader(guide)})
	require.NoError(t, err)
	require.Equal(t, 3, report.Added, "the same path of another user is another file")
	erased, err := documents.Delete(ctx, client, "bob", "boats.md")
	require.NoError(t, err)
	require.EqualValues(t, 3, erased)
	require.Equal(t, 3, b.count(t, `select count(*) from oxbow.memories where user_id = 'ann'`))

	crossed := newClient(t, pgtest.Open(t, b.dsn, "oxbow_app", "oxbow.user_id", "bob"))
	_, err = documents.Ingest(ctx, crossed, documents.NewFile{UserID: "ann", Path: "new.md",
		Content: strings.NewReader("x")})
	require.ErrorIs(t, err, oxbow.ErrDenied)
	_, err = documents.Delete(ctx, crossed, "ann", "boats.md")
	require.ErrorIs(t, err, oxbow.ErrDenied)
}

func TestIngestInTheCallersTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	before := pgtest.Dump(t, b.pool)
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.WithoutCancel(t.Context()))
	_, err = documents.Ingest(t.Context(), b.client.WithTx(tx), documents.NewFile{UserID: "ann", Path: "a.md",
		Content: strings.NewReader(guide)})
	require.NoError(t, err)
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, before, pgtest.Dump(t, b.pool))
}

// The time grows linearly with the number of chunks: no plan compares all pairs.
func TestIngestOfManyChunks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "# Part %d\n\nText.\n", i)
	}
	require.Equal(t, 5000, b.ingest(t, "long.md", text.String()).Added)
	report := b.ingest(t, "long.md", strings.Replace(text.String(), "# Part 7\n", "# Part seven\n", 1))
	require.Equal(t, []int{1, 4999, 1}, []int{report.Added, report.Kept, report.Removed})
	erased, err := documents.Delete(t.Context(), b.client, "ann", "long.md")
	require.NoError(t, err)
	require.EqualValues(t, 5000, erased)
	require.Zero(t, b.count(t, `select count(*) from oxbow.river_job where kind = 'embed'`))
}
