package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/listen"
	"github.com/oxbow-memory/oxbow/store"
)

// logged records who read or changed a user's data, whatever becomes of the request. It refuses a request if there is
// no room for its entry.
func (s *Server) logged(ctx huma.Context, next func(huma.Context)) {
	who := callerOf(ctx.Context())
	if who.user == "" {
		next(ctx)
		return
	}
	if err := s.audit.admit(who.user); err != nil {
		s.refuse(ctx, err)
		return
	}
	entry := &access{audit: s.audit, Access: store.Access{UserID: who.user, KeyID: who.key, Role: who.role,
		Operation: ctx.Operation().OperationID, Target: ctx.Param("id")}}
	defer func() {
		entry.end(cmp.Or(ctx.Status(), http.StatusInternalServerError)) // no status: it panicked
	}()
	next(huma.WithValue(ctx, accessKey{}, entry))
}

// access is the entry of a request that is running.
type access struct {
	store.Access
	audit *audit
	begun bool // it is stored: see begin
}

type accessKey struct{}

// begin stores the entry before a stream begins, because a client that has part of it may disconnect.
func (a *access) begin(ctx context.Context) error {
	a.At, a.Status = time.Now(), http.StatusOK
	err := a.audit.store(ctx, a.Access)
	a.begun = err == nil
	return err
}

func (a *access) end(status int) {
	if a.begun || status == http.StatusUnauthorized || a.Operation == eraseUserID && status == http.StatusOK {
		return // a key that has ended was not used, and the log of an erased user is erased, as the receipt proves
	}
	a.At, a.Status = time.Now(), status
	a.audit.add(a.Access)
}

const (
	auditInterval = 500 * time.Millisecond // maximum delay of an entry
	auditRetry    = time.Second            // from a failure to the next attempt
	auditTimeout  = 10 * time.Second       // of an attempt
	auditBatch    = 10_000                 // entries of an attempt
	auditLimit    = 100_000                // entries that may wait, about 30 MB; more requests are refused
	auditShare    = auditLimit / 10        // of them those of one user
)

var errLogFull = huma.Error503ServiceUnavailable("the log of accesses cannot be written now: try again later")

// audit writes entries of the log in batches, and keeps them while the database takes none. They are lost only if the
// process is killed, or must end while the database still takes none.
type audit struct {
	persist func(context.Context, []store.Access) error
	log     *slog.Logger
	wake    chan struct{} // something waits
	hurry   chan struct{} // write at once
	done    chan struct{}
	closing context.Context
	end     context.CancelFunc

	mu      sync.Mutex
	waiting []store.Access // the oldest first
	of      map[string]int // how many of a user
	written int            // entries so far
	failed  error          // of the last attempt
	tried   chan struct{}  // closed after the next attempt
}

func newAudit(persist func(context.Context, []store.Access) error, log *slog.Logger) *audit {
	a := &audit{persist: persist, log: log, wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
		done: make(chan struct{}), of: map[string]int{}, tried: make(chan struct{})}
	a.closing, a.end = context.WithCancel(context.Background())
	go a.run()
	return a
}

// admit returns an error if too many entries of a user, or of all users, are waiting. There is always room for what
// was admitted, so the requests that are running may exceed the limit slightly.
func (a *audit) admit(user string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) >= auditLimit || a.of[user] >= auditShare {
		return errLogFull
	}
	return nil
}

// add adds an entry, and never waits. It leaves out a user whom the database would refuse.
func (a *audit) add(entry store.Access) {
	if store.ValidateUserID(entry.UserID) != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting = append(a.waiting, plain(entry))
	a.of[entry.UserID]++
	signal(a.wake)
}

// store stores an entry at once.
func (a *audit) store(ctx context.Context, entry store.Access) error {
	return a.persist(ctx, []store.Access{plain(entry)})
}

