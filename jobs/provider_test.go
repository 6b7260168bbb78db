package jobs

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/store"
)

// clock is a settable clock for a Provider.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func TestProviderPauses(t *testing.T) {
	t.Parallel()
	c := &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	p := &Provider{now: c.now}
	asked, changes := 0, 0
	p.Changed = func(context.Context, ProviderStatus) { changes++ }
	call := func(result error) error {
		return p.call(t.Context(), time.Second, func(context.Context) error { asked++; return result })
	}
	down := &UnavailableError{Err: errors.New("down")}

	require.NoError(t, call(nil))
	require.Equal(t, ProviderStatus{WorkedAt: c.at}, p.Status())
	since := c.at
	for i, pause := range []time.Duration{5, 10, 20, 40, 60, 60} {
		pause *= time.Second
		var failed *UnavailableError
		require.ErrorAs(t, call(down), &failed)
		require.Equal(t, pause, failed.RetryAfter)
		require.Equal(t, ProviderStatus{Failures: i + 1, Since: since, Err: down.Err, RetryAt: c.at.Add(pause)},
			withoutWorked(p.Status()))
		before := asked
		c.at = c.at.Add(pause - time.Second)
		require.ErrorAs(t, call(nil), new(pausedError))
		require.Equal(t, before, asked, "it is left alone")
		c.at = c.at.Add(time.Second)
	}
	require.NoError(t, call(nil))
	require.False(t, p.Status().Down())
	require.Equal(t, 7, changes, "6 pauses and their end")

	var failed *UnavailableError
	require.ErrorAs(t, call(&UnavailableError{RetryAfter: time.Hour, Err: down.Err}), &failed)
	require.Equal(t, time.Hour, failed.RetryAfter, "as long as it demands")
}

func withoutWorked(s ProviderStatus) ProviderStatus {
	s.WorkedAt = time.Time{}
	return s
}

// Only one caller checks whether a failed provider is back.
func TestProviderIsAskedByOne(t *testing.T) {
	t.Parallel()
	c := &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	p := &Provider{now: c.now}
	down := &UnavailableError{Err: errors.New("down")}
	require.Error(t, p.call(t.Context(), time.Second, func(context.Context) error { return down }))
	c.at = c.at.Add(time.Minute)
	err := p.call(t.Context(), time.Second, func(context.Context) error {
		err := p.call(t.Context(), time.Second, func(context.Context) error { t.Error("asked twice"); return nil })
		require.ErrorAs(t, err, new(pausedError))
		return nil
	})
	require.NoError(t, err)
	require.False(t, p.Status().Down())

	require.Error(t, p.call(t.Context(), time.Second, func(context.Context) error { return down }))
	c.at = c.at.Add(time.Minute)
	require.Panics(t, func() { _ = p.call(t.Context(), time.Second, func(context.Context) error { panic("a bug") }) })
	require.True(t, p.Status().Down())
	require.NoError(t, p.call(t.Context(), time.Second, func(context.Context) error { return nil }),
		"the one that panicked has ended")
}

func TestProviderErrors(t *testing.T) {
	t.Parallel()
	p := NewProvider()
	err := p.call(t.Context(), time.Millisecond, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	require.ErrorAs(t, err, new(*UnavailableError))
	require.ErrorContains(t, err, "no answer within 1ms")
	require.True(t, p.Status().Down())

	p = NewProvider()
	ctx, cancel := context.WithCancel(t.Context())
	err = p.call(ctx, time.Minute, func(context.Context) error { cancel(); return ctx.Err() })
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, ProviderStatus{}, p.Status(), "nothing was learnt")

	nonsense := errors.New("nonsense")
	require.ErrorIs(t, p.call(t.Context(), time.Minute, func(context.Context) error { return nonsense }), nonsense)
	require.False(t, p.Status().Down(), "it answers")
}

// nowhere is a database to which nothing can be written.
type nowhere struct{ store.DB }

func (nowhere) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return pgconn.CommandTag{}, errors.New("there is no database")
}

// A model that answers, but too slowly for all requests of a job, is asked for less. It is not down.
func TestTooManyRequests(t *testing.T) {
	t.Parallel()
	c := Config{DB: nowhere{}, ReasonerProvider: NewProvider(), ReasonerCallTime: 50 * time.Millisecond,
		Logger: slog.New(slog.DiscardHandler)}
	ask := func(requests int) error {
		return c.call(t.Context(), "ann", uuid.Nil, 1, func(ctx context.Context) error {
			for range requests {
				reasoner.Record(ctx, reasoner.Usage{})
			}
			<-ctx.Done()
			return ctx.Err()
		})
	}
	require.EqualError(t, ask(2), "the reasoner's answer is unusable: it took more than 50ms in all")
	require.False(t, c.ReasonerProvider.Status().Down())
	require.ErrorAs(t, ask(1), new(*UnavailableError), "the only request has no answer")
	require.True(t, c.ReasonerProvider.Status().Down())
}

func TestEmbedArgs(t *testing.T) {
	t.Parallel()
	ids := []uuid.UUID{uuid.New(), uuid.New()}
	got, err := EmbedMemories("ann", ids).memories()
	require.NoError(t, err)
	require.Equal(t, ids, got)
	for _, args := range []EmbedArgs{{}, {UserID: "ann"}, {IDs: ids[0].String()},
		{UserID: "ann", IDs: ids[0].String() + ","}} {
		_, err := args.memories()
		require.Error(t, err, args)
	}
}
