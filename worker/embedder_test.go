package worker

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/embedding/embeddingtest"
)

// ownEmbedder is an embedder that a program brings.
type ownEmbedder func(texts []string, vectors [][]float32) ([][]float32, error)

func (ownEmbedder) Model() string  { return "openai:m" }
func (ownEmbedder) Dimension() int { return 1024 }
func (e ownEmbedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = embeddingtest.Vector(text, 1024)
	}
	return e(texts, vectors)
}

func TestOwnEmbedder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		embed          ownEmbedder
		vectors        int    // of 20
		waiting, tried int    // jobs
		err            string // of the job that was tried
	}{
		"panic about a text": {func(texts []string, vectors [][]float32) ([][]float32, error) {
			if slices.Contains(texts, "memory of 7") {
				panic("a bug with memory of 7")
			}
			return vectors, nil
		}, 19, 1, 1, "memory of 7"},
		"one text in time": {func(_ []string, vectors [][]float32) ([][]float32, error) {
			clear(vectors[1:])
			return vectors, &embedding.Error{Kind: embedding.Permanent}
		}, 20, 0, 0, ""},
		"wrong length": {func(_ []string, vectors [][]float32) ([][]float32, error) {
			for i := range vectors {
				vectors[i] = vectors[i][:768]
			}
			return vectors, nil
		}, 0, 20, 20, "length 768 instead of 1024"},
		"no network": {func([]string, [][]float32) ([][]float32, error) {
			return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
		}, 0, 20, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			b.oneAtOnce()
			b.cfg.Embedder = c.embed
			b.singles(20)
			if err := b.drain(); c.waiting > 0 {
				require.ErrorAs(t, err, new(*UnfinishedError))
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, c.vectors, b.count(`oxbow.memory_vectors`))
			require.Equal(t, c.waiting, b.count(`oxbow.river_job where kind = 'embed' and state <> 'completed'`))
			require.Equal(t, c.tried, b.count(`oxbow.river_job where kind = 'embed' and errors is not null`))
			require.Equal(t, c.tried, b.count(`oxbow.river_job where errors[1] ->> 'error' like '%' || $1 || '%'`, c.err))
		})
	}
}

// What the provider says about a refused text is stored with that memory only.
func TestRefusedTogether(t *testing.T) {
	b := setup(t)
	server := b.oneAtOnce()
	b.singles(10)
	var bad string
	server.Always(embeddingtest.Fault{
		If: func(texts []string) bool {
			at := slices.IndexFunc(texts, func(text string) bool { return text == "memory of 3" || text == "memory of 7" })
			if at >= 0 {
				bad = texts[at]
			}
			return at >= 0
		},
		Respond: func(s *embeddingtest.Server, w http.ResponseWriter, r *http.Request) {
			embeddingtest.Status(http.StatusBadRequest, "refused: "+bad).Respond(s, w, r)
		}})
	require.NoError(t, b.drain())
	require.Equal(t, 8, b.count(`oxbow.memory_vectors`))
	for _, user := range []string{"3", "7"} {
		require.Equal(t, 1, b.count(`oxbow.embedding_refusals where user_id = 'user ' || $1
			and reason like '%refused: memory of ' || $1 || ' (%'`, user))
	}
}
