package pages

import (
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// personRoutes are a person's pages.
var personRoutes = []route{
	{"GET /{$}", store.RolePerson, "list-traits", "traits", (*Site).traits},
}

func (s *Site) settingsOf(v *visit) (settings store.UserSettings, err error) {
	err = s.Client.InTx(v.Context(), v.session.UserID, func(tx pgx.Tx) error {
		settings, err = store.SettingsOf(v.Context(), tx, v.session.UserID)
		return err
	})
	return settings, err
}
