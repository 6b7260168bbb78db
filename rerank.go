package oxbow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"

	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/store"
)

// The limits of reranking.
const (
	DefaultRerankPool    = 30
	DefaultRerankTimeout = 300 * time.Millisecond
	DefaultRerankWeight  = 1.0
	MaxRerankPool        = 50

	maxRerankText = 2000 // characters of a text; recall also uses at most as many of a query
)

// Reranker scores texts by how well they answer a question, as a cross-encoder does. It must be safe for concurrent use.
// Package rerank has one for servers.
type Reranker interface {
	// Model names the model, for logs and traces.
	Model() string
	// Rerank returns the scores of documents in any order; a higher score is better. A document without a score has the
	// last rank. Rerank returns soon after ctx ends.
	Rerank(ctx context.Context, query string, documents []string) ([]RerankScore, error)
}

// RerankScore is the score of the document at Index.
type RerankScore struct {
	Index int
	Score float64
}

// RerankOptions configure WithReranker. A zero value is the default.
type RerankOptions struct {
	// Pool is the number of memories that are ranked again, the best of Recall, 1 to 50. Default: 30.
	Pool int
	// Timeout is how long Recall waits before it keeps its own order. Default: 300 milliseconds.
	Timeout time.Duration
	// Weight is the weight of the reranker's order, above 0; that of Recall has weight 1. With 100 the reranker alone
	// decides the order. Default: 1.
	Weight float64
	// Observe is called after each call of the reranker, for example for metrics. err is nil if its order was used.
	// Default: none.
	Observe func(took time.Duration, err error)
}

// Reranked explains what a reranker did to a Result.
type Reranked = store.Reranked

// WithReranker lets a reranker reorder the best memories of Recall. It receives the query and the texts of the memories,
// and cannot add a memory that Recall leaves out. If it fails or takes longer than the timeout, Recall keeps its own
// order, and Result.Explain.Reranked.Failed says why. After three timeouts in a row, the reranker is asked only every 30
// seconds until it is in time again. Invalid options are an error of New. Default: no reranker.
func WithReranker(r Reranker, options RerankOptions) Option {
	return func(c *Client) error {
		options.Pool = cmp.Or(options.Pool, DefaultRerankPool)
		options.Timeout = cmp.Or(options.Timeout, DefaultRerankTimeout)
		options.Weight = cmp.Or(options.Weight, DefaultRerankWeight)
		switch {
		case r == nil:
			return errors.New("oxbow: WithReranker: the reranker is nil")
		case options.Pool < 1 || options.Pool > MaxRerankPool:
			return fmt.Errorf("oxbow: WithReranker: the pool %d is out of range: it must be 1 to %d", options.Pool, MaxRerankPool)
		case options.Timeout < 0:
			return fmt.Errorf("oxbow: WithReranker: the timeout %s is negative", options.Timeout)
		case !(options.Weight > 0) || math.IsInf(options.Weight, 1):
			return fmt.Errorf("oxbow: WithReranker: the weight %v is not a positive number", options.Weight)
		}
		c.reranking = &reranking{Reranker: r, options: options}
		return nil
	}
}

// reranking is a client's reranker.
type reranking struct {
	Reranker
	options RerankOptions
	failing atomic.Bool // whether the last call failed, so that only changes are logged
	pause   pause
}

// rerank ranks the best memories of a recall again, and returns the first limit of all. Memories that repeat a better one
// stay last. If the reranker fails, the order stays. The only error is that of ctx.
func (c *Client) rerank(ctx context.Context, query string, found []Result, limit int) ([]Result, error) {
	pool := found[:min(len(found), c.reranking.options.Pool)]
	if i := slices.IndexFunc(pool, func(m Result) bool { return m.Explain.Repeats != uuid.Nil }); i >= 0 {
		pool = pool[:i]
	}
	for i := range pool {
		pool[i].Explain.Reranked = &Reranked{From: i + 1}
	}
	if len(pool) > 0 {
		err := c.askReranker(ctx, query, pool)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			failed := "error"
			switch {
			case errors.Is(err, errPaused):
				failed = "paused"
			case errors.Is(err, context.DeadlineExceeded):
				failed = "timeout"
			}
			for i := range pool {
				pool[i].Explain.Reranked.Failed = failed
			}
		}
	}
	return found[:min(len(found), limit)], nil
}

