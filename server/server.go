// Package server serves Oxbow over HTTP: the API, described by openapi.json, MCP, and pages for people (package pages).
// It has no logic of its own. A request is checked, becomes a call of the Go client as the database role oxbow_app with
// the caller's user, and its result or error becomes the answer.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/cors"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/connect"
	"github.com/oxbow-memory/oxbow/internal/listen"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/store"
)

// Config configures a Server. Only DatabaseURL is required; a zero value is the default.
type Config struct {
	// DatabaseURL names the database. Its login must be a member of oxbow_app and oxbow_operator, or a superuser.
	// Sessions keep their role, so a pooler must not share connections between transactions.
	DatabaseURL string
	// Addr is where Run listens. Default: 127.0.0.1:8080.
	Addr string
	// Connections is the maximum number of connections for requests other than exports and imports. Default: 10.
	Connections int
	// Embedder embeds queries. It must be the model of the database. Default: oxbow.LocalEmbedder.
	Embedder oxbow.Embedder
	// Reranker ranks recalled memories again, with the options Rerank. The server sets Rerank.Observe. Default: none.
	Reranker oxbow.Reranker
	Rerank   oxbow.RerankOptions
	// Issuer is the URL of an OpenID provider whose tokens are accepted beside API keys, and Audience the audience that
	// they must have. Default: none.
	Issuer, Audience string
	// UserClaim is the claim of a token that holds the user's id. Default: sub.
	UserClaim string
	// ClientID is the id of the pages at the provider, by which people sign in to them, and ClientSecret its secret, if it
	// has one. Default: none, people sign in with keys.
	ClientID, ClientSecret string
	// Origins are the origins from which browsers may call the API (CORS). Default: none.
	Origins []string
	// PublicURL is the URL under which clients reach the server, if a proxy is in between, such as
	// https://memory.example.com. Default: http, or https for TLS, and the host that the request names.
	PublicURL string
	// MCPSessions is how long an idle session of MCP is kept. Default: 0, MCP without sessions.
	MCPSessions time.Duration
	// MCPMaxSessions is how many sessions of MCP this process keeps; a client beyond them is refused. Default: 20,000.
	MCPMaxSessions int
	// RequestsPerSecond limits the requests of one key for one user, or of one token's user, in this process, and those
	// with invalid credentials from one address. Bursts may be twice as large. A key may make ten times as many for all
	// its users. Default: 100.
	RequestsPerSecond float64
	// MaxClients is the maximum number of connections, and MaxClientsPerAddress the maximum from one remote address
	// other than a trusted proxy's. At the limit, the oldest connection without a valid credential is closed. Default:
	// 5,000 and 1,000.
	MaxClients, MaxClientsPerAddress int
	// TrustedProxies are the addresses of proxies whose header X-Forwarded-For counts. Default: none.
	TrustedProxies []netip.Prefix
	// StopTimeout is how long Run waits for running requests when it ends. Default: 30 seconds.
	StopTimeout time.Duration
	// MetricsAddr is where Run serves /metrics for Prometheus. Default: "", nowhere.
	MetricsAddr string
	// TracerProvider records the traces of requests. Default: OpenTelemetry's global provider.
	TracerProvider trace.TracerProvider
	// Version is the version of the program, for openapi.json.
	Version string
	// Logger logs failures. Default: slog.Default().
	Logger *slog.Logger

	timeout, wait time.Duration // of a request, and for its turn; tests shorten them
}

// The limits of a request.
const (
	requestTimeout = listen.Timeout
	ownConnections = 4        // to the database, for keys, log and operators
	otherFiles     = 64       // that the process needs beside connections
	maxBody        = 2 << 20  // bytes; content has at most 1 MiB, and JSON may need more for it
	maxBulkBody    = 32 << 20 // bytes, for requests with many memories or messages
)

// The roles of the server's sessions.
const appRole, operatorRole = "oxbow_app", "oxbow_operator"

