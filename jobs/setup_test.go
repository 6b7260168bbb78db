package jobs

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// newDatabase returns connections to a new database, as the owner and with a login of oxbow_worker.
func newDatabase(t testing.TB) (owner, worker *pgxpool.Pool) {
	t.Helper()
	owner = pgtest.Pool(t)
	return owner, pgtest.Open(t, pgtest.As(t, owner.Config().ConnString(), "worker"), "")
}