// askReranker sorts the pool by the scores of the reranker. With an error the pool keeps its order.
func (c *Client) askReranker(ctx context.Context, query string, pool []Result) (err error) {
	if !c.reranking.pause.over(time.Now()) {
		return errPaused
	}
	outer := ctx
	ctx, end := c.span(ctx, "rerank", attribute.String("gen_ai.request.model", c.reranking.Model()),
		attribute.Int("oxbow.texts", len(pool)))
	defer end(&err)
	waiting, cancel := context.WithTimeout(ctx, c.reranking.options.Timeout)
	defer cancel()
	documents := make([]string, len(pool))
	for i, m := range pool {
		documents[i] = oneline.Shorten(store.EmbeddedText(m.Speaker, m.Content), maxRerankText)
	}
	begun := time.Now()
	scores, err := c.reranking.Rerank(waiting, oneline.Shorten(query, maxRerankText), documents)
	if err == nil {
		err = fuse(pool, scores, c.reranking.options.Weight)
	}
	if tells(outer.Err(), time.Since(begun), c.reranking.options.Timeout) {
		c.note(ctx, &c.reranking.pause, "reranker", c.reranking.Model(), err)
	}
	if outer.Err() != nil {
		return outer.Err() // the caller gave up, which says nothing about the reranker
	}
	if c.reranking.options.Observe != nil {
		c.reranking.options.Observe(time.Since(begun), err)
	}
	switch failing := err != nil; {
	case c.reranking.failing.Swap(failing) == failing:
	case failing:
		c.log.WarnContext(ctx, "the reranker failed, so recall keeps its own order", "model", c.reranking.Model(),
			"error", err)
	default:
		c.log.InfoContext(ctx, "the reranker answers again", "model", c.reranking.Model())
	}
	return err
}

// fuse sorts the pool by the sum of two reciprocal ranks: that in recall's own order, and that by the reranker's score,
// times the weight. Equal scores have the same rank; a document without a score has the last rank. Invalid scores are an
// error and do not change the pool.
func fuse(pool []Result, scores []RerankScore, weight float64) error {
	if len(scores) == 0 {
		return errors.New("the reranker returned no scores")
	}
	byIndex := make([]*float64, len(pool))
	for _, s := range scores {
		switch {
		case s.Index < 0 || s.Index >= len(pool):
			return fmt.Errorf("the reranker scored document %d of %d", s.Index, len(pool))
		case byIndex[s.Index] != nil:
			return fmt.Errorf("the reranker scored document %d twice", s.Index)
		case math.IsNaN(s.Score) || math.IsInf(s.Score, 0):
			return fmt.Errorf("the reranker scored document %d with %v", s.Index, s.Score)
		}
		byIndex[s.Index] = &s.Score
	}
	scores = slices.SortedFunc(slices.Values(scores), func(a, b RerankScore) int { return cmp.Compare(b.Score, a.Score) })
	rank := func(score *float64) int {
		if score == nil {
			return len(scores) + 1
		}
		return 1 + slices.IndexFunc(scores, func(s RerankScore) bool { return s.Score == *score })
	}
	const k = 60 // the usual constant (Cormack et al., 2009); with it the first ranks differ little
	for i := range pool {
		pool[i].Explain.Reranked.Score = byIndex[i]
	}
	fused := func(m Result) float64 {
		r := m.Explain.Reranked
		return 1/float64(k+r.From) + weight/float64(k+rank(r.Score))
	}
	slices.SortStableFunc(pool, func(a, b Result) int { return cmp.Compare(fused(b), fused(a)) })
	return nil
}
