package doctor

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

func (e *examination) server(ctx context.Context, tx pgx.Tx) error {
	var version string
	var number int
	var standby bool
	var outdated []string
	err := tx.QueryRow(ctx, `
		select current_setting('server_version'), current_setting('server_version_num')::integer, pg_is_in_recovery(),
		       array(select format('%s %s (the server has %s)', x.extname, x.extversion, a.default_version)
		               from pg_extension x join pg_available_extensions a on a.name = x.extname
		              where x.extname in ('vector', 'btree_gin') and a.default_version <> x.extversion)`).
		Scan(&version, &number, &standby, &outdated)
	if err != nil {
		return err
	}
	if number < 150000 {
		e.add(LevelError, "PostgreSQL is "+version, "Oxbow needs 15 or newer.", "Upgrade the server.")
	}
	if standby {
		e.add(LevelWarning, "this is a standby",
			"oxbow.recall works here; memories cannot be stored and jobs cannot be worked.", "Connect to the primary.")
	}
	for _, x := range outdated {
		e.add(LevelAdvice, "the extension is older than what the server has: "+x, "Newer versions repair mistakes.",
			"As the extension's owner: alter extension … update.")
	}
	e.fine = "PostgreSQL " + version + ", the extensions are the server's"
	return nil
}

// settings examines the settings that affect Oxbow.
func (e *examination) settings(ctx context.Context, tx pgx.Tx) error {
	is := map[string]string{}
	settings, err := store.Collect[struct{ Name, Value string }](ctx, tx,
		`select name, coalesce(reset_val, setting) as value from pg_settings where name = any($1)`, []string{
			"fsync", "full_page_writes", "synchronous_commit", "autovacuum", "track_counts", "shared_buffers", "work_mem",
			"maintenance_work_mem", "random_page_cost", "idle_in_transaction_session_timeout",
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
		{is["fsync"] == "off", LevelError, "fsync is off", "After a crash of the machine the database may be destroyed.",
			"Set fsync = on."},
		{is["full_page_writes"] == "off", LevelWarning, "full_page_writes is off",
			"After a crash of the machine pages may be torn.", "Set full_page_writes = on."},
		{is["synchronous_commit"] == "off", LevelAdvice, "synchronous_commit is off",
			"A crash loses the last moments of what was committed, memories and the jobs they caused together.",
			"Leave it if that is meant."},
		{is["autovacuum"] == "off", LevelError, "autovacuum is off",
			"The queue's rows are each updated twice and deleted: without vacuum fetching jobs becomes slower and slower.",
			"Set autovacuum = on."},
		{is["track_counts"] == "off", LevelError, "track_counts is off", "Autovacuum does not work without it.",
			"Set track_counts = on."},
		{is["default_transaction_read_only"] == "on", LevelError, "transactions are read-only by default",
			"Nothing can be stored, and no job worked.", "Set default_transaction_read_only = off for these roles."},
		{is["default_transaction_isolation"] != "read committed", LevelWarning,
			"transactions are " + is["default_transaction_isolation"] + " by default",
			"Oxbow's statements are written for read committed: workers will fail to serialize and repeat their jobs.",
			"Set default_transaction_isolation = 'read committed' for the worker's role."},
		{is["session_replication_role"] == "replica", LevelError, "session_replication_role is replica",
			"Triggers do not fire: memories are stored without the jobs that make them recallable.", "Set it to origin."},
		{number("random_page_cost") > 2, LevelAdvice, "random_page_cost is " + is["random_page_cost"],
			"On SSDs that makes the planner avoid indexes that would be faster.", "On SSDs, set random_page_cost = 1.1."},
		{number("idle_in_transaction_session_timeout") == 0, LevelAdvice, "idle_in_transaction_session_timeout is not set",
			"A forgotten open transaction holds back vacuum for every table, the queue's first.",
			"Set it for the application's role, for example to 5min."},
		{number("shared_buffers")*8192 < 0.1*float64(size) && number("shared_buffers")*8192 <= 256<<20, LevelAdvice,
			fmt.Sprintf("shared_buffers is %s, and Oxbow's tables take about %s",
				megabytes(int64(number("shared_buffers"))*8192), megabytes(size)),
			"Recall reads all vectors of a user: what is not in memory is read from disk.",
			"A quarter of the machine's memory is a good beginning."},
		{number("work_mem") < 4096, LevelAdvice, fmt.Sprintf("work_mem is %.0f kB", number("work_mem")),
			"Sorting what recall has found may go to disk.", "Set work_mem to 4MB or more."},
		{number("maintenance_work_mem") < 65536 && size > 1<<30, LevelAdvice,
			fmt.Sprintf("maintenance_work_mem is %.0f MB", number("maintenance_work_mem")/1024),
			"Vacuum goes through the indexes of large tables several times.", "Set maintenance_work_mem to 64MB or more."},
	} {
		if s.bad {
			e.add(s.level, s.what, s.why, s.do)
		}
	}
	e.fine = "durability, autovacuum, memory and costs are set sensibly"
	return nil
}

func (e *examination) connections(ctx context.Context, tx pgx.Tx) error {
	var most, used, reserved int
	var pid int
	err := tx.QueryRow(ctx, `
		select current_setting('max_connections')::integer, (select count(*) from pg_stat_activity
		  where backend_type = 'client backend'),
		       current_setting('superuser_reserved_connections')::integer, pg_backend_pid()`).
		Scan(&most, &used, &reserved, &pid)
	if err != nil {
		return err
	}
	if free := most - reserved - used; free < most/5 {
		level := LevelWarning
		if free < 3 {
			level = LevelError
		}
		e.add(level, fmt.Sprintf("%d of %d connections are in use", used, most-reserved),
			"A worker takes about 20 (pool_max_conns in its URL says how many); whoever comes last is refused.",
			"Raise max_connections, put a pooler before the applications, or limit the pools.")
	}
	if own := tx.Conn().PgConn().PID(); own != uint32(pid) {
		e.add(LevelAdvice, "there is a pooler between here and PostgreSQL",
			"One that shares connections by transaction passes no notifications on.",
			"Connect the worker directly, or run oxbow work --poll-only; connect oxbow migrate and oxbow reembed directly.")
	}
	e.fine = fmt.Sprintf("%d of %d connections are in use", used, most-reserved)
	return nil
}

// veryOldTransaction is the age in seconds from which an open transaction is a warning.
const veryOldTransaction = 60 * 60

// transactions looks for what holds back vacuum.
func (e *examination) transactions(ctx context.Context, tx pgx.Tx) error {
	open, err := store.Collect[struct {
		PID                      int
		User, Application, State string
		Age                      float64
	}](ctx, tx, `
		select pid, usename::text as "user", application_name as application, state,
		       extract(epoch from now() - xact_start)::float8 as age
		  from pg_stat_activity
		 where datname = current_database() and pid <> pg_backend_pid() and xact_start < now() - make_interval(secs => $1)
		   and backend_type = 'client backend'
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
			"Vacuum cannot remove rows that died since then, and dead rows of the queue slow down every fetch.",
			fmt.Sprintf("Find out why it is open; select pg_terminate_backend(%d) ends it.", x.PID))
	}
	var hidden, prepared int64
	var frozen int64
	err = tx.QueryRow(ctx, `
		select (select count(*) from pg_stat_activity where datname = current_database() and backend_type is null),
		       (select count(*) from pg_prepared_xacts where database = current_database()
		         and prepared < now() - make_interval(secs => $1)),
		       (select age(datfrozenxid) from pg_database where datname = current_database())`,
		e.want.OldTransaction.Seconds()).Scan(&hidden, &prepared, &frozen)
	if err != nil {
		return err
	}
	if prepared > 0 {
		e.add(LevelWarning, numberOf(prepared, "prepared transaction is", "prepared transactions are")+" left open",
			"They hold back vacuum, also after a restart.",
			"See pg_prepared_xacts; commit prepared, or rollback prepared.")
	}
	if frozen > 1_000_000_000 {
		e.add(LevelWarning, fmt.Sprintf("the oldest row is %d transactions old", frozen),
			"At about 2 billion PostgreSQL stops to take new ones.",
			"Find out why autovacuum does not come to an end; run vacuum (freeze).")
	}
	if hidden > 0 {
		e.add(LevelUnseen, "what "+numberOf(hidden, "session of another role does",
			"sessions of other roles do")+" is not shown to this login", "One of them may hold a transaction open.",
			"As a superuser: grant pg_read_all_stats to the login, for looking.")
	}
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
		       case when not pg_is_in_recovery() then pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) end::bigint as wal
		  from pg_replication_slots where database is null or database = current_database()`)
	for _, s := range slots {
		if (!s.Active && s.WAL > 1<<30) || s.Age > 1_000_000 {
			e.add(LevelWarning, fmt.Sprintf("the replication slot %s keeps %s of WAL, and rows of the last %d transactions",
				s.Name, megabytes(s.WAL), s.Age),
				"Without its replica the disk fills up, and vacuum cannot remove dead rows.",
				"Bring its replica back, or drop the slot with pg_drop_replication_slot.")
		}
	}
	return err
}
