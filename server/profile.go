package server

import (
	"context"
	"net/http"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// Value is a profile value.
type Value struct {
	Value any `json:"value" doc:"Any JSON; null deletes it"`
}

// Facts counts facts that changed.
type Facts struct {
	Facts int `json:"facts" doc:"Facts that were stored, replaced or ended because of it"`
}

func (s *Server) registerProfile() {
	forUser(s, op("list-profile", http.MethodGet, "/profile", "profile", "List the profile values of the user"),
		func(ctx context.Context, user string, _ *struct{}) (list[oxbow.ProfileValue], error) {
			return listed(s.client.Profile(ctx, user))
		})
	forUser(s, op("put-profile", http.MethodPut, "/profile/{key}", "profile",
		"Store a profile value. Keys such as occupation and interests become facts"),
		func(ctx context.Context, user string, in *struct {
			Key  string `path:"key" maxLength:"255"`
			Body Value
		}) (Facts, error) {
			n, err := s.client.SetValue(ctx, user, in.Key, in.Body.Value)
			return Facts{n}, err
		})
	forUser(s, op("get-emotions", http.MethodGet, "/emotions", "profile",
		"Get how the user felt: the baseline, the mood, what moves it, what calms, and the last weeks"),
		func(ctx context.Context, user string, in *struct {
			Now time.Time `query:"now" doc:"The moment of the profile. Default: now"`
		}) (list[oxbow.Feeling], error) {
			return listed(s.client.EmotionProfile(ctx, user, in.Now))
		})
	forUser(s, op("predict", http.MethodGet, "/predictions", "profile",
		"List what the user will probably do, ask or need, the most probable first"),
		func(ctx context.Context, user string, in *struct {
			From  time.Time `query:"from_at" doc:"The beginning of the period. Default: now"`
			Until time.Time `query:"until" doc:"Its end, at most 31 days later. Default: a day later"`
			Limit int       `query:"limit" minimum:"1" maximum:"1000" default:"20"`
		}) (list[oxbow.Prediction], error) {
			return listed(s.client.Predict(ctx, user, in.From, in.Until, in.Limit))
		})
}
