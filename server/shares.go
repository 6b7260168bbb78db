package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"

	"github.com/oxbow-memory/oxbow/internal/listen"
)

const (
	// maxInFlight is how many requests of one key for one user run at once. What they hold in memory is limited apart
	// (loads).
	maxInFlight = 64
	// shareWait is how long a request waits for its turn.
	shareWait = 2 * time.Second
)

// share is what one key for one user, or an address without a credential, may use at once.
type share struct {
	requests    *semaphore.Weighted
	connections *semaphore.Weighted // to the database
	key         *share              // of the key for all users; may be nil
	wait        time.Duration       // for a turn
	uses        int                 // running requests; without one, the share is forgotten
}

// shares are the shares in use.
type shares struct {
	one, all int64 // connections of a key for one user, and for all
	wait     time.Duration

	mu   sync.Mutex
	each map[bucket]*share
	keys map[uuid.UUID]*share
}

// newShares divides connections to the database: one key for one user may have half of them, and for all its users
// three quarters, rounded up.
func newShares(connections int, wait time.Duration) *shares {
	n := int64(connections)
	return &shares{one: (n + 1) / 2, all: (3*n + 3) / 4, wait: wait,
		each: map[bucket]*share{}, keys: map[uuid.UUID]*share{}}
}

// use returns the share of a bucket. leave ends its use.
func (s *shares) use(whose bucket) (_ *share, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := use(s.each, whose, s.one, s.wait)
	if whose.key != uuid.Nil {
		one.key = use(s.keys, whose.key, s.all, s.wait)
	}
	return one, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		unuse(s.each, whose)
		if whose.key != uuid.Nil {
			unuse(s.keys, whose.key)
		}
	}
}

func use[K comparable](all map[K]*share, whose K, connections int64, wait time.Duration) *share {
	found := all[whose]
	if found == nil {
		found = &share{requests: semaphore.NewWeighted(maxInFlight), connections: semaphore.NewWeighted(connections),
			wait: wait}
		all[whose] = found
	}
	found.uses++
	return found
}

func unuse[K comparable](all map[K]*share, whose K) {
	if all[whose].uses--; all[whose].uses == 0 {
		delete(all, whose)
	}
}

// begin waits until a request of a caller with a valid credential may run. The context that it returns has the caller.
// end ends the request.
func (s *Server) begin(r *http.Request, c caller) (_ context.Context, end func(), err error) {
	listen.Trust(r.Context())
	var leave func()
	c.share, leave = s.shares.use(c.bucket())
	if err := c.share.turn(r.Context(), c.share.requests, 1); err != nil {
		leave()
		return nil, nil, err
	}
	return context.WithValue(r.Context(), callerKey{}, c), func() { c.share.requests.Release(1); leave() }, nil
}

// connect waits until the caller may use another connection to the database. done gives it back.
func (s *share) connect(ctx context.Context) (done func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	if err := s.turn(ctx, s.connections, 1); err != nil {
		return nil, err
	}
	if s.key != nil {
		if err := s.turn(ctx, s.key.connections, 1); err != nil {
			s.connections.Release(1)
			return nil, err
		}
	}
	return sync.OnceFunc(func() {
		s.connections.Release(1)
		if s.key != nil {
			s.key.connections.Release(1)
		}
	}), nil
}

// beyondShare returns a context for a transfer, whose connections are not those of the caller's share, and whose
// time does not count.
func beyondShare(ctx context.Context) context.Context {
	c := callerOf(ctx)
	c.share, c.spending = nil, nil
	return context.WithValue(ctx, callerKey{}, c)
}

// turn waits for a turn, but not long; after that it returns a *retryAfter.
func (s *share) turn(ctx context.Context, of *semaphore.Weighted, n int64) error {
	if of.TryAcquire(n) {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	if err := of.Acquire(waiting, n); err != nil && ctx.Err() == nil {
		return &retryAfter{wait: time.Second, waited: true}
	} else if err != nil {
		return err
	}
	return nil
}
