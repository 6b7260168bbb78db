package store

import (
	"context"
	"errors"
)

// UserSettings are the settings of a user. The zero value is the default.
type UserSettings struct {
	Timezone  string `json:"timezone,omitzero" doc:"Such as Asia/Shanghai. Absent: unknown, and dates are read in UTC"`
	Language  string `json:"language,omitzero" doc:"Such as zh. Absent: unknown"`
	OptedOut  bool   `json:"opted_out,omitzero" doc:"Nothing is inferred about the user"`
	Reconcile *bool  `json:"reconcile,omitempty" doc:"Whether facts of applications replace others. Absent: as configured"`
	// SharePatterns is the consent to be counted in patterns across users. Default: false.
	SharePatterns bool `json:"share_patterns,omitzero" doc:"The user agrees to be counted, with noise, in patterns across users"`
}

// SettingsOf returns the settings of a user.
func SettingsOf(ctx context.Context, db DB, userID string) (UserSettings, error) {
	s, err := CollectOne[UserSettings](ctx, db, `
		select timezone, language, opted_out, reconcile, share_patterns from oxbow.users where user_id = $1`, userID)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return s, err
}

// SetSettings replaces the settings of a user.
func SetSettings(ctx context.Context, db DB, userID string, s UserSettings) error {
	if err := errors.Join(text("timezone", s.Timezone), text("language", s.Language)); err != nil {
		return err
	}
	if len(s.Language) > maxUserID {
		return Invalid("language", s.Language, "must have at most 255 bytes")
	}
	_, err := Exec(ctx, db, `
		insert into oxbow.users (user_id, timezone, language, opted_out, reconcile, share_patterns)
		values ($1, $2, $3, $4, $5, $6)
		on conflict (user_id) do update set timezone = excluded.timezone, language = excluded.language,
		  opted_out = excluded.opted_out, reconcile = excluded.reconcile, share_patterns = excluded.share_patterns,
		  updated_at = now(), stored_at = now()`,
		userID, pointer(s.Timezone), pointer(s.Language), s.OptedOut, s.Reconcile, s.SharePatterns)
	return err
}
