package importv1

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/store"
)

// functionsSQL creates temporary functions that read values of metadata in any form.
const functionsSQL = `
create or replace function pg_temp.oxbow_v1_time(value text) returns timestamptz
language plpgsql stable set timezone = 'UTC' as $$
begin
  return case when value ~ '^\d{4}-' and isfinite(value::timestamptz) then value::timestamptz end;
exception when data_exception then
  return null;
end $$;
create or replace function pg_temp.oxbow_v1_id(value text) returns uuid
language sql immutable
return case when value ~* '^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$' then value::uuid end;
-- evidence: {"supporting": [{"id": …, "quality": "C"}, …], "contradicting": […]}, or an array of these with a type
create or replace function pg_temp.oxbow_v1_evidence(metadata jsonb) returns table (direction text, id uuid,
  quality text)
language sql immutable as $$
  select e.direction, pg_temp.oxbow_v1_id(e.id), case when e.quality in ('A', 'B', 'C', 'D') then e.quality else 'D' end
    from (select case when coalesce(l.key, i.value ->> 'type', i.value ->> 'evidence_type',
      i.value ->> 'direction') ~* '^contra' then 'contradicting'
                      else 'supporting' end as direction,
                 case jsonb_typeof(i.value) when 'string' then i.value #>> '{}'
                   else coalesce(i.value ->> 'id', i.value ->> 'memory_id') end as id,
                 upper(i.value ->> 'quality') as quality
            from (select null::text as key, metadata -> 'evidence' as list
              where jsonb_typeof(metadata -> 'evidence') = 'array'
                  union all
                  select o.key, o.value
                    from jsonb_each(case jsonb_typeof(metadata -> 'evidence') when 'object'
                      then metadata -> 'evidence' end) o
                   where o.key in ('supporting', 'contradicting') and jsonb_typeof(o.value) = 'array') l,
                 jsonb_array_elements(l.list) i) e
$$;
create or replace function pg_temp.oxbow_v1_texts(value jsonb) returns setof text
language sql immutable as $$
  select e from jsonb_array_elements_text(case jsonb_typeof(value) when 'array' then value end) e
   where octet_length(e) between 1 and 1024
$$`

// lowerSQL normalises the name of a type for comparison.
const lowerSQL = `lower(btrim(%s))`

// timeRange is the range of times that the tables accept.
const timeRange = `between '0001-01-01 00:00:00+00' and '9999-12-31 23:59:59.999999+00'`

// defaultTypes maps the types of version 1 to memory types.
var defaultTypes = map[string]store.MemoryType{
	"fact": store.Fact, "general": store.Fact, "episodic": store.Episodic, "document": store.Document,
	"trait": store.Trait, "insight": store.Trait,
}

// literal returns a text as an SQL literal.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// kindSQL is the expression for a row's memory type; it is null for an unknown type.
func kindSQL(types map[string]store.MemoryType) string {
	var cases strings.Builder
	for _, from := range slices.Sorted(maps.Keys(types)) {
		fmt.Fprintf(&cases, " when %s then %s", literal(from), literal(string(types[from])))
	}
	return fmt.Sprintf("case %s%s end", fmt.Sprintf(lowerSQL, "c.memory_type"), cases.String())
}

// traitTypes returns the types that become traits, as an SQL list.
func traitTypes(types map[string]store.MemoryType) string {
	var names []string
	for _, from := range slices.Sorted(maps.Keys(types)) {
		if types[from] == store.Trait {
			names = append(names, literal(from))
		}
	}
	return strings.Join(append(names, "null"), ", ")
}

// readSQL begins a statement over some rows. Its CTE read holds their columns, the type that each
// becomes (kind), their metadata as an object (md), and why a row is rejected (rejection, detail),
// null if it is not. It is computed once. %[1]s are the rows, %[2]s is kindSQL.
const readSQL = `
with read as materialized (
  select r.*,
         case when r.user_id is null then 'user_id is null'
              when octet_length(r.user_id) not between 1 and 255 then 'user_id must have 1 to 255 bytes'
              when r.kind is null then 'unknown memory_type'
              when r.content is null or r.content !~ '\S' then 'content is blank'
              when octet_length(r.content) > 1048576 then 'content is longer than 1 MiB'
              when not (r.created ` + timeRange + ` and coalesce(r.valid_at, r.created) ` + timeRange + `
                        and coalesce(r.invalid_at, r.created) ` + timeRange +
	`) then 'a time is outside the years 1 to 9999'
              when r.invalid_at < r.valid_at then 'invalid_at precedes valid_at'
         end as rejection,
         case when r.kind is null then left(r.memory_type, 100) end as detail
    from (select c.*, %[2]s as kind, lower(btrim(c.memory_type)) as label,
      coalesce(c.created_at, c.valid_at, now()) as created,
                 case when c.superseded_by is not null then true else false end as old,
                 case coalesce(jsonb_typeof(c.metadata), 'null') when 'object' then c.metadata when 'null' then '{}'
                      else jsonb_build_object('v1_metadata', c.metadata) end as md
            from (%[1]s) c) r
)`

