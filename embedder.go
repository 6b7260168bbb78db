package oxbow

import (
	"context"
	"errors"
	"fmt"

	"github.com/oxbow-memory/oxbow/internal/embedding"
)

// Embedder turns texts into vectors. It must be safe for concurrent use. The worker and all clients of a
// database must use the model that the database records; oxbow reembed changes it.
type Embedder interface {
	// Model names the provider and the model, such as "openai:text-embedding-3-small". Vectors of
	// different models cannot be compared.
	Model() string
	// Dimension is the length of every vector, 1 to 3584.
	Dimension() int
	// Embed returns a vector of length 1 for each text, in order. A worker waits after a net.Error; after any other
	// error it embeds the texts one by one.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// QueryEmbedder is an Embedder whose model embeds questions and memories differently, for example with prefixes. Embed
// is then for memories only. If the prefix of memories changes, the name of the model must change too.
type QueryEmbedder interface {
	Embedder
	// EmbedQueries is like Embed for questions.
	EmbedQueries(ctx context.Context, texts []string) ([][]float32, error)
}

// LocalEmbedder returns the default embedder. It is deterministic and works offline with words, parts of
// words and a table of everyday concepts. Its model is "local-v1", with 1,024 dimensions.
func LocalEmbedder() Embedder { return embedding.NewLocal(embedding.LocalDimension) }

// DocumentEmbedder is the part of langchaingo's embeddings.Embedder that NewEmbedder needs.
type DocumentEmbedder interface {
	EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error)
}

// NewEmbedder adapts a langchaingo embedder. If it has the method EmbedQuery, questions are embedded with that. model
// must be the name that the database records, as provider:model, such as "openai:text-embedding-3-small" or
// "ollama:bge-m3". dimension is the length of the vectors, 1 to 3584. An invalid argument is an error.
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

// adapted is a DocumentEmbedder with its model's name and dimension.
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
	return a.normalized(vectors)
}

// EmbedQueries is Embed for questions.
func (a *adapted) EmbedQueries(ctx context.Context, texts []string) ([][]float32, error) {
	e, ok := a.DocumentEmbedder.(interface {
		EmbedQuery(ctx context.Context, text string) ([]float32, error)
	})
	if !ok {
		return a.Embed(ctx, texts)
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		var err error
		if vectors[i], err = e.EmbedQuery(ctx, text); err != nil {
			return nil, err
		}
	}
	return a.normalized(vectors)
}

func (a *adapted) normalized(vectors [][]float32) ([][]float32, error) {
	refused := &embedding.Error{Kind: embedding.Permanent, Model: a.model}
	for i, v := range vectors {
		if err := embedding.Normalize(v); err != nil {
			vectors[i], refused.Message = nil, err.Error()
			refused.Texts = append(refused.Texts, i)
		}
	}
	if len(refused.Texts) > 0 {
		return vectors, refused
	}
	return vectors, nil
}
