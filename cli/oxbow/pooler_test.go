package main

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// behind returns the database behind PgBouncer, in the query mode that the documentation prescribes.
func (d on) behind(mode string) on {
	return on{d.t, pgtest.Pooled(d.t, d.dsn, mode) + "&default_query_exec_mode=exec"}
}

// A worker and commands work behind PgBouncer in transaction mode, and the server in session mode.
func TestBehindPgBouncer(t *testing.T) {
	t.Parallel()
	direct := onDatabase(t)
	pooled, sessions := direct.behind("transaction"), direct.behind("session")

	out := &watched{wrote: make(chan struct{}, 1)}
	stop := start(t, out, "work", "--poll-only", "--database-url", pooled.dsn)
	id := pooled.ok("remember", "ada", "Ada is allergic to walnuts.", "--metadata", `{"by": {"name": "Ada"}}`)
	s := sessions.serve()
	s.add("Ada lives in Lisbon.")
	status, answer := s.ask(t.Context(), http.MethodPost, "/messages", "", map[string]any{"messages": []any{
		map[string]any{"session_id": "talk", "role": "user", "content": "I work as a baker. Remind me to buy flour tomorrow."}}})
	require.Equal(t, http.StatusOK, status, answer)
	status, answer = s.ask(t.Context(), http.MethodPost, "/sessions/end", "", map[string]any{"session_id": "talk"})
	require.Less(t, status, 300, answer)
	require.Eventually(t, func() bool {
		return direct.number(`select count(*) from oxbow.river_job where state not in ('completed', 'scheduled')
			and kind in ('embed', 'extract', 'reconcile', 'reflect')`) == 0 &&
			direct.number(`select count(*) from oxbow.messages where extracted_at is null`) == 0
	}, waitAtMost, tick)
	require.Equal(t, id, pooled.recall("ada", "What is she allergic to?")[0].ID.String())
	require.Contains(t, contents(pooled.recall("ada", "Where does Ada live?")), "Ada lives in Lisbon.")
	pooled.ok("forget", "ada", id)
	pooled.ok("status")
	require.Zero(t, s.end(syscall.SIGTERM))
	require.Equal(t, 1, direct.number(`select count(*) from oxbow.api_log where user_id = 'ada' and operation = 'add-memory'`))
	require.Zero(t, stop())

	forgetful := on{t, pgtest.Pooled(t, direct.dsn, "transaction")} // with pgx's prepared statements
	var says string
	for range 5 {
		says += forgetful.run("recall", "ada", "walnuts").err
	}
	require.Contains(t, says, "add default_query_exec_mode=exec to the database URL")

	refused := pooled.run("serve", "--addr", "127.0.0.1:0")
	require.Equal(t, exitFailed, refused.code)
	require.True(t, strings.Contains(refused.err, "must be in session mode"), refused.err)
}