// textOf returns the expression for a metadata text that has its own column. It is null if the text
// does not fit the column.
func textOf(key string) string {
	return fmt.Sprintf(`case when jsonb_typeof(md -> '%[1]s') = 'string'
		and octet_length(md ->> '%[1]s') between 1 and 1024 then md ->> '%[1]s' end`, key)
}

// numberOf returns the expression for a metadata number, limited to the range of other numeric
// types.
func numberOf(key string) string {
	return fmt.Sprintf(`case when jsonb_typeof(md -> '%[1]s') = 'number'
		then least(greatest((md ->> '%[1]s')::numeric, -1e9), 1e9) end`, key)
}

// finite returns the expression for a time that readers can represent, or null.
func finite(column string) string {
	return fmt.Sprintf("case when %[1]s %[2]s then %[1]s end", column, timeRange)
}

func countOf(column, key string) string {
	return fmt.Sprintf(`least(greatest(coalesce(%s, %s, 0), 0), 1000000)::integer`, column, numberOf(key))
}

func moment(column, path string) string {
	return fmt.Sprintf(`coalesce(%s, pg_temp.oxbow_v1_time(md #>> '{%s}'))`, finite(column), path)
}

const (
	stageNames   = `'trend', 'candidate', 'emerging', 'established', 'core', 'dissolved'`
	contextNames = `'work', 'personal', 'social', 'learning', 'general', 'contextual'`
)

// among returns the expression for a column's text, or else the metadata's, if it is one of some.
func among(column, key, some string) string {
	return fmt.Sprintf(`case when %[1]s in (%[3]s) then %[1]s when md ->> '%[2]s' in (%[3]s) then md ->> '%[2]s' end`,
		column, key, some)
}

