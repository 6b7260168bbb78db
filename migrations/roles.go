package migrations

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	sqlcode "github.com/oxbow-memory/oxbow/sql"
)

// groupRoles are the group roles. They cannot log in; logins are made members of them. sql/code
// grants them their rights if they exist.
//
// Neither is ever made a member of the role that owns the tables, although COPY FROM into a table
// with policies works only for the owner and its members. Roles belong to the whole cluster, so the
// workers of one database would own the tables of every other database in it. If a superuser ran
// migrate, a member could SET ROLE to it or replace one of its SECURITY DEFINER functions, and so
// become a superuser. Instead a policy lets oxbow_worker see and write every row. Code that needs
// COPY copies into a temporary table first or connects as the owner.
var groupRoles = []string{"oxbow_app", "oxbow_worker", "oxbow_operator"}

// ensureRoles creates the group roles if it may, and otherwise logs the statements to run. The
// schema works without them for logins that connect as the owner.
func (s *session) ensureRoles(ctx context.Context) error {
	for _, role := range s.opts.source.roles {
		err := s.step(ctx, "create role "+role, func(ctx context.Context, tx pgx.Tx) error {
			var exists bool
			err := tx.QueryRow(ctx, `select exists (select from pg_roles where rolname = $1)`, role).Scan(&exists)
			if err != nil || exists {
				return err
			}
			if _, err := tx.Exec(ctx, `create role `+pgx.Identifier{role}.Sanitize()+` nologin`); err != nil {
				return err
			}
			s.log.InfoContext(ctx, "created the role", "role", role)
			return nil
		})
		switch {
		case hasCode(err, "42710"): // duplicate_object: another database's migration has just created it
		case hasCode(err, "42501"):
			s.log.WarnContext(ctx,
				"role "+s.role+" may not create roles: until a role with CREATEROLE runs these statements, "+
					"followed by migrate up, only the owner can connect", "run", createRoles(s.opts.source.roles))
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

func createRoles(roles []string) string {
	var b strings.Builder
	for _, role := range roles {
		b.WriteString("create role " + role + " nologin; ")
	}
	return strings.TrimSpace(b.String())
}

// revoke revokes from roles everything in the schema. PostgreSQL grants EXECUTE on new functions and USAGE on new types to
// PUBLIC. Rights are an allow-list, kept in sql/code.
func revoke(ctx context.Context, tx pgx.Tx, roles ...string) error {
	for _, role := range roles {
		if role != "public" {
			role = pgx.Identifier{role}.Sanitize()
		}
		_, err := tx.Exec(ctx, strings.ReplaceAll(`
			revoke all on schema oxbow from grantee;
			revoke all on all tables in schema oxbow from grantee;
			revoke all on all sequences in schema oxbow from grantee;
			revoke all on all routines in schema oxbow from grantee;
			do $$
			declare t regtype;
			begin
			  for t in select oid from pg_type where typnamespace = 'oxbow'::regnamespace and typtype in ('d', 'e') loop
			    execute format('revoke all on type %s from grantee', t);
			  end loop;
			end $$`, "grantee", role))
		if err != nil {
			return err
		}
	}
	return nil
}

// grantRights grants the group roles the rights of the allow-list that they do not have: on the tables from which Check
// reads the version, on the functions, and what secure_tables grants.
func grantRights(ctx context.Context, tx pgx.Tx, roles []string, files []codeFile) error {
	var texts []string
	for _, f := range files {
		texts = append(texts, f.text)
	}
	granted := sqlcode.Granted(texts...)
	for _, role := range roles {
		to := pgx.Identifier{role}.Sanitize()
		_, err := tx.Exec(ctx, `grant usage on schema oxbow to `+to+`;
			grant select on oxbow.schema_version, oxbow.installed_code, oxbow.river_migration to `+to)
		if err != nil {
			return err
		}
		var missing string
		err = tx.QueryRow(ctx, `
			select coalesce(string_agg(format('grant execute on routine %s to %I;', p.oid::regprocedure, $1::text), ''), '')
			  from pg_proc p
			 where p.pronamespace = 'oxbow'::regnamespace and p.proname = any($2)
			   and not has_function_privilege($1::name, p.oid, 'execute')`, role, granted[role]).Scan(&missing)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, missing); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `
		do $$
		begin
		  if to_regprocedure('oxbow.secure_tables()') is not null then
		    call oxbow.secure_tables();
		  end if;
		end $$`)
	return err
}

// becomeOwner sets the role to the owner of the schema if the login is a different role, such as a superuser:
// functions run with the rights of their owner, who must own the tables too.
func (s *session) becomeOwner(ctx context.Context) error {
	var owner string
	err := s.conn.QueryRow(ctx, `select rolname from pg_roles r join pg_namespace n on n.nspowner = r.oid
		where n.nspname = $1`, schema).Scan(&owner)
	if err == nil && owner != s.role {
		_, err = s.conn.Exec(ctx, "set role "+pgx.Identifier{owner}.Sanitize())
	}
	return err
}

// useExtension lets the group roles use the schema of vector, whose types and operators their statements name, and
// logs the statement to run if the owner may not grant this.
func (s *session) useExtension(ctx context.Context) error {
	return s.step(ctx, "grant usage on schema "+s.vectorSchema, func(ctx context.Context, tx pgx.Tx) error {
		var without string
		var may bool
		err := tx.QueryRow(ctx, `
			select coalesce(string_agg(quote_ident(r.rolname), ', ' order by r.rolname), ''),
			       has_schema_privilege($2::name, 'usage with grant option')
			  from pg_roles r where r.rolname = any($1) and not has_schema_privilege(r.rolname, $2, 'usage')`,
			s.opts.source.roles, s.vectorSchema).Scan(&without, &may)
		if err != nil || without == "" {
			return err
		}
		grant := "grant usage on schema " + quoteIfNeeded(s.vectorSchema) + " to " + without
		if may {
			_, err = tx.Exec(ctx, grant)
			return err
		}
		s.log.WarnContext(ctx, "role "+s.role+" may not grant the use of the schema of pgvector: until its owner runs this "+
			"statement, only the owner can connect", "run", grant+";")
		return nil
	})
}
