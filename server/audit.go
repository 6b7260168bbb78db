package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/listen"
	"github.com/oxbow-memory/oxbow/store"
)

// logged records who read or changed a user's data.
func (s *Server) logged(ctx huma.Context, next func(huma.Context)) {
	next(ctx)
	who := callerOf(ctx.Context())
	if who.user == "" || ctx.Status() == http.StatusUnauthorized ||
		ctx.Operation().OperationID == eraseUserID && ctx.Status() == http.StatusOK {
		return // the log of an erased user is erased, which the receipt proves, and nobody has used a key that has ended
	}
	s.audit.add(store.Access{
		UserID: who.user, At: time.Now(), KeyID: who.key, Role: who.role, Operation: ctx.Operation().OperationID,
		Target: ctx.Param("id"), Status: ctx.Status(),
	})
}

const (
	auditInterval = time.Second // maximum delay of an entry
	auditLimit    = 10_000      // entries that may wait; a request waits for a free place
)

// audit writes entries of the log in batches. An entry of a request is lost if the process is killed within a second
// after it.
type audit struct {
	persist func(context.Context, []store.Access) error
	log     *slog.Logger
	entries chan entry
	done    sync.WaitGroup
}

// entry is an entry to write or, if written is not nil, a request to write what came before it.
type entry struct {
	store.Access
	written chan struct{}
}

func newAudit(persist func(context.Context, []store.Access) error, log *slog.Logger) *audit {
	a := &audit{persist: persist, log: log, entries: make(chan entry, auditLimit)}
	a.done.Go(a.run)
	return a
}

// add leaves out what is neither a user nor an id, which a path may contain but the database may refuse.
func (a *audit) add(access store.Access) {
	if store.ValidateUserID(access.UserID) != nil {
		return
	}
	if _, err := uuid.Parse(access.Target); err != nil {
		access.Target = ""
	}
	a.entries <- entry{Access: access}
}

// flush returns once all entries that were added before are written.
func (a *audit) flush(ctx context.Context) error {
	written := make(chan struct{})
	a.entries <- entry{written: written}
	select {
	case <-written:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *audit) run() {
	for first := range a.entries {
		var batch []store.Access
		var written chan struct{}
		timer := time.After(auditInterval)
		for e, open := first, true; open; {
			if written = e.written; written != nil {
				break
			}
			if batch = append(batch, e.Access); len(batch) == auditLimit {
				break
			}
			select {
			case e, open = <-a.entries:
			case <-timer:
				open = false
			}
		}
		if len(batch) > 0 {
			a.write(batch)
		}
		if written != nil {
			close(written)
		}
	}
}

// write stores entries. It tries again while the database cannot be reached, for a minute. Another error would return.
func (a *audit) write(batch []store.Access) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		err := a.persist(ctx, batch)
		if err == nil {
			return
		}
		if !errors.Is(err, store.ErrUnreachable) {
			cancel()
		}
		select {
		case <-ctx.Done():
			a.log.Error("cannot write the log of accesses", "error", err, "lost", len(batch))
			return
		case <-time.After(time.Second):
		}
	}
}

// close writes the entries that wait. No entry may be added after it.
func (a *audit) close(ctx context.Context) {
	close(a.entries)
	written := make(chan struct{})
	go func() { a.done.Wait(); close(written) }()
	select {
	case <-written:
	case <-ctx.Done():
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
