package pages

import "github.com/oxbow-memory/oxbow"

func (s *Site) traits(v *visit) error {
	traits, err := s.Client.Traits(v.Context(), v.session.UserID, oxbow.TraitsOptions{IncludeHidden: true})
	if err != nil {
		return err
	}
	return v.render("traits", traits)
}
