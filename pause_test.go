package oxbow

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPause(t *testing.T) {
	t.Parallel()
	var p pause
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	note := func(late bool) [2]bool {
		begins, ends := p.note(now, late)
		return [2]bool{begins, ends}
	}
	neither, begins, ends := [2]bool{}, [2]bool{true, false}, [2]bool{false, true}
	for range 2 { // a call in time between them
		for range pauseAfter - 1 {
			require.Equal(t, neither, note(true))
		}
		require.Equal(t, neither, note(false))
		require.True(t, p.over(now))
	}
	for i := range pauseAfter {
		require.True(t, p.over(now))
		if i == pauseAfter-1 {
			require.Equal(t, begins, note(true))
			break
		}
		require.Equal(t, neither, note(true))
	}
	for range 3 {
		require.False(t, p.over(now))
		now = now.Add(pauseTime)
		require.True(t, p.over(now), "one call tries")
		require.False(t, p.over(now), "the others do not")
		require.Equal(t, neither, note(true), "the pause goes on")
	}
	now = now.Add(pauseTime)
	require.True(t, p.over(now))
	now = now.Add(pauseTime)
	require.True(t, p.over(now), "the other call did not end")
	require.Equal(t, ends, note(false))
	require.True(t, p.over(now))
	require.Equal(t, neither, note(true))
}

// A caller who leaves says nothing about a server; one whose time is over does.
func TestPauseOfCallers(t *testing.T) {
	t.Parallel()
	var p pause
	c := &Client{log: slog.New(slog.DiscardHandler)}
	gone, leave := context.WithCancel(t.Context())
	leave()
	over, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	c.note(t.Context(), &p, "reranker", "m", gone.Err(), context.Canceled)
	c.note(t.Context(), &p, "reranker", "m", gone.Err(), context.DeadlineExceeded)
	require.Zero(t, p.late)
	c.note(t.Context(), &p, "reranker", "m", over.Err(), over.Err())
	require.Equal(t, 1, p.late)
}
