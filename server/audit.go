package server

import (
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow/store"
)

// logged records who read or changed a user's data.
func (s *Server) logged(ctx huma.Context, next func(huma.Context)) {
	next(ctx)
	who := callerOf(ctx.Context())
	if who.user == "" {
		return
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
	pool    *pgxpool.Pool
	log     *slog.Logger
	entries chan store.Access
	done    sync.WaitGroup
}

func newAudit(pool *pgxpool.Pool, log *slog.Logger) *audit {
	a := &audit{pool: pool, log: log, entries: make(chan store.Access, auditLimit)}
	a.done.Go(a.run)
	return a
}

func (a *audit) add(entry store.Access) { a.entries <- entry }

func (a *audit) run() {
	for first := range a.entries {
		batch := []store.Access{first}
		timer := time.After(auditInterval)
		for open, full := true, false; open && !full; {
			select {
			case entry, ok := <-a.entries:
				if open = ok; ok {
					batch = append(batch, entry)
					full = len(batch) == auditLimit
				}
			case <-timer:
				full = true
			}
		}
		a.write(batch)
	}
}

// write stores entries. It tries again while the database cannot be reached, for a minute.
func (a *audit) write(batch []store.Access) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		err := store.LogAccess(ctx, a.pool, batch)
		if err == nil {
			return
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
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id)))
	})
}
