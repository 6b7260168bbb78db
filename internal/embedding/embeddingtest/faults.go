package embeddingtest

import (
	"fmt"
	"net/http"
	"time"
)

// Fault is a way to misbehave. The zero value does not misbehave.
type Fault struct {
	Respond func(s *Server, w http.ResponseWriter, r *http.Request) // instead of an answer
	Change  func(vectors []any) []any                               // changes the []float32 of an answer
	If      func(texts []string) bool                               // only for these texts; nil: for all
}

// Status answers with an HTTP status and a message in OpenAI's form.
func Status(code int, message string) Fault {
	return Fault{Respond: func(_ *Server, w http.ResponseWriter, _ *http.Request) {
		write(w, code, map[string]any{"error": map[string]any{"message": message, "type": "test"}})
	}}
}

// TooManyRequests answers with status 429 and a Retry-After header in whole seconds, or without the
// header if after is negative.
func TooManyRequests(after time.Duration) Fault {
	return Fault{Respond: func(s *Server, w http.ResponseWriter, r *http.Request) {
		if after >= 0 {
			w.Header().Set("Retry-After", fmt.Sprint(int(after.Seconds())))
		}
		Status(http.StatusTooManyRequests, "rate limit reached").Respond(s, w, r)
	}}
}

// Hang does not answer until the client gives up or the server ends. Hanging reports when it has
// begun.
func Hang() Fault {
	return Fault{Respond: func(s *Server, _ http.ResponseWriter, r *http.Request) {
		s.hanging <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-s.closing:
		}
	}}
}

// Drop closes the connection without an answer.
func Drop() Fault {
	return Fault{Respond: func(*Server, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }}
}

// Garbage answers with a body that is not JSON.
func Garbage() Fault { return Raw("<html>gateway</html>") }

// Raw answers with status 200 and body.
func Raw(body string) Fault {
	return Fault{Respond: func(_ *Server, w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(body)) // the client may be gone
	}}
}

// NaN answers with the word NaN, which some servers write, in OpenAI's and in Ollama's form.
func NaN() Fault {
	return Raw(`{"data": [{"index": 0, "embedding": [NaN, 0.5]}], "embeddings": [[NaN, 0.5]]}`)
}

// ShortVector leaves out the last number of the last vector.
func ShortVector() Fault {
	return ChangeLast(func(v []float32) any { return v[:len(v)-1] })
}

// ZeroVector makes the last vector all zeros.
func ZeroVector() Fault {
	return ChangeLast(func(v []float32) any { return make([]float32, len(v)) })
}

// ChangeLast changes the last vector.
func ChangeLast(change func([]float32) any) Fault {
	return Fault{Change: func(vectors []any) []any {
		last := len(vectors) - 1
		vectors[last] = change(vectors[last].([]float32))
		return vectors
	}}
}

// OneLess leaves out the last vector.
func OneLess() Fault {
	return Fault{Change: func(vectors []any) []any { return vectors[:len(vectors)-1] }}
}

// OneMore repeats the last vector.
func OneMore() Fault {
	return Fault{Change: func(vectors []any) []any { return append(vectors, vectors[len(vectors)-1]) }}
}
