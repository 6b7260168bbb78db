package sqlcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// recall_debug names a true reason for each memory that recall leaves out, and places for those that it returns.
func TestRecallDebug(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	now := time.Now()
	ids := map[string]string{}
	add := func(name string, r row) {
		ids[name] = remember(t, tx, row{"user_id": ann(t), "created_at": now.Add(-10 * day)}.with(r))
	}
	add("best", row{"content": "The ferry ferry sails.", "agent_id": "a", "metadata": `{"context": "work", "k": 1}`})
	add("second", row{"content": "A ferry sails to the island.", "agent_id": "b", "metadata": `{"context": "personal"}`})
	add("third", row{"content": "Anna waits for a ferry in the rain near the old harbour wall."})
	add("event", row{"memory_type": "episodic", "content": "The ferry horn was loud on the day of the parade in town."})
	add("forgotten", row{"content": "The ferry ticket is in the drawer."})
	add("replaced", row{"content": "The ferry costs ten."})
	add("expired", row{"content": "The ferry is on strike.", "expires_at": now.Add(-day)})
	add("ended", row{"content": "The ferry has a cinema.", "valid_at": now.Add(-9 * day), "invalid_at": now.Add(-day)})
	add("secret", row{"content": "The ferry pin is 1234.", "sensitivity": 2})
	add("other", row{"content": "Bread is baked at dawn."})
	index(t, tx, ann(t))
	exec(t, tx, `delete from oxbow.river_job where args ->> 'user_id' = $1`, ann(t))
	exec(t, tx, `select oxbow.forget($1, $2)`, ann(t), ids["forgotten"])
	ids["newest"] = one[string](t, tx, `select oxbow.supersede($1, $2, 'The ferry costs twelve.')::text`, ann(t), ids["replaced"])
	index(t, tx, ann(t))
	exec(t, tx, `delete from oxbow.river_job where args ->> 'user_id' = $1`, ann(t))
	add("unindexed", row{"content": "The ferry is new."})
	names := map[string]string{}
	for name, id := range ids {
		names[id] = name
	}
	type found struct {
		Place   *int64
		LeftOut *string
		ID      string
		Content *string
	}
	// debug returns the names of the results in order, and the reasons for the others.
	debug := func(more string, args ...any) (places []string, reasons map[string]string) {
		t.Helper()
		rows, err := tx.Query(t.Context(), `select place, left_out, id::text, content
			from oxbow.recall_debug($1, 'ferry', now => $2`+more+`)`, append([]any{ann(t), now}, args...)...)
		require.NoError(t, err)
		reasons = map[string]string{}
		for rows.Next() {
			var f found
			require.NoError(t, rows.Scan(&f.Place, &f.LeftOut, &f.ID, &f.Content))
			require.Equal(t, f.Place == nil, f.LeftOut != nil)
			if f.Place != nil {
				places = append(places, names[f.ID])
				require.Len(t, places, int(*f.Place))
				continue
			}
			require.NotContains(t, reasons, names[f.ID])
			reasons[names[f.ID]] = *f.LeftOut
			require.Equal(t, names[f.ID] == "secret", f.Content == nil)
		}
		require.NoError(t, rows.Err())
		return places, reasons
	}
	ended := map[string]string{"forgotten": "forgotten", "replaced": "superseded", "expired": "expired", "ended": "ended",
		"unindexed": "not indexed yet"}
	with := func(more map[string]string) map[string]string {
		all := map[string]string{}
		for _, m := range []map[string]string{ended, more} {
			for name, reason := range m {
				all[name] = reason
			}
		}
		return all
	}

	places, reasons := debug("")
	require.Len(t, places, 5)
	require.Equal(t, "best", places[0])
	require.Equal(t, ended, reasons)

	limited, reasons := debug(", max_results => 2")
	require.Equal(t, places[:2], limited)
	require.Equal(t, with(map[string]string{places[2]: "below the limit", places[3]: "below the limit",
		places[4]: "below the limit"}), reasons)

	places, reasons = debug(", min_score => 1")
	require.Less(t, len(places), 5)
	require.Equal(t, "below min_score", reasons["second"])

	places, reasons = debug(", agent => 'a'")
	require.Equal(t, []string{"best"}, places)
	require.Equal(t, "another agent", reasons["second"])
	_, reasons = debug(", contexts => array['work']")
	require.Equal(t, "another context", reasons["second"])
	_, reasons = debug(`, metadata_contains => '{"k": 1}'`)
	require.Equal(t, "other metadata", reasons["second"])
	_, reasons = debug(", types => array['fact']")
	require.Equal(t, "another type", reasons["event"])

	places, reasons = debug(", valid_as_of => $3", now.Add(-5*day))
	require.Contains(t, places, "ended")
	require.Contains(t, places, "expired", "it had not expired yet")
	require.Equal(t, "forgotten", reasons["forgotten"])
	_, reasons = debug(", believed_as_of => $3", now.Add(-20*day))
	require.Equal(t, "stored later", reasons["best"])
	_, reasons = debug(", valid_as_of => $3", now.Add(-20*day))
	require.Equal(t, "true later", reasons["best"])

	asked := []string{ids["secret"], ids["other"], ids["best"], ids["forgotten"], ids["unindexed"]}
	_, reasons = debug(", ids => $3::text[]::uuid[]", asked)
	require.Equal(t, with(map[string]string{"secret": "secret", "other": "no channel finds it"}), reasons)

	exec(t, tx, `update oxbow.memories set created_at = created_at - interval '2000 days' where user_id = $1 and id = $2::text::uuid`,
		ann(t), ids["third"])
	_, reasons = debug(", mode => 'normal'")
	require.Equal(t, "weighs too little", reasons["third"])
	require.NotEmpty(t, fails(t, tx, `select oxbow.recall_debug($1, 'ferry', mode => 'deep')`, ann(t)).Message)
}

// A better result hides repetitions, and the reason names it.
func TestRecallDebugRepetitions(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for _, content := range []string{"Had lentil soup for lunch at my desk", "Lentil soup at my desk for lunch again",
		"Lunch with the auditors at the fish restaurant"} {
		remember(t, tx, row{"user_id": ann(t), "memory_type": "episodic", "content": content})
	}
	index(t, tx, ann(t))
	require.Equal(t, []string{"repeats a better result true"}, all[string](t, tx, `
		select d.left_out || ' ' || (d.explain ->> 'repeats' = first_value(d.id::text) over (order by d.place))
		  from oxbow.recall_debug($1, 'what did I have for lunch?', max_results => 2) d order by d.place desc limit 1`, ann(t)))
}

// Only the owner, the worker and operators may see what recall leaves out.
func TestRecallDebugRights(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	remember(t, tx, row{"user_id": ann(t), "content": "The ferry sails."})
	index(t, tx, ann(t))
	call := `select count(*) from oxbow.recall_debug($1, 'ferry')`
	require.Equal(t, 1, one[int](t, tx, call, ann(t)))
	exec(t, tx, `set local role oxbow_app`)
	exec(t, tx, `select set_config('oxbow.user_id', $1, true)`, ann(t))
	require.Equal(t, "42501", fails(t, tx, call, ann(t)).Code)
	exec(t, tx, `set local role oxbow_operator`)
	require.Equal(t, 1, one[int](t, tx, call, ann(t)))
	require.Equal(t, "42501", fails(t, tx, call, bob(t)).Code, "one user at a time")
	exec(t, tx, `set local role oxbow_worker`)
	require.Zero(t, one[int](t, tx, call, bob(t)))
}
