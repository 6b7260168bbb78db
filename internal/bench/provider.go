package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"
)

// providerTime is what the provider takes for a request, as one over a network does.
const providerTime = 20 * time.Millisecond

// startProvider serves OpenAI's /embeddings, with the same vector for every text: what is measured is the way there and back.
func startProvider(ctx context.Context, vector []float32) (url string, stop func() error, err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	numbers, err := json.Marshal(vector)
	if err != nil {
		return "", nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/embeddings", func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Input []json.RawMessage `json:"input"`
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var answer bytes.Buffer
		answer.WriteString(`{"object":"list","data":[`)
		for i := range asked.Input {
			if i > 0 {
				answer.WriteByte(',')
			}
			fmt.Fprintf(&answer, `{"object":"embedding","index":%d,"embedding":%s}`, i, numbers)
		}
		answer.WriteString(`]}`)
		time.Sleep(providerTime)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer.Bytes()) // the worker may be gone
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }() // until it is closed
	return "http://" + listener.Addr().String() + "/v1", server.Close, nil
}
