package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	sqlcode "github.com/oxbow-memory/oxbow/sql"
	"github.com/oxbow-memory/oxbow/store"
)

// few joins names and abbreviates after four.
func few(names []string) string {
	if len(names) > 4 {
		return strings.Join(names[:3], ", ") + fmt.Sprintf(" and %d more", len(names)-3)
	}
	return strings.Join(names, ", ")
}

// rights examines row-level security and the group roles.
func (e *examination) rights(ctx context.Context, tx pgx.Tx) error {
	is, err := store.CollectOne[struct {
		App, Worker, Operator                bool
		Unserved, Unlogged                   []string
		Unsecured, Forced, Ungranted, Beyond []string
		NoAppPolicy, Writable, Unusable      []string
	}](ctx, tx, `
		with users as (
		  select c.oid, c.relname::text as name, c.relrowsecurity as secured, c.relforcerowsecurity as forced
		    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'user_id' and not a.attisdropped
		   where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p')),
		groups as (select (select oid from pg_roles where rolname = 'oxbow_app') as app,
		  (select oid from pg_roles where rolname = 'oxbow_worker') as worker,
		  (select oid from pg_roles where rolname = 'oxbow_operator') as operator)
		select g.app is not null as app, g.worker is not null as worker, g.operator is not null as operator,
		       array(select r.rolname::text from pg_roles r where r.rolcanlogin and not r.rolsuper
		         and pg_has_role(r.oid, g.operator, 'MEMBER') and not coalesce(pg_has_role(r.oid, g.app, 'MEMBER'), false)
		         order by 1) as unserved,
		       array(select c.relname::text from pg_class c where g.operator is not null
		         and c.relnamespace = 'oxbow'::regnamespace and c.relname in ('api_keys', 'api_log')
		         and not (has_table_privilege(g.operator, c.oid, 'select') and has_table_privilege(g.operator, c.oid, 'insert'))
		         order by 1) as unlogged,
		       array(select name from users where not secured order by 1) as unsecured,
		       array(select name from users where forced order by 1) as forced,
		       array(select name from users u where g.app is not null
		               and has_table_privilege(g.app, u.oid, 'select')
		               and not exists (select from pg_policy p where p.polrelid = u.oid and g.app = any(p.polroles))
		                 order by 1) as no_app_policy,
		       array(select n.nspname::text from pg_extension e join pg_namespace n on n.oid = e.extnamespace
		             where e.extname = 'vector' and exists (select from unnest(array[g.app, g.worker, g.operator]) r
		               where r is not null and not has_schema_privilege(r, n.oid, 'usage'))) as unusable,
		       array(select c.relname::text from pg_class c left join users u on u.oid = c.oid
		             where g.worker is not null and c.relnamespace = 'oxbow'::regnamespace
		               and (u.oid is not null and not exists (select from pg_policy p
		                      where p.polrelid = u.oid and g.worker = any(p.polroles))
		                 or (u.oid is not null or c.relname in ('settings', 'river_job', 'river_leader', 'river_queue',
		                      'river_notification'))
		                    and c.relname not in ('api_keys', 'page_sessions', 'api_answers', 'api_log')
		                    and not (select bool_and(has_table_privilege(g.worker, c.oid, p))
		                      from unnest('{select,insert,update,delete}'::text[]) p)) order by 1) as ungranted,
		       array(select r.rolname::text from pg_roles r where g.app is not null and r.rolcanlogin and not r.rolsuper
		         and pg_has_role(r.oid, g.app, 'MEMBER')
		               and (r.rolbypassrls or pg_has_role(r.oid, (select relowner from pg_class
		                 where oid = 'oxbow.memories'::regclass), 'MEMBER')
		                    or coalesce(pg_has_role(r.oid, g.worker, 'MEMBER'), false)) order by 1) as beyond,
		       array(select n.nspname::text from pg_extension e join pg_namespace n on n.oid = e.extnamespace
		             where e.extname = 'vector' and has_schema_privilege(g.app, n.oid, 'create')) as writable
		  from groups g`)
	if err != nil {
		return err
	}
	lacking := map[string][]string{}
	for role, there := range map[string]bool{"oxbow_app": is.App, "oxbow_worker": is.Worker, "oxbow_operator": is.Operator} {
		if there {
			if lacking[role], err = lacks(ctx, tx, role); err != nil {
				return err
			}
		}
	}
	const migrate = "Run oxbow migrate up as the owner: it restores what is missing."
	for _, x := range []struct {
		level     Level
		names     []string
		what      string
		why, does string
	}{
		{LevelError, is.Unsecured, "row-level security is off on ",
			"Logins of oxbow_app can read every user's rows there.",
			"Run alter table … enable row level security. " + migrate},
		{LevelWarning, is.Forced, "row-level security is forced on ",
			"The owner does not see all rows: pg_dump and migrations fail or omit rows.",
			"Run alter table … no force row level security."},
		{LevelError, is.NoAppPolicy, "oxbow_app has no policy on ", "Its logins see no rows there.", migrate},
		{LevelError, is.Ungranted, "oxbow_worker lacks rights on ", "Workers with a login of that role fail.", migrate},
		{LevelError, is.Unlogged, "oxbow_operator lacks rights on ", "oxbow serve cannot check keys or write its log.",
			migrate},
		{LevelError, lacking["oxbow_app"], "oxbow_app lacks rights: ", "Calls of its logins fail.", migrate},
		{LevelError, lacking["oxbow_worker"], "oxbow_worker lacks rights: ", "Jobs fail if its logins run them.", migrate},
		{LevelError, lacking["oxbow_operator"], "oxbow_operator lacks rights: ", "oxbow serve fails for operators.",
			migrate},
		{LevelError, is.Unusable, "a group role may not use the schema of pgvector, ",
			"Its logins cannot name the type of vectors: recall and jobs fail.",
			"As its owner, run grant usage on schema … to oxbow_app, oxbow_worker, oxbow_operator."},
		{LevelWarning, is.Unserved, "oxbow serve cannot run as ",
			"These logins are members of oxbow_operator but not of oxbow_app, and the server needs both.",
			"Run grant oxbow_app to …."},
		{LevelError, is.Writable, "oxbow_app may create objects in the schema of pgvector, ",
			"An operator created there could run with the rights of the owner, in recall and in the owner's INSERTs.",
			"Run revoke create on schema … from public, oxbow_app; or move pgvector: alter extension vector set schema …."},
		{LevelWarning, is.Beyond, "members of oxbow_app can read every user's rows: ",
			"They are also members of oxbow_worker or of the owner, or bypass row-level security.",
			"Give applications a login that is only a member of oxbow_app."},
	} {
		e.check(len(x.names) > 0, x.level, x.what+few(x.names), x.why, x.does)
	}
	e.check(is.App && !is.Operator, LevelAdvice, "the role oxbow_operator does not exist", "oxbow serve needs it.",
		"Run oxbow migrate up: it creates it, or prints the statements for an administrator.")
	e.check(!is.App || !is.Worker, LevelAdvice, "the roles oxbow_app and oxbow_worker do not exist",
		"Every application connects as the owner, to whom row-level security does not apply.",
		"Run oxbow migrate up: it creates them, or prints the statements for an administrator.")
	e.fine = "row-level security is on for every table of users' data, and the roles have their rights"
	return nil
}

