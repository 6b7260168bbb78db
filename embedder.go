package oxbow

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/oxbow-memory/oxbow/internal/embedding"
)

// Embedder turns texts into vectors, and is safe for concurrent use. The worker and every client of a database must use
// the same model, which the database records; oxbow reembed changes it.
type Embedder interface {
	// Model names what made a vector, such as "openai:text-embedding-3-small". Vectors of different models cannot be
	// compared.
	Model() string
	// Dimension is the length of every vector, 1 to 3584.
	Dimension() int
	// Embed returns a vector of length 1 for each text, in their order.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// LocalEmbedder returns the default embedder, which works offline and is deterministic: it knows words, parts of words
// and a table of everyday concepts. Its vectors have 1,024 dimensions, and its model is "local-v1".
func LocalEmbedder() Embedder { return embedding.NewLocal(embedding.LocalDimension) }

// DocumentEmbedder is what NewEmbedder adapts: it has the method of langchaingo's embeddings.Embedder that embeds
// texts.
type DocumentEmbedder interface {
	EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error)
}

// NewEmbedder makes an Embedder of an embedder of langchaingo. model must be the name that the worker of the database
// records, provider and model: "openai:text-embedding-3-small", "ollama:bge-m3". dimension is the length of the
// vectors, 1 to 3584. An error names the value.
func NewEmbedder(e DocumentEmbedder, model string, dimension int) (Embedder, error) {
	switch {
	case e == nil:
		return nil, errors.New("oxbow: NewEmbedder: the embedder is nil")
	case model == "":
		return nil, errors.New("oxbow: NewEmbedder: the model is empty")
	case dimension < 1 || dimension > embedding.MaxDimension:
		return nil, fmt.Errorf("oxbow: NewEmbedder: dimension %d is out of range: it must be 1 to %d", dimension,
			embedding.MaxDimension)
	}
	return &adapted{e, model, dimension}, nil
}

// adapted is a DocumentEmbedder with the name and the dimension of its model.
type adapted struct {
	DocumentEmbedder
	model     string
	dimension int
}

func (a *adapted) Model() string  { return a.model }
func (a *adapted) Dimension() int { return a.dimension }

func (a *adapted) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := a.EmbedDocuments(ctx, texts)
	if err != nil {
		return nil, err
	}
	for _, v := range vectors {
		normalize(v)
	}
	return vectors, nil
}

// normalize gives a vector the length 1.
func normalize(v []float32) {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return
	}
	length := float32(math.Sqrt(sum))
	for i := range v {
		v[i] /= length
	}
}
