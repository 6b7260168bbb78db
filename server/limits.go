package server

import (
	"context"
	"errors"
	"math"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"github.com/oxbow-memory/oxbow/internal/listen"
)

// bucket identifies requests that are limited together: those of a key for one user, of a user with tokens of the
// issuer, of a key for all users, or those with invalid credentials from an address.
type bucket struct {
	key     uuid.UUID
	user    string
	all     bool // the users of the key together
	address netip.Prefix
}

func (c caller) bucket() bucket { return bucket{key: c.key, user: c.user} }

// usersOfKey is how many times the limit for one user a key may use for all its users together.
const usersOfKey = 10

// take counts a request of a caller, or returns a *retryAfter if there were too many.
func (s *Server) take(c caller) error {
	if err := s.limits.take(c.bucket()); err != nil || c.key == uuid.Nil {
		return err
	}
	return s.totals.take(bucket{key: c.key})
}

// check is take without counting, for all users of a key.
func (s *Server) check(c caller) error {
	if c.key == uuid.Nil {
		return s.limits.check(c.bucket())
	}
	return s.totals.check(bucket{key: c.key})
}

type limits struct {
	perSecond rate.Limit
	burst     int

	mu   sync.Mutex
	each map[bucket]*rate.Limiter
}

// maxLimited is the number of limiters after which all are forgotten, which allows each caller one more burst.
const maxLimited = 100_000

func newLimits(perSecond float64, burst int) *limits {
	return &limits{perSecond: rate.Limit(perSecond), burst: burst, each: map[bucket]*rate.Limiter{}}
}

func (l *limits) of(whose bucket) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter := l.each[whose]
	if limiter == nil {
		if len(l.each) >= maxLimited {
			clear(l.each)
		}
		limiter = rate.NewLimiter(l.perSecond, l.burst)
		l.each[whose] = limiter
	}
	return limiter
}

// take counts a request, or returns a *retryAfter if there were too many.
func (l *limits) take(whose bucket) error {
	limiter, now := l.of(whose), time.Now()
	reservation := limiter.ReserveN(now, 1)
	if wait := reservation.DelayFrom(now); wait > 0 {
		reservation.CancelAt(now)
		return &retryAfter{wait: wait}
	}
	return nil
}

// check is take without counting.
func (l *limits) check(whose bucket) error {
	if missing := 1 - l.of(whose).Tokens(); missing > 0 {
		return &retryAfter{wait: time.Duration(missing / float64(l.perSecond) * float64(time.Second))}
	}
	return nil
}

// retryAfter reports too many requests.
type retryAfter struct {
	wait   time.Duration
	waited bool // before the refusal
}

func (r *retryAfter) Error() string   { return "too many requests: wait as long as Retry-After says" }
func (r *retryAfter) seconds() string { return strconv.Itoa(int(math.Ceil(r.wait.Seconds()))) }

// delay makes a client wait that has sent too many requests before it learns so. Otherwise refusing those that it sends
// at once would cost more than requests do.
func (s *Server) delay(ctx context.Context, err error) error {
	if limited, ok := errors.AsType[*retryAfter](err); ok && !limited.waited {
		select {
		case <-ctx.Done():
		case <-time.After(s.cfg.wait / 2):
		}
	}
	return err
}

// remote returns the address that a request comes from: of the connection or, if that is a trusted proxy's, the last
// one in X-Forwarded-For that is not.
func (s *Server) remote(r *http.Request) netip.Prefix {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	address, _ := netip.ParseAddr(host)
	forwarded := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, before := range slices.Backward(forwarded) {
		if !s.isProxy(address) {
			break
		}
		earlier, err := netip.ParseAddr(strings.TrimSpace(before))
		if err != nil {
			break
		}
		address = earlier
	}
	return listen.Network(address)
}

func (s *Server) isProxy(address netip.Addr) bool {
	return slices.ContainsFunc(s.cfg.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(address.Unmap()) })
}
