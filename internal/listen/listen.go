// Package listen serves HTTP to clients that may be hostile: every request has deadlines, even for a body that its
// handler does not read, and the number of connections is limited. All servers of the program use it.
package listen

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// The limits of a request.
const (
	// Timeout is how long a request may take to arrive, and Slack how much longer the answer may take to be sent.
	// Handlers extend both with http.ResponseController.
	Timeout = 30 * time.Second
	Slack   = 30 * time.Second

	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	unreadTimeout = time.Second // for the rest of a body that the handler has not read
	maxHeader     = 64 << 10    // bytes, including the URL
)

// Config configures a Server. Only Handler is required.
type Config struct {
	Handler http.Handler
	// Timeout overrides the constant in tests.
	Timeout time.Duration
	// MaxClients is the maximum number of connections, and MaxPerAddress the maximum from one remote address or, for
	// IPv6, from one /64 network. At the limit, the oldest connection without a valid credential is closed. Default:
	// 100 for each.
	MaxClients, MaxPerAddress int
	// Proxy reports whether an address belongs to a proxy, to which MaxPerAddress does not apply. Default: no proxies.
	Proxy func(netip.Addr) bool
	// Logger logs problems of the listener. Default: slog.Default().
	Logger *slog.Logger
}

// Server is an http.Server with limits.
type Server struct {
	http.Server
	clients *clients
}

// New returns a server.
func New(cfg Config) *Server {
	if cfg.Timeout == 0 {
		cfg.Timeout = Timeout
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	s := &Server{clients: newClients(cfg)}
	s.Handler = bounded(cfg.Handler, cfg.Timeout)
	s.ReadHeaderTimeout = min(headerTimeout, cfg.Timeout)
	s.ReadTimeout = cfg.Timeout
	s.WriteTimeout = cfg.Timeout + Slack
	s.IdleTimeout = idleTimeout
	s.MaxHeaderBytes = maxHeader
	s.DisableGeneralOptionsHandler = true                                 // it reads a body
	s.ErrorLog = slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug) // broken connections
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if c, ok := c.(*client); ok {
			c.idle.Store(state == http.StateIdle)
		}
	}
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, clientKey{}, c)
	}
	return s
}

// Serve is like http.Server.Serve, with the limits of s.
func (s *Server) Serve(l net.Listener) error { return s.Server.Serve(&limited{l, s.clients}) }

// bounded ends the wait for a body that next leaves unread. A body that has arrived needs no deadline, which would
// cancel the request's context.
func bounded(next http.Handler, timeout time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connection := http.NewResponseController(w)
		if r.Body == http.NoBody {
			_ = connection.SetReadDeadline(time.Time{})
			next.ServeHTTP(w, r)
			return
		}
		body := &arriving{r.Body, connection, false}
		defer func() {
			if !body.arrived {
				_ = connection.SetReadDeadline(time.Now().Add(min(unreadTimeout, timeout)))
			}
		}()
		inner := *r // the server looks at the body of its own
		inner.Body = body
		next.ServeHTTP(w, &inner)
	})
}

// arriving is a body.
type arriving struct {
	io.ReadCloser
	connection *http.ResponseController
	arrived    bool
}

func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && !a.arrived {
		a.arrived = true
		_ = a.connection.SetReadDeadline(time.Time{})
	}
	return n, err
}
