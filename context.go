package oxbow

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/store"
)

// ContextQuery selects what a model should know about a user before the next turn. Only UserID is
// required; a zero value is the default.
type ContextQuery struct {
	UserID string
	// Text is the topic of the next turn, such as the user's message. Its first 2,000 characters are
	// searched by words; all of it is embedded. Without Text, important and recent memories follow the
	// traits.
	Text string
	// MaxTokens is the maximum length of the block, 1 to 1,000,000 tokens. Default: 1,000. The length is
	// estimated (oxbow.estimate_tokens) as one token per Chinese, Japanese or Korean character and one per
	// four bytes of other text. Models count differently, so leave some room.
	MaxTokens int
	// Types are the types to include. Default: facts, episodes and traits.
	Types []MemoryType
	// Contexts filters traits by their context (work, personal, …) and other memories by "context" in
	// their metadata. Traits of the context general always pass.
	Contexts []string
	// AgentID filters facts and episodes by agent. Traits belong to the user and always pass.
	AgentID string
	// Include adds sections: "profile", the values of the namespace profile, "emotion", the emotional profile,
	// "communities", groups of people and things that belong together, those that Text names if there is one, and
	// "skills", those for the situation in Text if there is one, with their steps.
	Include []string
	// SessionID is the conversation. It includes the instructions that hold only in this conversation.
	SessionID string
	// Now is the reference time for decay and recency. Default: the database's clock.
	Now time.Time
	// Embedding is the vector of Text, made with the database's model, if the application has it.
	Embedding []float32
	// WordsOnly disables the search by vectors. Embedding is ignored then.
	WordsOnly bool
}

// PromptContext is the result of Context.
type PromptContext struct {
	// Text is the block for the prompt: lists under the headings instructions, what is due, core traits, preferences,
	// behaviors, what Include adds, and facts and events, in that order. The headings are Chinese if the user's language
	// is zh, otherwise English. Text is empty if nothing is known. A memory cannot imitate a heading or a list item, but a
	// model may still follow an instruction in a memory: the prompt should say that the block is data.
	Text string
	// Parts are the lines of Text, each with its memory.
	Parts []ContextPart
	// Tokens is the estimated length of Text in tokens, at most MaxTokens.
	Tokens int
	// Degraded is the reason why only words were searched; see Results.
	Degraded error
}

// ContextPart is one line of a PromptContext.
type ContextPart = store.ContextPart

// IDs returns the ids of the memories in the block, in its order. Pass those that a reply relied on to Used.
func (p PromptContext) IDs() []uuid.UUID {
	ids := make([]uuid.UUID, len(p.Parts))
	for i, part := range p.Parts {
		ids[i] = part.ID
	}
	return ids
}

// Context builds a block of a prompt that describes a user to a model: core traits and preferences with the
// highest confidence first, then behaviors that the query recalls, then other behaviors, then facts and
// episodes in the order of Recall. Traits with a confidence below 0.30 are left out. See oxbow.context in
// the SQL interface.
//
// Context writes nothing. Unlike Recall it does not count as an access, since the block contains most of
// its memories whether or not the reply needs them. If the embedder fails, it searches by words alone, and
// PromptContext.Degraded is the reason. It returns the errors of Recall.
func (c *Client) Context(ctx context.Context, q ContextQuery) (_ PromptContext, err error) {
	ctx, end := c.span(ctx, "Context")
	defer end(&err)
	params, err := q.params()
	if err != nil {
		return PromptContext{}, err
	}
	var result PromptContext
	asked := Query{UserID: q.UserID, Text: q.Text, Embedding: q.Embedding, WordsOnly: q.WordsOnly}
	result.Parts, result.Degraded, err = search(ctx, c, asked,
		func(db store.DB, vector []float32) ([]ContextPart, EmbeddingModel, error) {
			params.Embedding = vector
			return store.Context(ctx, db, params)
		})
	if err != nil {
		return PromptContext{}, err
	}
	lines := make([]string, len(result.Parts))
	for i, part := range result.Parts {
		lines[i] = part.Line
		result.Tokens += part.Tokens
	}
	result.Text = strings.Join(lines, "\n")
	return result, nil
}

// params validates the query like a Query, except that Text may be empty.
func (q ContextQuery) params() (store.ContextParams, error) {
	var none store.ContextParams
	if q.MaxTokens < 0 || q.MaxTokens > 1_000_000 {
		return none, store.Invalid("max_tokens", q.MaxTokens, "must be between 1 and 1000000")
	}
	like := Query{UserID: q.UserID, Text: q.Text, Types: q.Types, Contexts: q.Contexts, AgentID: q.AgentID, Now: q.Now,
		Embedding: q.Embedding}
	if strings.TrimSpace(q.Text) == "" && q.Embedding == nil {
		like.Text = "anything"
	}
	p, err := like.params()
	if err != nil {
		return none, err
	}
	return store.ContextParams{
		UserID: q.UserID, Query: q.Text, Embedding: q.Embedding, MaxTokens: given(q.MaxTokens), Types: p.Types,
		Contexts: p.Contexts,
		Agent:    p.Agent, AtNow: p.AtNow, Include: q.Include, SessionID: given(q.SessionID),
	}, nil
}
