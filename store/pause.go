package store

import (
	"context"
	"time"
)

// Pause describes a time during which a worker does not call a provider, because the provider does not answer or asked
// to wait.
type Pause struct {
	Provider string    `json:"provider"` // "embedding" or "reasoner"
	Since    time.Time `json:"since"`
	Until    time.Time `json:"until"`
	Failures int       `json:"failures"` // consecutive
	Error    string    `json:"error"`    // of the last call
}

// pauseKey precedes the provider in the key of the setting that stores its pause.
const pauseKey = "pause."

// NotePause stores a pause for Pauses.
func NotePause(ctx context.Context, db DB, p Pause) error {
	return WriteSetting(ctx, db, pauseKey+p.Provider, p)
}

// EndPauses forgets the pauses of the given providers, and returns those that were stored.
func EndPauses(ctx context.Context, db DB, providers ...string) ([]string, error) {
	return list[string](ctx, db, "end pauses", `
		delete from oxbow.settings where key = any(select $1 || unnest($2::text[])) returning substr(key, length($1) + 1)`,
		pauseKey, providers)
}

// Pauses returns the pauses that have not ended.
func Pauses(ctx context.Context, db DB) ([]Pause, error) {
	return list[Pause](ctx, db, "read the pauses", `
		select p.* from oxbow.settings s, jsonb_to_record(s.value) p(provider text, since timestamptz, until timestamptz,
		       failures integer, error text)
		 where starts_with(s.key, $1) and p.until > now() order by p.provider`, pauseKey)
}
