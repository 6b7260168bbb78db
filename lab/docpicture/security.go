package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/server"
)

// securityTables returns the tables of docs/security.md, read from the catalog of a new database.
func securityTables(ctx context.Context) (tables map[string]func() string, err error) {
	dsn, err := pgtest.Create(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pgtest.Drop(context.WithoutCancel(ctx), dsn)) }()
	if err := migrations.Up(ctx, dsn, migrations.Options{}); err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	rights, err := rightsTable(ctx, conn)
	if err != nil {
		return nil, err
	}
	functions, err := functionsTable(ctx, conn)
	if err != nil {
		return nil, err
	}
	return map[string]func() string{
		"rights":    func() string { return rights },
		"functions": func() string { return functions },
		"requests":  requestsTable,
	}, nil
}

// requestsTable lists the limits of the operations of the HTTP API. Operations with the same limits are one row.
func requestsTable() string {
	type limits struct {
		body int64
		time time.Duration
	}
	operations := map[limits][]string{}
	for _, l := range server.Limits() {
		of := limits{l.Body, l.Time}
		operations[of] = append(operations[of], "`"+l.Operation+"`")
	}
	var b strings.Builder
	b.WriteString("| body | time | operations |\n|---|---|---|\n")
	for _, of := range slices.SortedFunc(maps.Keys(operations), func(a, b limits) int {
		return cmp.Or(cmp.Compare(a.body, b.body), cmp.Compare(a.time, b.time))
	}) {
		body := "none"
		if of.body > 0 {
			body = fmt.Sprintf("%d MiB", of.body>>20)
		}
		fmt.Fprintf(&b, "| %s | %d s | %s |\n", body, int(of.time.Seconds()), strings.Join(operations[of], ", "))
	}
	return b.String()
}

// rightsSQL describes what each role may do with each table. Tables with the same rights are one row. A policy that
// compares with the setting oxbow.user_id limits a right to the user's own rows.
const rightsSQL = `
	with may as (
	  select c.relname, r.role, a.command,
	         case when a.command = 'insert' then not p.own_check else p.own_rows end is not true as every
	    from pg_class c
	   cross join (values ('oxbow_app'), ('oxbow_worker'), ('oxbow_operator')) r(role)
	   cross join (values ('select', 'r', 1), ('insert', 'a', 2), ('update', 'w', 3), ('delete', 'd', 4)) a(command, letter, nth)
	   cross join lateral (
	     select bool_and(pg_get_expr(p.polqual, p.polrelid) ~ 'oxbow\.user_id') as own_rows,
	            bool_or(pg_get_expr(p.polwithcheck, p.polrelid) !~ 'oxbow\.user_id') as own_check, count(*) as policies
	       from pg_policy p
	      where p.polrelid = c.oid and p.polcmd in (a.letter::"char", '*') and r.role::regrole::oid = any(p.polroles)) p
	   where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition
	     and (not c.relrowsecurity or p.policies > 0)
	     and (has_table_privilege(r.role, c.oid, a.command)
	          or a.command <> 'delete' and has_any_column_privilege(r.role, c.oid, a.command))
	), described as (
	  select relname, role, concat_ws('; ',
	           'own: ' || string_agg(command, ', ' order by command = 'delete', command = 'update', command = 'insert')
	             filter (where not every),
	           'all: ' || string_agg(command, ', ' order by command = 'delete', command = 'update', command = 'insert')
	             filter (where every)) as rights
	    from may group by relname, role
	), pivoted as (
	  select c.relname, coalesce(max(d.rights) filter (where d.role = 'oxbow_app'), '–') as app,
	         coalesce(max(d.rights) filter (where d.role = 'oxbow_worker'), '–') as worker,
	         coalesce(max(d.rights) filter (where d.role = 'oxbow_operator'), '–') as operator
	    from pg_class c left join described d using (relname)
	   where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition
	   group by c.relname
	)
	select string_agg('` + "`' || relname || '`" + `', ', ' order by relname) as tables, app, worker, operator
	  from pivoted group by app, worker, operator order by min(relname)`

func rightsTable(ctx context.Context, conn *pgx.Conn) (string, error) {
	rows, err := conn.Query(ctx, rightsSQL)
	if err != nil {
		return "", err
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[struct{ Tables, App, Worker, Operator string }])
	var b strings.Builder
	b.WriteString("| tables | `oxbow_app` | `oxbow_worker` | `oxbow_operator` |\n|---|---|---|---|\n")
	for _, r := range all {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.Tables, r.App, r.Worker, r.Operator)
	}
	return b.String(), err
}

// functionsSQL lists the functions that roles may execute, by the roles that may.
const functionsSQL = `
	with may as (
	  select p.proname, string_agg(format('%s', r.role), ', ' order by r.nth) as roles
	    from pg_proc p
	    join (values ('oxbow_app', 1), ('oxbow_worker', 2), ('oxbow_operator', 3)) r(role, nth)
	      on has_function_privilege(r.role, p.oid, 'execute')
	   where p.pronamespace = 'oxbow'::regnamespace
	   group by p.oid, p.proname
	)
	select roles, count(*)::int as number, string_agg('` + "`' || proname || '`" + `', ', ' order by proname) as names
	  from may group by roles order by roles`

func functionsTable(ctx context.Context, conn *pgx.Conn) (string, error) {
	rows, err := conn.Query(ctx, functionsSQL)
	if err != nil {
		return "", err
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[struct {
		Roles, Names string
		Number       int
	}])
	var b strings.Builder
	b.WriteString("| roles | functions |\n|---|---|\n")
	for _, r := range all {
		fmt.Fprintf(&b, "| %s | %d: %s |\n", r.Roles, r.Number, r.Names)
	}
	return b.String(), err
}
