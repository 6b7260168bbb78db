package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/jsonl"
	"github.com/oxbow-memory/oxbow/store"
)

// The limits of what requests hold in memory at once, in bytes of their bodies and of the rows of their answers. A
// request needs up to seven times as much memory.
const (
	smallLoad = 64 << 10 // of a request that is not counted
	maxAnswer = 16 << 20
	loadEach  = maxBulkBody + smallLoad // of one user with one key
	loadAll   = 2 * loadEach            // of all; a key may hold three quarters of it for all its users
)

// The number of files that are read and split at once, by one user with one key and by all.
const (
	ingestsEach = 2
	ingestsAll  = 4
)

// loads limits what requests hold at once.
type loads struct {
	each, all int64

	mu    sync.Mutex
	held  int64
	owned map[bucket]int64
}

func newLoads(each, all int64) *loads { return &loads{each: each, all: all, owned: map[bucket]int64{}} }

var errBusy = huma.Error503ServiceUnavailable("the server has too many large requests: try again later")

// load is what one request holds, at first nothing.
type load struct {
	*loads
	whose  bucket
	n      int64 // held
	answer int64 // bytes of rows
	rows   int64 // held for them
}

type loadKey struct{}

// begin returns the load of a request, which must be ended.
func (l *loads) begin(who caller) *load {
	return &load{loads: l, whose: bucket{key: who.key, user: who.user}}
}

// take holds n more. The error is a *retryAfter if the same user with the same key holds too much, or errBusy.
func (l *load) take(n int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.locked(n)
}

func (l *load) locked(n int64) error {
	switch {
	case l.owned[l.whose]+n > l.each, l.whose.key != uuid.Nil && l.owned[l.ofKey()]+n > l.all*3/4:
		return &retryAfter{wait: time.Second}
	case l.held+n > l.all:
		return errBusy
	}
	l.add(n)
	return nil
}

// end gives everything back.
func (l *load) end() { l.give(l.n) }

func (l *load) give(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(-n)
}

// add is called with the loads locked.
func (l *load) add(n int64) {
	l.held += n
	l.n += n
	for _, whose := range []bucket{l.whose, l.ofKey()} {
		if l.owned[whose] += n; l.owned[whose] == 0 {
			delete(l.owned, whose)
		}
	}
}

// ofKey is the bucket of the caller's key for all its users.
func (l *load) ofKey() bucket { return bucket{key: l.whose.key, all: true} }

// errLargeAnswer is retried with fewer rows where an answer has pages.
var errLargeAnswer = huma.Error422UnprocessableEntity(
	"the answer has more than 16 MiB: ask for less, for example with a lower limit, or export it")

// row counts the bytes of a row that is about to be kept for the answer.
func (l *load) row(bytes int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answer += int64(bytes)
	switch {
	case l.answer <= smallLoad:
		return nil
	case l.answer > maxAnswer:
		return errLargeAnswer
	}
	if err := l.locked(int64(bytes)); err != nil {
		return err
	}
	l.rows += int64(bytes)
	return nil
}

// metered returns a context in which the load counts the rows that queries collect.
func (l *load) metered(ctx context.Context) context.Context {
	return store.WithMeter(context.WithValue(ctx, loadKey{}, l), l.row)
}

// paged calls f with a limit of rows, and again with fewer as long as the answer is too large.
func paged(ctx context.Context, limit int, f func(limit int) error) error {
	for {
		err := f(limit)
		l, _ := ctx.Value(loadKey{}).(*load)
		if l == nil || limit == 1 || !errors.Is(err, errLargeAnswer) {
			return err
		}
		l.give(l.rows)
		l.answer, l.rows = 0, 0
		limit = max(1, limit/4)
	}
}

// body holds the body of a request. One whose length is unknown counts as large, unless it ends soon.
func (l *load) body(w http.ResponseWriter, r *http.Request) error {
	n := r.ContentLength
	if n < 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(requestTimeout)) // a test's may have none
		begin, err := io.ReadAll(io.LimitReader(r.Body, smallLoad+1))
		if n = int64(len(begin)); err == nil && n > smallLoad {
			n = maxBulkBody
		}
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(begin), r.Body), r.Body}
	}
	if n <= smallLoad {
		return nil
	}
	return l.take(min(n, maxBulkBody))
}

// loaded limits what requests hold in memory. A body that is stored as it arrives does not count.
func (s *Server) loaded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l := s.loads.begin(callerOf(r.Context()))
		defer l.end()
		if r.URL.Path != "/import" {
			if err := l.body(w, r); err != nil {
				s.fail(w, r, err)
				return
			}
		}
		next.ServeHTTP(w, r.WithContext(l.metered(r.Context())))
	})
}

// boundedJSON decodes JSON if it does not have too many values.
var boundedJSON = huma.Format{
	Marshal: huma.DefaultJSONFormat.Marshal,
	Unmarshal: func(data []byte, v any) error {
		if err := jsonl.Check(data); err != nil {
			return errors.New("the body " + err.Error())
		}
		return json.Unmarshal(data, v)
	},
}
