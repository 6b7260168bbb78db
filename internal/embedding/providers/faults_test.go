package providers_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/oxbow-memory/oxbow/internal/embedding/embeddingtest"
)

type server = embeddingtest.Server

func fault(respond func(s *server, w http.ResponseWriter, r *http.Request)) embeddingtest.Fault {
	return embeddingtest.Fault{Respond: respond}
}

// overloaded answers with status 503 and a Retry-After header with a date.
func overloaded(until time.Time) embeddingtest.Fault {
	return fault(func(_ *server, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", until.UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
}

// redirect answers with status 307 and another address.
func redirect(to string) embeddingtest.Fault {
	return fault(func(_ *server, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
}

// echoKey answers with status 401 and a message that contains the key.
func echoKey() embeddingtest.Fault {
	return fault(func(s *server, w http.ResponseWriter, r *http.Request) {
		embeddingtest.Status(http.StatusUnauthorized, "incorrect key in "+r.Header.Get("Authorization")).Respond(s, w, r)
	})
}

// echoRequest answers with status 422 and the request, as some frameworks do.
func echoRequest() embeddingtest.Fault {
	return fault(func(s *server, w http.ResponseWriter, _ *http.Request) {
		sent := s.Requests()
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(map[string]any{"detail": []any{map[string]any{"input": sent[len(sent)-1].Texts}}})
	})
}

// truncated breaks off in the middle of an answer.
func truncated() embeddingtest.Fault {
	return fault(func(_ *server, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100000")
		_, _ = w.Write([]byte(`{"data": [{"embedding": [0.1, `))
	})
}

// nullVector fills the last vector with nulls.
func nullVector() embeddingtest.Fault {
	return embeddingtest.ChangeLast(func(v []float32) any { return make([]any, len(v)) })
}

// hugeNumbers fills the last vector with numbers beyond single precision.
func hugeNumbers() embeddingtest.Fault {
	return embeddingtest.ChangeLast(func(v []float32) any { return slices.Repeat([]float64{1e300}, len(v)) })
}

// backwards gives the vectors of texts in reverse order, each with the right index, as OpenAI's protocol allows.
func backwards(texts []string) embeddingtest.Fault {
	var data []any
	for i, text := range slices.Backward(texts) {
		data = append(data, map[string]any{"index": i, "embedding": embeddingtest.Vector(text, dimension)})
	}
	return fault(func(_ *server, w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	})
}