// plain gives an entry its id, and removes a target that is not a UUID, because a path may contain anything.
func plain(entry store.Access) store.Access {
	entry.ID = uuid.Must(uuid.NewV7())
	if _, err := uuid.Parse(entry.Target); err != nil {
		entry.Target = ""
	}
	return entry
}

// flush returns once all entries added before the call are written, or with the error of an attempt.
func (a *audit) flush(ctx context.Context) error {
	a.mu.Lock()
	all := a.written + len(a.waiting)
	for a.written < all {
		tried := a.tried
		a.mu.Unlock()
		signal(a.hurry)
		select {
		case <-tried:
		case <-ctx.Done():
			return ctx.Err()
		}
		a.mu.Lock()
		if a.failed != nil {
			break
		}
	}
	defer a.mu.Unlock()
	if a.written < all {
		return a.failed
	}
	return nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (a *audit) run() {
	defer close(a.done)
	for wait := auditInterval; ; {
		select {
		case <-a.wake:
		case <-a.hurry:
			signal(a.hurry) // so that it does not wait below
		case <-a.closing.Done():
			return
		}
		select {
		case <-time.After(wait):
		case <-a.hurry:
		case <-a.closing.Done():
			return
		}
		wait = auditInterval
		if more, err := a.write(context.Background()); err != nil {
			wait = auditRetry
			signal(a.wake)
		} else if more {
			signal(a.wake)
		}
	}
}

// write writes the entries that wait the longest, and reports whether more wait.
func (a *audit) write(ctx context.Context) (more bool, err error) {
	a.mu.Lock()
	batch := a.waiting[:min(len(a.waiting), auditBatch)]
	a.mu.Unlock()
	if len(batch) > 0 {
		err = a.try(ctx, batch)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		for _, entry := range batch {
			if a.of[entry.UserID]--; a.of[entry.UserID] == 0 {
				delete(a.of, entry.UserID)
			}
		}
		a.waiting = slices.Clone(a.waiting[len(batch):]) // so that what is written can be freed
		a.written += len(batch)
	} else if a.failed == nil {
		a.log.WarnContext(ctx, "cannot write the log of accesses: its entries wait", "error", err)
	}
	a.failed = err
	close(a.tried)
	a.tried = make(chan struct{})
	return len(a.waiting) > 0, err
}

// try stores a batch. An entry that the database will never accept must not hold up the others: it goes to the
// program's log.
func (a *audit) try(ctx context.Context, batch []store.Access) error {
	attempt, cancel := context.WithTimeout(ctx, auditTimeout)
	defer cancel()
	err := a.persist(attempt, batch)
	if _, invalid := errors.AsType[*store.InvalidError](err); err == nil || !invalid && !store.IsDataError(err) {
		return err
	}
	if len(batch) == 1 {
		a.log.ErrorContext(ctx, "an entry of the log of accesses is invalid", "error", err, "entry", batch[0])
		return nil
	}
	half := len(batch) / 2
	if err := a.try(ctx, batch[:half]); err != nil {
		return err
	}
	return a.try(ctx, batch[half:])
}

// close writes the entries that wait, until ctx ends. No entry may be added after it.
func (a *audit) close(ctx context.Context) {
	a.end()
	<-a.done
	for more := true; more; {
		var err error
		if more, err = a.write(ctx); err == nil {
			continue
		}
		select {
		case <-ctx.Done():
			a.log.ErrorContext(ctx, "cannot write the log of accesses", "error", err, "lost", len(a.waiting))
			return
		case <-time.After(auditRetry):
		}
	}
}

type requestIDKey struct{}

func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

var plainID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// identified gives each request an id: the caller's, if it has a plain one.
func (s *Server) identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("X-Request-Id")
		if !plainID.MatchString(id) {
			id = uuid.NewString()
		}
		w.Header().Set("X-Request-Id", id)
		// A client that reads too slowly does not hold memory for long. Handlers may extend the deadline.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.cfg.timeout + listen.Slack))
		next.ServeHTTP(w, r.WithContext(context.WithValue(inTrace(r), requestIDKey{}, id)))
	})
}
