package chaos

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// functions that an application asks, with what they return as text.
var asked = []string{
	`select r::text from oxbow.recall($1, 'bicycle climbing 羽毛球 parcel', max_results => 100) r`,
	`select oxbow.context($1, 'what did I buy?')`,
	`select r::text from oxbow.timeline($1, 'where do I live? 住在') r`,
	`select r::text from oxbow.facts_as_of($1, now(), now()) r`,
	`select r::text from oxbow.traits_as_of($1, now()) r`,
	`select r::text from oxbow.entities_of($1) r`,
	`select r::text from oxbow.entity_edges_of($1) r`,
}

// isolation reads all that a login of oxbow_app may read, in the name of each user.
func (k *checker) isolation(ctx context.Context) (looked int, err error) {
	var names []string
	if _, err := k.each(ctx, `select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid
		and a.attname = 'user_id' and not a.attisdropped
		where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p', 'v')
		and has_table_privilege($1, c.oid, 'select') order by 1`,
		func(c []string) { names = append(names, c[0]) }, k.app); err != nil {
		return 0, err
	}
	savepoint, err := k.tx.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, savepoint.Rollback(ctx)) }() // the role goes with it
	if _, err := k.tx.Exec(ctx, "set local role "+pgx.Identifier{k.app}.Sanitize()); err != nil {
		return 0, err
	}
	for n := range users {
		user := userName(n)
		if _, err := k.tx.Exec(ctx, `select set_config('oxbow.user_id', $1, true)`, user); err != nil {
			return looked, err
		}
		look := func(where, text string) {
			for _, m := range marksIn(text) {
				if m.user != n {
					k.violate("isolation", user, m.String(), where, "what is of this user alone", text)
				}
			}
		}
		for _, name := range names {
			seen, err := k.each(ctx, `select t.user_id, t::text from oxbow.`+pgx.Identifier{name}.Sanitize()+` t`,
				func(c []string) {
					if c[0] != user {
						k.violate("isolation", user, "", name, "rows of this user alone", "a row of "+c[0])
					}
					look(name, c[1])
				})
			if err != nil {
				return looked, err
			}
			looked += seen
		}
		for _, sql := range asked {
			seen, err := k.each(ctx, sql, func(c []string) { look(sql, c[0]) }, user)
			if err != nil {
				return looked, err
			}
			looked += seen
			if err := k.refused(ctx, sql, user, userName((n+1)%users)); err != nil {
				return looked, err
			}
		}
	}
	return looked, nil
}

// refused asks for another user.
func (k *checker) refused(ctx context.Context, sql, user, other string) error {
	inner, err := k.tx.Begin(ctx)
	if err != nil {
		return err
	}
	_, err = inner.Exec(ctx, sql, other)
	if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || pg.Code != "42501" {
		k.violate("isolation", user, "", sql, "a refusal, asked for "+other, fmt.Sprint(err))
	}
	return inner.Rollback(ctx)
}
