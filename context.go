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

// ContextQuery asks for what a model should know of a user before the next turn. Only UserID is required; a zero value
// means "not given".
type ContextQuery struct {
	UserID string
	// Text is what the next turn is about, say the user's message. Its first 2,000 characters are searched by words; all of it
	// is embedded. Without it the traits are followed by what is important or fresh.
	Text string
	// MaxTokens is how long the block may be, as oxbow.estimate_tokens counts: 1 to 1,000,000, by default 1,000. It counts one
	// token for each Chinese, Japanese or Korean character and one for each four bytes of the rest, so it may differ from
	// what a model counts; leave some room.
	MaxTokens int
	// Types are those to choose from, by default facts, episodes and traits.
	Types []MemoryType
	// Contexts are those of a trait (work, personal, …), or the key "context" in the metadata of another memory. Traits that
	// hold in general are kept.
	Contexts []string
	// AgentID asks for the facts and episodes of one agent only. Traits are the person's.
	AgentID string
	// Now is the moment from which decay and recency are counted. Default: the database's clock.
	Now time.Time
	// Embedding is the vector of Text, if the application has it, of the database's model.
	Embedding []float32
	// WordsOnly leaves the vectors out.
	WordsOnly bool
}

// PromptContext is what a model should know of a user.
type PromptContext struct {
	// Text is the block for the prompt: a list under a heading for each of core traits, preferences, behaviors, and facts and
	// events, in that order, in English or, if the user's language is zh, in Chinese. It is empty where nothing is known.
	// What memories say is data: it cannot pretend a heading or an item. A model may still follow an instruction in it, so the
	// prompt should say that the block is not one.
	Text string
	// Parts are its lines, each with the memory that it comes from.
	Parts []ContextPart
	// Tokens is what the lines are estimated at: at most MaxTokens.
	Tokens int
	// Degraded is why the memories were found by their words alone, though vectors were asked for: the embedder could
	// not be reached, or did not answer in time. Nil otherwise.
	Degraded error
}

// ContextPart is one line of a PromptContext.
type ContextPart = store.ContextPart

// IDs are those of the memories in the block, in its order: of these a program can tell Used which ones a reply relied on.
func (p PromptContext) IDs() []uuid.UUID {
	ids := make([]uuid.UUID, len(p.Parts))
	for i, part := range p.Parts {
		ids[i] = part.ID
	}
	return ids
}

// Context builds the block of a prompt that tells a model about a user: core traits and preferences always, the surest
// first; behaviors, those that the query recalls before the others; then facts and episodes in the order of Recall; see
// oxbow.context in the SQL interface. Traits of which the system is not sure enough yet (below a confidence of 0.30) are
// left out.
//
// It writes nothing, and unlike Recall does not report the memories as used, since most are there whether or not the
// reply needs them. If the embedder fails, PromptContext.Degraded says why. If it is not the one whose vectors the
// database holds, the error is a *ModelMismatchError; a value that is not allowed is an *InvalidError.
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

// params checks the query like a Query, but that it may ask nothing.
func (q ContextQuery) params() (store.ContextParams, error) {
	var none store.ContextParams
	if q.MaxTokens < 0 || q.MaxTokens > 1_000_000 {
		return none, &InvalidError{Index: -1, Field: "max_tokens", Value: strconv.Itoa(q.MaxTokens), Rule: "must be between 1 and 1000000"}
	}
	like := Query{UserID: q.UserID, Text: q.Text, Types: q.Types, Contexts: q.Contexts, AgentID: q.AgentID, Now: q.Now, Embedding: q.Embedding}
	if strings.TrimSpace(q.Text) == "" && q.Embedding == nil {
		like.Text = "anything"
	}
	p, err := like.params()
	if err != nil {
		return none, err
	}
	return store.ContextParams{
		UserID: q.UserID, Query: q.Text, Embedding: q.Embedding, MaxTokens: given(q.MaxTokens), Types: p.Types, Contexts: p.Contexts,
		Agent: p.Agent, AtNow: p.AtNow,
	}, nil
}
