package server

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/klauspost/compress/gzhttp"
	"github.com/rs/cors"
)

// The paths of openapi.json are relative to one of these. With a person's credential they concern that person; with an
// app's or an operator's, the user in the path.
const (
	prefix     = "/v1"
	userPrefix = "/v1/users/"
)

// routes returns the handler of all routes.
func (s *Server) routes() http.Handler {
	v1 := http.NewServeMux()
	s.api = humago.New(v1, s.describe())
	s.api.UseMiddleware(s.observed, s.logged)
	s.register()

	all := http.NewServeMux()
	all.Handle("/", s.loaded(gzhttp.GzipHandler(tagged(v1))))
	all.Handle(mcpPath, s.loaded(newMCP(s).handler())) // streams cannot wait to be compressed
	mux := http.NewServeMux()
	mux.Handle(prefix+"/", s.forUser(all))
	mux.Handle(mcpPath, s.forUser(all))
	mux.HandleFunc(metadataPath, s.metadata)
	mux.HandleFunc(metadataPath+"/", s.metadata)
	mux.Handle("/", s.pages())
	handler := http.Handler(mux)
	if s.cors != nil {
		handler = s.cors.Handler(handler)
	}
	return s.identified(handler)
}

// newCORS lets pages of other origins call the API. It returns nil if none may.
func newCORS(origins []string) *cors.Cors {
	if len(origins) == 0 {
		return nil
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
		AllowedHeaders: []string{"Authorization", "Content-Type", "Idempotency-Key", "If-None-Match", "Last-Event-ID",
			"Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id", "X-Request-Id"},
		ExposedHeaders: []string{"ETag", "Mcp-Session-Id", "Retry-After", "WWW-Authenticate", "X-Request-Id"},
	})
}

// register registers all operations.
func (s *Server) register() {
	s.registerHealth()
	s.registerMemories()
	s.registerChanges()
	s.registerMessages()
	s.registerRecall()
	s.registerTraits()
	s.registerFeedback()
	s.registerProcedures()
	s.registerIntentions()
	s.registerProfile()
	s.registerDocuments()
	s.registerTransfer()
	s.registerUser()
	s.registerOperations()
	s.registerOperators()
	s.registerLearning()
	s.registerV1()
}

// describe returns the parts of openapi.json that are not operations.
func (s *Server) describe() huma.Config {
	cfg := huma.DefaultConfig("Oxbow", "1")
	cfg.CreateHooks = nil // no "$schema" in answers
	cfg.DocsPath = ""     // it would load a script from elsewhere
	cfg.Formats = map[string]huma.Format{"application/json": boundedJSON, "json": boundedJSON}
	cfg.Transformers = append(cfg.Transformers, shortenProblem)
	cfg.Info.Description = "Long-term memory about users. Times are RFC 3339. Errors are RFC 9457 problems. " +
		"Answers to GET have an ETag; with If-None-Match, an unchanged one is not sent again."
	cfg.Servers = []*huma.Server{
		{URL: prefix, Description: "A person's key or token: the person's own data"},
		{URL: userPrefix + "{user_id}", Description: "An app's or an operator's key: the data of the user in the path",
			Variables: map[string]*huma.ServerVariable{"user_id": {Default: "ada", Description: "The user's id"}}},
	}
	cfg.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"bearer": {Type: "http", Scheme: "bearer",
			Description: `An API key ("oxbow keys api create") or a token of the issuer`},
	}
	return cfg
}

// forUser strips the prefix of a path, authenticates the caller and determines the user whom the request concerns.
func (s *Server) forUser(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.EscapedPath(), prefix)
		user, named := "", false
		if rest, ok := strings.CutPrefix(r.URL.EscapedPath(), userPrefix); ok {
			segment, after, more := strings.Cut(rest, "/")
			var err error
			if user, err = url.PathUnescape(segment); err != nil || !more {
				s.fail(w, r, huma.Error404NotFound("no such path"))
				return
			}
			path, named = "/"+after, true
		}
		ctx := r.Context()
		if !public(path) {
			caller, err := s.authenticate(r, user, named)
			if err != nil {
				s.fail(w, r, err)
				return
			}
			var end func()
			if ctx, end, err = s.begin(r, caller); err != nil {
				s.fail(w, r, err)
				return
			}
			defer end()
		} else if path != "/health" { // which is cheap, and whose callers count on an answer
			if err := s.limits.take(bucket{address: s.remote(r)}); err != nil {
				s.fail(w, r, err)
				return
			}
		}
		if path != mcpPath { // which has streams, and limits the calls of tools itself
			var settle func()
			ctx, settle = s.spends(ctx)
			defer settle()
			timeout := s.timeoutOf(path)
			if timeout == transferTimeout {
				_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(timeout + chunkTimeout))
			}
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, timeout)
			defer cancel()
		}
		plain, err := url.PathUnescape(path)
		if err != nil {
			s.fail(w, r, huma.Error404NotFound("no such path"))
			return
		}
		inner, stripped := r.WithContext(ctx), *r.URL
		stripped.Path, stripped.RawPath = plain, path
		inner.URL = &stripped
		next.ServeHTTP(w, inner)
	})
}

// timeoutOf returns how long a request may take.
func (s *Server) timeoutOf(path string) time.Duration {
	if path == "/export" || path == "/import" {
		return transferTimeout
	}
	return s.cfg.timeout
}

// public reports whether a path needs no credential.
func public(path string) bool {
	return path == "/health" || strings.HasPrefix(path, "/openapi")
}
