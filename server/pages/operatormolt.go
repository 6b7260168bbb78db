package pages

import (
	"strconv"

	"github.com/oxbow-memory/oxbow/store"
)

// moltView is the page of policies that the job molt tries, and of what tells other systems.
type moltView struct {
	Mode       int // 0 off, 1 suggest, 2 auto
	Strategies []store.Strategy
	Webhooks   []store.Webhook
}

// moltHistory is how many strategies the page shows.
const moltHistory = 50

func (s *Site) molt(v *visit) error {
	policies, err := store.MoltPolicies(v.Context(), s.Operators)
	if err != nil {
		return err
	}
	page := moltView{Mode: int(policies["molt_mode"].Value)}
	if page.Strategies, err = store.Strategies(v.Context(), s.Operators, moltHistory); err != nil {
		return err
	}
	if page.Webhooks, err = store.Webhooks(v.Context(), s.Operators); err != nil {
		return err
	}
	return v.render("operator_molt", page)
}

// moltChange adopts or rolls back the strategy in the path.
func moltChange(done string, change func(s *Site, v *visit, version int64) error) func(*Site, *visit) error {
	return func(s *Site, v *visit) error {
		version, err := strconv.ParseInt(v.PathValue("version"), 10, 64)
		if err != nil {
			return errNoPage
		}
		if err := change(s, v, version); err != nil {
			return err
		}
		s.Host.Note(v.Context(), "an operator changed policies", "strategy", version, "now", done, "key", v.session.KeyID)
		return v.redirect("/operator/molt", done)
	}
}

var (
	adoptStrategy = moltChange("adopted", func(s *Site, v *visit, version int64) error {
		return store.AdoptStrategy(v.Context(), s.Operators, version)
	})
	rollBackStrategy = moltChange("rolled_back", func(s *Site, v *visit, version int64) error {
		return store.RollbackStrategy(v.Context(), s.Operators, version)
	})
)
