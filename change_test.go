package oxbow_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

func TestSupersede(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	moved := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	first := b.remember(t, oxbow.NewMemory{Content: "Ann lives in Berlin.", ValidAt: moved.AddDate(-4, 0, 0),
		SessionID: "s", Seq: new(int64(5)),
		Speaker: "Ann", AgentID: "coach", Source: "chat", Category: oxbow.CategoryIdentity, Importance: new(0.8),
		Metadata: map[string]any{"a": 1.0}, ExternalID: "e"})
	second, err := b.client.Supersede(ctx, "ann", first, oxbow.Replacement{Content: "Ann lives in Paris.",
		ValidAt: moved, Reason: "she moved", Actor: "ann"})
	require.NoError(t, err)

	old, err := b.client.Get(ctx, "ann", first)
	require.NoError(t, err)
	require.Equal(t, second, old.SupersededBy)
	require.True(t, old.InvalidAt.Equal(moved))
	require.WithinDuration(t, time.Now(), old.ExpiredAt, time.Minute)
	require.Equal(t, "e", old.ExternalID)

	current, err := b.client.Get(ctx, "ann", second)
	require.NoError(t, err)
	require.True(t, current.ValidAt.Equal(moved))
	require.True(t, current.CreatedAt.Equal(old.ExpiredAt))
	current.ValidAt, current.CreatedAt = time.Time{}, time.Time{}
	require.Equal(t, oxbow.Memory{UserID: "ann", Type: oxbow.TypeFact, ID: second, Content: "Ann lives in Paris.",
		Modality: oxbow.ModalityText,
		Version:  2, SessionID: "s", Seq: 5,
		Speaker: "Ann", AgentID: "coach", Source: "chat", Category: oxbow.CategoryIdentity, Importance: 0.8, Strength: 1,
		Level: "full", Tier: "normal",
		MentionCount: 1, Metadata: map[string]any{"a": 1.0}}, current)

	_, err = b.client.Supersede(ctx, "ann", first, oxbow.Replacement{Content: "x"})
	require.ErrorIs(t, err, oxbow.ErrSuperseded)
	require.ErrorContains(t, err, first.String()+" is already superseded by "+second.String())

	third, err := b.client.Supersede(ctx, "ann", second, oxbow.Replacement{Content: "Ann lives in Rome.",
		Metadata: map[string]any{}})
	require.NoError(t, err)
	for _, id := range []uuid.UUID{first, second, third} {
		changes, err := b.client.History(ctx, "ann", id)
		require.NoError(t, err)
		var told []string
		for _, c := range changes {
			told = append(told, fmt.Sprintf("%s %d: %s > %s (%s, %s)", c.Event, c.Version, c.OldContent, c.NewContent,
				c.Actor, c.Reason))
		}
		require.Equal(t, []string{
			"ADD 1:  > Ann lives in Berlin. (chat, )",
			"ADD 2:  > Ann lives in Paris. (chat, )",
			"SUPERSEDE 1: Ann lives in Berlin. > Ann lives in Paris. (ann, she moved)",
			"ADD 3:  > Ann lives in Rome. (chat, )",
			"SUPERSEDE 2: Ann lives in Paris. > Ann lives in Rome. (app, )",
		}, told)
		require.Equal(t, map[string]any{"a": 1.0}, changes[4].OldMetadata)
		require.Equal(t, map[string]any{}, changes[4].NewMetadata)
	}
	require.Equal(t, 2, b.count(t, `select count(*) from oxbow.memory_links where relation = 'supersedes'`))
	require.Equal(t, 3, b.count(t, `select count(*) from oxbow.river_job where kind = 'embed'`),
		"each version is embedded")

	b.work(t)
	require.Equal(t, []string{"Ann lives in Rome."}, recall(t, b.client, oxbow.Query{Text: "Where does Ann live?"}))
	require.Equal(t, []string{"Ann lives in Berlin."}, recall(t, b.client,
		oxbow.Query{Text: "Where does Ann live?", ValidAsOf: moved.AddDate(-1, 0, 0)}))
}

