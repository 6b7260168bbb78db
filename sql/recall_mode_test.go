package sqlcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// Each mode returns its memories, with the text of archived ones and the reasons why other modes leave them out.
func TestRecallModes(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	now := time.Now()
	ids := map[string]string{}
	for name, given := range map[string]row{
		"new":       {"content": "The ferry sails at noon."},
		"light":     {"content": "A ferry has a bar.", "created_at": now.Add(-2000 * day)},
		"archived":  {"memory_type": "episodic", "content": "We missed the ferry, and Anna cried.", "created_at": now.Add(-3000 * day)},
		"tagged":    {"memory_type": "episodic", "content": "The ferry was late on a grey morning in October.", "created_at": now.Add(-350 * day), "category": "mood"},
		"forgotten": {"content": "The ferry ticket is in the drawer."},
		"replaced":  {"content": "The ferry sails at ten."},
		"expired":   {"content": "The ferry is on strike.", "created_at": now.Add(-3 * day), "expires_at": now.Add(-day)},
		"secret":    {"content": "The ferry pin is 1234.", "sensitivity": 2},
	} {
		ids[name] = remember(t, tx, row{"user_id": ann(t)}.with(given))
	}
	exec(t, tx, `update oxbow.memories set stored_at = created_at where user_id = $1`, ann(t))
	index(t, tx, ann(t))
	exec(t, tx, `update oxbow.memories set weight_next_at = now() where user_id = $1 and level = 'full'`, ann(t))
	exec(t, tx, `select oxbow.settle_levels(now(), 1000)`)
	exec(t, tx, `select oxbow.forget($1, $2)`, ann(t), ids["forgotten"])
	ids["newest"] = one[string](t, tx, `select oxbow.supersede($1, $2, 'The ferry sails at two.')::text`, ann(t), ids["replaced"])
	index(t, tx, ann(t))
	names := map[string]string{}
	for name, id := range ids {
		names[id] = name
	}
	found := func(mode any) map[string]string {
		t.Helper()
		got := map[string]string{}
		for _, f := range recall(t, tx, row{"user_id": ann(t), "query": "ferry", "mode": mode}) {
			got[names[f.ID]] = f.Explain.Level + " " + f.Explain.LeftOut
		}
		return got
	}
	plain := map[string]string{"new": " ", "newest": " ", "light": "summary ", "tagged": "tag "}
	require.Equal(t, plain, found(nil))
	require.Equal(t, map[string]string{"new": " ", "newest": " "}, found("normal"))
	plain["archived"] = "archive "
	require.Equal(t, plain, found("review"))
	require.Equal(t, map[string]string{"new": " ", "newest": " ", "light": "summary ", "tagged": "tag ",
		"archived": "archive archived", "forgotten": " forgotten", "replaced": " superseded", "expired": " expired"}, found("debug"))
	require.Equal(t, []string{"We missed the ferry, and Anna cried."},
		contents(recall(t, tx, row{"user_id": ann(t), "query": "who cried?", "mode": "review"})))
	require.Empty(t, recall(t, tx, row{"user_id": ann(t), "query": "who cried?"}))

	sql, args := recallStatement(row{"user_id": ann(t), "query": "ferry", "mode": "deep"})
	err := fails(t, tx, "select * from "+sql, args...)
	require.Equal(t, "mode must be normal, review or debug", err.Message)
	require.Equal(t, "mode", err.ColumnName)
	exec(t, tx, `select set_config('oxbow.user_id', $1, true)`, ann(t))
	exec(t, tx, `set local role oxbow_app`)
	require.Len(t, found("review"), 5)
	sql, args = recallStatement(row{"user_id": ann(t), "query": "ferry", "mode": "debug"})
	require.Equal(t, "42501", fails(t, tx, "select * from "+sql, args...).Code)
	exec(t, tx, `set local role oxbow_worker`)
	require.Len(t, found("debug"), 8)
}
