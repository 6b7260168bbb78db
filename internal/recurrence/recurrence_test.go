package recurrence

import (
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