// A correction with the same or an earlier ValidAt leaves the old version no time in which it was true.
func TestSupersedeFromTheStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, validAt := range map[string]time.Time{"the same": at, "earlier": at.AddDate(-1, 0, 0)} {
		id := b.remember(t, oxbow.NewMemory{Content: "Ann was born in " + name, ValidAt: at})
		_, err := b.client.Supersede(t.Context(), "ann", id, oxbow.Replacement{Content: "Ann was born in Bonn.",
			ValidAt: validAt})
		require.NoError(t, err)
		old, err := b.client.Get(t.Context(), "ann", id)
		require.NoError(t, err)
		require.True(t, old.InvalidAt.Equal(at), name)
	}
	// A version that has already ended keeps its end.
	id := b.remember(t, oxbow.NewMemory{Content: "Ann studied", ValidAt: at, InvalidAt: at.AddDate(3, 0, 0)})
	_, err := b.client.Supersede(t.Context(), "ann", id, oxbow.Replacement{Content: "Ann works"})
	require.NoError(t, err)
	old, err := b.client.Get(t.Context(), "ann", id)
	require.NoError(t, err)
	require.True(t, old.InvalidAt.Equal(at.AddDate(3, 0, 0)))
}

func TestSupersedeAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 5 {
		id := b.remember(t, oxbow.NewMemory{})
		const n = 8
		created, errs := make([]uuid.UUID, n), make([]error, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				created[i], errs[i] = b.client.Supersede(t.Context(), "ann", id,
					oxbow.Replacement{Content: fmt.Sprintf("version %d", i)})
			})
		}
		wg.Wait()
		m, err := b.client.Get(t.Context(), "ann", id)
		require.NoError(t, err)
		won := 0
		for i := range n {
			if errs[i] == nil {
				won++
				require.Equal(t, created[i], m.SupersededBy)
				continue
			}
			require.ErrorIs(t, errs[i], oxbow.ErrSuperseded)
			require.ErrorContains(t, errs[i], m.SupersededBy.String())
		}
		require.Equal(t, 1, won)
	}
	require.Equal(t, 10, b.count(t, `select count(*) from oxbow.memories`))
	require.Equal(t, 5, b.count(t, `select count(*) from oxbow.memory_history where event = 'SUPERSEDE'`))
}

func TestSupersedeRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	id := b.remember(t, oxbow.NewMemory{})
	for _, test := range []struct {
		field string
		r     oxbow.Replacement
	}{
		{"content", oxbow.Replacement{}},
		{"content", oxbow.Replacement{Content: "a\x00"}},
		{"metadata", oxbow.Replacement{Content: "x", Metadata: 1}},
		{"reason", oxbow.Replacement{Content: "x", Reason: "\xff"}},
		{"actor", oxbow.Replacement{Content: "x", Actor: "\x00"}},
	} {
		_, err := b.client.Supersede(ctx, "ann", id, test.r)
		bad, ok := errors.AsType[*oxbow.InvalidError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, test.field, bad.Field)
	}
	_, err := b.client.Supersede(ctx, "bob", id, oxbow.Replacement{Content: "x"})
	require.ErrorIs(t, err, oxbow.ErrNotFound)
	require.ErrorContains(t, err, "user 'bob' has no memory "+id.String())

	require.NoError(t, b.client.Forget(ctx, "ann", id, ""))
	_, err = b.client.Supersede(ctx, "ann", id, oxbow.Replacement{Content: "x"})
	require.ErrorIs(t, err, oxbow.ErrForgotten)
	require.ErrorContains(t, err, "oxbow.restore(user_id => 'ann', id => '"+id.String()+"')")
	require.Equal(t, 1, b.count(t, `select count(*) from oxbow.memories`))

	// SQL callers get the same checks.
	for sql, part := range map[string]string{
		`select oxbow.supersede('ann', null, 'x')`:             "id must not be null",
		`select oxbow.supersede('', gen_random_uuid(), 'x')`:   "user_id must not be empty",
		`select oxbow.supersede(null, gen_random_uuid(), 'x')`: "user_id must not be empty",
		`select oxbow.supersede('ann', '` + b.remember(t, oxbow.NewMemory{}).String() +
			`', null)`: "content must not be blank",
	} {
		_, err := b.pool.Exec(ctx, sql)
		require.ErrorContains(t, err, part)
	}
}

