package embeddingtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Fault is a way to misbehave. The zero value does not misbehave.
type Fault struct {
	respond   func(s *Server, w http.ResponseWriter, r *http.Request) (done bool)
	change    func(vectors []any) []any
	backwards bool
}

// Status answers with an HTTP status and a message in OpenAI's form.
func Status(code int, message string) Fault {
	return Fault{respond: func(_ *Server, w http.ResponseWriter, _ *http.Request) bool {
		writeStatus(w, code, message)
		return true
	}}
}

// TooManyRequests answers with status 429 and a Retry-After header in whole seconds, or without the
// header if after is negative.
func TooManyRequests(after time.Duration) Fault {
	return Fault{respond: func(_ *Server, w http.ResponseWriter, _ *http.Request) bool {
		if after >= 0 {
			w.Header().Set("Retry-After", fmt.Sprint(int(after.Seconds())))
		}
		writeStatus(w, http.StatusTooManyRequests, "rate limit reached")
		return true
	}}
}

// Unavailable answers with status 503 and a Retry-After header with a date.
func Unavailable(until time.Time) Fault {
	return Fault{respond: func(_ *Server, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Retry-After", until.UTC().Format(http.TimeFormat))
		writeStatus(w, http.StatusServiceUnavailable, "overloaded")
		return true
	}}
}

// Redirect answers with status 307 and another address.
func Redirect(to string) Fault {
	return Fault{respond: func(_ *Server, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusTemporaryRedirect)
		return true
	}}
}

// EchoKey answers with status 401 and a message that contains the key.
func EchoKey() Fault {
	return Fault{respond: func(_ *Server, w http.ResponseWriter, r *http.Request) bool {
		writeStatus(w, http.StatusUnauthorized, "incorrect key in "+r.Header.Get("Authorization"))
		return true
	}}
}

// EchoRequest answers with status 422 and the request, as some frameworks do.
func EchoRequest() Fault {
	return Fault{respond: func(s *Server, w http.ResponseWriter, _ *http.Request) bool {
		sent := s.Requests()
		body, err := json.Marshal(map[string]any{"detail": []any{map[string]any{"input": sent[len(sent)-1].Texts}}})
		if err != nil {
			panic(err) // texts always encode as JSON
		}
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write(body) // the client may be gone
		return true
	}}
}

// Hang does not answer until the client gives up or the server ends. Hanging reports when it has
// begun.
func Hang() Fault {
	return Fault{respond: func(s *Server, _ http.ResponseWriter, r *http.Request) bool {
		s.hanging <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-s.closing:
		}
		return true
	}}
}

// Drop closes the connection without an answer.
func Drop() Fault {
	return Fault{respond: func(*Server, http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }}
}

// Truncated breaks off in the middle of an answer.
func Truncated() Fault {
	return Fault{respond: func(_ *Server, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Length", "100000")
		_, _ = w.Write([]byte(`{"data": [{"embedding": [0.1, `)) // the client may be gone
		return true
	}}
}

// Garbage answers with a body that is not JSON.
func Garbage() Fault { return Raw("<html>gateway</html>") }

// Raw answers with status 200 and body.
func Raw(body string) Fault {
	return Fault{respond: func(_ *Server, w http.ResponseWriter, _ *http.Request) bool {
		_, _ = w.Write([]byte(body)) // the client may be gone
		return true
	}}
}

// NaN puts the word NaN, which some servers write, into a vector.
func NaN() Fault {
	return Fault{respond: func(_ *Server, w http.ResponseWriter, r *http.Request) bool {
		body := `{"data": [{"index": 0, "embedding": [NaN, 0.5]}]}`
		if r.URL.Path == "/api/embed" {
			body = `{"embeddings": [[NaN, 0.5]]}`
		}
		_, _ = w.Write([]byte(body)) // the client may be gone
		return true
	}}
}

// ShortVector leaves out the last number of the last vector.
func ShortVector() Fault {
	return changeLast(func(v []float32) any { return v[:len(v)-1] })
}

// ZeroVector makes the last vector all zeros.
func ZeroVector() Fault {
	return changeLast(func(v []float32) any { return make([]float32, len(v)) })
}

// NullVector fills the last vector with nulls.
func NullVector() Fault {
	return changeLast(func(v []float32) any { return make([]any, len(v)) })
}

// HugeNumbers fills the last vector with numbers beyond single precision.
func HugeNumbers() Fault {
	return changeLast(func(v []float32) any {
		huge := make([]float64, len(v))
		for i := range huge {
			huge[i] = 1e300
		}
		return huge
	})
}

// OneLess leaves out the last vector.
func OneLess() Fault {
	return Fault{change: func(vectors []any) []any { return vectors[:len(vectors)-1] }}
}

// OneMore repeats the last vector.
func OneMore() Fault {
	return Fault{change: func(vectors []any) []any { return append(vectors, vectors[len(vectors)-1]) }}
}

// Backwards returns the vectors in reverse order, each with the right index. OpenAI's protocol
// allows this.
func Backwards() Fault { return Fault{backwards: true} }

func changeLast(change func([]float32) any) Fault {
	return Fault{change: func(vectors []any) []any {
		last := len(vectors) - 1
		vectors[last] = change(vectors[last].([]float32))
		return vectors
	}}
}

func writeStatus(w http.ResponseWriter, code int, message string) {
	body, err := json.Marshal(map[string]any{"error": map[string]any{"message": message, "type": "test"}})
	if err != nil {
		panic(err) // a string always encodes as JSON
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(body) // the client may be gone
}
