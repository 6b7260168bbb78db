package server

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow"
)

// Reply is a reply with the memories that were recalled for it.
type Reply struct {
	Query     string      `json:"query" maxLength:"50000" doc:"The question"`
	Recalled  []uuid.UUID `json:"recalled" maxItems:"1000" doc:"The recalled memories, best first"`
	Used      []uuid.UUID `json:"used,omitempty" maxItems:"1000" doc:"Those that the reply used, and the skills. Absent: unknown"`
	SessionID string      `json:"session_id,omitzero" maxLength:"1024" doc:"The conversation"`
}

// Opinion is what the user said of memories, traits or a reply.
type Opinion struct {
	Kind       string      `json:"kind" enum:"helpful,wrong,outdated,not_about_me,too_much"`
	IDs        []uuid.UUID `json:"ids,omitempty" maxItems:"1000" doc:"The memories and traits. Default: those of the answer"`
	AnswerID   uuid.UUID   `json:"answer_id,omitzero" doc:"The answer that it is about"`
	Query      string      `json:"query,omitzero" maxLength:"50000" doc:"The question, if there is no answer_id"`
	Reason     string      `json:"reason,omitzero" maxLength:"10000" doc:"What the user said"`
	ExternalID string      `json:"external_id,omitzero" maxLength:"1024" doc:"A repeated request returns the earlier signal"`
}

// Created names what was stored.
type Created struct {
	ID uuid.UUID `json:"id"`
}

func created(id uuid.UUID, err error) (Created, error) { return Created{id}, err }

// Changed says whether something changed.
type Changed struct {
	Changed bool `json:"changed" doc:"False if it had ended already"`
}

func changed(did bool, err error) (Changed, error) { return Changed{did}, err }

func (s *Server) registerFeedback() {
	forUser(s, op("report-answer", http.MethodPost, "/answers", "feedback",
		"Report a reply and the memories that were recalled for it"),
		func(ctx context.Context, user string, in *struct{ Body Reply }) (Created, error) {
			return created(s.client.Answered(ctx, user, oxbow.Answer{Query: in.Body.Query, Recalled: in.Body.Recalled,
				Used: in.Body.Used, SessionID: in.Body.SessionID}))
		})
	forUser(s, op("give-feedback", http.MethodPost, "/feedback", "feedback",
		"Store what the user said about memories, traits or a reply"),
		func(ctx context.Context, user string, in *struct{ Body Opinion }) (Created, error) {
			return created(s.client.Feedback(ctx, user, oxbow.Feedback{Kind: in.Body.Kind, IDs: in.Body.IDs,
				AnswerID: in.Body.AnswerID, Query: in.Body.Query, Reason: in.Body.Reason, ExternalID: in.Body.ExternalID}))
		})
	forUser(s, op("list-adjustments", http.MethodGet, "/adjustments", "feedback",
		"List what feedback changed, the newest first"),
		func(ctx context.Context, user string, in *struct {
			MemoryID uuid.UUID `query:"memory_id" doc:"Only of this memory, trait or skill"`
			Limit    int       `query:"limit" minimum:"1" maximum:"1000" default:"100"`
		}) (list[oxbow.Adjustment], error) {
			return listed(s.client.Adjustments(ctx, user, in.MemoryID, in.Limit))
		})
	forUser(s, op("roll-back-adjustment", http.MethodPost, "/adjustments/{id}/rollback", "feedback",
		"Undo what feedback changed"),
		func(ctx context.Context, user string, in *struct {
			ID uuid.UUID `path:"id" doc:"The adjustment's id"`
		}) (Done, error) {
			return Done{true}, s.client.Rollback(ctx, user, in.ID)
		})
	forUser(s, op("list-conclusions", http.MethodGet, "/conclusions", "feedback",
		"List conclusions from several memories of one topic, the surest first"),
		func(ctx context.Context, user string, in *struct {
			Topic    string `query:"topic" maxLength:"1000" doc:"Only of this topic"`
			Versions bool   `query:"versions" doc:"Include earlier versions"`
			Limit    int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
		}) (list[oxbow.Conclusion], error) {
			return listed(s.client.Conclusions(ctx, user, oxbow.ConclusionsQuery{Topic: in.Topic, Versions: in.Versions,
				Limit: in.Limit}))
		})
	forUser(s, op("explain", http.MethodGet, "/why/{id}", "feedback",
		"Explain why something is known, why it is kept, and when it fades"),
		func(ctx context.Context, user string, in *struct {
			ID uuid.UUID `path:"id" doc:"A memory, trait, adjustment, instruction, skill or intention"`
		}) (list[oxbow.Sentence], error) {
			return listed(s.client.Why(ctx, user, in.ID))
		})
}