// Server answers requests. Make it with New, and Close it.
type Server struct {
	cfg       Config
	log       *slog.Logger
	app       *pgxpool.Pool // as oxbow_app: the requests of persons, apps and operators for a user
	own       *pgxpool.Pool // as oxbow_operator: keys, log and the operators' views
	client    *oxbow.Client // on app
	operator  *oxbow.Client // on own
	keys      *keys
	sessions  *keys   // of the pages
	tokens    *tokens // nil without an issuer
	limits    *limits // by key and user, and by address for invalid ones
	totals    *limits // by key
	logins    *limits // by address
	shares    *shares // of connections for requests
	lookups   *shares // of those that find credentials
	budgets   *budgets
	loads     *loads // memory
	ingests   *loads // files that are read and split
	audit     *audit
	transfers *transfers
	health    health
	metrics   *metrics // nil over stdio
	tracer    trace.Tracer
	closed    sync.Once
	cors      *cors.Cors // nil if no other origin may call
	api       huma.API
	handler   http.Handler

	stopping context.Context // ends when Run does, which ends the streams
	stop     context.CancelFunc
}

func newServer(cfg Config) *Server {
	s := &Server{cfg: cfg.withDefaults(), keys: newKeys(), sessions: newKeys(), transfers: newTransfers(),
		loads: newLoads(loadEach, loadAll), ingests: newLoads(ingestsEach, ingestsAll)}
	s.log, s.cors = s.cfg.Logger, newCORS(s.cfg.Origins)
	s.tracer = s.cfg.TracerProvider.Tracer(tracerName)
	s.stopping, s.stop = context.WithCancel(context.Background())
	return s
}

// New connects to the database and checks its schema and the login's rights.
func New(ctx context.Context, cfg Config) (*Server, error) {
	s := newServer(cfg)
	if err := s.connect(ctx); err != nil {
		s.Close()
		return nil, err
	}
	s.metrics = newMetrics(s)
	var err error
	s.client, err = s.newClient(guarded{s.app})
	if err == nil {
		s.operator, err = oxbow.New(s.own, oxbow.WithEmbedder(s.cfg.Embedder), oxbow.WithLogger(s.log),
			oxbow.WithoutUseReports())
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	s.tokens = newTokens(s.cfg)
	s.limits = newLimits(s.cfg.RequestsPerSecond, max(1, int(math.Ceil(2*s.cfg.RequestsPerSecond))))
	s.totals = newLimits(usersOfKey*s.cfg.RequestsPerSecond, max(1, int(math.Ceil(2*usersOfKey*s.cfg.RequestsPerSecond))))
	s.shares, s.lookups = newShares(s.cfg.Connections, s.cfg.wait), newShares(ownConnections, s.cfg.wait)
	s.budgets = newBudgets(s.cfg.Connections, func() error {
		ctx, cancel := context.WithTimeout(s.stopping, time.Second)
		defer cancel()
		return s.own.Ping(ctx)
	})
	s.logins = newLimits(loginsPerSecond, 10*loginsPerSecond)
	s.audit = newAudit(func(ctx context.Context, entries []store.Access) error {
		return store.LogAccess(ctx, s.own, entries)
	}, s.log)
	s.handler = s.routes()
	return s, nil
}

// newClient returns the client that answers requests.
func (s *Server) newClient(db oxbow.DB) (*oxbow.Client, error) {
	options := []oxbow.Option{oxbow.WithEmbedder(s.cfg.Embedder), oxbow.WithLogger(s.log)}
	if s.cfg.Reranker != nil {
		rerank := s.cfg.Rerank
		if s.metrics != nil {
			rerank.Observe = s.metrics.reranked
		}
		options = append(options, oxbow.WithReranker(s.cfg.Reranker, rerank))
	}
	return oxbow.New(db, options...)
}

func (cfg Config) withDefaults() Config {
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:8080"
	}
	if cfg.Connections == 0 {
		cfg.Connections = 10
	}
	if cfg.Embedder == nil {
		cfg.Embedder = oxbow.LocalEmbedder()
	}
	if cfg.UserClaim == "" {
		cfg.UserClaim = "sub"
	}
	if cfg.RequestsPerSecond == 0 {
		cfg.RequestsPerSecond = 100
	}
	if cfg.MaxClients == 0 {
		cfg.MaxClients = 5000
	}
	if cfg.MaxClientsPerAddress == 0 {
		cfg.MaxClientsPerAddress = 1000
	}
	if cfg.timeout == 0 {
		cfg.timeout = requestTimeout
	}
	if cfg.wait == 0 {
		cfg.wait = shareWait
	}
	if cfg.MCPMaxSessions == 0 {
		cfg.MCPMaxSessions = 20_000
	}
	if cfg.StopTimeout == 0 {
		cfg.StopTimeout = 30 * time.Second
	}
	if cfg.TracerProvider == nil {
		cfg.TracerProvider = otel.GetTracerProvider()
	}
	if cfg.Version == "" {
		cfg.Version = "dev"
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return cfg
}

func (s *Server) connect(ctx context.Context) (err error) {
	if s.own, err = poolAs(ctx, s.cfg.DatabaseURL, operatorRole, ownConnections); err != nil {
		return err
	}
	if s.app, err = poolAs(ctx, s.cfg.DatabaseURL, appRole, s.cfg.Connections+transferConnections); err != nil {
		return err
	}
	if err := migrations.Check(ctx, s.own); err != nil {
		return err
	}
	return s.checkRoles(ctx)
}

// checkRoles returns an error unless sessions keep their role while others are in use.
func (s *Server) checkRoles(ctx context.Context) error {
	own, err := s.own.Acquire(ctx)
	if err != nil {
		return err
	}
	defer own.Release()
	app, err := s.app.Acquire(ctx)
	if err != nil {
		return err
	}
	defer app.Release()
	for _, x := range []struct {
		conn *pgxpool.Conn
		role string
	}{{app, appRole}, {own, operatorRole}, {app, appRole}} {
		role, err := store.CollectOne[string](ctx, x.conn, `select current_user::text`)
		if err != nil {
			return err
		}
		if role != x.role {
			return fmt.Errorf("a session with the role %s has the role %s: a pooler in front of PostgreSQL must be in "+
				"session mode for oxbow serve", x.role, role)
		}
	}
	return nil
}

// poolAs returns a pool whose sessions have a role, so that row-level security holds for every statement.
func poolAs(ctx context.Context, url, role string, connections int) (*pgxpool.Pool, error) {
	cfg, err := connect.Pool(url, "oxbow serve", func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "set role "+pgx.Identifier{role}.Sanitize()); err != nil {
			return fmt.Errorf("the login must be a member of oxbow_app and oxbow_operator "+
				"(grant %s to the login; oxbow migrate up makes the roles): %w", role, err)
		}
		if err := store.RegisterTypes(ctx, conn); !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return nil // the check of the schema says that the extension is missing
	})
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = int32(connections)
	return pgxpool.NewWithConfig(ctx, cfg)
}

