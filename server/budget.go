package server

import (
	"context"
	"sync"
	"time"
)

// The limits of the time that the requests of one key for one user may take while others are there who take less.
const (
	timeShare  = 40 // a fortieth of what all connections could give
	timeBurst  = 300 * time.Millisecond
	firstUse   = 50 * time.Millisecond // expected of a new caller
	maxOwed    = 15 * time.Second      // the longest time until the next request
	perRow     = time.Millisecond      // that jobs take later for a new memory, message or chunk
	othersHere = time.Second           // since the last request of anyone else
	busyFactor = 4                     // times as slow as it can be
	timeCheck  = 20 * time.Millisecond
)

// budgets share time between callers. Whoever used more than a share of it may have one request at a time and, if the
// database is busy, must wait, as long as somebody is there who used less.
type budgets struct {
	rate float64 // seconds that a caller may use in a second

	mu     sync.Mutex
	each   map[bucket]*budget
	swept  time.Time
	modest [2]struct { // the latest two callers who owe little, the latest first
		whose bucket
		at    time.Time
	}
	best, lately time.Duration // until a transaction begins
	measured     time.Time
}

// budget is what a caller used, less what time has paid off.
type budget struct {
	owed    time.Duration
	at      time.Time
	usual   time.Duration // of one use; the longest counts at once, and is forgotten slowly
	running time.Duration // the usual time of each running request
	n       int           // running requests
}

func newBudgets(connections int) *budgets {
	return &budgets{rate: float64(connections) / timeShare, each: map[bucket]*budget{}}
}

// began counts how long the beginning of a transaction took, which shows how busy the database is.
func (b *budgets) began(took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.best += time.Duration(float64(b.best) * now.Sub(b.measured).Hours()); b.best == 0 || took < b.best {
		b.best = took // which an hour doubles, in case the database has become slower
	}
	b.measured = now
	b.lately += (min(took, 20*b.best) - b.lately) / 16
}

// busy reports whether the database is, as far as somebody has just seen it.
func (b *budgets) busy(now time.Time) bool {
	return b.lately > busyFactor*b.best && now.Sub(b.measured) < othersHere
}

// of returns the budget of a caller as it is now. It is called with the budgets locked.
func (b *budgets) of(whose bucket, now time.Time) *budget {
	if now.Sub(b.swept) > time.Minute {
		b.swept = now
		for other, its := range b.each {
			if now.Sub(its.at) > time.Minute && its.n == 0 && b.left(its, now) == 0 {
				delete(b.each, other)
			}
		}
	}
	its := b.each[whose]
	if its == nil {
		its = &budget{usual: firstUse}
		b.each[whose] = its
	}
	its.owed, its.at = b.left(its, now), now
	return its
}

func (b *budgets) left(its *budget, now time.Time) time.Duration {
	return max(0, its.owed-time.Duration(b.rate*float64(now.Sub(its.at))))
}

// begin waits until a request of a caller may begin, but not longer than patience; after that it returns a *retryAfter.
// Until end is called, the request counts as one of the usual length.
func (b *budgets) begin(ctx context.Context, whose bucket, patience time.Duration) (end func(), err error) {
	for begun := time.Now(); ; {
		expected, wait := b.admit(whose)
		left := patience - time.Since(begun)
		switch {
		case wait == 0:
			return func() { b.finish(whose, expected) }, nil
		case left <= 0:
			return nil, &retryAfter{wait}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(min(wait, left, timeCheck)): // meanwhile the others may have left
		}
	}
}

// disturbs reports whether somebody else who owes little is there.
func (b *budgets) disturbs(whose bucket, now time.Time) bool {
	other := b.modest[0]
	if other.whose == whose {
		other = b.modest[1]
	}
	return now.Sub(other.at) < othersHere
}

// admit counts a request of a caller as one of the usual length, or returns how long it must wait.
func (b *budgets) admit(whose bucket) (expected, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	its := b.of(whose, now)
	over := its.owed + its.running - timeBurst
	switch {
	case over <= 0:
		if b.modest[0].whose != whose {
			b.modest[1], b.modest[0].whose = b.modest[0], whose
		}
		b.modest[0].at = now
	case b.disturbs(whose, now) && (b.busy(now) || its.n > 0):
		return 0, min(maxOwed, time.Duration(float64(over)/b.rate)+time.Millisecond)
	}
	its.running += its.usual
	its.n++
	return its.usual, 0
}

func (b *budgets) finish(whose bucket, expected time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	its := b.of(whose, time.Now())
	its.running -= expected
	its.n--
}

// spend counts time that a request has used, and less of it if the database was slow, which is not this caller's doing
// alone.
func (b *budgets) spend(whose bucket, used time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lately > busyFactor*b.best {
		used = time.Duration(float64(used) * float64(busyFactor*b.best) / float64(b.lately))
	}
	its := b.of(whose, time.Now())
	its.usual = max(used, its.usual-(its.usual-used)/8)
	b.owe(its, used)
}

func (b *budgets) owe(its *budget, used time.Duration) {
	its.owed = min(its.owed+used, timeBurst+time.Duration(b.rate*float64(maxOwed)))
}

// spendLater counts rows that a request has stored and that cause jobs.
func (b *budgets) spendLater(whose bucket, rows int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.owe(b.of(whose, time.Now()), time.Duration(rows)*perRow)
}

// spending waits until a request of the caller may begin, which uses time until settle is called.
func (s *Server) spending(ctx context.Context) (settle func(), err error) {
	c := callerOf(ctx)
	if c.budgets == nil {
		return func() {}, nil
	}
	return c.budgets.begin(ctx, c.bucket(), s.cfg.wait)
}

// used counts time that a request of the caller has taken.
func (c caller) used(took time.Duration) {
	if c.budgets != nil {
		c.budgets.spend(c.bucket(), took)
	}
}

// later counts rows that a request of the caller has stored and that cause jobs.
func (c caller) later(rows int) {
	if c.budgets != nil {
		c.budgets.spendLater(c.bucket(), rows)
	}
}

// timed returns done, which also counts the time until it is called.
func (c caller) timed(begun time.Time, done func()) func() {
	return sync.OnceFunc(func() { c.used(time.Since(begun)); done() })
}
