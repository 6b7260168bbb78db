package server

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// paying runs requests of a caller one after the other for a minute, each of which uses that much time, and returns how
// many ran.
func (b *budgets) paying(t *testing.T, whose bucket, each time.Duration) (ran int) {
	for begun := time.Now(); time.Since(begun) < time.Minute; {
		if b.request(t, whose, each) {
			ran++
		}
	}
	return ran
}

func (b *budgets) request(t *testing.T, whose bucket, takes time.Duration) bool {
	t.Helper()
	end, err := b.begin(t.Context(), whose, shareWait)
	if err != nil {
		var wait *retryAfter
		require.ErrorAs(t, err, &wait)
		require.LessOrEqual(t, wait.wait, maxOwed)
		return false
	}
	time.Sleep(takes)
	b.spend(whose, takes)
	end()
	return true
}

// A caller who uses much time is limited while others are there and the database is busy, and only then.
func TestBudgets(t *testing.T) {
	t.Parallel()
	mallory, ada := bucket{user: "mallory"}, bucket{user: "ada"}
	for name, c := range map[string]struct {
		other       time.Duration // that another user's requests take
		busy        bool
		most, least int // seconds used in a minute
	}{
		"alone":                    {0, true, 60, 60},
		"beside another":           {5 * time.Millisecond, false, 60, 60},
		"beside another, busily":   {5 * time.Millisecond, true, 22, 15},
		"beside its equal":         {time.Second, false, 60, 60},
		"beside its equal, busily": {time.Second, true, 60, 55},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBudgets(10)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				b.began(time.Millisecond)
				if c.other > 0 {
					go func() {
						defer close(done)
						for n := 0; ctx.Err() == nil; n++ {
							took := time.Millisecond
							if c.busy {
								took = 5 * time.Millisecond
							}
							b.began(took)
							assert.True(t, b.request(t, ada, c.other), "ada waits")
							time.Sleep(100 * time.Millisecond)
						}
					}()
				}
				time.Sleep(10 * time.Second)
				ran := b.paying(t, mallory, 100*time.Millisecond)
				require.LessOrEqual(t, ran, 10*c.most)
				require.GreaterOrEqual(t, ran, 10*c.least)
				if cancel(); c.other > 0 {
					<-done
				}
			})
		})
	}
}

// After an outage nobody pays for its length.
func TestBudgetsAfterAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudgets(10)
		b.began(time.Millisecond)
		users := []bucket{{user: "ada"}, {user: "bob"}}
		for _, user := range users {
			for range 10 {
				b.began(30 * time.Second)
				b.spend(user, 30*time.Second)
			}
		}
		for _, user := range users {
			require.True(t, b.request(t, user, 0), user)
		}
	})
}