// Close writes what waits for the log and closes the connections. Requests must have ended.
// A second call does nothing.
func (s *Server) Close() { s.closed.Do(s.close) }

func (s *Server) close() {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.StopTimeout)
	defer cancel()
	if s.client != nil {
		if err := s.client.Close(ctx); err != nil {
			s.log.WarnContext(ctx, "cannot report uses of memories", "error", err)
		}
	}
	if s.audit != nil {
		s.audit.close(ctx)
	}
	for _, pool := range []*pgxpool.Pool{s.app, s.own} {
		if pool != nil {
			pool.Close()
		}
	}
}

// Handler returns the handler of all routes.
func (s *Server) Handler() http.Handler { return s.handler }

// maxClients is Config.MaxClients, or less if the process may not open that many files. Without files reserved for the
// database, clients could bring the server to a halt.
func (s *Server) maxClients(ctx context.Context) int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return s.cfg.MaxClients
	}
	fit := int(min(files.Cur, math.MaxInt32)) - s.cfg.Connections - ownConnections - otherFiles
	if fit >= s.cfg.MaxClients {
		return s.cfg.MaxClients
	}
	s.log.WarnContext(ctx, "the limit of open files allows fewer clients", "files", files.Cur, "clients", max(1, fit))
	return max(1, fit)
}

// Run listens and serves until ctx ends; then running requests may finish. started, if not nil, is called with the
// address once it listens.
func (s *Server) Run(ctx context.Context, started func(net.Addr)) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.cfg.Addr)
	if err != nil {
		return err
	}
	server := listen.New(listen.Config{Handler: s.handler, Logger: s.log, Timeout: s.cfg.timeout, Proxy: s.isProxy,
		MaxClients: s.maxClients(ctx), MaxPerAddress: s.cfg.MaxClientsPerAddress})
	server.RegisterOnShutdown(s.stop)
	stopMetrics, err := s.serveMetrics(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer stopMetrics()
	if started != nil {
		started(listener.Addr())
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.StopTimeout)
	defer cancel()
	err = server.Shutdown(stop)
	if served := <-done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
