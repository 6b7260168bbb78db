package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// NewMessage is a message of a conversation.
type NewMessage struct {
	ID          uuid.UUID      `json:"id,omitzero" doc:"Default: a new one. A message whose id exists is not added again"`
	SessionID   string         `json:"session_id" minLength:"1" maxLength:"1024" doc:"The conversation"`
	Role        string         `json:"role,omitzero" enum:"user,assistant,system,tool" default:"user"`
	Speaker     string         `json:"speaker,omitzero" maxLength:"1024" doc:"Default: implied by the role"`
	Content     string         `json:"content" minLength:"1" maxLength:"1048576"`
	CreatedAt   time.Time      `json:"created_at,omitzero" doc:"Default: now"`
	Metadata    map[string]any `json:"metadata,omitempty" doc:"recalled: the ids of the memories that were recalled for it"`
	Sensitivity int            `json:"sensitivity,omitzero" minimum:"0" maximum:"2" doc:"Nothing is extracted from a message of level 2"`
}

// NewMessages are messages to add.
type NewMessages struct {
	Messages []NewMessage `json:"messages" minItems:"1" maxItems:"1000"`
}

// SessionID names a conversation.
type SessionID struct {
	SessionID string `json:"session_id" minLength:"1" maxLength:"1024"`
}

func (s *Server) registerMessages() {
	forUser(s, op("add-messages", http.MethodPost, "/messages", "messages",
		"Add messages of conversations, from which memories are extracted", bulk), s.addMessages)
	forUser(s, op("list-messages", http.MethodGet, "/messages", "messages",
		"List the messages of a conversation in order"),
		s.listMessages)
	forUser(s, op("delete-messages", http.MethodDelete, "/messages", "messages",
		"Delete messages of a conversation and its summaries for ever. Memories that were extracted stay"),
		s.deleteMessages)
	forUser(s, op("end-session", http.MethodPost, "/sessions/end", "messages",
		"End a conversation: memories are extracted at once"),
		func(ctx context.Context, user string, in *struct{ Body SessionID }) (Done, error) {
			open, err := s.client.EndSession(ctx, user, in.Body.SessionID)
			return Done{open}, err
		})
}

func (s *Server) addMessages(ctx context.Context, user string, in *struct {
	Body NewMessages
}) (list[uuid.UUID], error) {
	messages := make([]oxbow.NewMessage, len(in.Body.Messages))
	for i, m := range in.Body.Messages {
		messages[i] = oxbow.NewMessage{ID: m.ID, UserID: user, SessionID: m.SessionID, Role: m.Role, Speaker: m.Speaker,
			Content: m.Content, At: m.CreatedAt, Metadata: m.Metadata, Sensitivity: m.Sensitivity}
	}
	ids, err := s.client.AddMessages(ctx, messages)
	callerOf(ctx).spending.later(len(ids))
	return listed(ids, err)
}

func (s *Server) deleteMessages(ctx context.Context, user string, in *struct {
	SessionID string   `query:"session_id" required:"true" minLength:"1" maxLength:"1024" doc:"The conversation"`
	IDs       []string `query:"id" maxItems:"1000" doc:"The messages, separated by commas"`
	All       bool     `query:"all" doc:"All messages of the conversation"`
}) (Deleted, error) {
	if in.All == (len(in.IDs) > 0) { // an empty list must not delete all
		return Deleted{}, store.Invalid("id", strings.Join(in.IDs, ","), "must name messages, unless all is true")
	}
	ids := make([]uuid.UUID, len(in.IDs)) // huma cannot read UUIDs from a list
	for i, text := range in.IDs {
		var err error
		if ids[i], err = uuid.Parse(text); err != nil {
			return Deleted{}, store.Invalid("id", text, "must be a UUID")
		}
	}
	rows, err := s.client.DeleteMessages(ctx, user, in.SessionID, ids...)
	return Deleted{rows}, err
}

func (s *Server) listMessages(ctx context.Context, user string, in *struct {
	SessionID string `query:"session_id" required:"true" minLength:"1" maxLength:"1024" doc:"The conversation"`
}) (list[oxbow.Message], error) {
	messages, err := s.client.Messages(ctx, user, in.SessionID)
	if errors.Is(err, oxbow.ErrSealed) {
		err = nil // their text is "[sealed]"
	}
	return listed(messages, err)
}
