package migrations

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// dropSchema drops everything in one transaction, so an interruption leaves all or nothing.
func (s *session) dropSchema(ctx context.Context) error {
	err := s.step(ctx, "drop schema oxbow", func(ctx context.Context, tx pgx.Tx) error {
		others, err := dependents(ctx, tx)
		if err != nil {
			return err
		}
		if len(others) > 0 {
			return fmt.Errorf("objects outside the schema depend on it: %s; drop them first",
				strings.Join(others, ", "))
		}
		_, err = tx.Exec(ctx, `drop schema oxbow cascade`)
		return err
	})
	if err != nil {
		return err
	}
	s.log.InfoContext(ctx, "dropped the schema oxbow, but not the extensions and roles, which others may use",
		"roles", strings.Join(s.opts.source.roles, ", "))
	return nil
}

// dependents names the objects outside the schema that would be dropped with it: views, foreign
// keys, columns of our types, functions, triggers. The name of an object without a schema begins
// with that of its table.
func dependents(ctx context.Context, tx pgx.Tx) ([]string, error) {
	rows, err := tx.Query(ctx, `
		with ours (classid, objid) as (
			select 'pg_class'::regclass, oid from pg_class where relnamespace = 'oxbow'::regnamespace
			union all select 'pg_proc'::regclass, oid from pg_proc where pronamespace = 'oxbow'::regnamespace
			union all select 'pg_type'::regclass, oid from pg_type where typnamespace = 'oxbow'::regnamespace
		)
		select distinct i.type || ' ' || i.identity
		from ours
		join pg_depend d on d.refclassid = ours.classid and d.refobjid = ours.objid
		cross join pg_identify_object(d.classid, d.objid, d.objsubid) i
		cross join pg_identify_object_as_address(d.classid, d.objid, d.objsubid) a
		where coalesce(i.schema, a.object_names[1]) not in ('oxbow', 'pg_toast')
		order by 1 limit 20`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
