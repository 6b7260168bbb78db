package sqlcode_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// An application needs only the right to insert to begin sessions and enqueue jobs.
func TestMessagesOfAnApp(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := ann(t)
	exec(t, tx, `set local role oxbow_app`)
	exec(t, tx, `insert into oxbow.messages (user_id, session_id, content)
		values ($1, 's1', 'a'), ($1, 's1', 'b'), ($1, 's2', 'c')`, user)
	exec(t, tx, `reset role`)
	require.Equal(t, 2, one[int](t, tx, `select count(*) from oxbow.sessions where user_id = $1`, user))
	require.Equal(t, 2, one[int](t, tx, `select count(*) from oxbow.river_job where kind = 'extract'
		and queue = 'extract' and state = 'scheduled'
		and args ->> 'user_id' = $1 and scheduled_at = now() + interval '10 seconds'`, user))
	exec(t, tx, `set local role oxbow_app`)
	exec(t, tx, `select set_config('oxbow.user_id', 'somebody else', true)`)
	_, err := tx.Exec(t.Context(), `select oxbow.end_session($1, 's1')`, user)
	require.ErrorContains(t, err, "may not see user")
}

func TestMessagesAreIdempotent(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for range 2 {
		exec(t, tx, `insert into oxbow.messages (user_id, session_id, id, content)
			values ($1, 's1', '11111111-1111-4111-8111-111111111111', 'once') on conflict do nothing`, ann(t))
	}
	require.Equal(t, 1, one[int](t, tx, `select count(*) from oxbow.messages where user_id = $1`, ann(t)))
	require.Equal(t, 1, one[int](t, tx, `select count(*) from oxbow.river_job where kind = 'extract'
		and args ->> 'user_id' = $1`, ann(t)))
}

func TestWrongMessages(t *testing.T) {
	t.Parallel()
	for rule, row := range map[string][]any{
		"role must be user, assistant, system or tool":         {"ann", "s", "owner", "x"},
		"content must not be blank or longer than 1 MiB":       {"ann", "s", "user", " \n"},
		"content must not be blank or longer than 1 MiB ":      {"ann", "s", "user", strings.Repeat("x", 1<<20+1)},
		"user_id must have 1 to 255 bytes":                     {"", "s", "user", "x"},
		"session_id must have 1 to 1024 bytes":                 {"ann", "", "user", "x"},
		`null value in column "session_id" of relation "messa`: {"ann", nil, "user", "x"},
	} {
		tx := pgtest.Tx(t)
		_, err := tx.Exec(t.Context(), `insert into oxbow.messages (user_id, session_id, role, content)
			values ($1, $2, $3, $4)`, row...)
		require.ErrorContains(t, err, strings.TrimSpace(rule))
	}
	tx := pgtest.Tx(t)
	exec(t, tx, `insert into oxbow.messages (user_id, session_id, content) values ($1, 's', $2)`, ann(t),
		strings.Repeat("x", 1<<20))
}

// Two transactions that write to one session do not wait for each other.
func TestOpenTransactionsDoNotWait(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	first, second := begin(t, dsn), begin(t, dsn)
	setup := begin(t, dsn)
	exec(t, setup, `insert into oxbow.messages (user_id, session_id, content) values ('ann', 's', 'hello')`)
	require.NoError(t, setup.Commit(t.Context()))
	for i, tx := range []db{first, second, first, second} {
		exec(t, tx, `set local lock_timeout = '2s'`)
		exec(t, tx, `insert into oxbow.messages (user_id, session_id, content) values ('ann', 's', $1)`,
			strings.Repeat("x", i+1))
	}
}

// facts_as_of returns what was true and what was believed at any moment.
func TestFactsAsOf(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := ann(t)
	day := func(d int) time.Time { return time.Date(2026, 1, d, 0, 0, 0, 0, time.UTC) }
	old := one[string](t, tx, `insert into oxbow.memories (user_id, memory_type, content, valid_at, created_at)
		values ($1, 'fact', 'lives in Rome', $2, $2) returning id::text`, user, day(1))
	exec(t, tx, `insert into oxbow.memories (user_id, memory_type, content, valid_at, created_at)
		values ($1, 'fact', 'lives in Oslo', $2, $3)`, user, day(10), day(20))
	exec(t, tx, `update oxbow.memories_fact set invalid_at = $2, expired_at = $3 where id = $1::text::uuid`, old,
		day(10), day(20))
	exec(t, tx, `insert into oxbow.memories (user_id, memory_type, content, valid_at, forgotten_at)
		values ($1, 'fact', 'forgotten', $2, now())`, user, day(1))
	for _, c := range []struct {
		valid, believed int
		want            []string
	}{
		{5, 30, []string{"lives in Rome"}}, {15, 30, []string{"lives in Oslo"}},
		{15, 15, []string{"lives in Rome"}}, {25, 15, []string{"lives in Rome"}}, {5, 15, []string{"lives in Rome"}},
	} {
		require.Equal(t, c.want, all[string](t, tx, `select content from oxbow.facts_as_of($1, $2, $3)`, user,
			day(c.valid), day(c.believed)), "%v", c)
	}
	require.True(t, one[bool](t, tx, `select invalid_at is null from oxbow.facts_as_of($1, $2, $2)`, user, day(15)),
		"its end was not known yet")
}
