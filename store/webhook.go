package store

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/secrets"
)

// Webhook is an address to which due intentions are posted.
type Webhook struct {
	ID         uuid.UUID `json:"id"`
	URL        string    `json:"url"`
	CreatedAt  time.Time `json:"created_at"`
	DisabledAt time.Time `json:"disabled_at,omitzero"`
	DisabledBy string    `json:"disabled_by,omitzero"` // operator, or the answer of the far end
	Deliveries []Posted  `json:"deliveries"`           // the last five, the latest first
}

// Posted is an attempt to post to a webhook.
type Posted struct {
	At     time.Time `json:"at"`
	Status string    `json:"status"` // what the far end answered, or why it could not
}

// NewWebhook is a webhook with the secret that signs its messages.
type NewWebhook struct {
	ID     uuid.UUID `json:"id"`
	Secret string    `json:"secret"` // in the form of Standard Webhooks
}

// AddWebhook stores a webhook with a new secret.
func AddWebhook(ctx context.Context, db DB, url string) (w NewWebhook, err error) {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	w.Secret = "whsec_" + base64.StdEncoding.EncodeToString(secret)
	w.ID, err = one[uuid.UUID](ctx, db, "store the webhook",
		`insert into oxbow.webhooks (url, secret) values ($1, $2) returning id`, url, secret)
	return w, err
}

// Webhooks returns all webhooks, the oldest first. Their URLs lack the user, the password and the query, which may be
// secret.
func Webhooks(ctx context.Context, db DB) ([]Webhook, error) {
	hooks, err := list[Webhook](ctx, db, "read the webhooks", `
		select id, url, created_at, disabled_at, disabled_by, deliveries
		  from oxbow.webhooks order by created_at, id`)
	for i := range hooks {
		shown := secrets.StripURL(hooks[i].URL)
		if strings.Contains(hooks[i].URL, "?") {
			shown += "?…"
		}
		hooks[i].URL = shown
	}
	return hooks, err
}

// LiveWebhooks returns the ids of the webhooks that are not disabled.
func LiveWebhooks(ctx context.Context, db DB) ([]uuid.UUID, error) {
	return list[uuid.UUID](ctx, db, "read the webhooks",
		`select id from oxbow.webhooks where disabled_at is null order by created_at, id`)
}

// SetWebhook enables or disables a webhook.
func SetWebhook(ctx context.Context, db DB, id uuid.UUID, enabled bool) error {
	return webhookChange(ctx, db, id, `
		update oxbow.webhooks set disabled_at = case when $2 then null else now() end,
		       disabled_by = case when $2 then null else 'operator' end
		 where id = $1`, id, enabled)
}

// DeleteWebhook deletes a webhook.
func DeleteWebhook(ctx context.Context, db DB, id uuid.UUID) error {
	return webhookChange(ctx, db, id, `delete from oxbow.webhooks where id = $1`, id)
}

func webhookChange(ctx context.Context, db DB, id uuid.UUID, sql string, args ...any) error {
	n, err := run(ctx, db, "change the webhook", sql, args...)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: %s", ErrNoWebhook, id)
	}
	return err
}

// Delivery is what is posted to a webhook.
type Delivery struct {
	URL       string
	Secret    []byte
	Kind      string
	Content   string
	DueAt     time.Time
	Precision string
	// BecameDueAt tells one time that an intention is due from the next: it may be snoozed.
	BecameDueAt time.Time
}

// ReadDelivery returns what is to be posted about an intention. ErrNotFound if the webhook is disabled or gone, or if
// the intention is no longer due.
func ReadDelivery(ctx context.Context, db DB, webhook uuid.UUID, userID string, intention uuid.UUID) (Delivery, error) {
	return one[Delivery](ctx, db, "read the delivery", `
		select w.url, w.secret, i.kind, i.content, i.due_at, i.precision, i.became_due_at
		  from oxbow.webhooks w, oxbow.intentions i
		 where w.id = $1 and w.disabled_at is null and i.user_id = $2 and i.id = $3 and i.state = 'due'`,
		webhook, userID, intention)
}

// RecordDelivery notes the result of a delivery. gone disables the webhook.
func RecordDelivery(ctx context.Context, db DB, webhook uuid.UUID, status string, gone bool) error {
	_, err := run(ctx, db, "note the delivery", `select oxbow.record_delivery($1, $2, $3)`, webhook, status, gone)
	return err
}
