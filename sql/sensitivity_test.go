package sqlcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

func TestPlainTextIsNotSecret(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for level := range 3 {
		remember(t, tx, row{"user_id": ann(t), "sensitivity": level})
	}
	id := remember(t, tx, row{"user_id": ann(t), "sensitivity": 3, "content": "[sealed]", "sealed": []byte("x"),
		"sealed_key": "7"})
	for _, c := range []struct{ says, sql string }{
		{"sensitivity must be below 3 for plain text; the client seals secret text, so that the database never stores it " +
			"in clear", `insert into oxbow.memories (user_id, content, sensitivity) values ($1, '密码 swordfish', 3)`},
		{"sensitivity must be below 3 for plain text; the client seals secret text",
			`update oxbow.memories set sensitivity = 3 where user_id = $1 and sensitivity = 0`},
		{"sensitivity must be 0, 1, 2 or 3",
			`insert into oxbow.memories (user_id, content, sensitivity) values ($1, 'swordfish', 4)`},
		{"sensitivity must be below 3 for a memory with speaker",
			`insert into oxbow.memories (user_id, content, sensitivity, sealed, sealed_key, metadata)
			 values ($1, '[sealed]', 3, 'x', '7', '{"a": "swordfish"}')`},
		{"sensitivity must be 3 for sealed text",
			`update oxbow.memories set sensitivity = 1 where user_id = $1 and sensitivity = 3`},
		{"sensitivity must be below 3 to be superseded", `select oxbow.supersede($1, '` + id + `', 'swordfish')`},
	} {
		err := fails(t, tx, c.sql, ann(t))
		require.Equal(t, "23514", err.Code, c.sql)
		require.Contains(t, err.Message, c.says)
		require.NotContains(t, err.Message+err.Detail+err.Hint, "swordfish")
	}
	require.Len(t, index(t, tx, ann(t)), 2) // not that of level 2
	require.Zero(t, one[int](t, tx, "select count(*) from oxbow.embeddables(array[$1], array[$2]::uuid[], 'local-v1')",
		ann(t), id))
	require.False(t, one[bool](t, tx, "select oxbow.is_unembedded($1, 'fact', $2, 'local-v1')", ann(t), id))
	// not even by a vector that is added to it
	addVector(t, tx, ann(t), "fact", id, axis(5))
	require.Empty(t, recall(t, tx, row{"user_id": ann(t), "query": "", "embedding": axis(5)}))
	require.NotContains(t, one[string](t, tx, "select oxbow.context($1)", ann(t)), "[sealed]")
	require.Zero(t, one[int](t, tx, "select count(*) from oxbow.facts_as_of($1) where content = '[sealed]'", ann(t)))
	// it does not take a place or rank from other memories
	near := remember(t, tx, row{"user_id": ann(t), "memory_type": "fact", "content": "Ann plays chess."})
	far := remember(t, tx, row{"user_id": ann(t), "memory_type": "fact", "content": "Ann plays tennis."})
	require.Len(t, index(t, tx, ann(t)), 2)
	addVector(t, tx, ann(t), "fact", near, axis(5, 6))
	addVector(t, tx, ann(t), "fact", far, axis(5, 6, 7))
	for _, args := range []row{{}, {"believed_as_of": time.Now().Add(time.Hour)}} {
		args["user_id"], args["query"], args["embedding"] = ann(t), "", axis(5)
		both := recall(t, tx, args)
		require.Len(t, both, 2)
		require.Equal(t, []string{near, far}, []string{both[0].ID, both[1].ID})
		require.Equal(t, []int{1, 2}, []int{both[0].Explain.Vector.Rank, both[1].Explain.Vector.Rank})
		args["max_results"] = 1
		require.Equal(t, both[:1], recall(t, tx, args))
	}
}

func TestPlainMessagesAreNotSecret(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := ann(t)
	exec(t, tx, `insert into oxbow.messages (user_id, session_id, content, sensitivity)
		values ($1, 's', 'a', 0), ($1, 's', 'b', 1)`, user)
	exec(t, tx, `insert into oxbow.messages (user_id, session_id, content, sensitivity, sealed, sealed_key)
		values ($1, 'secret', '[sealed]', 3, 'x', '7')`, user)
	for _, c := range []struct{ says, sql string }{
		{"sensitivity must be below 3 for plain text; the client seals secret text, so that the database never stores it " +
			"in clear",
			`insert into oxbow.messages (user_id, session_id, content, sensitivity)
				values ($1, 's', '密码 swordfish', 3)`},
		{"sensitivity must be below 3 for plain text; the client seals secret text",
			`update oxbow.messages set sensitivity = 3 where user_id = $1 and sensitivity = 1`},
		{"sensitivity must be 0, 1, 2 or 3",
			`insert into oxbow.messages (user_id, session_id, content, sensitivity) values ($1, 's', 'swordfish', 4)`},
		{"sensitivity must be below 3 for a message with speaker",
			`insert into oxbow.messages (user_id, session_id, content, sensitivity, sealed, sealed_key, speaker)
			 values ($1, 's', '[sealed]', 3, 'x', '7', 'swordfish')`},
		{"sensitivity must be 3 for sealed text",
			`update oxbow.messages set sensitivity = 1 where user_id = $1 and sensitivity = 3`},
	} {
		err := fails(t, tx, c.sql, user)
		require.Equal(t, "23514", err.Code, c.sql)
		require.Contains(t, err.Message, c.says)
		require.NotContains(t, err.Message+err.Detail+err.Hint, "swordfish")
	}
	// it begins a session, but nothing waits for extraction, even after a request to extract everything
	// again
	require.Equal(t, 2, one[int](t, tx, `select count(*) from oxbow.sessions where user_id = $1`, user))
	require.Equal(t, "s", one[string](t, tx, `select args ->> 'session_id' from oxbow.river_job where kind = 'extract'
		and args ->> 'user_id' = $1`, user))
	exec(t, tx, `update oxbow.messages set extracted_at = null where user_id = $1`, user)
	require.Equal(t, 1, one[int](t, tx, `select count(*) from oxbow.messages where user_id = $1
		and extracted_at is not null`, user))
}
