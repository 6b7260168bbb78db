package server

import (
	"context"
	"slices"
	"sync"
	"time"
)

// The limits of the time that the requests of one key for one user may take while others are there who take less.
const (
	timeShare  = 40 // a fortieth of what all connections could give
	timeBurst  = 300 * time.Millisecond
	firstUse   = 50 * time.Millisecond  // expected of a new caller
	heavyUse   = 100 * time.Millisecond // of requests that run one at a time
	maxOwed    = 15 * time.Second       // the longest time until the next request
	perRow     = time.Millisecond       // that jobs take later for a new memory, message or chunk
	othersHere = time.Second            // since their last request
	timeCheck  = 20 * time.Millisecond
)

// The database is busy if it answers the smallest question this many times as slowly as it can, and not within slowAnswer.
const (
	busyFactor  = 4
	slowAnswer  = 2 * time.Millisecond
	probeEvery  = 100 * time.Millisecond // while somebody owes time
	probeAtMost = 10 * slowAnswer        // counts
)

// budgets share time between callers. As long as somebody is there who took less than a share, whoever took more may
// have one heavy request at a time and, if the database is busy, must wait.
type budgets struct {
	rate  float64      // seconds that a caller may use in a second
	probe func() error // asks the database the smallest question

	mu     sync.Mutex
	each   map[bucket]*budget
	swept  time.Time
	modest [2]struct { // the latest two callers who owe little, the latest first
		whose bucket
		at    time.Time
	}
	probing      bool
	measured     time.Time
	best, lately float64 // of the answers to probe, in seconds
}

// budget is what a caller used, less what time has paid off.
type budget struct {
	owed    time.Duration
	at      time.Time
	usual   time.Duration // of one use; the longest counts at once, and is forgotten slowly
	running time.Duration // the usual time of each running request
	n       int           // running requests
	queue   []*spending   // requests that wait, in order
}

func newBudgets(connections int, probe func() error) *budgets {
	return &budgets{rate: float64(connections) / timeShare, probe: probe, each: map[bucket]*budget{}}
}

// of returns the budget of a caller as it is now. It is called with the budgets locked.
func (b *budgets) of(whose bucket, now time.Time) *budget {
	if now.Sub(b.swept) > time.Minute {
		b.swept = now
		for other, its := range b.each {
			if now.Sub(its.at) > time.Minute && its.n == 0 && len(its.queue) == 0 {
				delete(b.each, other)
			}
		}
	}
	its := b.each[whose]
	if its == nil {
		its = &budget{usual: firstUse, at: now}
		b.each[whose] = its
	}
	its.owed, its.at = max(0, its.owed-time.Duration(b.rate*float64(now.Sub(its.at)))), now
	return its
}

// busy reports whether the database is, as far as is known, and finds out again.
func (b *budgets) busy(now time.Time) bool {
	if since := now.Sub(b.measured); since > probeEvery && !b.probing {
		b.probing = true
		go b.measure(now)
		if since > 10*probeEvery {
			return false // nobody knows
		}
	}
	return b.lately > max(busyFactor*b.best, slowAnswer.Seconds())
}

func (b *budgets) measure(begun time.Time) {
	err := b.probe()
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	took := now.Sub(begun).Seconds()
	if b.best *= 1 + now.Sub(b.measured).Hours(); err == nil && (b.best == 0 || took < b.best) {
		b.best = took // which an hour doubles, in case the database has become slower
	}
	took = min(took, probeAtMost.Seconds())
	if now.Sub(b.measured) > 10*probeEvery {
		b.lately = took
	}
	b.lately += (took - b.lately) / 4
	b.probing, b.measured = false, now
}

// disturbs reports whether somebody else who owes little is there.
func (b *budgets) disturbs(whose bucket, now time.Time) bool {
	other := b.modest[0]
	if other.whose == whose {
		other = b.modest[1]
	}
	return now.Sub(other.at) < othersHere
}

// spending is the use of time by one request.
type spending struct {
	*budgets
	whose    bucket
	patience time.Duration

	once     sync.Once
	err      error
	expected time.Duration
	running  bool
	spent    time.Duration
}

// begin waits until the request may use time, but not longer than patience; after that it returns a *retryAfter. Later
// calls return the same. Until settle is called, the request counts as one of the usual length.
func (s *spending) begin(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.once.Do(func() { s.err = s.await(ctx) })
	return s.err
}

func (s *spending) await(ctx context.Context) error {
	defer s.leave()
	for begun := time.Now(); ; {
		wait := s.admit()
		left := s.patience - time.Since(begun)
		switch {
		case wait == 0:
			return nil
		case left <= 0:
			return &retryAfter{wait: wait, waited: true}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(left, timeCheck)): // meanwhile the others may have left
		}
	}
}

// leave leaves the queue.
func (s *spending) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	its := s.of(s.whose, time.Now())
	its.queue = slices.DeleteFunc(its.queue, func(other *spending) bool { return other == s })
}

// admit counts the request as running, or returns how long it must wait.
func (s *spending) admit() (wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	its := s.of(s.whose, now)
	over := its.owed + its.running - timeBurst
	switch {
	case over <= 0:
		if s.modest[0].whose != s.whose {
			s.modest[1], s.modest[0].whose = s.modest[0], s.whose
		}
		s.modest[0].at = now
	case s.disturbs(s.whose, now):
		if !slices.Contains(its.queue, s) {
			its.queue = append(its.queue, s)
		}
		busy := s.busy(now)
		switch {
		case its.owed > timeBurst && busy:
			return min(maxOwed, time.Duration(float64(its.owed-timeBurst)/s.rate)+time.Millisecond)
		case its.n > 0 && (busy || its.usual > heavyUse), its.queue[0] != s:
			return max(its.usual, time.Millisecond)
		}
	}
	s.expected, s.running = its.usual, true
	its.running += its.usual
	its.n++
	return 0
}

// settle ends the request.
func (s *spending) settle() {
	if s == nil || !s.running {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = false
	its := s.of(s.whose, time.Now())
	its.running -= s.expected
	its.n--
}

// used counts time that the request has taken.
func (s *spending) used(took time.Duration) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent += took
	its := s.of(s.whose, time.Now())
	its.usual = max(took, its.usual-(its.usual-took)/8)
	s.owe(its, took)
}

// later counts rows that the request has stored and that cause jobs.
func (s *spending) later(rows int) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owe(s.of(s.whose, time.Now()), time.Duration(rows)*perRow)
}

func (b *budgets) owe(its *budget, used time.Duration) {
	its.owed = min(its.owed+used, timeBurst+time.Duration(b.rate*float64(maxOwed)))
}

// computing counts the time until the function that it returns is called, except what is counted anyway.
func (s *spending) computing() (done func()) {
	if s == nil {
		return func() {}
	}
	begun, before := time.Now(), s.spentSoFar()
	return func() { s.used(max(0, time.Since(begun)-(s.spentSoFar()-before))) }
}

func (s *spending) spentSoFar() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spent
}

// spends returns a context whose caller pays for the time of a request. settle ends it.
func (s *Server) spends(ctx context.Context) (_ context.Context, settle func()) {
	c := callerOf(ctx)
	c.spending = nil
	if s.budgets != nil && c.share != nil {
		c.spending = &spending{budgets: s.budgets, whose: c.bucket(), patience: s.cfg.wait}
	}
	return context.WithValue(ctx, callerKey{}, c), c.spending.settle
}