// valuesOf returns the columns of a memory and the expression for each over a row of read. added
// holds expressions used more than once, to be added to read. A value with its own column is
// removed from the metadata unless it does not fit the column.
func valuesOf(scale float64) (columns, values, added []string) {
	added = []string{fmt.Sprintf(`coalesce(importance, %s::double precision) / %g as measure`, numberOf("importance"),
		scale)}
	stage := fmt.Sprintf(`coalesce(%s, case when %s = 'insight' then 'trend' else 'candidate' end)`,
		among("trait_stage", "trait_stage", stageNames), "label")
	trend := stage + ` = 'trend'`
	confidence := `coalesce(trait_confidence, ` + numberOf("confidence") + `::double precision)`
	contradicting := `(select count(*) from pg_temp.oxbow_v1_evidence(md) e where e.direction = 'contradicting')`
	add := func(column, value string) { columns, values = append(columns, column), append(values, value) }
	trait := func(column, value string) { add(column, `case when kind = 'trait' then `+value+` end`) }

	var moved []string
	text := func(column, key string) string {
		added = append(added, textOf(key)+" as md_"+key)
		moved = append(moved, fmt.Sprintf(`case when md_%[1]s is not null then '%[1]s' end`, key))
		return fmt.Sprintf("coalesce(%s, md_%s)", column, key)
	}
	add("user_id", "user_id")
	add("memory_type", "kind")
	add("id", "id")
	add("content", "content")
	add("valid_at", "valid_at")
	add("invalid_at",
		"coalesce(invalid_at, case when next_id is not null then greatest(coalesce(next_valid_at, next_created_at), "+
			"valid_at) end)")
	add("created_at", "created")
	add("updated_at", finite("updated_at"))
	add("expired_at",
		fmt.Sprintf("coalesce(%s, case when old then greatest(coalesce(%s, invalid_at, %s, now()), created) end)",
			finite("expired_at"), finite("next_created_at"), finite("updated_at")))
	add("superseded_by", "next_id")
	add("version", "least(greatest(coalesce(version, 1), 1), 1000000)::integer")
	add("session_id", text("case when octet_length(session_id) between 1 and 1024 then session_id end", "session_id"))
	add("seq", "(extract(epoch from created) * 1000000)::bigint")
	for _, key := range []string{"speaker", "agent_id", "source", "category"} {
		add(key, text("null", key))
	}
	// NaN sorts above every number, so it is not below 1.
	add("importance", "case when measure between 0 and 1 then measure else 0.5 end")
	moved = append(moved, `case when measure between 0 and 1 then 'importance' end`)
	add("access_count", countOf("access_count", "access_count"))
	moved = append(moved, `case when jsonb_typeof(md -> 'access_count') = 'number' then 'access_count' end`)
	add("last_accessed_at", finite("last_accessed_at"))
	trait("trait_subtype", among("trait_subtype", "trait_subtype", "'behavior', 'preference', 'core'"))
	trait("trait_stage", stage)
	trait("trait_confidence",
		`case when not (`+trend+`) and `+confidence+` <> 'NaN' then least(greatest(`+confidence+`, 1e-9), 1 - 1e-9) end`)
	trait("trait_confidence_at", `coalesce(`+moment("trait_last_reinforced", "last_reinforced")+`, created)`)
	trait("trait_context", among("trait_context", "context", contextNames))
	trait("trait_contexts", `case when jsonb_typeof(md -> 'contexts') = 'object' then md -> 'contexts' end`)
	trait("trait_reinforcement_count", countOf("trait_reinforcement_count", "reinforcement_count"))
	trait("trait_contradiction_count", `greatest(`+countOf("trait_contradiction_count",
		"contradiction_count")+`, `+contradicting+`)::integer`)
	trait("trait_last_reinforced", moment("trait_last_reinforced", "last_reinforced"))
	trait("trait_first_observed", moment("trait_first_observed", "first_observed"))
	trait("trait_window_start", `case when `+trend+` then coalesce(`+moment("trait_window_start",
		"valid_window,start")+`, created) end`)
	trait("trait_window_end", `case when `+trend+` then coalesce(`+moment("trait_window_end",
		"valid_window,end")+`, now() + oxbow.policy('trait_window_days') * interval '1 day') end`)
	trait("trait_derived_from", `coalesce(trait_derived_from, `+textOf("derived_from")+`)`)
	const traitKeys = `'trait_subtype', 'trait_stage', 'confidence', 'context', 'contexts', 'reinforcement_count',
	  'contradiction_count',
	  'last_reinforced', 'first_observed', 'valid_window', 'derived_from', 'evidence', 'parent_trait', 'child_traits'`
	keys := "array[" + strings.Join(moved, ", ") + "]"
	add("metadata", `case when md = '{}' then md
		when kind = 'trait' then md - array_remove(`+keys+`, null) - array[`+traitKeys+`]
	  else md - array_remove(`+keys+`, null) end`)
	return columns, values, added
}

// totalsSQL ends a statement that begins with read. It returns the number of rows, the last id, the
// rows and rejected rows by type (label; "unknown" for unknown types), and the reasons for rejections
// with some examples. %[1]s counts the stored rows by type, and %[2]s has the traits among them. It
// scans the rows as few times as possible.
const totalsSQL = `,
total as materialized (
  select case when kind is null then 'unknown' else label end as label, kind, rejection, count(*) as rows,
         count(*) filter (where old and next_id is null) as orphans, max(id::text collate "C") as last
    from read group by 1, 2, 3
)
select (select coalesce(sum(rows), 0)::bigint from total), (select max(last)::uuid from total),
       json_build_object('types', (select coalesce(json_agg(t), '[]') from (
          select label as "from", coalesce(kind, '') as "to", sum(rows) as rows,
            coalesce(sum(rows) filter (where rejection is not null), 0) as rejected,
                 coalesce(sum(orphans) filter (where rejection is null), 0) as orphans
            from total group by 1, 2) t),
       'reasons', (select coalesce(json_agg(r), '[]') from (
          select rejection as reason, sum(rows) as rows from total where rejection is not null group by 1) r),
       'examples', (select coalesce(json_agg(e), '[]') from (
          select id, rejection as reason, coalesce(detail, '') as detail from read
            where rejection is not null order by id limit 1000) e),
       'made', (select coalesce(json_agg(m), '[]') from (%[1]s) m)), trait.users, trait.ids
  from (select array_agg(user_id order by user_id, id) as users, array_agg(id order by user_id, id) as ids
          from (%[2]s) t) trait`

