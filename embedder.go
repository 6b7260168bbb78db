package oxbow

import "github.com/oxbow-memory/oxbow/internal/embedding"

// Embedder turns texts into vectors. The worker and every client of a database must use the same one, the one that the
// database records; `oxbow reembed` changes it.
type Embedder = embedding.Embedder

// EmbedderConfig chooses an embedder. The zero value is the local one.
type EmbedderConfig = embedding.Config

// EmbeddingError is what an Embedder returns when its provider fails. It says whether to ask again.
type EmbeddingError = embedding.Error

// LocalEmbedder returns the default: offline and deterministic, by words, parts of words and a table of everyday
// concepts, in vectors of 1,024 dimensions. Its model is "local-v1".
func LocalEmbedder() Embedder { return embedding.NewLocal(embedding.LocalDimension) }

// OpenEmbedder returns the embedder that cfg describes: local, any server that speaks OpenAI's API, or Ollama. It does
// not talk to the server. An error names the field and its value.
func OpenEmbedder(cfg EmbedderConfig) (Embedder, error) { return embedding.Open(cfg) }
