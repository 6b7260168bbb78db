package oxbow

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	pauseAfter = 3                // calls in a row that took too long
	pauseTime  = 30 * time.Second // between the calls that then try again
)

// errPaused is the reason why a server was not called.
var errPaused = errors.New("the last calls took too long, so recall does not wait for it")

// pause keeps recalls from waiting for a server that hangs. After pauseAfter calls in a row that took too long, one call
// in pauseTime tries the server again, until one is in time. Its zero value has no calls.
type pause struct {
	mu    sync.Mutex
	late  int       // calls in a row that took too long
	until time.Time // when the next call may try
}

// over reports whether the server may be called.
func (p *pause) over(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.late < pauseAfter {
		return true
	}
	if now.Before(p.until) {
		return false
	}
	p.until = now.Add(pauseTime)
	return true
}

// note records a call. It reports whether a pause begins or ends with it.
func (p *pause) note(now time.Time, late bool) (begins, ends bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !late {
		ends = p.late >= pauseAfter
		p.late = 0
		return false, ends
	}
	p.late++
	p.until = now.Add(pauseTime)
	return p.late == pauseAfter, false
}

// tells reports whether a call tells how fast a server is. It does not if the caller left, or if the caller's own time, and
// not the limit, ended it before half of the limit: a caller in a hurry must not pause the server for all.
func tells(caller error, took, limit time.Duration) bool {
	return caller == nil || errors.Is(caller, context.DeadlineExceeded) && took >= limit/2
}

// note records how a call of a server ended, and logs when a pause begins or ends.
func (c *Client) note(ctx context.Context, p *pause, server, model string, err error) {
	begins, ends := p.note(time.Now(), errors.Is(err, context.DeadlineExceeded))
	if begins {
		c.log.WarnContext(ctx, "the "+server+" took too long several times, so recall stops waiting for it", "model", model,
			"times", pauseAfter, "tried_every", pauseTime.String())
	}
	if ends {
		c.log.InfoContext(ctx, "the "+server+" no longer takes too long", "model", model)
	}
}
