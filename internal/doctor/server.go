package doctor

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

func (e *examination) server(ctx context.Context, tx pgx.Tx) error {
	is, err := store.CollectOne[struct {
		Version  string
		Number   int
		Standby  bool
		Outdated []string
	}](ctx, tx, `
		select current_setting('server_version') as version, current_setting('server_version_num')::integer as number,
		       pg_is_in_recovery() as standby,
		       array(select format('%s is %s, and the server has %s', x.extname, x.extversion, a.default_version)
		               from pg_extension x join pg_available_extensions a on a.name = x.extname
		              where x.extname in ('vector', 'btree_gin') and a.default_version <> x.extversion) as outdated`)
	e.check(is.Number < 150000, LevelError, "PostgreSQL is "+is.Version, "Oxbow requires version 15.",
		"Upgrade the server.")
	e.check(is.Standby, LevelWarning, "the server is a standby",
		"Recall works; memories cannot be stored and jobs do not run.", "Connect to the primary.")
	for _, x := range is.Outdated {
		e.add(LevelAdvice, "the extension "+x, "Newer versions fix bugs.",
			"As the extension's owner: alter extension … update.")
	}
	e.fine = "PostgreSQL " + is.Version + "; the extensions are up to date"
	return err
}

// settings examines the settings that affect Oxbow.
func (e *examination) settings(ctx context.Context, tx pgx.Tx) error {
	is := map[string]string{}
	settings, err := store.Collect[struct{ Name, Value string }](ctx, tx,
		`select name, coalesce(reset_val, setting) as value from pg_settings where name = any($1)`, []string{
			"fsync", "full_page_writes", "synchronous_commit", "autovacuum", "track_counts", "shared_buffers",
			"work_mem", "maintenance_work_mem", "random_page_cost", "idle_in_transaction_session_timeout",
			"default_transaction_read_only", "default_transaction_isolation", "session_replication_role"})
	if err != nil {
		return err
	}
	for _, s := range settings {
		is[s.Name] = s.Value
	}
	size, err := store.CollectOne[int64](ctx, tx,
		`select sum(relpages)::bigint * 8192 from pg_class where relnamespace = 'oxbow'::regnamespace`)
	if err != nil {
		return err
	}
	number := func(name string) float64 {
		n, _ := strconv.ParseFloat(is[name], 64) // PostgreSQL formatted it
		return n
	}
	for _, s := range []struct {
		bad           bool
		level         Level
		what, why, do string
	}{
		{is["fsync"] == "off", LevelError, "fsync is off", "A crash of the machine may corrupt the database.",
			"Set fsync = on."},
		{is["full_page_writes"] == "off", LevelWarning, "full_page_writes is off",
			"A crash of the machine may corrupt pages.", "Set full_page_writes = on."},
		{is["synchronous_commit"] == "off", LevelAdvice, "synchronous_commit is off",
			"A crash loses the last commits: memories together with their jobs.",
			"Nothing if that is acceptable."},
		{is["autovacuum"] == "off", LevelError, "autovacuum is off",
			"Each job is updated twice and deleted: without vacuum, fetching jobs slows down steadily.",
			"Set autovacuum = on."},
		{is["track_counts"] == "off", LevelError, "track_counts is off", "Autovacuum does not work without it.",
			"Set track_counts = on."},
		{is["default_transaction_read_only"] == "on", LevelError, "transactions are read-only by default",
			"Memories cannot be stored and jobs do not run.",
			"Set default_transaction_read_only = off for these roles."},
		{is["default_transaction_isolation"] != "read committed", LevelWarning,
			"transactions are " + is["default_transaction_isolation"] + " by default",
			"Oxbow is written for read committed: jobs fail with serialization errors and are retried.",
			"Set default_transaction_isolation = 'read committed' for the worker's role."},
		{is["session_replication_role"] == "replica", LevelError, "session_replication_role is replica",
			"Triggers do not fire: memories are stored without the jobs that embed them.", "Set it to origin."},
		{number("random_page_cost") > 2, LevelAdvice, "random_page_cost is " + is["random_page_cost"],
			"On SSDs the planner then avoids indexes that would be faster.", "On SSDs, set random_page_cost = 1.1."},
		{number("idle_in_transaction_session_timeout") == 0, LevelAdvice,
			"idle_in_transaction_session_timeout is not set",
			"An open transaction that nobody ends holds back vacuum, first of all for the queue.",
			"Set it for the application's role, for example to 5min."},
		{number("shared_buffers")*8192 < 0.1*float64(size) && number("shared_buffers")*8192 <= 256<<20, LevelAdvice,
			fmt.Sprintf("shared_buffers is %s, and Oxbow's tables take about %s",
				megabytes(int64(number("shared_buffers"))*8192), megabytes(size)),
			"Recall reads all vectors of a user, from disk if they are not cached.",
			"Start with a quarter of the machine's memory."},
		{number("work_mem") < 4096, LevelAdvice, fmt.Sprintf("work_mem is %.0f kB", number("work_mem")),
			"Recall may sort on disk.", "Set work_mem to 4MB or more."},
		{number("maintenance_work_mem") < 65536 && size > 1<<30, LevelAdvice,
			fmt.Sprintf("maintenance_work_mem is %.0f MB", number("maintenance_work_mem")/1024),
			"Vacuum scans the indexes of large tables several times.", "Set maintenance_work_mem to 64MB or more."},
	} {
		e.check(s.bad, s.level, s.what, s.why, s.do)
	}
	e.fine = "the settings for durability, autovacuum, memory and costs are suitable"
	return nil
}

