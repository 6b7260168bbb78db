package oxbow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

const (
	useInterval = 5 * time.Second // maximum delay of a report
	useBatch    = 1000            // number of waiting reports that are sent without delay
	useLimit    = 20_000          // maximum number of waiting reports; more are dropped
	useTimeout  = 30 * time.Second
)

// uses collects reports of recalled and used memories and sends them in the background, so that a recall
// writes nothing. A lost report does no harm.
type uses struct {
	send     func(ctx context.Context, r report, ids []uuid.UUID) error
	interval time.Duration // useInterval, except in tests

	mu      sync.Mutex
	waiting map[report][]uuid.UUID
	count   int
	timer   *time.Timer // runs while reports wait
	closed  bool
	sending sync.WaitGroup
}

// report is the user of the reported memories, and whether a reply used them or recall only returned them.
type report struct {
	userID string
	used   bool
}

func newUses() *uses { return &uses{interval: useInterval, waiting: map[report][]uuid.UUID{}} }

// add adds a report. It never blocks.
func (u *uses) add(r report, ids []uuid.UUID, log *slog.Logger) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed || len(ids) == 0 || u.count+len(ids) > useLimit {
		return
	}
	u.waiting[r] = append(u.waiting[r], ids...)
	u.count += len(ids)
	wait := u.interval
	if u.count >= useBatch {
		wait = 0
	}
	switch {
	case u.timer == nil:
		u.sending.Add(1)
		u.timer = time.AfterFunc(wait, func() { u.flushInBackground(log) })
	case wait == 0 && u.timer.Stop():
		u.timer.Reset(0)
	}
}

func (u *uses) flushInBackground(log *slog.Logger) {
	defer u.sending.Done()
	ctx, cancel := context.WithTimeout(context.Background(), useTimeout)
	defer cancel()
	if err := u.flush(ctx); err != nil {
		log.WarnContext(ctx, "oxbow: cannot report uses of memories", "error", err)
	}
}

// flush sends the waiting reports. Those that fail are dropped.
func (u *uses) flush(ctx context.Context) error {
	u.mu.Lock()
	waiting := u.waiting
	u.waiting, u.count, u.timer = map[report][]uuid.UUID{}, 0, nil
	u.mu.Unlock()
	var errs []error
	for r, ids := range waiting {
		errs = append(errs, u.send(ctx, r, ids))
	}
	return errors.Join(errs...)
}

// drop discards the waiting reports of a user.
func (u *uses) drop(userID string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, used := range []bool{true, false} {
		r := report{userID, used}
		u.count -= len(u.waiting[r])
		delete(u.waiting, r)
	}
}

func (u *uses) close(ctx context.Context) error {
	u.mu.Lock()
	u.closed = true
	if u.timer != nil && u.timer.Stop() {
		u.sending.Done()
	}
	u.mu.Unlock()
	done := make(chan struct{})
	go func() {
		u.sending.Wait()
		close(done)
	}()
	select {
	case <-done:
		return u.flush(ctx)
	case <-ctx.Done():
		return fmt.Errorf("oxbow: Close: reports of uses are still being sent: %w", ctx.Err())
	}
}

// Used reports that a reply used memories of the user. Each trait among them gains a little confidence, at
// most once a day. Recall reports what it returned, which counts as an access and not as a use. The client
// sends reports in the background within 5 seconds, or in Close; the worker adds them to AccessCount.
func (c *Client) Used(userID string, ids ...uuid.UUID) { c.report(report{userID, true}, ids) }

func (c *Client) report(r report, ids []uuid.UUID) {
	if c.uses != nil {
		c.uses.add(r, ids, c.log)
	}
}

func (c *Client) sendUses(ctx context.Context, r report, ids []uuid.UUID) error {
	return c.inTx(ctx, beginAs(r.userID, ""), func(db pgx.Tx) error {
		return store.Touch(ctx, db, r.userID, ids, r.used, time.Time{})
	})
}
