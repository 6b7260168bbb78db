package sqlcode_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// happened notes an activity on days of 2026, at 18:00 in Shanghai.
func happened(t testing.TB, tx db, user, topic string, days ...string) {
	t.Helper()
	exec(t, tx, `with m as (insert into oxbow.memories (user_id, memory_type, content, valid_at)
		select $1, 'episodic', $2 || ' on ' || d, (d || ' 18:00+08')::timestamptz from unnest($3::text[]) d
		returning id, valid_at)
		insert into oxbow.topic_fragments (user_id, topic, memory_type, memory_id, at)
		select $1, $2, 'episodic', m.id, m.valid_at from m`, user, topic, days)
}

func mondays(weeks int) (days []string) {
	for i := range weeks {
		days = append(days, time.Date(2026, 3, 2+7*i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
	}
	return days
}

func TestPredict(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	exec(t, tx, "insert into oxbow.users (user_id, timezone) values ($1, 'Asia/Shanghai')", ann(t))
	happened(t, tx, ann(t), "do:游泳", mondays(12)...)                  // until May 18
	happened(t, tx, ann(t), "do:running", "2026-03-05", "2026-04-01") // too rarely
	exec(t, tx, `with m as (select id from oxbow.memories where user_id = $1 and content like 'do:游泳%'),
		a as (insert into oxbow.answers (user_id, at, query, used)
		select $1, '2026-05-01 08:00+08'::timestamptz + n * interval '3 days', '泳池几点开门？', (select array_agg(id) from m)
		  from generate_series(1, 6) n)
		insert into oxbow.intentions (user_id, content, due_at, precision) values
		($1, 'Call mom', '2026-05-25 10:00+08', 'minute'), ($1, 'Later', '2026-08-01', 'day')`, ann(t))
	asApp(t, tx)
	setUser(t, tx, ann(t))
	type row struct {
		Kind, Topic, Content, Starts string
		Probability, BaseRate        float64
		Days, Evidence               int
	}
	predict := func(args string) []row {
		t.Helper()
		rows, err := tx.Query(t.Context(), `select kind, coalesce(topic, '') as topic, content,
			to_char(starts_at at time zone 'Asia/Shanghai', 'YYYY-MM-DD HH24:MI') as starts, probability, base_rate, days,
			cardinality(evidence) as evidence from oxbow.predict($1, `+args+`)`, ann(t))
		require.NoError(t, err)
		found, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
		require.NoError(t, err)
		return found
	}
	of := func(rows []row, kind string) (found row) {
		for _, r := range rows {
			if r.Kind == kind {
				found = r
			}
		}
		return found
	}
	monday := predict("'2026-05-25 00:00+08'")
	swim := of(monday, "activity")
	require.Equal(t, "2026-05-25 18:00", swim.Starts)
	require.Equal(t, "do:游泳 on 2026-05-18", swim.Content)
	require.Equal(t, 12, swim.Days)
	require.Equal(t, 10, swim.Evidence)
	require.Greater(t, swim.Probability, 1.5*swim.BaseRate)
	require.Less(t, of(predict("'2026-05-20 00:00+08'"), "activity").Probability, swim.BaseRate, "a Wednesday")
	week := of(predict("'2026-05-19 00:00+08', '2026-05-26 00:00+08'"), "activity")
	require.Greater(t, week.Probability, swim.Probability)
	require.Equal(t, "2026-05-25 18:00", week.Starts, "the likeliest day")
	evening := of(predict("'2026-05-25 17:00+08', '2026-05-25 19:00+08'"), "activity").Probability
	morning := of(predict("'2026-05-25 06:00+08', '2026-05-25 08:00+08'"), "activity").Probability
	require.Greater(t, evening, 5*morning)
	require.Equal(t, "泳池几点开门？", of(monday, "question").Content)
	require.Equal(t, row{"intention", "", "Call mom", "2026-05-25 10:00", 0.5, 0.5, 0, 1}, of(monday, "intention"))
	require.Empty(t, of(predict("'2026-03-10'"), "activity"), "what came later is not known")

	for args, why := range map[string]string{
		"'infinity'":                 "from_at must be",
		"'2026-05-25', '2026-05-25'": "until must be",
		"'2026-05-25', '2026-08-25'": "until must be",
		"now(), null, 0":             "max_results must be",
	} {
		require.ErrorContains(t, fails(t, tx, "select * from oxbow.predict($1, "+args+")", ann(t)), why, args)
	}
	require.ErrorContains(t, fails(t, tx, "select * from oxbow.predict($1 || 'x')", ann(t)), "may not see")
}

// What was forgotten, is secret, or is of a user who opted out, predicts nothing.
func TestPredictProtects(t *testing.T) {
	t.Parallel()
	for name, hide := range map[string]string{
		"forgotten": "update oxbow.memories set forgotten_at = now() where user_id = $1",
		"secret":    "update oxbow.memories set sensitivity = 2 where user_id = $1",
		"opted out": "insert into oxbow.users (user_id, opted_out) values ($1, true)",
		"over":      "update oxbow.topic_fragments set denies = true where user_id = $1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tx := pgtest.Tx(t)
			happened(t, tx, ann(t), "do:swimming", mondays(12)...)
			predicted := "select count(*) from oxbow.predict($1, '2026-05-25')"
			require.EqualValues(t, 1, one[int64](t, tx, predicted, ann(t)))
			exec(t, tx, hide, ann(t))
			require.EqualValues(t, 0, one[int64](t, tx, predicted, ann(t)))
		})
	}
}