// lacks returns the rights that a group role lacks on the functions that it may call and on what these use.
func lacks(ctx context.Context, tx pgx.Tx, role string) ([]string, error) {
	needed, err := store.Collect[sqlcode.Need](ctx, tx, sqlcode.Needs, sqlcode.Calls(role), role)
	var lacking []string
	for _, n := range needed {
		if !n.Held {
			lacking = append(lacking, n.What+" on "+n.Name)
		}
	}
	return lacking, err
}

// indexes compares the indexes with those that the migrations create. It leaves out the tables of an unfinished reembed.
func (e *examination) indexes(ctx context.Context, tx pgx.Tx) error {
	// With an empty search_path, definitions qualify every name.
	if _, err := tx.Exec(ctx, `select set_config('search_path', '', true)`); err != nil {
		return err
	}
	all, err := store.Collect[struct {
		Table, Name, Rest, Constraint string
		Valid, Partition              bool
		Scans                         int64
	}](ctx, tx, `
		select t.relname::text as "table", c.relname::text as name, i.indisvalid and i.indisready as valid,
		       regexp_replace(pg_get_indexdef(i.indexrelid), '^.* (USING .*)$', '\1') as rest,
		       pg_get_constraintdef(k.oid) as "constraint", pg_stat_get_numscans(c.oid) as scans,
		       c.relispartition or t.relispartition as partition
		  from pg_index i
		  join pg_class c on c.oid = i.indexrelid
		  join pg_class t on t.oid = i.indrelid
		  left join pg_constraint k on k.conindid = i.indexrelid and k.contype in ('p', 'u')
		 where t.relnamespace = 'oxbow'::regnamespace and t.relname not like 'memory\_vectors\_next%'`)
	if err != nil {
		return err
	}
	present := map[string]bool{}
	for _, x := range all {
		present[x.Name], present[x.Table+" "+x.Rest], present[x.Table+" "+x.Constraint] = true, true, true
	}
	var missing, invalid, foreign []string
	ours := map[string]bool{}
	for _, want := range e.want.Indexes {
		ours[want.Name], ours[want.Table+" "+want.Rest] = true, true
		if !present[want.Name] && !present[want.Table+" "+want.Rest] {
			missing = append(missing, want.Name+" on "+want.Table)
		}
	}
	for _, x := range all {
		if !x.Valid {
			invalid = append(invalid, x.Name)
		}
		if len(ours) > 0 && !x.Partition && x.Scans == 0 && !ours[x.Name] && !ours[x.Table+" "+x.Rest] &&
			!ours[x.Table+" "+x.Constraint] {
			foreign = append(foreign, x.Name+" on "+x.Table)
		}
	}
	e.check(len(missing) > 0, LevelError, "indexes are missing: "+few(missing),
		"Queries read whole tables, or duplicates are not refused.",
		"Create them as in sql/schema.sql of this version, with create index concurrently.")
	e.check(len(invalid) > 0, LevelError, "indexes are invalid: "+few(invalid),
		"Creating them was interrupted: they slow down writes and serve no query.",
		"Run reindex index concurrently oxbow.…")
	e.check(len(foreign) > 0, LevelAdvice, "indexes that are not Oxbow's have never been used: "+few(foreign),
		"They slow down writes.", "Drop them if no replica uses them.")
	e.fine = fmt.Sprintf("all %d indexes exist and are valid", len(e.want.Indexes))
	return e.bloat(ctx, tx)
}

