package oxbow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/store"
)

// Query selects memories of one user. Only UserID and Text are required; a zero value is the default.
type Query struct {
	UserID string
	// Text is the question or the topic. Its first 2,000 characters are searched by words; all of it is embedded.
	Text string
	// Limit is the maximum number of memories to return, 1 to 1000. Default: 10.
	Limit int
	// Types are the types to search. Default: all.
	Types []MemoryType
	// Contexts filters traits by their context (work, personal, …) and other memories by "context" in
	// their metadata.
	Contexts []string
	// AgentID filters by agent.
	AgentID string
	// Metadata is an object that the memory's metadata must contain; see NewMemory.Metadata.
	Metadata any
	// ValidAsOf selects what was true at that time. Default: now.
	ValidAsOf time.Time
	// BelievedAsOf selects what the system believed at that time. Default: now.
	BelievedAsOf time.Time
	// Now is the reference time for recency, and for "yesterday" in Text. Default: the database's clock.
	Now time.Time
	// MinScore leaves out memories with a lower Explain.Relevance, which is from 0 to 1 and, unlike the score, comparable
	// between queries. With 0.3, Recall leaves out most unrelated memories, and may return none. A reranker does not change
	// the relevance. Default: 0, no minimum.
	MinScore float64
	// Mode selects which memories are searched. Default: all current memories in the search indexes.
	Mode Mode
	// Embedding is the vector of Text, made with the database's model, if the application has it.
	Embedding []float32
	// WordsOnly disables the search by vectors. Embedding is ignored then.
	WordsOnly bool
}

// Mode says which memories a Recall may return.
type Mode string

// The modes.
const (
	// ModeNormal returns only traits, and full and summarized memories with enough weight (policy
	// recall_normal_weight).
	ModeNormal Mode = "normal"
	// ModeReview also returns archived memories, and compressed ones with their original text.
	ModeReview Mode = "review"
	// ModeDebug also returns forgotten and ended memories, with the reason. Only the owner of the schema, the worker and
	// operators may use it.
	ModeDebug Mode = "debug"
)

// Results is the result of Recall.
type Results struct {
	// Memories are ordered by score, or by the reranker's, best first.
	Memories []Result
	// Degraded is the reason why only words were searched although vectors were requested: the embedder
	// failed or timed out. Otherwise it is nil.
	Degraded error
}

// Result is a recalled memory with its score.
type Result = store.Result

// Explanation breaks down the score of a Result.
type Explanation = store.Explanation

// ChannelScore is the score and rank of a memory in one channel of an Explanation.
type ChannelScore = store.ChannelScore

// Recall returns the memories of a user that match a query, best first. It searches by words and by vectors,
// and a hit raises its neighbours in the conversation; see oxbow.recall in the SQL interface. Recall writes
// nothing; the client reports the accesses in the background. Pass the memories that a reply relied on to
// Used. With a reranker (WithReranker) the best memories are ranked again.
//
// If the embedder fails, Recall searches by words alone, and Results.Degraded is the reason. If the database
// holds vectors of another model, the error is a *ModelMismatchError. An invalid value is an *InvalidError.
func (c *Client) Recall(ctx context.Context, q Query) (_ Results, err error) {
	ctx, end := c.span(ctx, "Recall")
	defer end(&err)
	params, err := q.params()
	if err != nil {
		return Results{}, err
	}
	rerank := c.reranking != nil && strings.TrimSpace(q.Text) != ""
	limit := cmp.Or(q.Limit, 10)
	if rerank {
		params.Limit = new(max(limit, c.reranking.options.Pool))
	}
	found, degraded, err := search(ctx, c, q, func(db store.DB, vector []float32) ([]Result, EmbeddingModel, error) {
		params.Embedding = vector
		return store.Recall(ctx, db, params)
	})
	if err == nil && rerank {
		found, err = c.rerank(ctx, q.Text, found, limit)
	}
	if err != nil {
		return Results{}, err
	}
	ids := make([]uuid.UUID, len(found))
	for i, m := range found {
		ids[i] = m.ID
	}
	c.report(report{q.UserID, false}, ids) // sent in the background, with a separate context
	return Results{Memories: found, Degraded: degraded}, nil
}

// Considered is a memory that a Recall returns, or leaves out for a reason.
type Considered = store.Considered

// Consideration is the result of RecallDebug.
type Consideration struct {
	// Memories are the results of Recall in order, without a reranker, followed by memories that it leaves out.
	Memories []Considered
	// Degraded is as in Results.
	Degraded error
}

// RecallDebug returns the memories that Recall returns for a query, and those that it leaves out, with the reasons: up to
// 50 further results, up to Limit + 50 that are forgotten, replaced, expired or filtered out, up to 20 that are not
// indexed yet, and those with the given ids. Unlike Recall, it does not report accesses. Only the owner of the schema, the
// worker and operators (the role oxbow_operator) may use it.
func (c *Client) RecallDebug(ctx context.Context, q Query, ids ...uuid.UUID) (_ Consideration, err error) {
	ctx, end := c.span(ctx, "RecallDebug")
	defer end(&err)
	params, err := q.params()
	if err != nil {
		return Consideration{}, err
	}
	found, degraded, err := search(ctx, c, q, func(db store.DB, vector []float32) ([]Considered, EmbeddingModel, error) {
		params.Embedding = vector
		return store.RecallDebug(ctx, db, params, 50, ids)
	})
	return Consideration{found, degraded}, err
}

