-- The catalog of the schema oxbow: one line a fact. The rows of a column "fact" are sorted. Not recorded: the order of
-- columns, bodies of functions, texts of views, the insides of River's tables, the partitions of single days of the
-- sensory stream, and the migrations' own table.

-- name: tables
select concat_ws(' ',
         case c.relkind when 'p' then 'partitioned table' when 'v' then 'view' when 'S' then 'sequence'
                        when 'm' then 'materialized view' else 'table' end,
         c.name,
         case c.relpersistence when 'u' then 'unlogged' end,
         case when c.relrowsecurity then 'row security' end,
         case when c.relforcerowsecurity then 'forced' end,
         'with ' || c.reloptions::text,
         pg_get_partkeydef(c.oid),
         'partition of ' || i.inhparent::regclass || ' ' || pg_get_expr(c.relpartbound, c.oid)) as fact
  from golden.class c left join pg_inherits i on i.inhrelid = c.oid
 where c.relkind in ('r', 'p', 'v', 'm', 'S');

-- name: toast options
select format('toast of %s with %s', c.name, t.reloptions) as fact
  from golden.class c join pg_class t on t.oid = c.reltoastrelid where t.reloptions is not null;

-- name: columns
select concat_ws(' ',
         format('%s.%s %s', c.name, a.attname, format_type(a.atttypid, a.atttypmod)),
         case when a.attnotnull then 'not null' end,
         case when a.attgenerated = '' then 'default ' else 'generated always as ' end
           || pg_get_expr(d.adbin, d.adrelid),
         case a.attidentity when 'a' then 'identity always' when 'd' then 'identity by default' end,
         case when a.attstorage <> t.typstorage then
           'storage ' || case a.attstorage when 'p' then 'plain' when 'e' then 'external' when 'm' then 'main'
                                           else 'extended' end end,
         'compression ' || nullif(a.attcompression::text, ''),
         'statistics ' || nullif(a.attstattarget::integer, -1),
         'options ' || a.attoptions::text) as fact
  from golden.class c join pg_attribute a on a.attrelid = c.oid join pg_type t on t.oid = a.atttypid
  left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
 where c.relkind in ('r', 'p', 'v', 'm') and a.attnum > 0 and not a.attisdropped;

-- name: constraints
select format('%s: %s %s', c.name, k.conname, pg_get_constraintdef(k.oid)) as fact
  from golden.class c join pg_constraint k on k.conrelid = c.oid where k.contype not in ('t', 'n');

-- name: indexes
select concat_ws(' ', pg_get_indexdef(i.indexrelid), case when not i.indisvalid then 'INVALID' end,
         case when i.indisreplident then 'replica identity' end,
         case when i.indisclustered then 'clustered' end) as fact
  from golden.class c join pg_index i on i.indrelid = c.oid;

-- name: extended statistics
select pg_get_statisticsobjdef(s.oid) as fact
  from pg_statistic_ext s where s.stxnamespace = 'oxbow'::regnamespace;

-- name: triggers
select concat_ws(' ', pg_get_triggerdef(t.oid), 'enabled ' || nullif(t.tgenabled::text, 'O')) as fact
  from golden.class c join pg_trigger t on t.tgrelid = c.oid where not t.tgisinternal;

-- name: rules
select format('rule on %s: %s', c.name, r.rulename) as fact
  from golden.class c join pg_rewrite r on r.ev_class = c.oid where r.rulename <> '_RETURN';

-- name: policies
select format('policy on %s.%s: %s %s for %s to %s using %s with check %s', p.schemaname, p.tablename, p.policyname,
         lower(p.permissive), lower(p.cmd), p.roles, coalesce(p.qual, '-'), coalesce(p.with_check, '-')) as fact
  from pg_policies p where p.schemaname = 'oxbow' and golden.ours(p.tablename);

-- name: functions
select format('%s(%s) returns %s', p.proname, pg_get_function_arguments(p.oid),
         coalesce(pg_get_function_result(p.oid), 'out arguments')) as fact
  from pg_proc p where p.pronamespace = 'oxbow'::regnamespace and golden.ours(p.proname);

