package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oxbow-memory/oxbow/server"
)

// serveFlags configure the server.
type serveFlags struct {
	embedding embeddingFlags
	rerank    rerankFlags
	cfg       server.Config
}

func (s *serveFlags) add(f *pflag.FlagSet) {
	s.embedding.add(f)
	s.rerank.add(f)
	s.addAddress(f)
	f.StringSliceVar(&s.cfg.Origins, "origins", nil,
		"origins from which browsers may call the API, such as https://app.example (default: none)")
	f.StringVar(&s.cfg.Issuer, "issuer", "", "URL of an OpenID provider whose tokens are accepted beside API keys")
	f.StringVar(&s.cfg.Audience, "audience", "", "audience that those tokens must have")
	f.StringVar(&s.cfg.UserClaim, "user-claim", "", "claim of those tokens that holds the user's id (default: sub)")
	f.StringVar(&s.cfg.ClientID, "client-id", "",
		"id of the pages at the provider, to sign people in; the secret, if any, is in $OXBOW_CLIENT_SECRET")
	f.Float64Var(&s.cfg.RequestsPerSecond, "requests-per-second", 100,
		"limit for each key and user; bursts may be twice as large, and a key may make ten times as many for all users")
	intFlag(f, &s.cfg.MaxClients, "max-clients", "", 1, 1_000_000, "connections of clients, default 5000")
	intFlag(f, &s.cfg.MaxClientsPerAddress, "max-clients-per-address", "", 1, 1_000_000,
		"connections of one remote address other than a trusted proxy's, default 1000")
	intFlag(f, &s.cfg.Connections, "connections", "", 1, 1000, "connections to the database for requests, default 10")
	f.StringVar(&s.cfg.PublicURL, "public-url", "",
		"URL under which clients reach the server, such as https://memory.example.com (default: the requests' own)")
	durationFlag(f, &s.cfg.MCPSessions, "mcp-sessions", time.Second,
		"keep idle sessions of MCP for that long (default: MCP without sessions)")
	intFlag(f, &s.cfg.MCPMaxSessions, "mcp-max-sessions", "", 1, 1_000_000,
		"sessions of MCP that this process keeps, default 20000")
	addressFlag(f, &s.cfg.MetricsAddr, "metrics-addr", "serve /metrics there (default: nowhere)")
	f.Var(&value{kind: "networks", parse: s.parseProxies}, "trusted-proxies",
		"networks of proxies, such as 10.0.0.0/8, whose X-Forwarded-For is believed (default: none)")
	s.cfg.StopTimeout = 30 * time.Second
	durationFlag(f, &s.cfg.StopTimeout, "stop-timeout", time.Millisecond,
		"how long to wait for running requests at shutdown")
	for _, name := range []string{"origins", "issuer", "audience", "user-claim", "client-id", "requests-per-second",
		"max-clients", "connections", "public-url", "mcp-sessions", "mcp-max-sessions", "metrics-addr",
		"trusted-proxies"} {
		envs(f, name)
	}
}

func (s *serveFlags) addAddress(f *pflag.FlagSet) {
	addressFlag(f, &s.cfg.Addr, "addr", "listen there (default 127.0.0.1:8080)")
	envs(f, "addr")
}

func (s *serveFlags) parseProxies(text string) error {
	s.cfg.TrustedProxies = nil
	for part := range strings.SplitSeq(text, ",") {
		network, err := netip.ParsePrefix(strings.TrimSpace(part))
		if err != nil {
			return errors.New("expected networks such as 10.0.0.0/8, with commas between them")
		}
		s.cfg.TrustedProxies = append(s.cfg.TrustedProxies, network)
	}
	return nil
}

// config returns the server's configuration.
func (s *serveFlags) config(dsn string, log *slog.Logger) (server.Config, error) {
	cfg := s.cfg
	if cfg.RequestsPerSecond <= 0 {
		return cfg, usagef("invalid --requests-per-second %g: expected a number above 0", cfg.RequestsPerSecond)
	}
	if (cfg.Issuer == "") != (cfg.Audience == "") {
		return cfg, usagef("--issuer and --audience need each other")
	}
	if cfg.ClientID != "" && cfg.Issuer == "" {
		return cfg, usagef("--client-id needs --issuer")
	}
	cfg.ClientSecret = os.Getenv("OXBOW_CLIENT_SECRET")
	embedder, err := s.embedding.open()
	if err != nil {
		return cfg, err
	}
	cfg.Rerank = s.rerank.options
	if cfg.Reranker, err = s.rerank.open(); err != nil {
		return cfg, err
	}
	cfg.Embedder, cfg.DatabaseURL, cfg.Logger, cfg.Version = embedder, dsn, log, version()
	return cfg, nil
}

func serveCommand(a *app) *cobra.Command {
	var flags serveFlags
	var print bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the HTTP API, MCP, and pages for people",
		Long: `Serve the HTTP API, MCP and pages for people until interrupted; running requests finish. "oxbow keys api create" makes the keys that requests
need. GET /v1/openapi.json describes the API.

The login must be a member of oxbow_app and oxbow_operator. The embedding flags must select the model of the
database's vectors.`,
		Example: `  oxbow serve --addr 127.0.0.1:8080
  oxbow serve --issuer https://login.example --audience oxbow`,
	}
	serve := a.needsDatabase(func(cmd *cobra.Command, _ []string) error {
		cfg, err := flags.config(a.databaseURL, a.serviceLogger())
		if err != nil {
			return err
		}
		if os.Getenv("GOMEMLIMIT") == "" {
			debug.SetMemoryLimit(softMemory)
		}
		stopTracing, err := startTracing(cmd.Context(), a.serviceLogger())
		if err != nil {
			return err
		}
		defer stopTracing()
		return a.serve(cmd.Context(), cfg)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !print {
			return serve(cmd, args)
		}
		text, err := server.OpenAPI()
		if err == nil {
			a.printf("%s", text)
		}
		return err
	}
	flags.add(cmd.Flags())
	cmd.Flags().BoolVar(&print, "print-openapi", false, "print openapi.json and exit")
	return cmd
}

// softMemory is from where on the collector prefers memory to time, in bytes.
const softMemory = 256 << 20

// serve serves until ctx ends.
func (a *app) serve(ctx context.Context, cfg server.Config) error {
	s, err := server.New(ctx, cfg)
	if err != nil && ctx.Err() != nil {
		return nil // interrupted before it began, which is no failure
	} else if err != nil {
		return err
	}
	defer s.Close()
	return s.Run(ctx, func(addr net.Addr) { a.printf("Serving http://%s/v1\nPages for people at http://%[1]s/\n", addr) })
}