func TestForgetAndRestore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	id := b.remember(t, oxbow.NewMemory{Content: "Ann plays the cello."})
	b.work(t)
	q := oxbow.Query{Text: "cello"}
	require.NotEmpty(t, recall(t, b.client, q))

	require.NoError(t, b.client.Forget(ctx, "ann", id, "she asked for it"))
	require.Empty(t, recall(t, b.client, q))
	require.Empty(t, recall(t, b.client, oxbow.Query{Text: "cello", BelievedAsOf: time.Now().Add(time.Hour),
		ValidAsOf: time.Now()}))
	m, err := b.client.Get(ctx, "ann", id)
	require.NoError(t, err)
	require.NotZero(t, m.ForgottenAt)
	require.NoError(t, b.client.Forget(ctx, "ann", id, ""), "again")
	require.Equal(t, 1, b.count(t,
		`select count(*) from oxbow.memory_history where event = 'DELETE' and reason = 'she asked for it'`))

	require.NoError(t, b.client.Restore(ctx, "ann", id))
	require.Equal(t, []string{"Ann plays the cello."}, recall(t, b.client, q))
	require.ErrorIs(t, b.client.Restore(ctx, "ann", id), oxbow.ErrNotForgotten)

	require.ErrorIs(t, b.client.Forget(ctx, "bob", id, ""), oxbow.ErrNotFound)
	require.ErrorIs(t, b.client.Restore(ctx, "ann", uuid.New()), oxbow.ErrNotFound)
	_, err = b.client.History(ctx, "bob", id)
	require.ErrorIs(t, err, oxbow.ErrNotFound)
}

// A memory that is forgotten before it is embedded is embedded after it is restored.
func TestRestoreBeforeEmbedding(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.remember(t, oxbow.NewMemory{Content: "Ann plays the cello."})
	require.NoError(t, b.client.Forget(t.Context(), "ann", id, ""))
	b.work(t)
	require.Equal(t, 0, b.count(t, `select count(*) from oxbow.memory_vectors`))
	require.NoError(t, b.client.Restore(t.Context(), "ann", id))
	b.work(t)
	require.Equal(t, []string{"Ann plays the cello."}, recall(t, b.client, oxbow.Query{Text: "cello"}))
}

func TestChangeInPlaceIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.remember(t, oxbow.NewMemory{Content: "Ann plays the cello."})
	for _, test := range []struct{ set, field, instead string }{
		{"content = 'x'", "content", "oxbow.supersede(user_id => 'ann', id => '" + id.String() + "'"},
		{"memory_type = 'episodic'", "memory_type", "oxbow.forget"},
		{"user_id = 'bob'", "user_id", "oxbow.forget"},
		{"id = gen_random_uuid()", "id", "oxbow.forget"},
	} {
		for _, table := range []string{"oxbow.memories", "oxbow.memories_fact"} {
			_, err := b.pool.Exec(t.Context(), "update "+table+" set "+test.set)
			pg, ok := errors.AsType[*pgconn.PgError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, "23001", pg.Code)
			require.Equal(t, test.field, pg.ColumnName)
			require.Equal(t, test.field+" of a memory cannot be changed in place", pg.Message)
			require.Contains(t, pg.Detail, id.String())
			require.Contains(t, pg.Hint, test.instead)
		}
	}
	_, err := b.pool.Exec(t.Context(), `update oxbow.memories
		set content = content, strength = 2, metadata = '{"a": 1}'`)
	require.NoError(t, err, "the same content, other columns")
}

func TestTraitsOfApplicationsAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	insert := `insert into oxbow.memories (user_id, memory_type, content) values ('ann', 'trait', 'is patient')`
	for _, sql := range []string{insert,
		`insert into oxbow.memories_trait (user_id, memory_type, content) values ('ann', 'trait', 'is patient')`} {
		_, err := b.pool.Exec(t.Context(), sql)
		require.ErrorContains(t, err, "memory_type must not be trait: only reflection creates traits")
	}
	for role, allowed := range map[string]bool{"": true, "oxbow_worker": true, "oxbow_app": false} {
		tx := begin(t, pgtest.Open(t, b.dsn, role))
		_, err := tx.Exec(t.Context(), `set local oxbow.origin = 'reflection'`)
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), insert)
		require.Equal(t, allowed, err == nil, "%s: %v", role, err)
		require.NoError(t, tx.Rollback(t.Context()))
	}
}
