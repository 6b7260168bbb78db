package migrations_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/migrations"
)

// Twenty migrations run at once in each of two databases of one cluster. Those of one database take
// turns; both databases create the roles.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	real := migrations.Embedded(b.src.Roles)
	opts := migrations.Options{}.WithSource(real)
	dsns := []string{b.dsn, pgtest.Empty(t)}
	var group sync.WaitGroup
	errs := make(chan error, 40)
	for range 20 {
		for _, dsn := range dsns {
			group.Go(func() { errs <- migrations.Up(t.Context(), dsn, opts) })
		}
	}
	group.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	first, second := connect(t, dsns[0]), connect(t, dsns[1])
	for _, conn := range []*pgx.Conn{first, second} {
		require.NoError(t, migrations.CheckSource(t.Context(), conn, real))
		require.EqualValues(t, 1, value[int64](t, conn, `select count(*) from oxbow.schema_version`))
		require.EqualValues(t, migrations.RiverVersion, value[int64](t, conn,
			`select count(*) from oxbow.river_migration`))
	}
	require.Equal(t, objects(t, first), objects(t, second))
	// The grants would keep the roles from being dropped.
	t.Cleanup(func() { execLater(t, dsns[1], "drop schema oxbow cascade") })
}

// CREATE INDEX CONCURRENTLY waits for all snapshots, so migrations waiting for the lock must hold
// none.
func TestWaitingDoesNotBlockConcurrentIndexes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.migrations["003_index.sql"] = file("---- tern: disable-tx ----\ncreate index concurrently memories_note on " +
		"oxbow.memories (note);\n")
	var group sync.WaitGroup
	errs := make(chan error, 5)
	for range 5 {
		group.Go(func() { errs <- migrations.Up(t.Context(), b.dsn, b.opts) })
	}
	group.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.True(t, value[bool](t, b.conn(t),
		`select indisvalid from pg_index where indexrelid = 'oxbow.memories_note'::regclass`))
}

// Before a migration that runs without a transaction, the others and the code are tried.
func TestUpgradeIsRehearsed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	second, views := b.migrations["002_second.sql"], b.code["20_views.sql"]
	delete(b.migrations, "002_second.sql")
	delete(b.code, "20_views.sql")
	require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
	conn := b.conn(t)
	before := objects(t, conn)

	b.migrations["002_index.sql"] = file("---- tern: disable-tx ----\ncreate index concurrently memories_v on " +
		"oxbow.memories (id, v);\n")
	b.migrations["003_second.sql"] = second
	b.code["20_views.sql"] = file("create view oxbow.bad as select nothing from oxbow.memories")
	err := migrations.Up(t.Context(), b.dsn, b.opts)
	require.ErrorIs(t, err, migrations.ErrUnreleased)
	require.ErrorContains(t, err, "rehearse the upgrade: sql/code/20_views.sql")
	require.Equal(t, before, objects(t, conn))
	require.EqualValues(t, 1, value[int32](t, conn, `select version from oxbow.schema_version`))

	b.code["20_views.sql"] = views
	require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
	require.NoError(t, migrations.CheckSource(t.Context(), conn, b.src))
	require.Contains(t, objects(t, conn), "index oxbow.memories_v")
}

func TestLockIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	second := b.migrations["002_second.sql"]
	delete(b.migrations, "002_second.sql")
	delete(b.code, "20_views.sql")
	require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
	b.migrations["002_second.sql"] = second

	reader := b.conn(t)
	exec(t, reader, `begin; select * from oxbow.memories`)
	pid := fmt.Sprintf("pid %d", reader.PgConn().PID())

	impatient := b.opts
	impatient.LockTimeout, impatient.GiveUpAfter = time.Second, 3*time.Second
	err := migrations.Up(t.Context(), b.dsn, impatient)
	require.ErrorContains(t, err, "install: gave up after")
	require.ErrorContains(t, err, "migrations/002_second.sql")
	require.ErrorContains(t, err, pid)
	require.ErrorContains(t, err, "idle in transaction")
	require.EqualValues(t, 1, value[int32](t, reader, `select version from oxbow.schema_version`))

	b.log = newLogged()
	patient := migrations.Options{Logger: b.logger(), LockTimeout: 50 * time.Millisecond}.WithSource(b.src)
	done := make(chan error, 1)
	go func() { done <- migrations.Up(t.Context(), b.dsn, patient) }()
	b.log.waitFor(t, pid)
	exec(t, reader, `commit`)
	require.NoError(t, <-done)
	require.NoError(t, migrations.CheckSource(t.Context(), reader, b.src))
}

// If the caller or the server interrupts the second migration while it waits, the database stays at
// the first.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for name, interrupt := range map[string]func(*testing.T, *bundle, context.CancelFunc){
		"by the caller": func(_ *testing.T, _ *bundle, cancel context.CancelFunc) { cancel() },
		"by the server": func(t *testing.T, b *bundle, _ context.CancelFunc) {
			require.True(t, value[bool](t, b.conn(t), `
				select bool_and(pg_terminate_backend(pid)) from pg_locks
				where locktype = 'advisory' and classid = ($1::bigint >> 32 & 4294967295)::oid
					and objid = ($1::bigint & 4294967295)::oid
				  and database = (select oid from pg_database where datname = current_database())`, migrations.LockKey))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			delete(b.migrations, "002_second.sql")
			views := b.code["20_views.sql"]
			delete(b.code, "20_views.sql")
			require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
			b.code["20_views.sql"] = views
			b.migrations["002_second.sql"] = file("alter table oxbow.memories add column note text;\nselect " +
				"pg_advisory_xact_lock(42);")
			holder := b.conn(t)
			exec(t, holder, `select pg_advisory_lock(42)`)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- migrations.Up(ctx, b.dsn, b.opts) }()
			b.log.waitFor(t, "retrying")
			interrupt(t, b, cancel)
			require.Error(t, <-done)

			conn := b.conn(t)
			require.EqualValues(t, 1, value[int32](t, conn, `select version from oxbow.schema_version`))
			require.ErrorIs(t, migrations.CheckSource(t.Context(), conn, b.src), migrations.ErrBehind)
			exec(t, holder, `select pg_advisory_unlock(42)`)
			require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
			require.NoError(t, migrations.CheckSource(t.Context(), conn, b.src))
		})
	}
}
