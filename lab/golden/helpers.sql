-- Functions for the scripts, in a schema that is not recorded.
create schema golden;
grant usage on schema golden to public;

-- vector returns the vector of a memory with that text of the user "asker": scripts ask with it.
create function golden.vector(_text text) returns halfvec language sql stable as $$
  select v.embedding from oxbow.memories m join oxbow.memory_vectors v on v.user_id = m.user_id
    and v.memory_type = m.memory_type and v.memory_id = m.id
   where m.user_id = 'asker' and m.content = _text
$$;

-- patch replaces the matches of a pattern in every function of the schema whose name matches, and fails if nothing
-- matches.
create function golden.patch(_function text, _pattern text, _new text) returns void language plpgsql as $$
declare
  _text text;
  _patched boolean := false;
begin
  for _text in select pg_get_functiondef(p.oid) from pg_proc p
                where p.pronamespace = 'oxbow'::regnamespace and p.prokind = 'f' and p.proname ~ _function loop
    if _text ~ _pattern then
      execute regexp_replace(_text, _pattern, _new, 'g');
      _patched := true;
    end if;
  end loop;
  if not _patched then
    raise exception 'no function oxbow.(%) matches %', _function, _pattern;
  end if;
end $$;

-- Functions for the catalog script.
create function golden.ours(_name text) returns boolean language sql immutable as $$
  select _name !~ '^(river_|schema_version|sensory_[0-9])' $$;
create function golden.grants(_what text, _acl aclitem[]) returns setof text language sql stable as $$
  select format('grant %s: %s to %s', _what,
    string_agg(a.privilege_type || case when a.is_grantable then '*' else '' end, ', ' order by a.privilege_type),
                coalesce(r.rolname, 'PUBLIC'))
    from aclexplode(_acl) a left join pg_roles r on r.oid = a.grantee
   where r.rolname is distinct from current_user
   group by r.rolname $$;
create view golden.class as
  select c.*, c.oid::regclass::text as name from pg_class c
    where c.relnamespace = 'oxbow'::regnamespace and golden.ours(c.relname);


-- trait returns the id of a user's current trait with the given content.
create function golden.trait(_user text, _says text) returns uuid language sql stable as $$
  select m.id from oxbow.memories_trait m where m.user_id = _user and m.content ilike '%' || _says || '%'
    and m.expired_at is null order by m.content limit 1
$$;
