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
	useInterval = 5 * time.Second // how long a report may wait
	useBatch    = 1000            // how many reports are sent at once
	useLimit    = 20_000          // how many may wait; more are dropped
	useTimeout  = 30 * time.Second
)

// uses gathers which memories were recalled, so that a recall itself writes nothing. Reports count accesses; a lost one
// does no harm.
type uses struct {
	send func(ctx context.Context, userID string, ids []uuid.UUID) error

	mu      sync.Mutex
	waiting map[string][]uuid.UUID // by user
	count   int
	timer   *time.Timer // runs while something waits
	closed  bool
	sending sync.WaitGroup
}

func newUses() *uses { return &uses{waiting: map[string][]uuid.UUID{}} }

// add never blocks.
func (u *uses) add(userID string, ids []uuid.UUID, log *slog.Logger) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed || len(ids) == 0 || u.count+len(ids) > useLimit {
		return
	}
	u.waiting[userID] = append(u.waiting[userID], ids...)
	u.count += len(ids)
	wait := useInterval
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
		log.WarnContext(ctx, "oxbow: uses of memories could not be reported", "error", err)
	}
}

// flush sends what waits. What cannot be sent is dropped.
func (u *uses) flush(ctx context.Context) error {
	u.mu.Lock()
	waiting := u.waiting
	u.waiting, u.count, u.timer = map[string][]uuid.UUID{}, 0, nil
	u.mu.Unlock()
	var errs []error
	for userID, ids := range waiting {
		errs = append(errs, u.send(ctx, userID, ids))
	}
	return errors.Join(errs...)
}

// drop forgets what waits for a user.
func (u *uses) drop(userID string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.count -= len(u.waiting[userID])
	delete(u.waiting, userID)
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

// Used reports that memories of the user were used, apart from those that Recall returned: it reports its own. The
// report is sent in the background, within a few seconds or by Close; the worker adds it to the memories' AccessCount.
func (c *Client) Used(userID string, ids ...uuid.UUID) {
	if c.uses != nil {
		c.uses.add(userID, ids, c.log)
	}
}

func (c *Client) sendUses(ctx context.Context, userID string, ids []uuid.UUID) error {
	return c.inTx(ctx, beginAs(userID, ""), func(db pgx.Tx) error { return store.Touch(ctx, db, userID, ids) })
}
