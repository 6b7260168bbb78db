// Package embedding defines embedders, which turn texts into vectors, and contains the offline one.
package embedding

import (
	"context"
	"errors"
	"math"
)

// MaxDimension is the longest vector that fits in a row. A vector is stored uncompressed inside its
// row, and a row inside a page of 8 kB. With a user_id of 255 bytes, the longest allowed,
// PostgreSQL 15 accepts at most 3,922 dimensions. MaxDimension is the multiple of 512 below that.
const MaxDimension = 3584

// Embedder computes vectors of texts. It is safe for concurrent use.
type Embedder interface {
	// Model identifies the model, such as "openai:text-embedding-3-small". Vectors of different
	// models are not comparable.
	Model() string
	// Dimension is the length of every vector, 1 to MaxDimension.
	Dimension() int
	// Embed returns a vector of length 1 for each text, in order. The error is an *Error or that of
	// the context. With an *Error of kind Permanent Embed also returns the vectors, nil for each
	// refused text; with any other error it returns none.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Queries returns the vectors of questions. It calls EmbedQueries if the embedder has that method, for models that embed
// questions and memories differently, and Embed otherwise.
func Queries(ctx context.Context, e Embedder, texts []string) ([][]float32, error) {
	if q, ok := e.(interface {
		EmbedQueries(ctx context.Context, texts []string) ([][]float32, error)
	}); ok {
		return q.EmbedQueries(ctx, texts)
	}
	return e.Embed(ctx, texts)
}

// Normalize scales a vector to length 1, so that its numbers fit a half-precision column. The angle, which is all that
// is compared, does not change.
func Normalize(v []float32) error {
	var sum float64
	for _, f := range v {
		sum += float64(f) * float64(f)
	}
	length := math.Sqrt(sum)
	switch {
	case math.IsNaN(length) || math.IsInf(length, 0):
		return errors.New("a vector contains NaN or infinity")
	case length == 0:
		return errors.New("a vector is all zero")
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / length)
	}
	return nil
}
