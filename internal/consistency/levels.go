package consistency

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/store"
)

// recomputed is the number of memories of a user whose level CheckNext computes again, different ones in each round.
const recomputed = 20

// levels reports memories of the users from first to last that do not match their level, or whose level is not due when
// it should be, and merged memories that do not match their originals.
func (c *checker) levels(ctx context.Context, first, last string) error {
	for _, sql := range []string{keptSQL, mergedSQL} {
		problems, err := store.Collect[Problem](ctx, c.db, sql, first, last)
		if err == nil {
			err = c.found(problems...)
		}
		if err != nil {
			return fmt.Errorf("check levels and merged memories: %w", err)
		}
	}
	problems, err := store.Collect[Problem](ctx, c.db, dueSQL, first, last, c.recomputed)
	if err != nil {
		return fmt.Errorf("check when levels change: %w", err)
	}
	for _, p := range problems {
		if c.options.Repair {
			if err := repairDueLevel(ctx, c.db, p.UserID, p.MemoryID); err != nil {
				return fmt.Errorf("make memory %s of user %q due: %w", p.MemoryID, p.UserID, store.Explain(err))
			}
			p.Repaired = true
		}
		if err := c.found(p); err != nil {
			return err
		}
	}
	return nil
}

// repairDueLevel makes a memory due, so that the job settle computes its level.
func repairDueLevel(ctx context.Context, db store.DB, userID string, id uuid.UUID) error {
	_, err := db.Exec(ctx, `update oxbow.memories set weight_next_at = now() where user_id = $1 and id = $2`, userID, id)
	return err
}

// keptSQL compares the texts and index entries of memories with their level (docs/weight.md). A summary has no original
// in memory_archive if its text was short enough to stay.
const keptSQL = `
	with kept as materialized (
	  select m.user_id, m.memory_type::text as type, m.id, m.level, m.content, m.metadata, m.speaker, a.content as original,
	         m.expired_at is not null as ended
	    from oxbow.memories m
	    left join oxbow.memory_archive a
	      on a.user_id = m.user_id and a.memory_type = m.memory_type and a.memory_id = m.id
	   where m.user_id between $1 and $2 and m.level <> 'full'
	)
	select k.user_id, k.id as memory_id, p.kind, p.found, p.expected
	  from kept k
	 cross join lateral (
	  select 'level' as kind, k.level as found, case k.type when 'fact' then 'full or summary, because it is a fact'
	         else 'full, because it is a ' || k.type end as expected
	   where k.type <> 'episodic' and (k.type, k.level) <> ('fact', 'summary')
	     and not (k.ended and k.type = 'fact' and k.level = 'archive') -- an original of a merged memory
	  union all
	  select 'original', 'none', 'a row of memory_archive, because its level is ' || k.level
	   where k.level <> 'summary' and k.original is null
	  union all
	  select 'kept', t.found, t.expected || ', because its level is ' || k.level
	    from (
	      select 'text of ' || octet_length(k.content) || ' bytes' as found, 'no more than the original has' as expected
	       where k.level = 'summary' and octet_length(k.content) > octet_length(k.original)
	      union all
	      select 'a text', '[archived]' where k.level = 'archive' and k.content <> '[archived]'
	      union all
	      select 'metadata', case k.level when 'archive' then 'none' else 'entities, relations and context' end
	       where k.level in ('trace', 'archive') and exists (
	        select from jsonb_object_keys(k.metadata) e(key)
	         where k.level = 'archive' or e.key not in ('entities', 'relations', 'context'))
	      union all
	      select 'a row of memory_vectors', 'none' where k.level <> 'summary' and exists (
	        select from oxbow.memory_vectors v
	         where v.user_id = k.user_id and v.memory_type = k.type and v.memory_id = k.id)
	      union all
	      select 'a row of indexed_vectors', 'none' where k.level <> 'summary' and exists (
	        select from oxbow.indexed_vectors v
	         where v.user_id = k.user_id and v.memory_type = k.type and v.memory_id = k.id)
	      union all
	      select 'a row of memory_terms', case k.level when 'archive' then 'none' else 'the terms of what is kept' end
	        from oxbow.memory_terms t
	       where k.level in ('tag', 'trace', 'archive')
	         and t.user_id = k.user_id and t.memory_type = k.type and t.memory_id = k.id
	         and (k.level = 'archive'
	              or t.len > (select w.len from oxbow.terms(coalesce(k.speaker || ': ', '') || k.content) w))
	      union all
	      select 'a row of entity_mentions', 'none' where k.level = 'archive' and exists (
	        select from oxbow.entity_mentions e
	         where e.user_id = k.user_id and e.memory_type = k.type and e.memory_id = k.id)
	    ) t
	 ) p
	union all
	select a.user_id, a.memory_id, 'original', 'a row of memory_archive', 'none, because its level is full'
	  from oxbow.memory_archive a
	  join oxbow.memories m on m.user_id = a.user_id and m.memory_type = a.memory_type and m.id = a.memory_id
	 where a.user_id between $1 and $2 and m.level = 'full'
	 order by 1, 2, 3, 4`

