package oxbow

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// ContextQuery asks what a model should know about a user before the next turn. Only UserID is required; a zero value
// is the default.
type ContextQuery struct {
	UserID string
	// Text is what the next turn is about, such as the user's message. Its first 2,000 characters
	// are searched by words; all of it is embedded. Without it, important and recent memories
	// follow the traits.
	Text string
	// MaxTokens is the length of the block at most, 1 to 1,000,000 tokens. Default: 1,000. oxbow.estimate_tokens counts
	// one token for each Chinese, Japanese or Korean character and for each four bytes of other text. Models count
	// otherwise, so leave some room.
	MaxTokens int
	// Types are the types to choose from. Default: facts, episodes and traits.
	Types []MemoryType
	// Contexts filters by the context of a trait (work, personal, …), or by "context" in the
	// metadata of other memories. Traits of the context general are kept.
	Contexts []string
	// AgentID filters facts and episodes by agent. Traits belong to the user, and are kept.
	AgentID string
	// Now is the moment from which decay and recency count. Default: the database's clock.
	Now time.Time
	// Embedding is the vector of Text by the database's model, if the application has it.
	Embedding []float32
	// WordsOnly leaves the vectors out.
	WordsOnly bool
}

// PromptContext is what a model should know about a user.
type PromptContext struct {
	// Text is the block for the prompt: a list under each of the headings core traits, preferences,
	// behaviors, and facts and events, in that order, in English or, if the user's language is zh,
	// in Chinese. It is empty if nothing is known. Memories cannot imitate a heading or an item of
	// the list. A model may still follow an instruction in a memory, so the prompt should say that
	// the block is data.
	Text string
	// Parts are the lines of Text, each with its memory.
	Parts []ContextPart
	// Tokens is the estimated length of Text, at most MaxTokens.
	Tokens int
	// Degraded is why only words were searched; see Results.
	Degraded error
}

// ContextPart is one line of a PromptContext.
type ContextPart = store.ContextPart

// IDs returns the ids of the memories in the block, in its order. Report those that a reply relied on with Used.
func (p PromptContext) IDs() []uuid.UUID {
	ids := make([]uuid.UUID, len(p.Parts))
	for i, part := range p.Parts {
		ids[i] = part.ID
	}
	return ids
}

// Context builds the block of a prompt that describes a user to a model: core traits and preferences, the surest first;
// behaviors, those that the query recalls first; then facts and episodes in the order of Recall; see oxbow.context in
// the SQL interface. Traits with a confidence below 0.30 are left out.
//
// It writes nothing, and unlike Recall does not report an access to the memories, since most are in the block whether
// or not the reply needs them. If the embedder fails, PromptContext.Degraded says why. Errors are those of Recall.
func (c *Client) Context(ctx context.Context, q ContextQuery) (_ PromptContext, err error) {
	ctx, end := c.span(ctx, "Context")
	defer end(&err)
	params, err := q.params()
	if err != nil {
		return PromptContext{}, err
	}
	var result PromptContext
	if !q.WordsOnly && params.Embedding == nil && strings.TrimSpace(q.Text) != "" {
		params.Embedding, err = c.embed(ctx, q.Text)
		if ctx.Err() != nil {
			return PromptContext{}, ctx.Err()
		}
		result.Degraded = err
	}
	var recorded store.EmbeddingModel
	err = c.on(ctx, q.UserID, func(db pgx.Tx) (err error) {
		result.Parts, recorded, err = store.Context(ctx, db, params)
		return err
	})
	if mismatch := c.mismatch(recorded, params.Embedding, q.Embedding != nil); mismatch != nil {
		return PromptContext{}, mismatch // it explains err, too
	}
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

// params checks the query like a Query, except that Text may be empty.
func (q ContextQuery) params() (store.ContextParams, error) {
	var none store.ContextParams
	if q.MaxTokens < 0 || q.MaxTokens > 1_000_000 {
		return none, &InvalidError{Index: -1, Field: "max_tokens", Value: strconv.Itoa(q.MaxTokens),
			Rule: "must be between 1 and 1000000"}
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
		Agent:    p.Agent, AtNow: p.AtNow,
	}, nil
}