func (e *examination) connections(ctx context.Context, tx pgx.Tx) error {
	is, err := store.CollectOne[struct{ Most, Used, PID int }](ctx, tx, `
		select current_setting('max_connections')::integer
		         - current_setting('superuser_reserved_connections')::integer as most,
		       (select count(*) from pg_stat_activity where backend_type = 'client backend') as used,
		       pg_backend_pid() as pid`)
	if err != nil {
		return err
	}
	level := LevelWarning
	if is.Most-is.Used < 3 {
		level = LevelError
	}
	e.fine = fmt.Sprintf("%d of %d connections are in use", is.Used, is.Most)
	e.check(is.Used > is.Most-is.Most/5, level, e.fine,
		"A worker opens one for each CPU, at least 9 (pool_max_conns in its URL), and one to listen; others will be refused.",
		"Raise max_connections, use a pooler for the applications, or limit their pools.")
	e.check(tx.Conn().PgConn().PID() != uint32(is.PID), LevelAdvice, "this connection goes through a pooler",
		"A pooler in transaction mode does not forward notifications.",
		"Connect the worker directly, or run oxbow work --poll-only; connect oxbow migrate and oxbow reembed directly.")
	return nil
}

// veryOldTransaction is the age in seconds from which an open transaction is a warning.
const veryOldTransaction = 60 * 60

// transactions looks for transactions that hold back vacuum.
func (e *examination) transactions(ctx context.Context, tx pgx.Tx) error {
	open, err := store.Collect[struct {
		PID                      int
		User, Application, State string
		Age                      float64
	}](ctx, tx, `
		select pid, usename::text as "user", application_name as application, state,
		       extract(epoch from now() - xact_start)::float8 as age
		  from pg_stat_activity
		 where datname = current_database() and pid <> pg_backend_pid()
		   and xact_start < now() - make_interval(secs => $1) and backend_type = 'client backend'
		 order by xact_start limit 5`, e.want.OldTransaction.Seconds())
	if err != nil {
		return err
	}
	for _, x := range open {
		level := LevelAdvice
		if x.Age > veryOldTransaction {
			level = LevelWarning
		}
		e.add(level, fmt.Sprintf("a transaction of %s (%s, process %d, %s) has been open for %s", x.User, x.Application,
			x.PID, x.State, inWords(x.Age)),
			"Vacuum cannot remove rows deleted since then, and dead rows slow down fetching jobs.",
			fmt.Sprintf("Find out why it is open; select pg_terminate_backend(%d) ends it.", x.PID))
	}
	is, err := store.CollectOne[struct{ Hidden, Prepared, Frozen int64 }](ctx, tx, `
		select (select count(*) from pg_stat_activity
		         where datname = current_database() and backend_type is null) as hidden,
		       (select count(*) from pg_prepared_xacts where database = current_database()
		         and prepared < now() - make_interval(secs => $1)) as prepared,
		       (select age(datfrozenxid) from pg_database where datname = current_database()) as frozen`,
		e.want.OldTransaction.Seconds())
	if err != nil {
		return err
	}
	e.check(is.Prepared > 0, LevelWarning,
		numberOf(is.Prepared, "prepared transaction is", "prepared transactions are")+" open",
		"They hold back vacuum, even after a restart.",
		"See pg_prepared_xacts; run commit prepared or rollback prepared.")
	e.check(is.Frozen > 1_000_000_000, LevelWarning, fmt.Sprintf("the oldest row is %d transactions old", is.Frozen),
		"At about 2 billion PostgreSQL refuses new transactions.",
		"Find out why autovacuum does not finish; run vacuum (freeze).")
	e.check(is.Hidden > 0, LevelUnseen,
		numberOf(is.Hidden, "session", "sessions")+" of other roles cannot be examined by this login",
		"One of them may hold a transaction open.", "As a superuser: grant pg_read_all_stats to the login.")
	if err := e.slots(ctx, tx); err != nil {
		return err
	}
	e.fine = "nothing holds back vacuum"
	return nil
}

// slots examines the replication slots.
func (e *examination) slots(ctx context.Context, tx pgx.Tx) error {
	slots, err := store.Collect[struct {
		Name     string
		Active   bool
		Age, WAL int64
	}](ctx, tx, `
		select slot_name::text as name, active, greatest(age(xmin), age(catalog_xmin))::bigint as age,
		       case when not pg_is_in_recovery()
		            then pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) end::bigint as wal
		  from pg_replication_slots where database is null or database = current_database()`)
	for _, s := range slots {
		if (!s.Active && s.WAL > 1<<30) || s.Age > 1_000_000 {
			e.add(LevelWarning, fmt.Sprintf("the replication slot %s retains %s of WAL and the rows of %d transactions",
				s.Name, megabytes(s.WAL), s.Age),
				"The disk fills up, and vacuum cannot remove dead rows.",
				"Restart its replica, or drop the slot with pg_drop_replication_slot.")
		}
	}
	return err
}