// mergedSQL compares merged memories with their originals. A merged memory that a person reworded has no originals.
const mergedSQL = `
	with merged as (
	  select m.user_id, m.memory_type, m.id, m.expired_at is null and m.forgotten_at is null as current,
	         coalesce(a.metadata, m.metadata) #>> '{merged,count}' as count
	    from oxbow.memories m
	    left join oxbow.memory_archive a
	      on a.user_id = m.user_id and a.memory_type = m.memory_type and a.memory_id = m.id
	   where m.user_id between $1 and $2 and m.source = 'merge' and coalesce(a.metadata, m.metadata) ? 'merged'
	     and not exists (select from oxbow.memory_links l
	                      where l.user_id = m.user_id and l.from_type = m.memory_type and l.from_id = m.id
	                        and l.relation = 'supersedes')
	)
	select m.user_id, m.id as memory_id, p.kind, p.found, p.expected
	  from merged m
	 cross join lateral (
	  select count(*) as links,
	         count(*) filter (where o.forgotten_at is null
	           and (o.expired_at is null or o.superseded_by is null)) as current
	    from oxbow.memory_links l
	    join oxbow.memories o on o.user_id = l.user_id and o.memory_type = l.to_type and o.id = l.to_id
	   where l.user_id = m.user_id and l.from_type = m.memory_type and l.from_id = m.id and l.relation = 'merged_from'
	 ) o
	 cross join lateral (
	  select 'merged' as kind, 'links to ' || o.links as found, 'to ' || coalesce(m.count, 'those it counts') as expected
	   where o.links::text is distinct from m.count
	  union all
	  select 'merged', o.current || ' of its originals not superseded', 'none'
	   where m.current and o.current > 0
	 ) p
	 order by 1, 2, 4`

// dueSQL computes the levels of memories that settle has looked at, and when these change next. It leaves out those
// that are due, and all while settle follows a change of policies. It computes at most $3 of each user, any of them.
const dueSQL = `
	with place as (
	  select (s.value #>> '{cursor,at}')::timestamptz as at from oxbow.settings s
	   where s.key = 'sweep.levels' and s.value ->> 'rules' = oxbow.level_rules()
	), settled as (
	  select m.user_id, m.id, row_number() over (partition by m.user_id order by random()) as nth
	    from oxbow.memories m
	   where m.user_id between $1 and $2 and m.created_at <= (select p.at from place p) and oxbow.has_levels(m, now())
	     and (m.weight_next_at > now() or m.weight_next_at is null and exists (
	       select from oxbow.memory_terms t
	        where t.user_id = m.user_id and t.memory_type = m.memory_type and t.memory_id = m.id))
	), pages as (
	  select array_agg(s.user_id) as user_ids, array_agg(s.id) as ids
	    from (select s.*, row_number() over () / 1000 as page from settled s where s.nth <= coalesce($3, s.nth)) s
	   group by s.page
	)
	select p.user_id, p.id as memory_id, 'next level' as kind,
	       coalesce(to_char(m.weight_next_at, 'YYYY-MM-DD HH24:MI'), 'never') as found,
	       case when p.level <> p.before then p.level || ' now' else p.level || ' until '
	         || to_char(p.next, 'YYYY-MM-DD HH24:MI') end as expected
	  from pages g
	 cross join lateral oxbow.plan_levels(g.user_ids, g.ids, now()) p
	  join oxbow.memories m on m.user_id = p.user_id and m.memory_type = p.memory_type and m.id = p.id
	 where p.level <> p.before or p.next < coalesce(m.weight_next_at, 'infinity')
	 order by 1, 2`
