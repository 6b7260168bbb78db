package sqlcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// summarized adds a session with two messages, a fact extracted from the first, and a summary of both.
func summarized(t *testing.T, tx db, user string) (summary string) {
	t.Helper()
	exec(t, tx, `insert into oxbow.messages (user_id, session_id, id, content, seq, extracted_at)
		select $1, 's', ('00000000-0000-4000-8000-00000000000' || n)::uuid, 'it was ' || n, n, now()
		from generate_series(1, 2) n`, user)
	fact := remember(t, tx, row{"user_id": user, "content": "it was 1"})
	exec(t, tx, `insert into oxbow.memory_sources (user_id, memory_type, memory_id, session_id, message_id)
		values ($1, 'fact', $2::text::uuid, 's', '00000000-0000-4000-8000-000000000001')`, user, fact)
	require.True(t, one[bool](t, tx, `select oxbow.write_summary($1, 's', 'test', null, 2, null,
		gen_random_uuid(), 'it was 1 and 2', now(), 0.3, '{}',
		array(select id from oxbow.messages where user_id = $1))`, user))
	return one[string](t, tx, `select summary_id::text from oxbow.sessions where user_id = $1`, user)
}

// An application that deletes a message or a memory deletes its summary too, but no other user's.
func TestAppWithdrawsSummaries(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"a message": `delete from oxbow.messages where content = 'it was 2'`,
		"a memory":  `select oxbow.erase_memory(user_id, id) from oxbow.memories where content = 'it was 1'`,
		"itself":    `select oxbow.erase_memory(user_id, id) from oxbow.memories where source = 'summary'`,
	} {
		t.Run(name, func(t *testing.T) {
			tx := pgtest.Tx(t)
			summarized(t, tx, ann(t))
			summarized(t, tx, bob(t))
			asApp(t, tx)
			setUser(t, tx, ann(t))
			exec(t, tx, sql)
			exec(t, tx, `reset role`)
			require.Zero(t, one[int](t, tx, `select count(*) from oxbow.memories where source = 'summary'
				and user_id = $1`, ann(t)))
			require.Zero(t, one[int](t, tx, `select count(*) from oxbow.memory_history
				where new_content = 'it was 1 and 2' and user_id = $1`, ann(t)))
			require.Equal(t, 1, one[int](t, tx, `select count(*) from oxbow.memories where source = 'summary'
				and user_id = $1`, bob(t)))
		})
	}
}

// Forgetting a fact repeated in another conversation forgets that one's summary too.
func TestForgottenWithItsRepeats(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	kept := remember(t, tx, row{"user_id": ann(t), "content": "it was 1", "session_id": "before",
		"created_at": ago(time.Hour)})
	summary := summarized(t, tx, ann(t))
	index(t, tx, ann(t))
	require.Equal(t, 1, one[int](t, tx, "select count(*) from oxbow.memories where superseded_by = $1", kept))
	exec(t, tx, "select oxbow.forget($1, $2)", ann(t), kept)
	require.True(t, one[bool](t, tx, "select forgotten_at is not null from oxbow.memories where id = $1", summary))
}

func TestPromote(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	theirs := summarized(t, tx, bob(t))
	summary := summarized(t, tx, ann(t))
	asApp(t, tx)
	setUser(t, tx, ann(t))
	require.ErrorContains(t, fails(t, tx, `select oxbow.promote($1, $2::text::uuid)`, bob(t), theirs),
		"may not see user")
	require.Equal(t, "OX101", fails(t, tx, `select oxbow.promote($1, $2::text::uuid)`, ann(t), theirs).Code)
	require.True(t, one[bool](t, tx, `select oxbow.promote($1, $2::text::uuid)`, ann(t), summary))
	require.False(t, one[bool](t, tx, `select oxbow.promote($1, $2::text::uuid)`, ann(t), summary))
	newer := one[string](t, tx, `select oxbow.supersede($1, $2::text::uuid, 'it was both')::text`, ann(t), summary)
	require.Equal(t, "OX102", fails(t, tx, `select oxbow.promote($1, $2::text::uuid)`, ann(t), summary).Code)
	require.Equal(t, newer, one[string](t, tx, `select summary_id::text from oxbow.sessions`),
		"the conversation goes on with it")
	exec(t, tx, `select oxbow.forget($1, $2::text::uuid)`, ann(t), newer)
	require.Equal(t, "OX103", fails(t, tx, `select oxbow.promote($1, $2::text::uuid)`, ann(t), newer).Code)
	require.Equal(t, 2, one[int](t, tx, `select count(*) from oxbow.memories where source = 'summary'
		and forgotten_at is not null`), "and its forerunner")
	for _, inner := range []string{`oxbow.erase_one('x', gen_random_uuid())`, `oxbow.withdraw_summaries('x', '{}')`,
		`oxbow.summaries_of('x', '{}')`} {
		require.Equal(t, "42501", fails(t, tx, `select `+inner).Code, inner)
	}
}
