package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// Confirmation repeats the user's id, so that nobody is erased by mistake.
type Confirmation struct {
	UserID string `json:"user_id" doc:"The user to erase, again"`
}

const eraseUserID = "erase-user"

func (s *Server) registerUser() {
	forUser(s, op("get-settings", http.MethodGet, "/settings", "user", "Get the user's settings"), s.getSettings)
	forUser(s, op("put-settings", http.MethodPut, "/settings", "user", "Replace the user's settings"),
		func(ctx context.Context, user string, in *struct{ Body store.UserSettings }) (store.UserSettings, error) {
			err := s.client.InTx(ctx, user, func(tx pgx.Tx) error { return store.SetSettings(ctx, tx, user, in.Body) })
			if err != nil {
				return store.UserSettings{}, err
			}
			return s.getSettings(ctx, user, nil)
		})
	forUser(s, op("list-log", http.MethodGet, "/log", "user",
		"List who read or changed the user's data, the latest first"),
		s.listLog)
	forUser(s, op(eraseUserID, http.MethodPost, "/erase", "user", "Erase everything of the user for ever"), s.eraseUser)
}

func (s *Server) getSettings(ctx context.Context, user string, _ *nothing) (settings store.UserSettings, err error) {
	err = s.client.InTx(ctx, user, func(tx pgx.Tx) error {
		settings, err = store.SettingsOf(ctx, tx, user)
		return err
	})
	return settings, err
}

func (s *Server) listLog(ctx context.Context, user string, in *Page) (page list[store.Access], err error) {
	before := uuid.Nil
	if in.Cursor != "" {
		if before, err = uuid.Parse(in.Cursor); err != nil {
			return page, store.Invalid("cursor", in.Cursor, "must be the next_cursor of an earlier answer")
		}
	}
	err = s.client.InTx(ctx, user, func(tx pgx.Tx) error {
		page.Items, err = store.AccessLog(ctx, tx, user, before, in.Limit)
		return err
	})
	if n := len(page.Items); n > 0 && n == in.Limit {
		page.Next = page.Items[n-1].ID.String()
	}
	return page, err
}

// eraseUser erases a user. The entries of the log that wait are written first, so that they are erased too.
func (s *Server) eraseUser(ctx context.Context, user string, in *struct {
	Body Confirmation
}) (oxbow.Receipt, error) {
	if in.Body.UserID != user {
		return oxbow.Receipt{}, huma.Error422UnprocessableEntity("user_id must be the user to erase")
	}
	if err := s.audit.flush(ctx); err != nil {
		return oxbow.Receipt{}, err
	}
	return s.client.EraseUser(ctx, user)
}
