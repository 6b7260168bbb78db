package server

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

const (
	mcpPath      = "/mcp"
	metadataPath = "/.well-known/oauth-protected-resource"
	callerInfo   = "caller" // of auth.TokenInfo.Extra
	// stateless is the first version of the protocol without sessions.
	stateless = "2026-07-28"
)

// handler returns the handler of MCP over HTTP. The caller is in the request's context.
func (m *mcpServer) handler() http.Handler {
	options := mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, Logger: m.log, MaxRequestBodyBytes: maxBody,
		PropagateRequestCancellation: true, DisableLocalhostProtection: true} // see knownHost
	server := func(*http.Request) *mcp.Server { return m.sdk }
	single := mcp.NewStreamableHTTPHandler(server, &options)
	sessions := single
	if m.cfg.MCPSessions > 0 {
		options.Stateless, options.SessionTimeout = false, m.cfg.MCPSessions
		sessions = mcp.NewStreamableHTTPHandler(server, &options)
	}
	route := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= stateless {
			single.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	})
	// The SDK ties a session to UserID, and gives Extra to the tools.
	identified := auth.RequireBearerToken(func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		who := callerOf(ctx)
		return &auth.TokenInfo{UserID: string(who.role) + " " + who.key.String() + " " + who.user,
			Extra: map[string]any{callerInfo: who}}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(route)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := readJSON(w, r)
		if err == nil {
			err = m.admit(r, body)
		}
		if err != nil {
			m.fail(w, r, err)
			return
		}
		if r.Method == http.MethodGet || r.Header.Get("Mcp-Method") == "subscriptions/listen" {
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			defer context.AfterFunc(m.stopping, cancel)()
			endless := &stream{w, http.NewResponseController(w)}
			defer endless.wait()
			r, w = r.WithContext(ctx), endless
		}
		identified.ServeHTTP(w, r)
	})
}

// admit refuses a request that MCP does not answer.
func (m *mcpServer) admit(r *http.Request, body []byte) error {
	switch {
	case callerOf(r.Context()).user == "":
		return errNoUser(mcpPath)
	case !m.knownHost(r):
		return huma.Error403Forbidden("the header Host is not this server's")
	case begins(r) && m.full():
		return huma.Error503ServiceUnavailable("there are too many sessions: try again later")
	case isBatch(body):
		return huma.Error400BadRequest("batches of requests are not accepted")
	case m.origins.Check(r) != nil && (m.cors == nil || !m.cors.OriginAllowed(r)):
		return huma.Error403Forbidden("pages of this origin may not call the server")
	}
	return nil
}

// stream is an answer without an end. Its client has some time for each part of it.
type stream struct {
	http.ResponseWriter
	connection *http.ResponseController
}

func (s *stream) wait() { _ = s.connection.SetWriteDeadline(time.Now().Add(chunkTimeout)) }

func (s *stream) Write(text []byte) (int, error) {
	s.wait()
	return s.ResponseWriter.Write(text)
}

// Unwrap is for http.ResponseController.
func (s *stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// begins reports whether a request may begin a session.
func begins(r *http.Request) bool {
	return r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" &&
		r.Header.Get("Mcp-Protocol-Version") < stateless
}

// sessionCount is the number of sessions, counted once a second, because that takes time for each of them. In between
// it only grows, by the requests that may have begun one.
type sessionCount struct {
	mu    sync.Mutex
	at    time.Time
	count int
}

// full reports whether there are as many sessions as a process keeps. If not, the caller may begin one.
func (m *mcpServer) full() bool {
	if m.cfg.MCPSessions == 0 {
		return false
	}
	m.open.mu.Lock()
	defer m.open.mu.Unlock()
	if time.Since(m.open.at) > time.Second {
		m.open.count, m.open.at = 0, time.Now()
		for range m.sdk.Sessions() {
			m.open.count++
		}
	}
	if m.open.count >= m.cfg.MCPMaxSessions {
		return true
	}
	m.open.count++
	return false
}

// isBatch reports whether a body is a list of requests, which would count as one for the limits.
func isBatch(body []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) }

// knownHost reports whether the host of a request is the server's. A page whose name was changed to mean this machine
// (DNS rebinding) uses its own.
func (m *mcpServer) knownHost(r *http.Request) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local == nil || !loopback(local.String()) || loopback(r.Host) {
		return true
	}
	public, err := url.Parse(m.cfg.PublicURL)
	return err == nil && public.Host == r.Host
}

// loopback reports whether an address, with or without a port, is this machine's own.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// metadata serves the metadata of the protected resources (RFC 9728): which issuer's tokens they accept.
func (s *Server) metadata(w http.ResponseWriter, r *http.Request) {
	resource := strings.TrimPrefix(r.URL.EscapedPath(), metadataPath)
	if resource == "" {
		resource = mcpPath
	}
	rest, isUser := strings.CutPrefix(resource, userPrefix)
	user, path, _ := strings.Cut(rest, "/")
	if resource != mcpPath && resource != prefix+mcpPath && (!isUser || user == "" || "/"+path != mcpPath) {
		s.fail(w, r, huma.Error404NotFound("no such path"))
		return
	}
	about := &oauthex.ProtectedResourceMetadata{Resource: s.base(r) + resource, ResourceName: "Oxbow",
		BearerMethodsSupported: []string{"header"}}
	if s.cfg.Issuer != "" {
		about.AuthorizationServers = []string{s.cfg.Issuer}
	}
	auth.ProtectedResourceMetadataHandler(about).ServeHTTP(w, r)
}

// base returns the URL of the server as its clients know it.
func (s *Server) base(r *http.Request) string {
	if s.cfg.PublicURL != "" {
		return strings.TrimSuffix(s.cfg.PublicURL, "/")
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return (&url.URL{Scheme: scheme, Host: r.Host}).String()
}

// Parts of the header WWW-Authenticate.
const (
	challenge    = `Bearer realm="oxbow"`
	invalidToken = `, error="invalid_token"`
)

// challenge returns the header WWW-Authenticate of a request without a valid credential.
func (s *Server) challenge(r *http.Request) string {
	text := challenge
	if strings.HasSuffix(r.URL.Path, mcpPath) {
		text += ", resource_metadata=" + strconv.Quote(s.base(r)+metadataPath+r.URL.EscapedPath())
	}
	if r.Header.Get("Authorization") != "" {
		text += invalidToken
	}
	return text
}
