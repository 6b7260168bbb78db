package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// climber goes climbing on five days in two months, at 15:30 UTC.
const climber = `insert into oxbow.memories (user_id, memory_type, content, valid_at, session_id)
	select 'ada', 'episodic', 'I went climbing with friends, number ' || n, '2025-03-01 15:30+00'::timestamptz + n *
		interval '10 days', 'chat ' || n
	  from generate_series(1, 5) n`

func TestReflect(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	r := d.run("reflect", "ada")
	require.Zero(t, r.code)
	require.Equal(t, "No memories to reflect on.\n", r.out)
	require.Equal(t, "User \"ada\" has no memories.\n", r.err)

	d.exec(climber)
	r = d.run("reflect", "ada")
	require.Equal(t, "No memories to reflect on.\n", r.out)
	require.Equal(t, "5 memories not embedded yet. Is a worker running (oxbow work)?\n", r.err)
	d.exec(`insert into oxbow.users (user_id, timezone) values ('ada', 'Asia/Shanghai')`)
	d.exec(`select oxbow.index_memories(array['ada'], array(select id from oxbow.memories))`)

	dry := d.ok("reflect", "ada", "--dry-run", "--now", "2025-05-01")
	require.Regexp(t, `(?m)^Cycle 1: 5 memories; 5 clues kept for later$`, dry,
		"the days, which later nights are compared with")
	require.Regexp(t, `(?m)^created +Often goes climbing +behavior +emerging +0\.40 +5 *$`, dry)
	require.Contains(t, dry, "2 traits created, 0 changed, 0 dissolved. Dry run: nothing was written.")
	require.Contains(t, dry, "Tends to be active late at night", "in Shanghai, that is")
	require.Equal(t, "[]", d.ok("traits", "ada", "--json"))

	// The last of them was at 23:30 on 20 April in Shanghai.
	r = d.run("reflect", "ada", "--dry-run", "--now", "2025-04-20T23:00:00")
	require.Zero(t, r.code, r.err)
	require.Equal(t, "Later than --now, and counted as of --now: 1 memory.\n", r.err)
	require.Empty(t, d.run("reflect", "ada", "--dry-run", "--now", "2025-04-20").err, "the day ends in Shanghai")

	lines := strings.Split(strings.TrimSpace(d.ok("reflect", "ada", "--json", "--now", "2025-05-01")), "\n")
	require.Len(t, lines, 1)
	var cycle struct {
		Scanned int            `json:"memories_scanned"`
		Created int            `json:"traits_created"`
		Events  []reflectEvent `json:"events"`
	}
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &cycle))
	require.Equal(t, []int{5, 2, 2}, []int{cycle.Scanned, cycle.Created, len(cycle.Events)})
	require.Equal(t, "Often goes climbing", cycle.Events[0].Content)
	require.Contains(t, d.ok("traits", "ada", "--now", "2025-05-01"), "Often goes climbing")
	require.Equal(t, "No memories to reflect on.", d.ok("reflect", "ada"))

	// A memory that denies a pattern before it is found counts when it is found.
	d.exec(`insert into oxbow.memories (user_id, content, valid_at, session_id)
		values ('林', '我不再打篮球了。', '2025-06-20', 'later')`)
	d.exec(`select oxbow.index_memories(array['林'], array(select id from oxbow.memories where user_id = '林'))`)
	require.Contains(t, d.ok("reflect", "林", "--now", "2025-07-01"), "1 clue kept for later")
	d.exec(`insert into oxbow.memories (user_id, memory_type, content, valid_at, session_id)
		select '林', 'episodic', '和朋友打篮球，第' || n || '次', '2025-03-01 10:00+00'::timestamptz + n * interval '10 days', 's' || n
		from generate_series(1, 5) n`)
	d.exec(`select oxbow.index_memories(array['林'], array(select id from oxbow.memories where user_id = '林'
		and memory_type = 'episodic'))`)
	require.Regexp(t, `(?s)created +经常打篮球.*contradicted +经常打篮球`, d.ok("reflect", "林", "--now", "2025-07-01"))

	d.exec(`update oxbow.users set opted_out = true`)
	r = d.run("reflect", "ada")
	require.NotZero(t, r.code)
	require.Contains(t, r.err, "nothing was changed")
	require.Equal(t, exitUsage, d.run("reflect", "ada", "--now", "tomorrow").code)
}
