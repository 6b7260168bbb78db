package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/traittest"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	require.Equal(t, "Checked the memories of 0 users (0 traits): no problems.", d.ok("check"))
	conn, err := pgx.Connect(t.Context(), d.dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	evidence := traittest.Evidence{Content: "Ada rowed before breakfast.", At: traittest.Day(1, 9)}
	id := traittest.Trait{UserID: "ada", Content: "Ada rows.",
		Events: []traittest.Event{traittest.Created(traittest.Day(1, 10), 0.4, evidence)}}.Insert(t, conn)
	traittest.Trait{UserID: "林", Content: "林早起。"}.Insert(t, conn)
	require.Equal(t, "Checked the memories of 2 users (2 traits): no problems.", d.ok("check"))
	require.Equal(t, "Checked the memories of 1 user (1 trait): no problems.", d.ok("check", "ada", "--repair"))
	require.Contains(t, d.run("check", "nobody").err, `user "nobody" has no memories`)

	_, err = conn.Exec(t.Context(), `update oxbow.memories_trait set trait_confidence = 0.5 where user_id = 'ada'`)
	require.NoError(t, err)
	r := d.run("check")
	require.Equal(t, exitFailed, r.code)
	require.Equal(t, "oxbow: found 1 problem: --repair corrects those that follow from the events\n", r.err)
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	require.Equal(t, []string{"user", "id", "problem", "found", "expected"}, strings.Fields(lines[0]))
	require.Equal(t, []string{"ada", id.String(), "confidence", "0.5", "0.4"}, strings.Fields(lines[2]))
	require.Equal(t, "Checked the memories of 2 users (2 traits): 1 problem.", lines[len(lines)-1])
	require.Zero(t, d.run("check", "林").code, "that of another user")

	r = d.run("check", "ada", "--json")
	require.Equal(t, exitFailed, r.code)
	var c checked
	require.NoError(t, json.Unmarshal([]byte(r.out), &c))
	require.EqualValues(t, 1, c.Problems)
	require.Equal(t, "confidence", c.Found[0].Kind)
	require.Equal(t, id, c.Found[0].TraitID)

	out := d.ok("check", "--repair")
	require.Regexp(t, `ada .* confidence +0\.5 +0\.4 +repaired\n`, out)
	require.True(t, strings.HasSuffix(out, "Checked the memories of 2 users (2 traits): 1 problem, 1 repaired."), out)
	require.Equal(t, "Checked the memories of 2 users (2 traits): no problems.", d.ok("check"))

	_, err = conn.Exec(t.Context(), `update oxbow.trait_events set event = 'revised' where user_id = 'ada'`)
	require.NoError(t, err)
	r = d.run("check", "--repair")
	require.Equal(t, exitFailed, r.code)
	require.Regexp(t, `beginning +the first event is revised +created +not repaired\n`, r.out)
	require.Equal(t, "oxbow: cannot repair 1 problem\n", r.err)

	require.Equal(t, exitUsage, d.run("check", "").code)
	require.Equal(t, exitUsage, d.run("check", "ada", "林").code)
}
