package server

import (
	"context"
	"errors"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/oxbow-memory/oxbow/store"
)

// RunMCP serves MCP for one user over a pair of streams, until in or ctx ends. The program at their other end has a
// login of the database, so it needs no key. Only the fields of cfg for the database and the models count. The login
// must be the owner of the schema or a member of oxbow_app.
func RunMCP(ctx context.Context, cfg Config, user string, in io.Reader, out io.Writer) (err error) {
	if err := store.ValidateUserID(user); err != nil {
		return err
	}
	s := newServer(cfg)
	defer s.Close()
	if s.app, err = poolAs(ctx, s.cfg.DatabaseURL, "oxbow_app", s.cfg.Connections); err != nil {
		return err
	}
	if err := store.CheckSchema(ctx, s.app); err != nil {
		return err
	}
	if s.client, err = s.newClient(s.app); err != nil {
		return err
	}
	s.audit = newAudit(func(ctx context.Context, entries []store.Access) error {
		return s.client.InTx(ctx, user, func(tx pgx.Tx) error { return store.LogAccess(ctx, tx, entries) })
	}, s.log)
	m := newMCP(s)
	m.sdk.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			return next(context.WithValue(ctx, callerKey{}, caller{role: store.RolePerson, user: user}), method, r)
		}
	})
	err = m.sdk.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: writeCloser{out}})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil // both are how it ends
	}
	return err
}

type writeCloser struct{ io.Writer }

func (writeCloser) Close() error { return nil }
