// Package embedding defines embedders, which turn texts into vectors, and has the one that works offline.
package embedding

import "context"

// MaxDimension is the longest vector that fits. A vector is stored uncompressed inside its row, and a row inside a page
// of 8 kB: beside a user_id of 255 bytes, the longest that is allowed, PostgreSQL 15 takes 3,922 dimensions and no
// more. This is the multiple of 512 below.
const MaxDimension = 3584

// Embedder makes vectors of texts. It may be used by several goroutines at once.
type Embedder interface {
	// Model identifies what made a vector, such as "openai:text-embedding-3-small". Vectors of different models cannot
	// be compared.
	Model() string
	// Dimension is the length of every vector, 1 to MaxDimension.
	Dimension() int
	// Embed returns a vector of length 1 for each text, in their order. The error is an *Error, or the context's. With
	// an *Error of kind Permanent the vectors are returned too, nil for each text that was refused; with any other
	// error there are none.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}