const (
	// bloatedBytes is the size up to which an almost empty queue is not reported.
	bloatedBytes = 256 << 20
	// rowBytes is an upper bound for a job's row and its index entries.
	rowBytes = 8 << 10
)

// bloat compares the size of the queue with its number of rows.
func (e *examination) bloat(ctx context.Context, tx pgx.Tx) error {
	queue, err := store.CollectOne[struct{ Jobs, Table, Indexes int64 }](ctx, tx, `
		select greatest(pg_stat_get_live_tuples(c.oid), 0) as jobs, c.relpages::bigint * 8192 as "table",
		       (select sum(x.relpages)::bigint * 8192 from pg_index i join pg_class x on x.oid = i.indexrelid
		         where i.indrelid = c.oid) as indexes
		  from pg_class c where c.oid = 'oxbow.river_job'::regclass`)
	size := queue.Table + queue.Indexes
	e.check(size > bloatedBytes && size > queue.Jobs*rowBytes, LevelAdvice,
		fmt.Sprintf("the queue takes %s and its indexes %s for about %d jobs", megabytes(queue.Table),
			megabytes(queue.Indexes), queue.Jobs),
		"It was once longer, or vacuum was held back: fetching jobs reads empty pages.",
		"When few jobs wait: reindex table concurrently oxbow.river_job. vacuum full oxbow.river_job also frees the "+
			"space of the table, but blocks all jobs.")
	return err
}

// tables examines dead rows, statistics and autovacuum, except of the tables of an unfinished reembed.
func (e *examination) tables(ctx context.Context, tx pgx.Tx) error {
	tables, err := store.Collect[struct {
		Name            string
		Live, Dead      int64
		Vacuumed        *float64 // seconds ago
		Unanalyzed, Off bool
	}](ctx, tx, `
		select c.relname::text as name, pg_stat_get_live_tuples(c.oid) as live, pg_stat_get_dead_tuples(c.oid) as dead,
		       extract(epoch from now() - greatest(pg_stat_get_last_vacuum_time(c.oid),
		         pg_stat_get_last_autovacuum_time(c.oid)))::float8 as vacuumed,
		       greatest(pg_stat_get_last_analyze_time(c.oid), pg_stat_get_last_autoanalyze_time(c.oid)) is null
		         and c.reltuples < 0 as unanalyzed,
		       'autovacuum_enabled=false' = any(c.reloptions) as off
		  from pg_class c where c.relnamespace = 'oxbow'::regnamespace and c.relkind = 'r'
		   and c.relname not like 'memory\_vectors\_next%' order by 1`)
	if err != nil {
		return err
	}
	var fresh, disabled []string
	for _, t := range tables {
		if t.Dead > 50_000 && t.Dead > t.Live/2 {
			when := "never"
			if t.Vacuumed != nil {
				when = inWords(*t.Vacuumed) + " ago"
			}
			e.add(LevelWarning, fmt.Sprintf("%s has %d dead rows and %d live ones; it was last vacuumed %s",
				t.Name, t.Dead, t.Live, when),
				"Every scan reads the dead rows, and the table grows.",
				"See the findings on transactions; then run vacuum (analyze) oxbow."+t.Name+".")
		}
		if t.Unanalyzed && t.Live > 10_000 {
			fresh = append(fresh, t.Name)
		}
		if t.Off {
			disabled = append(disabled, t.Name)
		}
	}
	e.check(len(fresh) > 0, LevelAdvice, "no statistics exist for "+few(fresh),
		"The planner guesses, which may be slow after a bulk load or a restore.", "Run analyze oxbow.…")
	e.check(len(disabled) > 0, LevelError, "autovacuum is off for "+few(disabled), "Dead rows accumulate.",
		"Run alter table oxbow.… reset (autovacuum_enabled).")
	e.fine = "few dead rows"
	return nil
}
