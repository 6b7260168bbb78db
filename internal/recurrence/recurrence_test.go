package recurrence

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A rule recurs by the clock of its zone, across the change of summer time.
func TestNext(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	start := time.Date(2026, time.March, 27, 8, 0, 0, 0, berlin)
	next, err := Next("FREQ=DAILY", start, time.Date(2026, time.March, 28, 8, 0, 0, 0, berlin))
	require.NoError(t, err)
	require.Equal(t, "2026-03-29T08:00:00+02:00", next.Format(time.RFC3339))
	_, err = Next("FREQ=SOMETIMES", start, start)
	require.Error(t, err)
	next, err = Next("FREQ=DAILY;COUNT=1", start, start)
	require.NoError(t, err)
	require.True(t, next.IsZero())
}

// A rule counts from its start and keeps its hour, also after a day that does not have it and after many years.
func TestNextFromStart(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	at := func(clock string) time.Time {
		t.Helper()
		moment, err := time.ParseInLocation("2006-01-02 15:04", clock, berlin)
		require.NoError(t, err)
		return moment
	}
	for _, c := range []struct{ rule, start, after, want string }{
		{"FREQ=DAILY;COUNT=3", "2026-05-01 09:00", "2026-05-02 09:00", "2026-05-03 09:00"},
		{"FREQ=DAILY;COUNT=3", "2026-05-01 09:00", "2026-05-03 09:00", ""},
		{"FREQ=DAILY", "2026-03-28 02:30", "2026-03-28 02:30", "2026-03-29 03:30"}, // 02:30 does not exist
		{"FREQ=DAILY", "2026-03-28 02:30", "2026-03-29 03:30", "2026-03-30 02:30"},
		{"FREQ=DAILY", "2020-03-28 02:30", "2026-03-30 02:30", "2026-03-31 02:30"},
		{"FREQ=WEEKLY;BYDAY=SU", "2026-03-22 02:30", "2026-03-29 03:30", "2026-04-05 02:30"},
		{"FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH", "2020-01-06 08:00", "2026-05-14 08:00", "2026-05-18 08:00"},
		{"FREQ=HOURLY;INTERVAL=5", "1900-01-01 00:00", "2026-05-14 08:00", "2026-05-14 09:00"},
		{"FREQ=MONTHLY", "2026-01-31 09:00", "2026-03-31 09:00", "2026-05-31 09:00"},
		{"FREQ=MONTHLY;BYMONTHDAY=31", "2026-01-31 09:00", "2026-01-31 09:00", "2026-03-31 09:00"},
		{"FREQ=YEARLY", "2024-02-29 09:00", "2024-02-29 09:00", "2028-02-29 09:00"},
	} {
		next, err := Next(c.rule, at(c.start), at(c.after))
		require.NoError(t, err)
		if c.want == "" {
			require.Zero(t, next, c.rule)
			continue
		}
		require.Equal(t, c.want, next.Format("2006-01-02 15:04"), "%s from %s after %s", c.rule, c.start, c.after)
	}
	for _, interval := range []int{1, 3} { // alike, though it begins closer
		for _, freq := range []string{"HOURLY", "DAILY", "WEEKLY"} {
			start, after := at("2025-01-30 07:30"), at("2026-11-01 12:00")
			rule := fmt.Sprintf("FREQ=%s;INTERVAL=%d", freq, interval)
			near, err := Next(rule, start, after)
			require.NoError(t, err)
			all, err := Next(rule+";COUNT=99999", start, after)
			require.NoError(t, err)
			require.Equal(t, all, near, rule)
		}
	}
}
