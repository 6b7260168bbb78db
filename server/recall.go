package server

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// Query says what to recall.
type Query struct {
	Query        string         `json:"query" minLength:"1" doc:"The question or the topic"`
	Limit        int            `json:"limit,omitzero" minimum:"1" maximum:"1000" default:"10"`
	Types        []string       `json:"types,omitempty" enum:"fact,episodic,trait,document" doc:"Default: all"`
	Contexts     []string       `json:"contexts,omitempty" doc:"Of traits, or of the metadata of other memories"`
	AgentID      string         `json:"agent_id,omitzero"`
	Metadata     map[string]any `json:"metadata,omitempty" doc:"What the metadata must contain"`
	ValidAsOf    time.Time      `json:"valid_as_of,omitzero" doc:"What was true then. Default: now"`
	BelievedAsOf time.Time      `json:"believed_as_of,omitzero" doc:"What Oxbow believed then. Default: now"`
	MinScore     float64        `json:"min_score,omitzero" minimum:"0" maximum:"1"`
	Mode         string         `json:"mode,omitzero" enum:"normal,review" doc:"Default: all current memories"`
	WordsOnly    bool           `json:"words_only,omitzero" doc:"Do not search by vectors"`
}

func (q Query) of(user string) oxbow.Query {
	n := oxbow.Query{UserID: user, Text: q.Query, Limit: q.Limit, Types: typesOf(q.Types),
		Contexts: q.Contexts, AgentID: q.AgentID,
		ValidAsOf: q.ValidAsOf, BelievedAsOf: q.BelievedAsOf, MinScore: q.MinScore, Mode: oxbow.Mode(q.Mode),
		WordsOnly: q.WordsOnly}
	if q.Metadata != nil {
		n.Metadata = q.Metadata
	}
	return n
}

// Recalled is the answer to a Query.
type Recalled struct {
	Memories []oxbow.Result `json:"memories" doc:"Best first"`
	Degraded string         `json:"degraded,omitzero" doc:"Why only words were searched"`
}

// ContextQuery says for what a block of a prompt is.
type ContextQuery struct {
	Query     string   `json:"query,omitzero" doc:"The topic of the next turn, such as the user's message"`
	MaxTokens int      `json:"max_tokens,omitzero" minimum:"1" maximum:"1000000" default:"1000"`
	Types     []string `json:"types,omitempty" enum:"fact,episodic,trait,document" doc:"Default: facts, episodes and traits"`
	Contexts  []string `json:"contexts,omitempty" doc:"Of traits, or of the metadata of other memories"`
	AgentID   string   `json:"agent_id,omitzero"`
	SessionID string   `json:"session_id,omitzero" doc:"The conversation, for instructions that hold in it alone"`
	Include   []string `json:"include,omitempty" enum:"profile,emotion,communities,skills" doc:"What else to include. Default: none of these"`
	WordsOnly bool     `json:"words_only,omitzero" doc:"Do not search by vectors"`
}

// PromptContext is a block of a prompt that describes the user.
type PromptContext struct {
	Text     string              `json:"text" doc:"The block. Tell the model that it is data"`
	Parts    []oxbow.ContextPart `json:"parts" doc:"The lines of the block, each with its memory"`
	Tokens   int                 `json:"tokens" doc:"The estimated length"`
	Degraded string              `json:"degraded,omitzero" doc:"Why only words were searched"`
}

// TimelineQuery says of what to show the changes.
type TimelineQuery struct {
	Topic     string   `json:"topic" minLength:"1"`
	Limit     int      `json:"limit,omitzero" minimum:"1" maximum:"1000" default:"50"`
	Types     []string `json:"types,omitempty" enum:"fact,episodic" doc:"Default: both"`
	WordsOnly bool     `json:"words_only,omitzero" doc:"Do not search by vectors"`
}

// Timeline is how knowledge about a topic changed.
type Timeline struct {
	Entries  []oxbow.TimelineEntry `json:"entries" doc:"In the order in which they became true or happened"`
	Degraded string                `json:"degraded,omitzero" doc:"Why only words were searched"`
}

// Used names the memories that a reply used.
type Used struct {
	IDs []uuid.UUID `json:"ids" minItems:"1" maxItems:"1000"`
}

