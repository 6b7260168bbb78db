-- The rights that role $2 needs in order to run statements $1, in which every name of the schema is qualified. The bodies
-- of PL/pgSQL functions are not in pg_depend, so calls and tables are read from the text. A function that runs with the
-- caller's rights needs what its body needs; a changed table needs what its triggers, constraints, defaults and indexes
-- call. Locking rows needs UPDATE. via is a statement or an object that needs the right.
with recursive relation (oid, name) as materialized (
  select oid, relname from pg_class where relnamespace = 'oxbow'::regnamespace and relkind in ('r', 'p', 'v')
), function (oid, name) as materialized (
  select oid, proname from pg_proc where pronamespace = 'oxbow'::regnamespace
), statement (oid, text) as materialized (
  select p.oid, part from pg_proc p, regexp_split_to_table(regexp_replace(p.prosrc, '--[^\n]*', '', 'g'), ';') part
   where p.pronamespace = 'oxbow'::regnamespace and not p.prosecdef
     and part like '%oxbow.%'
  union all
  select 0, part from unnest($1::text[]) s, regexp_split_to_table(s, ';') part
), used (oid, name, what) as (
  select s.oid, m[2], coalesce(lower(left(m[1], 6)), 'select') from statement s,
         regexp_matches(s.text, '(delete\s+from\s+|update\s+)?(?:only\s+)?oxbow\.(\w+)(?!\w|\s*\()', 'gi') m
  union
  select s.oid, m[1], 'insert' from statement s, regexp_matches(s.text, 'insert\s+into\s+oxbow\.(\w+)', 'gi') m
  union -- of a changed table whose columns are read
  select s.oid, m[1], 'select' from statement s,
         regexp_matches(s.text, '(?:insert\s+into|delete\s+from|update)\s+(?:only\s+)?oxbow\.(\w+)', 'gi') m
   where s.text ~* '\m(where|returning)\M'
  union -- of a table that a statement merges into, or updates on a conflict
  select s.oid, m[1], lower(n[1]) from statement s,
         regexp_matches(s.text, '(?:insert|merge)\s+into\s+oxbow\.(\w+)', 'gi') m,
         regexp_matches(s.text, '\m(?:do|then)\s+(insert|update|delete)', 'gi') n
   where s.text ~* 'into\s+oxbow'
  union
  select s.oid, m[1], 'update' from statement s,
         regexp_matches(s.text, '(?:from|join|,)\s+(?:only\s+)?oxbow\.(\w+)(?!\w|\s*\()(?:\s+(?:as\s+)?(\w+))?', 'gi') m,
         regexp_matches(s.text, '\mfor\s+(?:no\s+key\s+)?update(?:\s+of\s+((?:\w+,\s+)*\w+))?', 'gi') l
   where s.text ~* 'for\s+(no\s+key\s+)?update'
     and (l[1] is null or coalesce(m[2], m[1]) = any(regexp_split_to_array(l[1], ',\s+')))
), family (oid, member) as (
  select oid, oid from relation
  union all select i.inhparent, i.inhrelid from pg_inherits i join relation r on r.oid = i.inhrelid
), depends (kind, oid, other) as materialized ( -- what functions, views, and changes of tables depend on
  select 'function', d.objid, d.refobjid from pg_depend d join pg_proc p on p.oid = d.objid
   where d.classid = 'pg_proc'::regclass and not p.prosecdef
  union
  select 'select', w.ev_class, d.refobjid from pg_rewrite w
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid and d.refobjid <> w.ev_class
  union
  select what, f.oid, d.refobjid from family f
    join (select 'pg_constraint'::regclass, oid, conrelid from pg_constraint
          union all select 'pg_attrdef'::regclass, oid, adrelid from pg_attrdef
          union all select 'pg_class'::regclass, indexrelid, indrelid from pg_index) x (class, oid, changed)
      on x.changed = f.member
    join pg_depend d on d.classid = x.class and d.objid = x.oid and d.refclassid = 'pg_proc'::regclass,
   unnest('{insert,update}'::text[]) what
), edge (kind, oid, other, what) as materialized ( -- kind is function, or what is done to a table
  select 'function', s.oid, f.oid, 'execute'
    from statement s, regexp_matches(s.text, 'oxbow\.(\w+)\s*\(', 'g') m join function f on f.name = m[1]
  union select 'function', u.oid, r.oid, u.what from used u join relation r using (name)
  union select d.kind, d.oid, f.oid, 'execute' from depends d join function f on f.oid = d.other
  union select d.kind, d.oid, r.oid, 'select' from depends d join relation r on r.oid = d.other
  union select what, f.oid, t.tgfoid, 'fire'
    from family f join pg_trigger t on t.tgrelid = f.member and not t.tgisinternal,
         unnest('{4,8,16}'::integer[], '{insert,delete,update}'::text[]) e (bit, what) where t.tgtype & e.bit > 0
), needed (oid, what, via) as (
  select e.other, e.what, null::oid from edge e where e.oid = 0
  union
  select e.other, e.what, n.oid from needed n
    join edge e on e.oid = n.oid and e.kind = case when n.what in ('execute', 'fire') then 'function' else n.what end
)
select coalesce(f.name, r.name)::text as name, n.what,
       case n.what when 'execute' then has_function_privilege($2::name, f.oid, n.what)
         else has_table_privilege($2::name, r.oid, n.what) end as held,
       array_agg(coalesce(v.name, t.name)::text order by 1) as via
  from needed n
  left join function f on f.oid = n.oid and n.what = 'execute'
  left join relation r on r.oid = n.oid and n.what <> 'execute'
  left join function v on v.oid = n.via
  left join relation t on t.oid = n.via
 where n.what <> 'fire'
 group by f.oid, f.name, r.oid, r.name, n.what
 order by 1, 2