-- name: attributes of functions
select concat_ws(' ',
         format('%s(%s): %s', p.proname, pg_get_function_identity_arguments(p.oid), l.lanname),
         case p.provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end,
         case p.proparallel when 's' then 'parallel safe' when 'r' then 'parallel restricted' end,
         case when p.prosecdef then 'security definer' end,
         case when p.proisstrict then 'strict' end,
         case when p.proleakproof then 'leakproof' end,
         'kind ' || nullif(p.prokind::text, 'f'),
         'set ' || (select string_agg(s, ', ' order by s collate "C") from unnest(p.proconfig) s),
         case when p.proowner <> current_user::regrole then 'owner ' || p.proowner::regrole end) as fact
  from pg_proc p join pg_language l on l.oid = p.prolang
 where p.pronamespace = 'oxbow'::regnamespace and golden.ours(p.proname);

-- name: types
select concat_ws(' ',
         case t.typtype when 'e' then 'enum' when 'd' then 'domain' when 'c' then 'composite' else t.typtype::text end,
         t.oid::regtype,
         (select string_agg(e.enumlabel, ', ' order by e.enumsortorder)
            from pg_enum e where e.enumtypid = t.oid)) as fact
  from pg_type t left join pg_class c on c.oid = t.typrelid
 where t.typnamespace = 'oxbow'::regnamespace and t.typelem = 0 and golden.ours(t.typname)
   and coalesce(c.relkind, 'c') = 'c';

-- name: operators
select o.oid::regoperator as fact from pg_operator o where o.oprnamespace = 'oxbow'::regnamespace;

-- name: grants
select g as fact from (
  select golden.grants('on ' || c.relkind::text || ' ' || c.oid::regclass, c.relacl) as g
    from pg_class c where c.relnamespace = 'oxbow'::regnamespace and c.relname !~ '^sensory_[0-9]|^schema_version'
  union all
  select golden.grants(format('on column %s.%s', a.attrelid::regclass, a.attname), a.attacl)
    from pg_class c join pg_attribute a on a.attrelid = c.oid where c.relnamespace = 'oxbow'::regnamespace
  union all
  select golden.grants(format('on function %s(%s)', p.proname, pg_get_function_identity_arguments(p.oid)),
           coalesce(p.proacl, acldefault('f', p.proowner)))
    from pg_proc p where p.pronamespace = 'oxbow'::regnamespace
  union all
  select golden.grants('on schema oxbow', n.nspacl) from pg_namespace n where n.nspname = 'oxbow'
  union all
  select golden.grants('on type ' || t.oid::regtype, t.typacl)
    from pg_type t where t.typnamespace = 'oxbow'::regnamespace and t.typacl is not null
  union all
  select golden.grants('by default on ' || d.defaclobjtype::text, d.defaclacl)
    from pg_default_acl d where d.defaclnamespace = 'oxbow'::regnamespace) g;

-- name: owners
select format('%s is owned by %s', c.oid::regclass, c.relowner::regrole) as fact
  from pg_class c where c.relnamespace = 'oxbow'::regnamespace and c.relowner <> current_user::regrole;

-- name: roles
select concat_ws(' ', 'role', rolname, case when rolcanlogin then 'login' end, case when rolsuper then 'superuser' end,
         case when rolbypassrls then 'bypassrls' end, case when not rolinherit then 'noinherit' end) as fact
  from pg_roles where rolname in ('oxbow_app', 'oxbow_worker');

-- name: extensions
select 'extension ' || extname || ' in ' || extnamespace::regnamespace as fact from pg_extension;

-- name: River
select format('%s: %s columns, %s indexes', c.oid::regclass, c.relnatts,
         (select count(*) from pg_index i where i.indrelid = c.oid)) as fact
  from pg_class c
 where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p') and c.relname like 'river%';

-- name: settings
select * from oxbow.settings order by key;
