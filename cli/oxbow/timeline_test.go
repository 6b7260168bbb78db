package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
)

func TestTimeline(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	r := d.run("timeline", "小明", "住在哪里")
	require.Zero(t, r.code)
	require.Empty(t, r.out)
	require.Contains(t, r.err, `user "小明" has no memories`)

	d.exec(`insert into oxbow.users (user_id, timezone) values ('小明', 'Asia/Shanghai')`)
	d.say("小明", "s1", "2024-03-01T10:00:00Z", "我住在北京。", "我在一家银行上班。")
	d.say("小明", "s2", "2025-06-09T20:00:00Z", "我现在住在上海。")
	d.say("mia", "s1", "2024-03-01T10:00:00Z", "I live in Bergen.", "I play the cello.")
	d.say("mia", "s2", "2024-09-10T10:00:00Z", "I moved to Oslo.")
	d.say("mia", "s3", "2025-06-10T10:00:00Z", "I live in Trondheim now.")

	require.Regexp(t, `(?s)^nr +from +until +now +who +memory +then +learned +id\n─+\n`+
		` 1 +2024-03-01 +2025-06-10 +Mia +我住在北京。 +superseded by 2 +\S+ +\S+\n`+
		` 2 +2025-06-10 +● +Mia +我现在住在上海。 +\S+ +\S+$`, d.ok("timeline", "小明", "住在哪里"))
	// The version between them shares no word with the topic.
	require.Regexp(t, `(?s)1 +2024-03-01 +2024-09-10 .*I live in Bergen\. +superseded by 2.*`+
		`2 +2024-09-10 +2025-06-10 .*I moved to Oslo\. +superseded by 3.*3 +2025-06-10 +● .*I live in Trondheim now\.`,
		d.ok("timeline", "mia", "where does she live"))
	require.NotContains(t, d.ok("timeline", "mia", "where does she live"), "cello")

	found := decoded[[]oxbow.TimelineEntry](t, d.ok("timeline", "mia", "live", "--limit", "1", "--json"))
	require.Len(t, found, 1)
	require.Len(t, decoded[[]oxbow.TimelineEntry](t, d.ok("timeline", "mia", "live", "--words-only", "--json")), 3)
	require.Empty(t, decoded[[]oxbow.TimelineEntry](t, d.ok("timeline", "mia", "live", "--type", "episodic", "--json")))

	oslo := d.idOf("mia", "I moved to Oslo.")
	d.ok("forget", "mia", oslo)
	require.NotContains(t, d.ok("timeline", "mia", "where does she live, Oslo?"), "Oslo")
	d.ok("erase", "--memory", oslo, "--user", "mia", "--yes")
	require.NotContains(t, d.ok("timeline", "mia", "Oslo live", "--json"), "Oslo")

	require.Contains(t, d.run("timeline", "mia", " ").err, "must not be blank")
}

func TestEndSession(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	d.say("小明", "聊天", "2024-03-01T10:00:00Z", "我住在北京。")
	require.Equal(t, "The session has already ended.", d.ok("end-session", "小明", "聊天"))
	r := d.run("end-session", "小明", "no")
	require.Equal(t, exitFailed, r.code)
	require.Equal(t, "oxbow: user \"小明\" has no session \"no\"\n", r.err)
	require.Equal(t, 1, d.number(`select count(*) from oxbow.memories where user_id = '小明'`),
		"it was extracted from at once")
}
