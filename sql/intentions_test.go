package sqlcode_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

func TestIntend(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	exec(t, tx, "insert into oxbow.users (user_id, timezone) values ($1, 'Asia/Shanghai')", ann(t))
	asApp(t, tx)
	setUser(t, tx, ann(t))
	intend := func(call string) string {
		t.Helper()
		return one[string](t, tx, "select oxbow.intend($1, "+call+")", ann(t))
	}
	upcoming := func(until string) []string {
		t.Helper()
		return all[string](t, tx, "select content from oxbow.upcoming($1, "+until+")", ann(t))
	}
	report := intend("'交报告', '2026-05-20 00:00+08', 'day'")
	require.Equal(t, report, intend("'交报告', '2026-05-21 00:00+08', 'day'"), "the time changed")
	require.Equal(t, "2026-05-21 01:00", one[string](t, tx, // 9 o'clock in Shanghai
		"select to_char(remind_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI') from oxbow.upcoming($1)", ann(t)))
	call := intend("'Call mom', condition => 'when I get home', external_id => 'x', kind => 'reminder'")
	require.Equal(t, call, intend("'Call dad', external_id => 'x'"))
	intend("'Swim', '2026-06-01 10:00+08', recurrence => 'FREQ=WEEKLY'")
	require.Equal(t, []string{"交报告", "Swim", "Call mom"}, upcoming("null"))
	require.Equal(t, []string{"交报告"}, upcoming("'2026-05-22'"))
	require.True(t, one[bool](t, tx, "select oxbow.complete_intention($1, $2::text::uuid)", ann(t), report))
	require.False(t, one[bool](t, tx, "select oxbow.drop_intention($1, $2::text::uuid)", ann(t), report))
	require.True(t, one[bool](t, tx, "select oxbow.drop_intention($1, $2::text::uuid)", ann(t), call))
	require.Equal(t, []string{"Swim"}, upcoming("null"))
	for _, id := range []string{"y", "z"} {
		intend("'Row', external_id => '" + id + "'")
	}
	row := intend("'Row', '2026-06-02 10:00+08'")
	require.Equal(t, 2, len(all[string](t, tx, "select id::text from oxbow.upcoming($1) where content = 'Row'", ann(t))),
		"of two with the same words, one gets the time")
	require.True(t, one[bool](t, tx, "select oxbow.drop_intention($1, $2::text::uuid)", ann(t), row))

	for call, why := range map[string]string{
		"intend($1, ' ')":                                "content must not be blank",
		"intend($1, 'a', kind => 'dream')":               "kind must be",
		"intend($1, 'a', now(), 'second')":               "precision must be",
		"intend($1, 'a', due_precision => 'day')":        "precision must be none",
		"intend($1, 'a', 'infinity')":                    "due_at must be between",
		"intend($1, 'a', now(), recurrence => 'weekly')": "recurrence must be",
		"intend($1, 'a', recurrence => 'FREQ=DAILY')":    "due_at must be the first",
		// a rule that is none, comes every second, or may never come keeps the others from becoming due
		"intend($1, 'a', now(), recurrence => 'FREQ=SOMETIMES')":           "recurrence must be",
		"intend($1, 'a', now(), recurrence => 'FREQ=SECONDLY')":            "recurrence must be",
		"intend($1, 'a', now(), recurrence => 'FREQ=DAILY;INTERVAL=0')":    "recurrence must be",
		"intend($1, 'a', now(), recurrence => 'FREQ=DAILY;BYMONTHDAY=30')": "recurrence must be",
		"intend($1, 'a', now(), recurrence => 'FREQ=HOURLY;BYHOUR=3')":     "recurrence must be",
		"intend($1, 'a', now(), recurrence => 'FREQ=WEEKLY;BYDAY=MO,')":    "recurrence must be",
		"intend($1, 'a', now(), recurrence => 'FREQ=WEEKLY;BYDAY=MONDAY')": "recurrence must be",
		"intend($1 || 'x', 'a')":                                                   "may not see",
		"complete_intention($1, gen_random_uuid())":                                "no intention",
		"snooze_intention($1, oxbow.intend($1, 'a', now()), null)":                 "until must be a time",
		"snooze_intention($1, oxbow.intend($1, 'a', now()), '200000-01-01')":       "until must be between", // JSON has no such year
		"complete_intention($1, oxbow.intend($1, 'a', now()), repeat('x', 10001))": "reason must have",
		"snooze_intention($1, oxbow.intend($1, 'Swim', now()), now())":             "must not be of a recurring",
		"upcoming($1, null, 0)":                                                    "max_results must be",
	} {
		require.ErrorContains(t, fails(t, tx, "select oxbow."+call, ann(t)), why, call)
	}
	require.ErrorContains(t, fails(t, tx, "select * from oxbow.webhooks"), "permission denied")
	for _, rule := range []string{"FREQ=HOURLY;INTERVAL=2;BYDAY=MO,TU", "FREQ=WEEKLY;BYDAY=MO,TU;WKST=SU", "FREQ=DAILY;BYHOUR=9,18",
		"FREQ=MONTHLY;BYDAY=-1FR;UNTIL=20300101T000000Z", "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
		"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;COUNT=5"} {
		exec(t, tx, "select oxbow.intend($1, $2, now(), recurrence => $2)", ann(t), rule)
	}
}

