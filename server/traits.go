package server

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow"
)

// TraitEdit is a correction of a trait.
type TraitEdit struct {
	Content    string   `json:"content,omitzero" maxLength:"1048576" doc:"The new wording"`
	Context    string   `json:"context,omitzero" enum:"work,personal,social,learning,general"`
	Confidence *float64 `json:"confidence,omitempty" exclusiveMinimum:"0" exclusiveMaximum:"1" doc:"Default: at least 0.9"`
	Reason     string   `json:"reason,omitzero" maxLength:"10000" doc:"Stored with the change"`
}

// Edited names a trait after a correction.
type Edited struct {
	ID uuid.UUID `json:"id" doc:"A new one if the wording changed"`
}

// Deleted counts what was deleted.
type Deleted struct {
	Rows int64 `json:"rows"`
}

// TraitID names a trait in the path.
type TraitID struct {
	ID uuid.UUID `path:"id" doc:"The trait's id"`
}

func (s *Server) registerTraits() {
	forUser(s, op("list-traits", http.MethodGet, "/traits", "traits",
		"List what is believed about the user, the most abstract first"),
		s.listTraits)
	forUser(s, op("get-trait", http.MethodGet, "/traits/{id}", "traits", "Get a trait with its events and evidence"),
		func(ctx context.Context, user string, in *TraitID) (oxbow.TraitDetails, error) {
			return s.client.Trait(ctx, user, in.ID)
		})
	forUser(s, op("edit-trait", http.MethodPatch, "/traits/{id}", "traits", "Correct a trait"),
		func(ctx context.Context, user string, in *struct {
			TraitID
			Body TraitEdit
		}) (Edited, error) {
			id, err := s.client.EditTrait(ctx, user, in.ID, oxbow.TraitEdit{Content: in.Body.Content,
				Context: in.Body.Context, Confidence: in.Body.Confidence, Reason: in.Body.Reason})
			return Edited{id}, err
		})
	forUser(s, op("dissolve-trait", http.MethodPost, "/traits/{id}/dissolve", "traits",
		"Archive a trait, so that it is not recalled"),
		func(ctx context.Context, user string, in *struct {
			TraitID
			Body *Reason
		}) (Done, error) {
			return Done{true}, s.client.DissolveTrait(ctx, user, in.ID, in.Body.text())
		})
	forUser(s, op("delete-trait", http.MethodDelete, "/traits/{id}", "traits",
		"Erase a trait and its wordings for ever"),
		func(ctx context.Context, user string, in *TraitID) (Deleted, error) {
			rows, err := s.client.DeleteTrait(ctx, user, in.ID)
			return Deleted{rows}, err
		})
}

func (s *Server) listTraits(ctx context.Context, user string, in *struct {
	Stages []string  `query:"stage" enum:"trend,candidate,emerging,established,core,dissolved" doc:"Default: emerging, established and core"`
	Hidden bool      `query:"hidden" doc:"All stages"`
	AsOf   time.Time `query:"as_of" doc:"The traits and wordings of that time. Default: now"`
}) (list[oxbow.Trait], error) {
	return listed(s.client.Traits(ctx, user,
		oxbow.TraitsOptions{Stages: in.Stages, IncludeHidden: in.Hidden, AsOf: in.AsOf}))
}
