package migrations

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
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

// grantVersions lets the group roles read the tables from which Check reads the version.
func grantVersions(ctx context.Context, tx pgx.Tx, roles []string) error {
	for _, role := range roles {
		to := pgx.Identifier{role}.Sanitize()
		_, err := tx.Exec(ctx, `grant usage on schema oxbow to `+to+`;
			grant select on oxbow.schema_version, oxbow.installed_code, oxbow.river_migration to `+to)
		if err != nil {
			return err
		}
	}
	return nil
}

// restoreRights restores policies and rights on tables that somebody removed. Functions keep theirs.
func restoreRights(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `
		do $$
		begin
		  if to_regprocedure('oxbow.secure_tables()') is not null then
		    call oxbow.secure_tables();
		  end if;
		end $$`)
	return err
}

// revokePublic revokes from PUBLIC what PostgreSQL grants it by default: EXECUTE on functions and
// USAGE on types. Rights are an allow-list, kept in sql/code.
func revokePublic(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `
		revoke all on schema oxbow from public;
		revoke all on all tables in schema oxbow from public;
		revoke all on all routines in schema oxbow from public;
		do $$
		declare t regtype;
		begin
		  for t in select oid from pg_type where typnamespace = 'oxbow'::regnamespace and typtype in ('d', 'e') loop
		    execute format('revoke all on type %s from public', t);
		  end loop;
		end $$`)
	return err
}
