package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/store"
)

// NotifyArgs identify an intention that became due, and a webhook.
type NotifyArgs struct {
	UserID    string    `json:"user_id"`
	Intention uuid.UUID `json:"intention"`
	Webhook   uuid.UUID `json:"webhook"`
}

// Kind returns "notify".
func (NotifyArgs) Kind() string { return "notify" }

// InsertOpts returns the insert options of the kind.
func (a NotifyArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does: "posts a due intention to a webhook",
	// With pauses of attempt⁴ seconds, the last attempt is about three days after the first.
	Attempts:  17,
	Retention: busyRetention,
}, func(c Config) worker[NotifyArgs] { return &notifyWorker{c} })

// Sender posts signed messages. Status and error are stored and logged: they contain neither secrets nor the
// receiver's own words.
type Sender interface {
	Send(ctx context.Context, url string, secret []byte, id string, at time.Time, message []byte) (status string, err error)
	// Gone reports whether an error of Send means that the far end wants no more messages.
	Gone(err error) bool
}

type notifyWorker struct{ Config }

// notice is the message. Its form is that of Standard Webhooks.
type notice struct {
	Type      string     `json:"type"`
	Timestamp time.Time  `json:"timestamp"`
	Data      noticeData `json:"data"`
}

type noticeData struct {
	UserID    string    `json:"user_id"`
	ID        uuid.UUID `json:"id"`
	Kind      string    `json:"kind"`
	Content   string    `json:"content"`
	DueAt     time.Time `json:"due_at,omitzero"`
	Precision string    `json:"precision"`
}

// Work posts the intention. The message is the same at every attempt, and so is its id, by which the far end can tell
// repetitions. An intention that is due again after a snooze has another one.
func (w *notifyWorker) Work(ctx context.Context, job *river.Job[NotifyArgs]) error {
	d, err := store.ReadDelivery(ctx, w.DB, job.Args.Webhook, job.Args.UserID, job.Args.Intention)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	message, err := json.Marshal(notice{"intention.due", d.BecameDueAt.UTC(), noticeData{job.Args.UserID,
		job.Args.Intention, d.Kind, d.Content, d.DueAt.UTC(), d.Precision}})
	if err != nil {
		return err
	}
	id := uuid.NewSHA1(job.Args.Webhook, fmt.Append(job.Args.Intention[:], d.BecameDueAt.UnixMicro())).String()
	status, failure := w.Sender.Send(ctx, d.URL, d.Secret, id, time.Now(), message)
	failpoint.Reach(failpoint.NotifySent)
	gone := failure != nil && w.Sender.Gone(failure)
	if failure != nil {
		status = oneline.Shorten(oneline.Of(failure.Error()), 200)
	}
	if failure == nil || gone {
		return completing(ctx, w.DB, job, func(tx pgx.Tx) error {
			return store.RecordDelivery(ctx, tx, job.Args.Webhook, status, gone)
		})
	}
	return errors.Join(failure, store.RecordDelivery(ctx, w.DB, job.Args.Webhook, status, false))
}
