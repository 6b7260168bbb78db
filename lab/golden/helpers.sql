-- What the scripts use, in a schema that no recording looks at.
create schema golden;

-- vector returns the vector of a memory with that text of the user "asker": scripts ask with it.
create function golden.vector(_text text) returns halfvec language sql stable as $$
  select v.embedding from oxbow.memories m join oxbow.memory_vectors v on v.user_id = m.user_id and v.memory_type = m.memory_type and v.memory_id = m.id
   where m.user_id = 'asker' and m.content = _text
$$;

-- patch replaces a text in every function of the schema whose name begins so, and fails where none has it.
create function golden.patch(_function text, _old text, _new text) returns void language plpgsql as $$
declare
  _oid oid;
  _patched integer := 0;
begin
  for _oid in select p.oid from pg_proc p where p.pronamespace = 'oxbow'::regnamespace and p.prokind = 'f' and starts_with(p.proname, _function) loop
    if position(_old in pg_get_functiondef(_oid)) > 0 then
      execute replace(pg_get_functiondef(_oid), _old, _new);
      _patched := _patched + 1;
    end if;
  end loop;
  if _patched = 0 then
    raise exception 'no function oxbow.%… has the text %', _function, quote_literal(_old);
  end if;
end $$;

-- What the catalog script needs.
create function golden.ours(_name text) returns boolean language sql immutable as $$
  select _name !~ '^(river_|schema_version|sensory_[0-9])' $$;
create function golden.grants(_what text, _acl aclitem[]) returns setof text language sql stable as $$
  select format('grant %s: %s to %s', _what, string_agg(a.privilege_type || case when a.is_grantable then '*' else '' end, ', ' order by a.privilege_type),
                coalesce(r.rolname, 'PUBLIC'))
    from aclexplode(_acl) a left join pg_roles r on r.oid = a.grantee
   where r.rolname is distinct from current_user
   group by r.rolname $$;
create view golden.class as
  select c.*, c.oid::regclass::text as name from pg_class c where c.relnamespace = 'oxbow'::regnamespace and golden.ours(c.relname);


-- trait returns the id of a user's current trait that says so.
create function golden.trait(_user text, _says text) returns uuid language sql stable as $$
  select m.id from oxbow.memories_trait m where m.user_id = _user and m.content ilike '%' || _says || '%' and m.expired_at is null order by m.content limit 1
$$;
