package server

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// MoltMode is the mode of the job molt.
type MoltMode struct {
	Mode string `json:"mode" enum:"off,suggest,auto" doc:"off; suggest: it tries changes of policies; auto: it adopts those that gain"`
}

// StrategyVersion names a strategy in the path.
type StrategyVersion struct {
	Version int64 `path:"version" minimum:"1" doc:"The strategy's version"`
}

// WebhookID names a webhook in the path.
type WebhookID struct {
	ID uuid.UUID `path:"id" doc:"The webhook's id"`
}

// WebhookURL is where to post what is due.
type WebhookURL struct {
	URL string `json:"url" minLength:"1" maxLength:"2000" doc:"An http or https address"`
}

// Enabled says whether a webhook gets anything.
type Enabled struct {
	Enabled bool `json:"enabled"`
}

// registerLearning registers what operators see and decide of learning: strategies, patterns across users, and webhooks.
func (s *Server) registerLearning() {
	forOperator(s, op("get-molt-mode", http.MethodGet, "/molt", "operators", "Get the mode of the job molt"),
		func(ctx context.Context, _ *nothing) (MoltMode, error) {
			mode, err := store.MoltMode(ctx, s.own)
			return MoltMode{mode}, err
		})
	forOperator(s, op("set-molt-mode", http.MethodPut, "/molt", "operators", "Set the mode of the job molt"),
		func(ctx context.Context, in *struct{ Body MoltMode }) (Done, error) {
			return Done{true}, store.SetMoltMode(ctx, s.own, in.Body.Mode)
		})
	forOperator(s, op("list-strategies", http.MethodGet, "/strategies", "operators",
		"List changes of policies that molt tried, the latest first"),
		func(ctx context.Context, in *struct {
			Limit int `query:"limit" minimum:"1" maximum:"1000" default:"50"`
		}) (list[store.Strategy], error) {
			return listed(store.Strategies(ctx, s.own, in.Limit))
		})
	forOperator(s, op("explain-strategy", http.MethodGet, "/strategies/{version}/why", "operators",
		"Explain why a strategy was proposed, and what became of it"),
		func(ctx context.Context, in *struct {
			StrategyVersion
			Language string `query:"language" enum:"en,zh" default:"en"`
		}) (list[oxbow.Sentence], error) {
			return listed(store.WhyStrategy(ctx, s.own, in.Version, in.Language))
		})
	forOperator(s, op("adopt-strategy", http.MethodPost, "/strategies/{version}/adopt", "operators",
		"Set the policies of a strategy"),
		func(ctx context.Context, in *StrategyVersion) (Done, error) {
			return Done{true}, store.AdoptStrategy(ctx, s.own, in.Version)
		})
	forOperator(s, op("roll-back-strategy", http.MethodPost, "/strategies/{version}/rollback", "operators",
		"Restore the policies that a strategy replaced"),
		func(ctx context.Context, in *StrategyVersion) (Done, error) {
			return Done{true}, store.RollbackStrategy(ctx, s.own, in.Version)
		})
	forOperator(s, op("get-patterns", http.MethodGet, "/patterns", "operators",
		"Show the privacy budget, and the latest release of patterns across users"),
		func(ctx context.Context, _ *nothing) (store.PatternAccount, error) {
			a, err := store.ReadPatternAccount(ctx, s.own, time.Now())
			if a.Patterns == nil {
				a.Patterns = []store.PatternCount{}
			}
			return a, err
		})
	forOperator(s, op("list-webhooks", http.MethodGet, "/webhooks", "operators",
		"List the addresses to which due intentions are posted, the oldest first"),
		func(ctx context.Context, _ *nothing) (list[store.Webhook], error) {
			return listed(store.Webhooks(ctx, s.own))
		})
	forOperator(s, op("add-webhook", http.MethodPost, "/webhooks", "operators",
		"Add an address, and get the secret that signs its messages, once"),
		func(ctx context.Context, in *struct{ Body WebhookURL }) (store.NewWebhook, error) {
			return store.AddWebhook(ctx, s.own, in.Body.URL)
		})
	forOperator(s, op("set-webhook", http.MethodPut, "/webhooks/{id}", "operators", "Enable or disable a webhook"),
		func(ctx context.Context, in *struct {
			WebhookID
			Body Enabled
		}) (Done, error) {
			return Done{true}, store.SetWebhook(ctx, s.own, in.ID, in.Body.Enabled)
		})
	forOperator(s, op("delete-webhook", http.MethodDelete, "/webhooks/{id}", "operators", "Delete a webhook"),
		func(ctx context.Context, in *WebhookID) (Done, error) {
			return Done{true}, store.DeleteWebhook(ctx, s.own, in.ID)
		})
}
