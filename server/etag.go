package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
)

// tagged gives JSON answers to GET an ETag, and answers 304 if the client has the same.
func tagged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		answer := &tag{ResponseWriter: w}
		next.ServeHTTP(answer, r)
		if !answer.held {
			return
		}
		hash := sha256.Sum256(answer.body.Bytes())
		etag := `W/"` + base64.RawURLEncoding.EncodeToString(hash[:16]) + `"`
		w.Header().Set("ETag", etag)
		w.Header().Set("Cache-Control", "private, no-cache")
		for given := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
			if given = strings.TrimSpace(given); given == etag || given == "*" {
				w.Header().Del("Content-Type")
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(answer.body.Bytes()) // the client may have disconnected
	})
}

// tag holds an answer with JSON back until it is complete. Others pass.
type tag struct {
	http.ResponseWriter
	body          bytes.Buffer
	held, decided bool
}

func (t *tag) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (t *tag) WriteHeader(status int) {
	if t.decided {
		return
	}
	t.decided = true
	t.held = status == http.StatusOK && t.Header().Get("Content-Type") == "application/json"
	if !t.held {
		t.ResponseWriter.WriteHeader(status)
	}
}

func (t *tag) Write(text []byte) (int, error) {
	t.WriteHeader(http.StatusOK)
	if t.held {
		return t.body.Write(text)
	}
	return t.ResponseWriter.Write(text)
}
