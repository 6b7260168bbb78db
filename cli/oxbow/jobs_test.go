package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJobs(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	d.exec(`insert into oxbow.job_schedules (kind, schedule, next_run_at, last_run_at, last_seconds, last_outcome)
		values ('settle', '30 3 * * *', '2026-03-02 03:30Z', '2026-03-01 03:30Z', 1.5, 'completed')`)
	out := d.ok("jobs")
	require.Regexp(t,
		`(?m)^settle +default +30 3 \* \* \* +2026-03-02 03:30:00Z +2026-03-01 03:30:00Z +1\.5s +completed`,
		out)
	require.Regexp(t, `(?m)^sweep +default +every minute`, out)
	require.Regexp(t, `(?m)^embed +embed +-`, out)

	require.Regexp(t, `^Enqueued job \d+ of kind sweep\.`, d.ok("jobs", "run", "sweep"))
	require.Regexp(t, `^Job \d+ of kind sweep is already due or running\.`, d.ok("jobs", "run", "sweep"))
}