// insertSQL stores the rows that are not rejected. If careful, it skips rows that are already
// stored.
func insertSQL(from, kinds string, scale float64, careful bool) string {
	columns, values, added := valuesOf(scale)
	sql := fmt.Sprintf(readSQL, from, kinds) + fmt.Sprintf(`, made as (
  insert into oxbow.memories (%s)
  select %s
    from (select *, %s from read where rejection is null offset 0) r order by user_id collate "C", created`,
		strings.Join(columns, ", "), strings.Join(values, ",\n         "), strings.Join(added, ",\n         "))
	if !careful { // all rows are new, or the statement fails
		return sql + ")" + fmt.Sprintf(totalsSQL, `select label as "from", rows from total where rejection is null`,
			`select user_id, id from read where kind = 'trait' and rejection is null`)
	}
	return sql + `
  on conflict do nothing
  returning memory_type, user_id, id)` + fmt.Sprintf(totalsSQL,
		`select r.label as "from", count(*) as rows from made join read r on r.id = made.id group by 1`,
		`select user_id, id from made where memory_type = 'trait'`)
}

// dryRunSQL counts what insertSQL would store.
func dryRunSQL(from, kinds string) string {
	return fmt.Sprintf(readSQL, from, kinds) + fmt.Sprintf(totalsSQL, `
          select r.label as "from", count(*) as rows from read r
           where r.rejection is null and not exists (select from oxbow.memories m
             where m.user_id = r.user_id and m.memory_type = r.kind and m.id = r.id)
           group by 1`, `select user_id, id from read where false`)
}

// adoptSQL gives new traits the events that lead to their state, as a file import does: one creation,
// and one reinforcement without effect for each that the row counts. Traits with other events go through
// adopt_trait one by one, which takes fifty times as long.
const adoptSQL = `
with simple as (
  insert into oxbow.trait_events (user_id, trait_id, seq, event, at, factor, sets, memories, subtype, window_end,
    confidence, stage, actor)
  select m.user_id, m.id, 1 + n, case n when 0 then 'created' else 'reinforced' end, m.trait_confidence_at, case
    when n > 0 then 0 end,
         case n when 0 then m.trait_confidence end, 0, case n when 0 then m.trait_subtype end, case n when 0
           then m.trait_window_end end,
         m.trait_confidence, m.trait_stage, 'import'
    from unnest($1::text[], $2::uuid[]) i(user_id, id)
   cross join lateral (select m.* from oxbow.memories_trait m where m.user_id = i.user_id and m.id = i.id offset 0) m
   cross join lateral generate_series(0, m.trait_reinforcement_count) n
   where m.expired_at is null and m.trait_contradiction_count = 0 and m.trait_reinforcement_count <= 1000
     and (m.trait_stage = 'trend' or m.trait_stage = oxbow.trait_stage_of(m.trait_confidence))
  returning user_id, trait_id
)
select count(*) filter (where oxbow.adopt_trait(i.user_id, i.id, 'import'))
  from (select user_id, id from unnest($1::text[], $2::uuid[]) i(user_id, id)
        except select user_id, trait_id from simple order by 1, 2) i`

// vectorsSQL keeps the valid vectors of the rows: of the right dimension, finite, and not all
// zeros. It returns how many it stored, and how many memories have an unusable vector. %[1]s are
// the rows, %[2]s is kindSQL, %[3]d the dimension.
const vectorsSQL = `
with made as (
  insert into oxbow.memory_vectors (user_id, memory_type, memory_id, embedding)
  select m.user_id, m.memory_type, m.id, c.embedding::halfvec(%[3]d)
    from (%[1]s) c join oxbow.memories m on m.user_id = c.user_id and m.memory_type = %[2]s and m.id = c.id
   where case when cardinality(c.embedding) = %[3]d and array_position(c.embedding, 'NaN') is null
                   and array_position(c.embedding, 'Infinity') is null
                     and array_position(c.embedding, '-Infinity') is null
              then vector_norm(c.embedding::vector) between 1e-6 and 60000 end
   order by m.user_id
  on conflict do nothing
  returning 1
)
select (select count(*) from made),
       (select count(*) from (%[1]s) c join oxbow.memories m on m.user_id = c.user_id and m.memory_type = %[2]s
         and m.id = c.id
         where c.embedding is not null)`
