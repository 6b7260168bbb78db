package chaos

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// asked are an application's queries, with their results as text.
var asked = []string{
	`select r::text from oxbow.recall($1, 'bicycle climbing 羽毛球 parcel', max_results => 100) r`,
	`select oxbow.context($1, 'what did I buy?')`,
	`select r::text from oxbow.timeline($1, 'where do I live? 住在') r`,
	`select r::text from oxbow.facts_as_of($1, now(), now()) r`,
	`select r::text from oxbow.traits_as_of($1, now()) r`,
	`select r::text from oxbow.entities_of($1) r`,
	`select r::text from oxbow.entity_edges_of($1) r`,
	`select r::text from oxbow.adjustments_of($1) r`,
	`select r::text from oxbow.instructions_of($1) r`,
	`select r::text from oxbow.skills_for($1) r`,
	`select r::text from oxbow.upcoming($1) r`,
	`select r::text from oxbow.predict($1) r`,
	`select r::text from oxbow.conclusions_of($1) r`,
	`select r::text from oxbow.communities($1) r`,
	`select r::text from oxbow.profile($1) r`,
}

// isolation reads everything that a login of oxbow_app may read, as each user.
func (k *checker) isolation() (looked int) {
	var names []string
	k.each(`select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid
		and a.attname = 'user_id' and not a.attisdropped
		where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p', 'v')
		and has_table_privilege($1, c.oid, 'select') order by 1`,
		func(c []string) { names = append(names, c[0]) }, k.app)
	k.exec("savepoint owner")
	k.exec("set local role " + pgx.Identifier{k.app}.Sanitize())
	for n := range users {
		user := userName(n)
		k.exec(`select set_config('oxbow.user_id', $1, true)`, user)
		look := func(where, text string) {
			for _, m := range marksIn(text) {
				if m.user != n {
					k.violate("isolation", user, m.String(), where, "texts of this user alone", text)
				}
			}
		}
		for _, name := range names {
			looked += k.each(`select t.user_id, t::text from oxbow.`+pgx.Identifier{name}.Sanitize()+` t`,
				func(c []string) {
					if c[0] != user {
						k.violate("isolation", user, "", name, "rows of this user alone", "a row of "+c[0])
					}
					look(name, c[1])
				})
		}
		for _, sql := range asked {
			looked += k.each(sql, func(c []string) { look(sql, c[0]) }, user)
			k.refused(sql, user, userName((n+1)%users))
		}
	}
	k.exec("rollback to owner")
	return looked
}

// refused checks that a query about another user fails.
func (k *checker) refused(sql, user, other string) {
	k.exec("savepoint before")
	_, err := k.tx.Exec(k.ctx, sql, other)
	if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || pg.Code != "42501" {
		k.violate("isolation", user, "", sql, "a refusal, asked for "+other, fmt.Sprint(err))
	}
	k.exec("rollback to before")
}
