package sqlcode_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// The worker can parse every cron expression that the database accepts, and invalid ones are rejected when
// they are written.
func TestSchedules(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for _, text := range []string{"5 minutes", "1 second", "01:30:00", "1 day", "2 weeks"} {
		require.True(t, one[bool](t, tx, "select oxbow.is_schedule($1) and oxbow.schedule_seconds($1) >= 1", text),
			text)
	}
	for _, text := range []string{"* * * * *", "*/5 * * * *", "30 3 * * 1-5", "0,15,30-45/5 0-23 1 jan,mar sun",
		"0 0 1-31/2 * MON-FRI", " 0 4 * * * ", "@daily"} {
		require.True(t, one[bool](t, tx, "select oxbow.is_schedule($1)", text), text)
		require.Zero(t, one[int](t, tx, "select count(oxbow.schedule_seconds($1))", text), text)
		_, err := cron.ParseStandard(text)
		require.NoError(t, err, text)
	}
	for _, text := range []string{"", "soon", "0 seconds", "-5 minutes", "0.5 seconds", "* * * *", "* * * * * *",
		"60 * * * *", "* 24 * * *", "* * 0 * *",
		"* * * 13 *", "* * * * 5-7", "*/0 * * * *", "5-1 * * * *", "* * * foo *", "a-b * * * *", "* * * * mon-sun",
		"@never", "@Daily", " @daily", "* * * *\n"} {
		require.False(t, one[bool](t, tx, "select oxbow.is_schedule($1)", text), text)
	}
	require.True(t, one[bool](t, tx, "select oxbow.is_schedule(null)"))
	require.True(t, one[bool](t, tx, "select oxbow.is_schedule('0 0 * * 7,3')")) // the worker reads 0,3

	_, err := tx.Exec(t.Context(), "insert into oxbow.job_schedules (kind, schedule) values ('sweep', '61 * * * *')")
	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "23514", refused.Code)
	require.Contains(t, refused.Message,
		"schedule must be an interval of at least 1 second, such as 5 minutes, or a cron expression")
	require.Contains(t, refused.Detail, "61 * * * *")
}
