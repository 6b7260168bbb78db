package migrations

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oxbow-memory/oxbow/internal/connect"
	"github.com/oxbow-memory/oxbow/internal/failpoint"
)

// lockKey is the session advisory lock under which a database is migrated: the first 8 bytes,
// big-endian, of the SHA-256 of this name. Small numbers are left to applications. Advisory locks
// are local to a database.
var lockKey = func() int64 {
	sum := sha256.Sum256([]byte("oxbow migrate"))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}()

// applicationName is the name of connections of this package, unless the connection string has one.
const applicationName = "oxbow migrate"

// session is the one connection on which a database is migrated. It holds the lock until it is
// closed.
type session struct {
	conn *pgx.Conn
	opts Options
	log  *slog.Logger
	role string // of the login
	name string // of the database
	// vectorSchema is the schema of the extension vector, set by ensureExtensions.
	vectorSchema string
}

func begin(ctx context.Context, dsn string, opts Options) (*session, error) {
	cfg, err := connect.One(dsn, applicationName)
	if err != nil {
		return nil, err
	}
	// Statements are not cached: the tables they refer to change between them.
	cfg.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, opts: opts, log: opts.Logger}
	if err := s.checkServer(ctx); err != nil {
		s.close()
		return nil, err
	}
	if err := s.lock(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// close releases the lock and closes the connection, which rolls back an unfinished transaction. It
// releases the lock first because the server may take a moment to notice that a connection is gone.
// Errors are ignored: all work that matters is committed.
func (s *session) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, _ = s.conn.Exec(ctx, `select pg_advisory_unlock_all()`)
	_ = s.conn.Close(ctx)
}

func (s *session) checkServer(ctx context.Context) error {
	var version int
	var encoding string
	var replica bool
	var owner *string // of a schema that the role does not own
	err := s.conn.QueryRow(ctx, `
		select current_setting('server_version_num')::int, current_setting('server_encoding'), pg_is_in_recovery(),
		       current_user, current_database(), (select nspowner::regrole::text from pg_namespace
		         where nspname = $1 and not pg_has_role(nspowner, 'USAGE'))`, schema).
		Scan(&version, &encoding, &replica, &s.role, &s.name, &owner)
	switch {
	case err != nil:
		return err
	case version < 150000:
		return fmt.Errorf("PostgreSQL %d is too old: Oxbow requires PostgreSQL 15 or newer", version/10000)
	case encoding != "UTF8":
		return fmt.Errorf("database %q has the encoding %s, but Oxbow requires UTF8: "+
			"create database … encoding 'UTF8' template template0", s.name, encoding)
	case replica:
		return fmt.Errorf("database %q is a read-only replica: migrate the primary", s.name)
	case owner != nil:
		return fmt.Errorf("migrations must own the schema %s, and %s does not: connect as %s", schema, s.role, *owner)
	}
	return nil
}

// lock waits until no other migration of this database is running. It polls instead of waiting
// inside the server: a waiting statement holds a snapshot, and CREATE INDEX CONCURRENTLY in the
// migration that holds the lock would wait for that snapshot forever.
func (s *session) lock(ctx context.Context) error {
	started, said := time.Now(), false
	for pause := 20 * time.Millisecond; ; pause = min(pause*2, 200*time.Millisecond) {
		var locked bool
		if err := s.conn.QueryRow(ctx, `select pg_try_advisory_lock($1)`, lockKey).Scan(&locked); err != nil {
			return err
		}
		if locked {
			return nil
		}
		if !said && time.Since(started) > time.Second {
			s.log.InfoContext(ctx, "waiting for another migration of this database", "database", s.name)
			said = true
		}
		// The pause is random; otherwise all waiting migrations would poll at the same moments.
		if err := wait(ctx, rand.N(pause)); err != nil {
			return fmt.Errorf("wait for another migration of database %q: %w", s.name, err)
		}
	}
}

// step runs do in a transaction and retries it while other sessions hold the locks it needs.
func (s *session) step(ctx context.Context, what string, do func(context.Context, pgx.Tx) error) error {
	return s.retry(ctx, what, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
			if err := s.prepare(ctx, true); err != nil {
				return err
			}
			return do(ctx, tx)
		})
	})
}

// prepare sets what the statements of a migration rely on, for the transaction or, if the migration
// runs without one, for the session. Role and database settings must not decide which objects a
// name refers to or when DDL times out. The search path ends with pg_temp so that no temporary
// object shadows ours; functions in sql/code keep the path by SET search_path FROM CURRENT.
//
// Only CREATE INDEX CONCURRENTLY runs without a transaction. Its locks block nobody, but its
// failure leaves an invalid index behind, so it runs without a timeout.
func (s *session) prepare(ctx context.Context, transaction bool) error {
	timeout := s.opts.LockTimeout
	if !transaction {
		timeout = 0
	}
	path := schema
	if s.vectorSchema != "" && s.vectorSchema != schema {
		path += ", " + quoteIfNeeded(s.vectorSchema)
	}
	var held bool
	err := s.conn.QueryRow(ctx, `
		select exists (
		       select from pg_locks
		       where locktype = 'advisory' and granted and objsubid = 1 and pid = pg_backend_pid()
		         and (classid::bigint << 32 | objid::bigint) = $5
		         and database = (select oid from pg_database where datname = current_database()))
		from (select set_config('lock_timeout', $1, $4), set_config('statement_timeout', '0', $4),
		             set_config('idle_in_transaction_session_timeout', '0', $4),
		             set_config('client_min_messages', 'warning', $4),
		             set_config('search_path', $2, $4), set_config('check_function_bodies', $3, $4)) settings`,
		fmt.Sprintf("%dms", timeout.Milliseconds()), path+", pg_temp", "on", transaction, lockKey).Scan(&held)
	if err != nil {
		return err
	}
	if !held {
		return errors.New(
			"the advisory lock was lost between two statements, as happens behind a pooler in transaction " +
				"mode: connect directly to PostgreSQL")
	}
	return nil
}

// quoteIfNeeded keeps the search paths stored in functions readable.
func quoteIfNeeded(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return pgx.Identifier{name}.Sanitize()
}

var plainName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// retry repeats attempt, with growing pauses, while it fails on locks or on catalog rows that other
// sessions are changing.
func (s *session) retry(ctx context.Context, what string, attempt func(context.Context) error) error {
	started := time.Now()
	for pause := 50 * time.Millisecond; ; pause = min(pause*2, 2*time.Second) {
		err := attempt(ctx)
		if err == nil {
			failpoint.Reach(failpoint.MigrateStep)
			return nil
		}
		if !transient(err) {
			return fmt.Errorf("%s: %w", what, err)
		}
		waited, blockers := time.Since(started), s.blockers(ctx)
		if waited > s.opts.GiveUpAfter {
			return lockError(what, waited, blockers, err)
		}
		s.log.InfoContext(ctx, "retrying: other sessions hold the required locks", "step", what, "held by", blockers,
			"error", err)
		// Half of the pause is random, so that migrations of several databases do not collide again.
		if err := wait(ctx, pause/2+rand.N(pause/2)); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
}

// transient reports whether the same statements may succeed a moment later. Migrations of other
// databases, and other programs, create roles and the extension at the same time. Such a race fails
// with a unique violation in a catalog or an internal error about a tuple.
func transient(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code {
	case "55P03", "40P01", "40001": // lock_not_available, deadlock_detected, serialization_failure
		return true
	case "23505":
		return pg.SchemaName == "pg_catalog"
	case "XX000":
		return strings.HasPrefix(pg.Message, "tuple concurrently")
	}
	return false
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
