package server

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var mallory, ada = bucket{user: "mallory"}, bucket{user: "ada"}

// answering returns budgets of 10 connections to a database that answers that slowly.
func answering(took *time.Duration) *budgets {
	return newBudgets(10, func() error { time.Sleep(*took); return nil })
}

// request makes a request that takes some time once it may, and reports whether it was admitted.
func (b *budgets) request(t *testing.T, whose bucket, takes time.Duration) bool {
	t.Helper()
	s := &spending{budgets: b, whose: whose, patience: shareWait}
	defer s.settle()
	if err := s.begin(t.Context()); err != nil {
		var wait *retryAfter
		assert.ErrorAs(t, err, &wait)
		assert.Positive(t, wait.wait)
		assert.LessOrEqual(t, wait.wait, maxOwed)
		return false
	}
	time.Sleep(takes)
	s.used(takes)
	return true
}

// A caller who uses much time is limited while others are there who use less, and only as far as it disturbs them.
func TestBudgets(t *testing.T) {
	t.Parallel()
	const quick, slow = time.Millisecond / 2, 10 * time.Millisecond
	for name, c := range map[string]struct {
		other, database time.Duration // that another user's requests take, 0 without one, and the smallest question
		clients         int           // of mallory
		each            time.Duration // that one of their requests takes
		most, least     float64       // seconds used in a second
	}{
		"alone":                     {0, slow, 8, 50 * time.Millisecond, 8, 7.9},
		"light requests":            {5 * time.Millisecond, quick, 8, 50 * time.Millisecond, 8, 7.5},
		"heavy requests":            {5 * time.Millisecond, quick, 8, 500 * time.Millisecond, 1.3, 0.9},
		"a busy database":           {5 * time.Millisecond, slow, 8, 50 * time.Millisecond, 0.32, 0.22},
		"a busy database, one":      {5 * time.Millisecond, slow, 1, 50 * time.Millisecond, 0.32, 0.22},
		"a slow one, beside nobody": {0, slow, 1, time.Second, 1, 0.95},
		"a busy one, with an equal": {2 * time.Second, slow, 1, time.Second, 1, 0.9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				took := quick
				b := answering(&took)
				b.measure(time.Now())
				took = c.database
				const length = 100 * time.Second
				var all sync.WaitGroup
				until := func(end time.Duration, f func()) {
					all.Go(func() {
						for begun := time.Now(); time.Since(begun) < end; {
							f()
						}
					})
				}
				if c.other > 0 {
					until(length, func() {
						assert.True(t, b.request(t, ada, c.other), "ada waits")
						time.Sleep(100 * time.Millisecond)
					})
				}
				var mu sync.Mutex
				var ran float64
				for range c.clients {
					until(length, func() {
						if b.request(t, mallory, c.each) {
							mu.Lock()
							ran++
							mu.Unlock()
						}
					})
				}
				all.Wait()
				used := ran * c.each.Seconds() / length.Seconds()
				require.LessOrEqual(t, used, c.most)
				require.GreaterOrEqual(t, used, c.least)
			})
		})
	}
}

// Requests of a user that wait get their turn in order.
func TestTurnsOfOneUser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		took := time.Duration(0)
		b := answering(&took)
		require.True(t, b.request(t, mallory, 500*time.Millisecond)) // heavy
		b.owe(b.of(mallory, time.Now()), time.Hour)
		require.True(t, b.request(t, ada, 0))
		var all sync.WaitGroup
		for n := range 4 {
			time.Sleep(timeCheck / 2)
			all.Go(func() { assert.True(t, b.request(t, mallory, 450*time.Millisecond), n) })
		}
		all.Wait()
		require.Empty(t, b.each[mallory].queue)
		require.Zero(t, b.each[mallory].n)
		require.Zero(t, b.each[mallory].running)
	})
}

// After an outage nobody pays for its length.
func TestBudgetsAfterAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		took := time.Millisecond / 2
		b := answering(&took)
		b.measure(time.Now())
		took = time.Second
		var others sync.WaitGroup
		others.Go(func() {
			for range 300 {
				assert.True(t, b.request(t, ada, 0))
				time.Sleep(timeBurst / 3)
			}
		})
		b.owe(b.of(mallory, time.Now()), time.Hour)
		b.request(t, mallory, 0) // asks
		time.Sleep(3 * time.Second / 2)
		b.request(t, mallory, 0)
		took = time.Millisecond / 2
		require.True(t, b.request(t, mallory, 0))
		others.Wait()
		time.Sleep(time.Second) // for what was asked last
	})
}
