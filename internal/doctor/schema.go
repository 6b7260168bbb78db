package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

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
	var app, worker bool
	var open, forced, noApp, noWorker, ungranted, above []string
	err := tx.QueryRow(ctx, `
		with users as (
		  select c.oid, c.relname::text as name, c.relrowsecurity as secured, c.relforcerowsecurity as forced
		    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'user_id' and not a.attisdropped
		   where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p')),
		groups as (select (select oid from pg_roles where rolname = 'oxbow_app') as app,
		  (select oid from pg_roles where rolname = 'oxbow_worker') as worker)
		select g.app is not null, g.worker is not null,
		       array(select name from users where not secured order by 1),
		       array(select name from users where forced order by 1),
		       array(select name from users u where g.app is not null
		               and not exists (select from pg_policy p where p.polrelid = u.oid and g.app = any(p.polroles))
		                 order by 1),
		       array(select name from users u where g.worker is not null
		               and not exists (select from pg_policy p where p.polrelid = u.oid and g.worker = any(p.polroles))
		                 order by 1),
		       array(select c.relname::text from pg_class c where g.worker is not null
		         and c.relnamespace = 'oxbow'::regnamespace
		               and (c.oid in (select oid from users) or c.relname in ('settings', 'river_job', 'river_leader',
		                 'river_queue', 'river_notification'))
		               and not (select bool_and(has_table_privilege(g.worker, c.oid, p))
		                 from unnest('{select,insert,update,delete}'::text[]) p) order by 1),
		       array(select r.rolname::text from pg_roles r where g.app is not null and r.rolcanlogin and not r.rolsuper
		         and pg_has_role(r.oid, g.app, 'MEMBER')
		               and (r.rolbypassrls or pg_has_role(r.oid, (select relowner from pg_class
		                 where oid = 'oxbow.memories'::regclass), 'MEMBER')
		                    or coalesce(pg_has_role(r.oid, g.worker, 'MEMBER'), false)) order by 1)
		  from groups g`).Scan(&app, &worker, &open, &forced, &noApp, &noWorker, &ungranted, &above)
	if err != nil {
		return err
	}
	const again = "Run oxbow migrate up as the owner: it makes what is missing."
	if len(open) > 0 {
		e.add(LevelError, "row-level security is off on "+few(open),
			"Logins of oxbow_app see the rows of every user there.",
			"alter table … enable row level security, then "+strings.ToLower(again[:1])+again[1:])
	}
	if len(forced) > 0 {
		e.add(LevelWarning, "row-level security is forced on "+few(forced),
			"The owner does not see all rows then: pg_dump and migrations fail or leave rows out.",
			"alter table … no force row level security")
	}
	if len(noApp) > 0 {
		e.add(LevelError, "oxbow_app has no policy on "+few(noApp), "Its logins see nothing there.", again)
	}
	if len(noWorker)+len(ungranted) > 0 {
		e.add(LevelError, "oxbow_worker lacks rights on "+few(append(noWorker, ungranted...)),
			"A worker with a login of that group fails there.", again)
	}
	if len(above) > 0 {
		e.add(LevelWarning, "members of oxbow_app may see every user: "+few(above),
			"They are the owner's or the worker's too, or may bypass row-level security.",
			"Give applications a login of oxbow_app alone.")
	}
	if !app || !worker {
		e.add(LevelAdvice, "the group roles oxbow_app and oxbow_worker are not there",
			"Everybody who uses Oxbow has to be its owner, which row-level security does not hold.",
			"oxbow migrate up makes them, or says which statements an administrator has to run.")
	}
	e.fine = "row-level security is on for every table of users' data, and the roles have their rights"
	return nil
}

// indexes compares the indexes with those that the migrations create.
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
		 where t.relnamespace = 'oxbow'::regnamespace`)
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
	if len(missing) > 0 {
		e.add(LevelError, "indexes are missing: "+few(missing), "What they serve reads whole tables, or lets doubles in.",
			"Make them again as sql/schema.sql of this version has them, with create index concurrently.")
	}
	if len(invalid) > 0 {
		e.add(LevelError, "indexes are not valid: "+few(invalid),
			"They cost each write and serve no query: making them was interrupted.", "reindex index concurrently oxbow.…")
	}
	if len(foreign) > 0 {
		e.add(LevelAdvice, "indexes that are not Oxbow's have never been used: "+few(foreign), "They cost each write.",
			"Drop them if no replica uses them.")
	}
	e.fine = fmt.Sprintf("all %d indexes are there and valid", len(e.want.Indexes))
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
	var live, table, indexes int64
	err := tx.QueryRow(ctx, `
		select greatest(pg_stat_get_live_tuples(c.oid), 0), c.relpages::bigint * 8192,
		       (select sum(x.relpages)::bigint * 8192 from pg_index i join pg_class x on x.oid = i.indexrelid
		         where i.indrelid = c.oid)
		  from pg_class c where c.oid = 'oxbow.river_job'::regclass`).Scan(&live, &table, &indexes)
	if err != nil {
		return err
	}
	if table+indexes > bloatedBytes && table+indexes > live*rowBytes {
		e.add(LevelAdvice, fmt.Sprintf("the queue takes %s and its indexes %s for about %d jobs", megabytes(table),
			megabytes(indexes), live),
			"It was longer once, or vacuum was held back: fetching reads pages with nothing in them.",
			"When it is short: reindex table concurrently oxbow.river_job; vacuum full oxbow.river_job gives the space "+
				"back, and stops all work meanwhile.")
	}
	return nil
}

// tables examines dead rows, statistics and autovacuum.
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
		  from pg_class c where c.relnamespace = 'oxbow'::regnamespace and c.relkind = 'r' order by 1`)
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
			e.add(LevelWarning, fmt.Sprintf("%s has %d dead rows and %d live ones; it was last vacuumed %s", t.Name, t.Dead,
				t.Live, when),
				"Every scan reads the dead rows, and the table grows.",
				"See the findings on transactions; then: vacuum (analyze) oxbow."+t.Name)
		}
		if t.Unanalyzed && t.Live > 10_000 {
			fresh = append(fresh, t.Name)
		}
		if t.Off {
			disabled = append(disabled, t.Name)
		}
	}
	if len(fresh) > 0 {
		e.add(LevelAdvice, "nothing is known of the contents of "+few(fresh),
			"The planner guesses: after a bulk load or a restore that may be slow.", "analyze oxbow.…")
	}
	if len(disabled) > 0 {
		e.add(LevelError, "autovacuum is off for "+few(disabled), "Dead rows stay.",
			"alter table oxbow.… reset (autovacuum_enabled)")
	}
	e.fine = "few dead rows"
	return nil
}
