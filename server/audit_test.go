package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/store"
)

// ledger is where entries go. It refuses them while failed is set.
type ledger struct {
	mu      sync.Mutex
	failed  error
	entries []store.Access
}

func (l *ledger) persist(_ context.Context, entries []store.Access) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	for _, e := range entries {
		if e.Operation == "bad" {
			return store.Invalid("operation", "bad", "must be good")
		}
	}
	l.entries = append(l.entries, entries...)
	return nil
}

func (l *ledger) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = err
}

// While the database takes none, entries wait. Beyond a limit requests are refused, a user's before those of others, and
// no entry is dropped.
func TestAuditKeepsEntries(t *testing.T) {
	t.Parallel()
	l := &ledger{failed: store.ErrReadOnly}
	a := newAudit(l.persist, slog.New(slog.DiscardHandler))
	require.ErrorIs(t, a.flush(t.Context()), nil, "nothing waits")
	all := 0
	fill := func(user string) {
		for a.admit(user) == nil {
			a.add(store.Access{UserID: user, Target: "\x00"})
			all++
		}
	}
	fill("eve")
	require.Equal(t, auditShare, all)
	require.NoError(t, a.admit("ada"), "eve's do not take all places")
	for n := range auditLimit / auditShare {
		fill(fmt.Sprint("user ", n))
	}
	require.Equal(t, auditLimit, all)
	require.Equal(t, errLogFull, a.admit("ada"))
	a.add(store.Access{UserID: "ada"}) // of a request that was admitted before
	require.ErrorIs(t, a.flush(t.Context()), store.ErrReadOnly)

	l.fail(errors.New("unknown"))
	require.Error(t, a.flush(t.Context()))
	l.fail(nil)
	require.NoError(t, a.flush(t.Context()))
	require.Len(t, l.entries, all+1)
	ids := map[any]bool{}
	for _, e := range l.entries {
		ids[e.ID] = true
	}
	require.Len(t, ids, all+1, "each once")
	require.NoError(t, a.admit("ada"))
	require.NoError(t, a.admit("eve"))
	a.add(store.Access{UserID: "ada"})
	a.close(t.Context())
	require.Len(t, l.entries, all+2)
}

// A user's transfers are limited whichever key they come with, and a key's whichever user they are for.
func TestTransferLimits(t *testing.T) {
	t.Parallel()
	limits := newTransfers()
	app := uuid.New()
	begin := func(key uuid.UUID, user string) (func(), error) {
		return limits.begin("export", caller{key: key, user: user}, 2)
	}
	done, err := begin(app, "eve")
	require.NoError(t, err)
	for _, key := range []uuid.UUID{app, uuid.New(), uuid.Nil} {
		_, err = begin(key, "eve")
		require.Equal(t, errTransfers, err)
	}
	_, err = limits.begin("import", caller{key: app, user: "eve"}, 2)
	require.NoError(t, err, "another operation")
	_, err = begin(app, "bob")
	require.NoError(t, err, "another user of the same key")
	_, err = begin(app, "cy")
	require.Equal(t, errTransfers, err)
	done()
	_, err = begin(app, "cy")
	require.NoError(t, err)
}

// An entry that the database never takes goes to the log of the program, and does not hold the others up.
func TestAuditPassesInvalidEntry(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	l := &ledger{}
	a := newAudit(l.persist, slog.New(slog.NewTextHandler(&text, nil)))
	for n := range 100 {
		a.add(store.Access{UserID: "ada", Operation: map[bool]string{true: "bad", false: "good"}[n == 42]})
	}
	a.close(t.Context())
	require.Len(t, l.entries, 99)
	require.Contains(t, text.String(), "an entry of the log of accesses is invalid")
	require.Contains(t, text.String(), "bad")
}
