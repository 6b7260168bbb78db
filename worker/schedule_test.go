package worker

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

func TestScheduleNext(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 30, 0, time.FixedZone("", 3600))
	require.Equal(t, at.Add(time.Minute), Schedule{Every: time.Minute}.Next(at))
	for text, want := range map[string]time.Time{
		"*/5 * * * *": time.Date(2026, 3, 1, 11, 5, 0, 0, time.UTC),
		"0 0 * * 7,3": time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC),
		"0 0 * * 7":   time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC),
		"0 12 * * *":  time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), // UTC, whatever the worker's zone
	} {
		schedule, err := parseSchedule(nil, store.Schedule{Schedule: text})
		require.NoError(t, err)
		require.Equal(t, want, schedule.Next(at), text)
	}
	february30, err := cron.ParseStandard("0 0 30 2 *")
	require.NoError(t, err)
	require.Greater(t, Schedule{Cron: february30}.Next(at).Sub(at), 24*365*time.Hour, "not at once, for ever")
	years := 300 * 365.25 * 86400
	long, err := parseSchedule(jobs.KindOf("sweep"), store.Schedule{Schedule: "300 years", Every: &years})
	require.NoError(t, err)
	require.Equal(t, never, long.Next(at).Sub(at))
}

// A running worker follows a changed schedule, and returns to the default when the change is removed.
func TestFollowSchedule(t *testing.T) {
	b := setup(t)
	b.cfg.scheduleAge = 20 * time.Millisecond
	b.exec(`insert into oxbow.job_schedules (kind, schedule) values ('consistency_check', '0 0 29 2 *'),
		('sweep', '1 day')`)
	w := b.worker()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	b.eventually(`select count(*) = 1 from oxbow.job_schedules where kind = 'sweep' and last_outcome = 'completed'
		and last_seconds >= 0`)
	b.eventually(`select count(*) = 1 from oxbow.job_schedules where kind = 'sweep'
		and next_run_at > now() + interval '23 hours'`)
	b.eventually(`select count(*) = 1 from oxbow.job_schedules where kind = 'consistency_check' and extract(month
		from next_run_at at time zone 'UTC') = 2`)
	require.Zero(t, b.count(`oxbow.river_job where kind = 'consistency_check'`),
		"a cron expression is not run at the start")

	b.exec(`update oxbow.job_schedules set schedule = '1 second' where kind = 'sweep'`)
	b.eventually(`select count(*) >= 3 from oxbow.river_job where kind = 'sweep' and state = 'completed'`)
	b.exec(`update oxbow.job_schedules set schedule = null where kind = 'consistency_check'`)
	b.eventually(`select count(*) = 1 from oxbow.job_schedules where kind = 'consistency_check'
		and next_run_at between now() + interval '23 hours' and now() + interval '24 hours'`)

	_, running, err := RunNow(t.Context(), b.pool, "consistency_check")
	require.NoError(t, err)
	require.False(t, running)
	b.eventually(`select count(*) = 1 from oxbow.job_schedules where kind = 'consistency_check'
		and last_outcome = 'completed'`)
	stop()
	require.NoError(t, <-done)

	// A failed run counts as a run, but not as a success. The alarm about periodic jobs is on these metrics.
	b.exec(`update oxbow.job_schedules set succeeded_at = now() - interval '1 hour'`)
	require.NoError(t, store.NoteRun(t.Context(), b.pool, "sweep", time.Now(), time.Second, "failed"))
	values, _ := scrape(t, w)
	require.Equal(t, 1.0, values[`oxbow_job_period_seconds{kind="sweep"}`])
	require.Equal(t, 86400.0, values[`oxbow_job_period_seconds{kind="consistency_check"}`])
	require.InDelta(t, 3600, values[`oxbow_job_success_age_seconds{kind="sweep"}`], 600)
	require.NoError(t, store.NoteRun(t.Context(), b.pool, "sweep", time.Now(), time.Second, "completed"))
	values, _ = scrape(t, w)
	require.InDelta(t, 300, values[`oxbow_job_success_age_seconds{kind="sweep"}`], 300)
}

// A worker stores the next runs while it is the leader. It reports the schedule of a kind that has none once.
func TestRefreshSchedules(t *testing.T) {
	b := setup(t)
	var log logRecords
	b.cfg.Logger = log.logger()
	b.exec(`insert into oxbow.job_schedules (kind, schedule) values ('sweeep', '1 day'), ('embed', '1 day')`)
	w := b.worker()
	p, all, err := w.newPeriodic(t.Context())
	require.NoError(t, err)
	client, err := w.client(all, time.Second)
	require.NoError(t, err)
	p.followed["sweep"].Next(time.Now())
	require.NoError(t, p.refresh(t.Context(), client))
	require.Zero(t, b.count(`oxbow.job_schedules where next_run_at is not null`))
	b.exec(`insert into oxbow.river_leader (leader_id, elected_at, expires_at) values ($1, now(), now() + interval '1 hour')`,
		client.ID())
	require.NoError(t, p.refresh(t.Context(), client))
	require.Equal(t, 1, b.count(`oxbow.job_schedules where next_run_at is not null`))
	const warning = "WARN ignoring the schedule of a kind of job that is not periodic"
	require.Equal(t, []string{warning, warning}, log.lines)
}

func TestRunNow(t *testing.T) {
	b := setup(t)
	first, running, err := RunNow(t.Context(), b.pool, "settle")
	require.NoError(t, err)
	require.False(t, running)
	second, running, err := RunNow(t.Context(), b.pool, "settle")
	require.NoError(t, err)
	require.True(t, running)
	require.Equal(t, first, second)
	for _, name := range []string{"embed", "unknown"} {
		_, _, err = RunNow(t.Context(), b.pool, name)
		var unknown *UnknownKindError
		require.ErrorAs(t, err, &unknown)
		require.Contains(t, unknown.Periodic, "settle")
		require.NotContains(t, unknown.Periodic, "embed")
	}
}

// A schedule that PostgreSQL accepts but the cron library does not is reported, and the default is used.
func TestUnreadableSchedule(t *testing.T) {
	b := setup(t)
	var log logRecords
	b.cfg.Logger = log.logger()
	b.exec(`alter table oxbow.job_schedules drop constraint schedule_known`)
	b.exec(`insert into oxbow.job_schedules (kind, schedule) values ('sweep', 'whenever')`)
	w := b.worker()
	_, all, err := w.newPeriodic(t.Context())
	require.NoError(t, err)
	require.Len(t, all, len(jobs.Names((*jobs.Kind).Periodic)))
	require.Contains(t, log.lines, "WARN ignoring an invalid schedule")
	kinds, err := Kinds(t.Context(), store.DB(b.pool))
	require.NoError(t, err)
	require.Len(t, kinds, len(jobs.Kinds()))
	require.Equal(t, "every minute", kinds[slices.IndexFunc(kinds, func(k KindStatus) bool { return k.Kind == "sweep" })].Schedule)
}