// search embeds the query's text unless the query has a vector, and calls find with the vector, or nil to search by
// words only. find also returns the model that the database records. degraded is the reason why the text was not
// embedded.
func search[T any](
	ctx context.Context, c *Client, q Query, find func(db store.DB, vector []float32) ([]T, EmbeddingModel, error),
) (found []T, degraded, err error) {
	vector := q.Embedding
	switch {
	case q.WordsOnly:
		vector = nil
	case vector == nil && strings.TrimSpace(q.Text) != "":
		vector, degraded = c.embed(ctx, q.Text)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
	}
	var recorded EmbeddingModel
	err = c.reading(ctx, q.UserID, func(db store.DB) (err error) {
		found, recorded, err = find(db, vector)
		return err
	})
	if mismatch := c.mismatch(recorded, vector, q.Embedding != nil); mismatch != nil {
		return nil, nil, mismatch // also the cause of err: vectors of different lengths cannot be compared
	}
	if err != nil {
		return nil, nil, err
	}
	return found, degraded, nil
}

// mismatch compares the model that the database records with the model of the query's vector.
func (c *Client) mismatch(recorded store.EmbeddingModel, vector []float32, own bool) error {
	mine := store.ModelOf(c.embedder)
	switch {
	case recorded.Model == "" || vector == nil:
		return nil
	case own && len(vector) != recorded.Dimension:
		return store.Invalid("embedding", fmt.Sprintf("%d dimensions", len(vector)),
			fmt.Sprintf("must have the %d dimensions of the database's model %q", recorded.Dimension, recorded.Model))
	case !own && recorded != mine:
		return fmt.Errorf("%w: give the client the embedder of the database (oxbow.WithEmbedder), or change the "+
			"database's with oxbow reembed",
			&ModelMismatchError{Database: recorded, Given: mine})
	}
	return nil
}

// embed embeds a query within the client's timeout, unless the embedder is paused.
func (c *Client) embed(ctx context.Context, text string) (_ []float32, err error) {
	if !c.pause.over(time.Now()) {
		return nil, fmt.Errorf("embedding with %s is paused: %w", c.embedder.Model(), errPaused)
	}
	outer := ctx
	ctx, end := c.span(ctx, "embed", attribute.String("gen_ai.request.model", c.embedder.Model()))
	defer end(&err)
	waiting, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	begun := time.Now()
	vectors, err := embedding.Queries(waiting, c.embedder, []string{text})
	if tells(outer.Err(), time.Since(begun), c.timeout) {
		c.note(ctx, c.pause, "embedder", c.embedder.Model(), err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("embedding with %s took longer than %s: %w", c.embedder.Model(), c.timeout, err)
	}
	if err != nil {
		return nil, err
	}
	if len(vectors) != 1 || len(vectors[0]) != c.embedder.Dimension() {
		return nil, fmt.Errorf("embedding with %s: the answer is not one vector of %d dimensions", c.embedder.Model(),
			c.embedder.Dimension())
	}
	return vectors[0], nil
}

// params validates the query.
func (q Query) params() (store.RecallParams, error) {
	var none store.RecallParams
	if err := store.ValidateUserID(q.UserID); err != nil {
		return none, err
	}
	switch {
	case strings.TrimSpace(q.Text) == "" && (q.Embedding == nil || q.WordsOnly):
		return none, store.Invalid("text", q.Text, "must not be blank without an embedding")
	case !utf8.ValidString(q.Text) || strings.ContainsRune(q.Text, 0):
		return none, store.Invalid("text", q.Text, "must be valid UTF-8 without NUL")
	case q.Limit < 0 || q.Limit > 1000:
		return none, store.Invalid("limit", q.Limit, "must be between 1 and 1000")
	case !(q.MinScore >= 0 && q.MinScore <= 1):
		return none, store.Invalid("min_score", q.MinScore, "must be between 0 and 1")
	}
	for _, t := range q.Types {
		if !slices.Contains(store.MemoryTypes(), t) {
			return none, store.Invalid("types", t, "must be fact, episodic, trait or document")
		}
	}
	for i, x := range q.Embedding {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return none, store.Invalid("embedding", fmt.Sprintf("%v at %d", x, i), "must contain only finite numbers")
		}
	}
	metadata, err := store.ValidateMetadata(q.Metadata)
	if err != nil {
		return none, err
	}
	if len(q.Types) == 0 {
		q.Types = nil // an empty list would match nothing
	}
	if len(q.Contexts) == 0 {
		q.Contexts = nil
	}
	return store.RecallParams{
		UserID: q.UserID, Query: q.Text, Embedding: q.Embedding, Types: q.Types, Contexts: q.Contexts,
		Metadata: metadata, Limit: given(q.Limit), Agent: given(q.AgentID),
		ValidAsOf: given(q.ValidAsOf), BelievedAsOf: given(q.BelievedAsOf), AtNow: given(q.Now),
		MinScore: given(q.MinScore),
		Mode:     given(string(q.Mode)),
	}, nil
}

// given returns nil for a zero value.
func given[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