// What is due, or comes up within a day, stands in the block in the user's time; the rest does not.
func TestDueInContext(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	exec(t, tx, "insert into oxbow.users (user_id, timezone, language) values ($1, 'Europe/Berlin', 'en')", ann(t))
	at := time.Date(2026, 5, 13, 8, 0, 0, 0, time.UTC)
	for content, due := range map[string]time.Time{"Pay the rent": at.Add(-time.Hour), "Swim": at.Add(3 * time.Hour),
		"Fly": at.Add(72 * time.Hour)} {
		exec(t, tx, "select oxbow.intend($1, $2, $3)", ann(t), content, due)
	}
	exec(t, tx, "select oxbow.intend($1, 'Learn Greek', kind => 'goal')", ann(t))
	exec(t, tx, "select oxbow.instruct($1, 'Be brief', 'length')", ann(t))
	require.Equal(t, "## How the user wants to be answered\n- Be brief\n## Due and coming up\n"+
		"- Pay the rent (due since 2026-05-13 09:00)\n- Swim (due 2026-05-13 13:00)",
		one[string](t, tx, "select oxbow.context($1, now => $2)", ann(t), at))

	// the query of a turn may say that a condition is met
	exec(t, tx, "select oxbow.intend($1, 'Buy milk', condition => 'when I am at the supermarket')", ann(t))
	exec(t, tx, "select oxbow.intend($1, '到家的时候浇花', condition => '到家的时候')", ann(t))
	for query, want := range map[string]string{"I'm at the supermarket, what else?": "- Buy milk: when I am at the supermarket",
		"我到家了": "- 到家的时候浇花"} {
		block := one[string](t, tx, "select oxbow.context($1, $2, now => $3)", ann(t), query, at)
		require.Contains(t, block, "13:00)\n"+want)
		require.Equal(t, 1, strings.Count(block, "浇花")+strings.Count(block, "milk"), query)
	}
	exec(t, tx, "update oxbow.users set language = 'zh' where user_id = $1", ann(t))
	require.Contains(t, one[string](t, tx, "select oxbow.context($1, now => $2)", ann(t), at),
		"- Pay the rent（已到期，2026-05-13 09:00）\n- Swim（2026-05-13 13:00）")
}

// A reminder before the time counts, and so does one of an intention without a time.
func TestReminderBeforeTheTime(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	at := time.Date(2026, 5, 13, 8, 0, 0, 0, time.UTC)
	for content, due := range map[string]any{"Fly": at.Add(30 * 24 * time.Hour), "Learn Greek": nil, "Rest": nil} {
		exec(t, tx, "select oxbow.intend($1, $2, $3)", ann(t), content, due)
	}
	exec(t, tx, `select oxbow.snooze_intention(user_id, id, $2) from oxbow.intentions
		where user_id = $1 and content <> 'Rest'`, ann(t), at)
	early := func() []string {
		t.Helper()
		require.Equal(t, []string{"Fly"}, all[string](t, tx, "select content from oxbow.upcoming($1, $2, 1)", ann(t), at))
		return all[string](t, tx, "select content from oxbow.upcoming($1, $2)", ann(t), at)
	}
	require.Equal(t, []string{"Fly", "Learn Greek"}, early())
	require.Empty(t, all[string](t, tx, "select content from oxbow.upcoming($1, $2)", ann(t), at.Add(-time.Second)))
	exec(t, tx, "select from oxbow.due_intentions($1, 100)", at)
	require.Equal(t, []string{"Fly", "Learn Greek"}, early())
	block := one[string](t, tx, "select oxbow.context($1, now => $2)", ann(t), at)
	require.Contains(t, block, "- Fly")
	require.Contains(t, block, "- Learn Greek")
	require.NotContains(t, block, "Rest")
}

// An intention becomes due once; a recurring one stays open and has an occurrence for each time.
func TestDueIntentions(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	at := time.Date(2026, 5, 13, 8, 0, 0, 0, time.UTC)
	exec(t, tx, "select oxbow.intend($1, 'Once', $2)", ann(t), at)
	exec(t, tx, "select oxbow.intend($1, 'Often', $2, recurrence => 'FREQ=DAILY')", ann(t), at)
	exec(t, tx, "select oxbow.intend($1, 'Later', $2)", ann(t), at.Add(time.Hour))
	due := func(now time.Time) []string {
		t.Helper()
		ids := all[string](t, tx, "select due_id::text from oxbow.due_intentions($1, 100) where due_id is not null", now)
		return all[string](t, tx, `select concat_ws(' ', n.content, p.recurrence, n.state) from oxbow.intentions n
			left join oxbow.intentions p on p.user_id = n.user_id and p.id = n.parent_id
			where n.user_id = $1 and n.id = any($2::text[]::uuid[])`, ann(t), ids)
	}
	require.Empty(t, due(at.Add(-time.Second)))
	require.ElementsMatch(t, []string{"Once due", "Often FREQ=DAILY due"}, due(at))
	require.Equal(t, []string{""}, all[string](t, tx, "select coalesce(due_id::text, '') from oxbow.due_intentions($1, 100)", at),
		"the occurrence was announced: only its next time is missing")
	exec(t, tx, `select oxbow.advance_intention(user_id, id, $2) from oxbow.intentions
		where user_id = $1 and recurrence is not null`, ann(t), at.Add(24*time.Hour))
	require.Equal(t, []string{"Later due"}, due(at.Add(time.Hour)))
	require.Equal(t, []string{"Often FREQ=DAILY due"}, due(at.Add(24*time.Hour)))
	once := one[string](t, tx, "select id::text from oxbow.intentions where user_id = $1 and content = 'Once'", ann(t))
	require.True(t, one[bool](t, tx, "select oxbow.snooze_intention($1, $2::text::uuid, $3)", ann(t), once,
		at.Add(48*time.Hour)))
	require.Equal(t, []string{"Once due"}, due(at.Add(48*time.Hour)))
	exec(t, tx, `select oxbow.drop_intention(user_id, id) from oxbow.intentions
		where user_id = $1 and recurrence is not null`, ann(t))
	require.Empty(t, all[string](t, tx, `select id::text from oxbow.upcoming($1) where content = 'Often'`, ann(t)))
}
