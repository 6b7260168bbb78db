package oxbow

import (
	"context"
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

// A caller who leaves or is in a hurry says nothing about a server.
func TestPauseOfCallers(t *testing.T) {
	t.Parallel()
	const limit = time.Minute
	for _, c := range []struct {
		caller error
		took   time.Duration
		want   bool
	}{
		{nil, time.Millisecond, true},
		{context.Canceled, limit, false},
		{context.DeadlineExceeded, time.Second, false},
		{context.DeadlineExceeded, limit / 2, true},
	} {
		require.Equal(t, c.want, tells(c.caller, c.took, limit), "%v after %s", c.caller, c.took)
	}
	hurry, err := New(nowhere{}, WithEmbedder(hangs{LocalEmbedder()}))
	require.NoError(t, err)
	for range pauseAfter {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_, err := hurry.embed(ctx, "Who plays the cello?")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		cancel()
	}
	require.Zero(t, hurry.pause.late)
}

// nowhere is a database that nothing asks.
type nowhere struct{ DB }

// hangs is an embedder that does not answer.
type hangs struct{ Embedder }

func (hangs) Embed(ctx context.Context, _ []string) ([][]float32, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
