package pages

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/store"
)

// moltView is the page of policies that the job molt tries.
type moltView struct {
	Mode       string
	Modes      []string
	Strategies []store.Strategy
}

// moltHistory is how many strategies the page shows.
const moltHistory = 50

func (s *Site) molt(v *visit) (err error) {
	page := moltView{Modes: store.MoltModes}
	if page.Mode, err = store.MoltMode(v.Context(), s.Operators); err != nil {
		return err
	}
	if page.Strategies, err = store.Strategies(v.Context(), s.Operators, moltHistory); err != nil {
		return err
	}
	return v.render("operator_molt", page)
}

func (s *Site) setMoltMode(v *visit) error {
	if err := store.SetMoltMode(v.Context(), s.Operators, v.value("mode")); err != nil {
		return err
	}
	s.Host.Note(v.Context(), "an operator set the mode of molt", "mode", v.value("mode"), "key", v.session.KeyID)
	return v.redirect("/operator/molt", "molt_mode")
}

// moltChange adopts or rolls back the strategy in the path.
func moltChange(done string, change func(ctx context.Context, db store.DB, version int64) error) func(*Site, *visit) error {
	return func(s *Site, v *visit) error {
		version, err := strconv.ParseInt(v.PathValue("version"), 10, 64)
		if err != nil {
			return errNoPage
		}
		if err := change(v.Context(), s.Operators, version); err != nil {
			return err
		}
		s.Host.Note(v.Context(), "an operator changed policies", "strategy", version, "now", done, "key", v.session.KeyID)
		return v.redirect("/operator/molt", done)
	}
}

// patterns shows the privacy budget, and the latest release of patterns across users.
func (s *Site) patterns(v *visit) error {
	account, err := store.ReadPatternAccount(v.Context(), s.Operators, time.Now())
	if err != nil {
		return err
	}
	return v.render("operator_patterns", account)
}

// webhooksView is the page of webhooks.
type webhooksView struct {
	Webhooks []store.Webhook
	Added    *store.NewWebhook // by the form; its secret is shown once
}

func (s *Site) webhooks(v *visit) error { return s.showWebhooks(v, nil) }

func (s *Site) showWebhooks(v *visit, added *store.NewWebhook) error {
	webhooks, err := store.Webhooks(v.Context(), s.Operators)
	if err != nil {
		return err
	}
	return v.render("operator_webhooks", webhooksView{webhooks, added})
}

// addWebhook answers with the page itself, because the secret cannot be shown again.
func (s *Site) addWebhook(v *visit) error {
	added, err := store.AddWebhook(v.Context(), s.Operators, v.value("url"))
	if err != nil {
		return err
	}
	s.Host.Note(v.Context(), "an operator added a webhook", "webhook", added.ID, "key", v.session.KeyID)
	return s.showWebhooks(v, &added)
}

// webhookChange changes the webhook in the path.
func webhookChange(done string, change func(ctx context.Context, db store.DB, id uuid.UUID) error) func(*Site, *visit) error {
	return func(s *Site, v *visit) error {
		id, err := v.id()
		if err == nil {
			err = change(v.Context(), s.Operators, id)
		}
		if err != nil {
			return err
		}
		s.Host.Note(v.Context(), "an operator changed a webhook", "webhook", id, "now", done, "key", v.session.KeyID)
		return v.redirect("/operator/webhooks", done)
	}
}

func pauseWebhook(ctx context.Context, db store.DB, id uuid.UUID) error {
	return store.SetWebhook(ctx, db, id, false)
}

func resumeWebhook(ctx context.Context, db store.DB, id uuid.UUID) error {
	return store.SetWebhook(ctx, db, id, true)
}
