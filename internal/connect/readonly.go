package connect

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	readOnly = "25006" // read_only_sql_transaction
	// replaceInterval limits how often a pool is renewed while the database stays read-only and reads go on.
	replaceInterval = time.Second
	generationKey   = "oxbow.generation" // of pgconn.PgConn.CustomData
)

// replaceReadOnly makes a pool close a connection on which a statement fails because the database is read-only, and
// replace all that it opened before. A session that began while the database was read-only stays so; without this, the
// pool would keep it for an hour after a failover.
func replaceReadOnly(cfg *pgxpool.Config) {
	var g generations
	failed, connected, prepare := cfg.ConnConfig.OnPgError, cfg.AfterConnect, cfg.PrepareConn
	cfg.ConnConfig.OnPgError = func(c *pgconn.PgConn, err *pgconn.PgError) bool {
		if err.Code == readOnly {
			g.end()
			return false // closes it
		}
		return failed(c, err) // pgx's default, unless the caller set another
	}
	cfg.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		c.PgConn().CustomData()[generationKey] = g.now()
		if connected == nil {
			return nil
		}
		return connected(ctx, c)
	}
	cfg.PrepareConn = func(ctx context.Context, c *pgx.Conn) (bool, error) {
		if c.PgConn().CustomData()[generationKey] != g.now() {
			return false, nil
		}
		if prepare == nil {
			return true, nil
		}
		return prepare(ctx, c)
	}
}

// generations counts how often the connections of a pool were given up together.
type generations struct {
	mu    sync.Mutex
	count int
	ended time.Time
}

func (g *generations) now() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.count
}

func (g *generations) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Since(g.ended) > replaceInterval {
		g.count, g.ended = g.count+1, time.Now()
	}
}