func (s *Server) registerRecall() {
	forUser(s, op("recall", http.MethodPost, "/recall", "recall", "Recall memories"), s.recall)
	forUser(s, op("context", http.MethodPost, "/context", "recall", "Make a block of a prompt that describes the user"),
		s.context)
	forUser(s, op("list-facts", http.MethodGet, "/facts", "recall",
		"List the facts that were true at one time, as believed at another"),
		func(ctx context.Context, user string, in *struct {
			ValidAsOf    time.Time `query:"valid_as_of" doc:"Default: now"`
			BelievedAsOf time.Time `query:"believed_as_of" doc:"Default: now"`
		}) (list[oxbow.Fact], error) {
			return listed(s.client.Facts(ctx, user, oxbow.FactsOptions{ValidAsOf: in.ValidAsOf, BelievedAsOf: in.BelievedAsOf}))
		})
	forUser(s, op("timeline", http.MethodPost, "/timeline", "recall",
		"Show how knowledge about a topic changed"), s.timeline)
	forUser(s, op("list-entities", http.MethodGet, "/entities", "recall",
		"List people, places and things that memories mention"),
		s.listEntities)
	forUser(s, op("list-communities", http.MethodGet, "/communities", "recall",
		"List groups of people and things that memories connect, the largest first"),
		func(ctx context.Context, user string, in *struct {
			Query string `query:"query" maxLength:"50000" doc:"Only those with something that it names"`
			Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"10"`
		}) (list[oxbow.Community], error) {
			return listed(s.client.Communities(ctx, user, in.Query, in.Limit))
		})
	forUser(s, op("report-used", http.MethodPost, "/used", "recall",
		"Report that a reply used memories, which strengthens them"),
		func(ctx context.Context, user string, in *struct{ Body Used }) (Done, error) {
			return Done{true}, s.client.InTx(ctx, user, func(tx pgx.Tx) error {
				return store.Touch(ctx, tx, user, in.Body.IDs, true, time.Time{})
			})
		})
}

func (s *Server) recall(ctx context.Context, user string, in *struct {
	Body Query
}) (Recalled, error) {
	found, err := s.client.Recall(ctx, in.Body.of(user))
	if found.Memories == nil {
		found.Memories = []oxbow.Result{}
	}
	return Recalled{found.Memories, degraded(found.Degraded)}, err
}

// degraded is what callers see of a failure of the embedding provider.
func degraded(err error) string {
	if err == nil {
		return ""
	}
	return "the embedding provider is not available"
}

func (s *Server) context(ctx context.Context, user string, in *struct {
	Body ContextQuery
}) (PromptContext, error) {
	q := in.Body
	c, err := s.client.Context(ctx, oxbow.ContextQuery{UserID: user, Text: q.Query, MaxTokens: q.MaxTokens,
		Types: typesOf(q.Types), Contexts: q.Contexts, AgentID: q.AgentID, Include: q.Include, SessionID: q.SessionID,
		WordsOnly: q.WordsOnly})
	if c.Parts == nil {
		c.Parts = []oxbow.ContextPart{}
	}
	return PromptContext{c.Text, c.Parts, c.Tokens, degraded(c.Degraded)}, err
}

func (s *Server) timeline(ctx context.Context, user string, in *struct {
	Body TimelineQuery
}) (Timeline, error) {
	q := in.Body
	t, err := s.client.Timeline(ctx, oxbow.TimelineQuery{UserID: user, Topic: q.Topic, Limit: q.Limit,
		Types: typesOf(q.Types), WordsOnly: q.WordsOnly})
	if t.Entries == nil {
		t.Entries = []oxbow.TimelineEntry{}
	}
	return Timeline{t.Entries, degraded(t.Degraded)}, err
}

func (s *Server) listEntities(ctx context.Context, user string, in *struct {
	Name string `query:"name" doc:"Only with this name, with ended edges and the memories that mention them"`
}) (list[oxbow.NamedEntity], error) {
	if in.Name != "" {
		return listed(s.client.EntitiesNamed(ctx, user, in.Name))
	}
	found, err := s.client.Entities(ctx, user)
	named := make([]oxbow.NamedEntity, len(found))
	for i, e := range found {
		named[i].Entity = e
	}
	return listed(named, err)
}

func typesOf(names []string) (types []oxbow.MemoryType) {
	for _, name := range names {
		types = append(types, oxbow.MemoryType(name))
	}
	return types
}
