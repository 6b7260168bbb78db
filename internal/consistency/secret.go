package consistency

import (
	"context"
	"fmt"
	"strings"

	"github.com/oxbow-memory/oxbow/store"
)

// secrets reports problems with secrets of the users from first to last. It repairs none: a person
// must look at secrets in clear text.
func (c *checker) secrets(ctx context.Context, first, last string) error {
	n, err := store.CollectOne[int64](ctx, c.db, `
		select (select count(*) from oxbow.memories where sensitivity = 3 and user_id between $1 and $2)
		     + (select count(*) from oxbow.messages where sensitivity = 3 and user_id between $1 and $2)`, first, last)
	if err != nil {
		return fmt.Errorf("count secrets: %w", err)
	}
	if c.report.Secrets += n; n == 0 {
		return nil
	}
	var derived []string
	for _, table := range derivedTables {
		derived = append(derived, fmt.Sprintf(`select 'a row of %[1]s' where exists (
			select from oxbow.%[1]s d where d.user_id = s.user_id and d.memory_type = s.type and d.memory_id = s.id)`, table))
	}
	sql := fmt.Sprintf(secretsSQL, strings.Join(derived, " union all "))
	problems, err := store.Collect[Problem](ctx, c.db, sql, first, last, c.options.KeyIDs)
	if err != nil {
		return fmt.Errorf("check secrets: %w", err)
	}
	return c.found(problems...)
}

// derivedTables lists the tables whose rows are derived from the texts of memories.
var derivedTables = []string{"memory_vectors", "memory_terms", "reflection_inbox", "entity_mentions", "entity_edges",
	"trait_evidence", "trait_clues"}

// secretsSQL checks that sealed text begins with its key id, as Tink writes it, and that nothing
// in clear text and nothing derived is stored of a secret.
const secretsSQL = `
	with secret as materialized (
	  select m.user_id, m.memory_type::text as type, m.id, m.content, m.sealed, m.sealed_key
	    from oxbow.memories m where m.sensitivity = 3 and m.user_id between $1 and $2
	  union all
	  select g.user_id, 'message', g.id, g.content, g.sealed, g.sealed_key
	    from oxbow.messages g where g.sensitivity = 3 and g.user_id between $1 and $2
	)
	select s.user_id, s.id as memory_id, p.kind, s.type || ': ' || p.found as found, p.expected
	  from secret s
	 cross join lateral (
	  select 1 as nth, 'not sealed' as kind, 'no sealed text' as found, 'a text that the client sealed' as expected
	   where s.content is distinct from '[sealed]' or coalesce(octet_length(s.sealed), 0) < 33
	      or case when s.sealed_key ~ '^[0-9]{1,10}$' then encode(substr(s.sealed, 1, 5),
	        'hex') <> '01' || lpad(to_hex(s.sealed_key::bigint), 8, '0') else true end
	  union all
	  select 2, 'key', 'sealed with the key ' || s.sealed_key, 'one of ' || array_to_string($3::text[], ', ')
	   where s.sealed_key <> all ($3::text[])
	  union all
	  select 3, 'exposed', t.found, 'nothing, because it is secret'
	    from (
	      %s
	      union all
	      select 'a row of memory_history in clear text' where exists (
	        select from oxbow.memory_history d
	         where d.user_id = s.user_id and d.memory_type = s.type and d.memory_id = s.id
	           and (d.old_content <> '[sealed]' or d.new_content <> '[sealed]' or d.old_metadata <> '{}'
	             or d.new_metadata <> '{}'))
	    ) t(found)
	   where s.type <> 'message'
	 ) p
	 order by s.user_id, s.type, s.id, p.nth, p.found`
