package sqlcode_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// A statement about many users takes no lock for each of them: PostgreSQL's table of locks has room for
// max_locks_per_transaction * max_connections, by default 6,400.
func TestLocksDoNotGrowWithUsers(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	statements := map[string]string{
		"memories":       `insert into oxbow.memories (user_id, content) select u, 'boat' from %s`,
		"memory_vectors": "", // of memories that exist
		"messages":       `insert into oxbow.messages (user_id, session_id, content) select u, 's', 'hello' from %s`,
		"sensory":        `insert into oxbow.sensory (user_id, content) select u, 'a page' from %s`,
		"sessions":       `insert into oxbow.sessions (user_id, id) select u, 'other' from %s`,
		"users":          `insert into oxbow.users (user_id, language) select u, 'en' from %s`,
		"api_answers": `insert into oxbow.api_answers (user_id, key, request, answer)
			select u, 'k', '\x00', '{}' from %s`,
		"api_log": `insert into oxbow.api_log (user_id, id, at, role, operation, status)
			select u, gen_random_uuid(), now(), 'app', 'recall', 200 from %s`,
		"import_parts": `insert into oxbow.import_parts (user_id, import_id, part, content)
			select u, gen_random_uuid(), 1, 'x' from %s`,
	}
	require.ElementsMatch(t, all[string](t, tx, `
		select c.relname::text from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'user_id'
		 where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
		   and has_table_privilege('oxbow_app', c.oid, 'insert')`), keys(statements))
	statements["erasures"] = `select oxbow.erase_user(u) from %s`
	for name, sql := range statements {
		if sql == "" {
			continue
		}
		locks := func(users int) int {
			inner, err := tx.Begin(t.Context())
			require.NoError(t, err)
			exec(t, inner, fmt.Sprintf(sql, fmt.Sprintf("(select 'user ' || n as u from generate_series(1, %d) n) n", users)))
			n := one[int](t, inner, `select count(*) from pg_locks where pid = pg_backend_pid()`)
			require.NoError(t, inner.Rollback(t.Context()))
			return n
		}
		few := locks(2)
		require.Less(t, locks(60), few+50, name) // some are those of relations
	}
	// Opting out takes one of 1,024 locks for each user.
	exec(t, tx, `insert into oxbow.users (user_id, opted_out) select 'user ' || n, true from generate_series(1, 5000) n`)
	require.LessOrEqual(t, one[int](t, tx, `select count(*) from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'`), 1100)
}
